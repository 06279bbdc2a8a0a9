"""Compiling and training a policy: work on learners that is too slow for the event loop and runs in a thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.service.errors import Refused, StoreUnavailable
from toplist.service.log.machines import with_machines
from toplist.service.log.policy_code import policy_code
from toplist.service.log.replay import events_since, new_ranker, replay_from_log, replay_from_snapshot
from toplist.service.log.settings import ItemState, ItemStates, LearnerSettings, settings_problem
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import LearnerRow, SnapshotRow

EVENTS_PER_READ = 10_000
ALL_EARLIER = 1 << 62  # policy_seq of learners in training: another policy made all lists so far

Stops = Callable[[], bool]  # whether the service is stopping


def compile_policy(settings: LearnerSettings) -> None:
    """Compile a policy by making and learning one list; refuse settings that cannot work."""
    if (problem := settings_problem(settings)) is not None:
        raise problem
    spec = settings.spec
    try:
        settings.learner_size(0)  # found out here once, not on the event loop, as is the next
        policy_code(settings.policy)
        ranker = new_ranker(settings, None, _example_items(settings))
        person = [0.0] * spec.person if spec.person else None
        ranker.learn(ranker.rank(person=person), clicks=[1])
        ranker.compile_priors()  # those of many items are set by machine code
    except InvalidInput as problem:
        raise Refused(str(problem)) from problem
    except MemoryError as problem:
        raise Refused(f"The policy {spec.policy} needs more memory than there is; give smaller sizes.") from problem


def would_compile(settings: LearnerSettings) -> bool:
    """Whether `compile_policy` would accept the settings, as far as can be told without compiling."""
    if settings_problem(settings) is not None:
        return False
    try:
        new_ranker(settings, None, _example_items(settings))
    except (InvalidInput, MemoryError):
        return False
    return True


def _example_items(settings: LearnerSettings) -> ItemStates:
    row = np.zeros(settings.spec.features)
    row[:1] = 0.5
    return {f"item {n}": ItemState(n, row, False) for n in range(settings.places + 1)}


def longest_list(reader: LogReader, ranking: int, after: int, places: int, stops: Stops = lambda: False) -> int:
    """Length of a ranking's longest list after an event; the search ends at one that fills all `places`."""
    longest = 0
    last = reader.last_seq()
    while after < last and longest < places:
        raise_if(stops)
        longest = max(longest, reader.longest_list(ranking, after, after + EVENTS_PER_READ))
        after += EVENTS_PER_READ
    return longest


def train_learners(
    reader: LogReader,
    settings: LearnerSettings,
    rows: list[LearnerRow],
    trained: list[SnapshotRow],
    most_bytes: int,
    between: Callable[[], None] = lambda: None,
) -> int:
    """Train learners of a new policy on the log, in their order, until their snapshots have so many bytes.

    Their snapshots are put into `trained`, where those of an earlier round are continued. Returns the number of events.
    `between` is called between short steps: it lets others work, and raises an error if the service stops, which waits
    for this thread.
    """
    settings = settings._replace(policy_seq=ALL_EARLIER, trained=True)
    events = 0
    is_first_round = not trained
    for n, row in enumerate(rows):
        if is_first_round and sum(len(kept.body) for kept in trained) >= most_bytes:
            break
        if is_first_round:
            replay = replay_from_log(reader, settings, row, between)
        elif n < len(trained):
            replay = replay_from_snapshot(settings, row, trained[n], reader.event)
        else:
            break
        until = reader.last_seq()  # later commits belong to the next round
        new = (event for event in events_since(reader, row, replay.seq) if event.seq <= until)
        replay.run(new, between)
        events += replay.events
        body = with_machines(replay.ranker.to_bytes(), replay.machines)
        kept = SnapshotRow(row.id, False, replay.seq, ALL_EARLIER, body)
        trained[n : n + 1] = [kept]  # in place: two of each would be twice as much memory
    return events


def raise_if(stops: Stops) -> None:
    """Raise the error that ends what a service does, once it is stopping."""
    if stops():
        raise StoreUnavailable("The service is stopping, so the policy stays as it was.")
