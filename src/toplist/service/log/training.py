"""Work that takes longer than a request may wait, done in another thread: compiling a policy, and training it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.service.errors import Refused, StoreUnavailable
from toplist.service.live.ranking import Items, ItemState, Setting, policy_problem
from toplist.service.log.replay import begin, beginning, first_event, from_snapshot, in_order, items_at
from toplist.service.store.protocol import EventRow, LearnerRow, SnapshotRow
from toplist.service.store.sqlite import SQLiteStore

READ_AT_ONCE = 10_000  # events of the log
ALL_EARLIER = 1 << 62  # the lists of every event so far were made by another policy


def warm_up(setting: Setting) -> None:
    """Compile what lists and learning need, by making and learning one; refuse settings that cannot work."""
    if (problem := policy_problem(setting)) is not None:
        raise problem
    spec = setting.spec
    try:
        ranker = begin(setting, None, _any_items(setting))
        person = [0.0] * spec.person if spec.person else None
        ranker.learn(ranker.rank(person=person), clicks=[1])
    except InvalidInput as problem:
        raise Refused(str(problem)) from problem


def would_work(setting: Setting) -> bool:
    """Whether `warm_up` finds nothing wrong, as far as that can be told without compiling."""
    if policy_problem(setting) is not None:
        return False
    try:
        begin(setting, None, _any_items(setting))
    except InvalidInput:
        return False
    return True


def _any_items(setting: Setting) -> Items:
    row = np.zeros(setting.spec.features)
    row[:1] = 0.5
    return {f"item {n}": ItemState(n, row, False) for n in range(setting.places + 1)}


def longest_list(path: Path, ranking: int, after: int, places: int, ending: Callable[[], bool] = lambda: False) -> int:
    """The most items of a ranking's lists behind an event; looked for until one fills all `places`, as most do."""
    store = SQLiteStore(path, read_only=True)
    longest = 0
    try:
        last = store.last_seq()
        while after < last and longest < places:
            _give_up(ending)
            longest = max(longest, store.longest_list(ranking, after, after + READ_AT_ONCE))
            after += READ_AT_ONCE
    finally:
        store.close()
    return longest


def trained(
    path: Path,
    ranking: int,
    setting: Setting,
    rows: list[LearnerRow],
    kept: list[SnapshotRow] | None = None,
    ending: Callable[[], bool] = lambda: False,
) -> tuple[list[SnapshotRow], int]:
    """Learners led through the log, as adopted lists, or on from what is `kept`; and through how many events.

    It is given up when the service is `ending`, which waits for the thread.
    """
    setting = setting._replace(policy=ALL_EARLIER, trained=True)
    store = SQLiteStore(path, read_only=True)
    snapshots: list[SnapshotRow] = []
    led = 0
    try:
        for n, row in enumerate(rows):
            if kept is None:
                items = items_at(store.item_events(ranking, 0), first_event(setting, row.id))
                replay = beginning(setting, row, items, store.event)
            else:
                replay = from_snapshot(setting, row, kept[n], store.event)
            until = store.last_seq()  # what is committed while this is read belongs to the next time
            events = in_order(store.learner_events(row.id, replay.seq), store.item_events(ranking, replay.seq))
            replay.run(_unless(ending, (event for event in events if event.seq <= until)))
            led += replay.events
            snapshots.append(SnapshotRow(row.id, False, replay.seq, ALL_EARLIER, replay.ranker.to_bytes()))
    finally:
        store.close()
    return snapshots, led


def _unless(ending: Callable[[], bool], events: Iterable[EventRow]) -> Iterator[EventRow]:
    for event in events:
        _give_up(ending)
        yield event


def _give_up(ending: Callable[[], bool]) -> None:
    if ending():
        raise StoreUnavailable("The service ends, so the policy stays as it was.")
