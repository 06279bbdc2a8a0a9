"""Rebuilds learners from the log: created with the items of that moment, they replay all later events."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import merge
from operator import attrgetter
from typing import NamedTuple

import msgspec
import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.prior import Prior
from toplist.core.problem import InvalidInput
from toplist.ranker import LoggedRanker
from toplist.ranker.logged_ranker import NO_LIMIT
from toplist.ranker.shown import Shown
from toplist.ranker.weights_pool import WeightsPool
from toplist.service.log.events import (
    ImportedEvent,
    ItemsEvent,
    ListEvent,
    ListOutcome,
    QuarantinedEvent,
    decode_imported,
    decode_items,
    decode_learner,
    decode_list,
    decode_outcome,
    decode_quarantined,
    rows_by_item,
)
from toplist.service.log.machines import Machines, split_machines, this_machine, with_this_machine
from toplist.service.log.pools import KnownPool, decode_pool
from toplist.service.log.settings import ItemStates, LearnerSettings, items_at
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import (
    DROP,
    IMPORTED,
    ITEMS,
    LEARN,
    LIST,
    QUARANTINED,
    EventRow,
    LearnerRow,
    SnapshotRow,
)

AT_ONCE = 100  # items of a change that a learner applies at once
MOST_OPEN_BYTES = 8 << 20  # of open lists that a replay keeps in memory; others are read again

# Errors of a damaged row: not JSON, not of its form, not compressed as it says, or of another learner.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, zlib.error, InvalidInput, ValueError, IndexError)

FetchEvent = Callable[[int], EventRow | None]


def new_ranker(
    settings: LearnerSettings, segment: str | None, items: ItemStates, pool: KnownPool | None = None
) -> LoggedRanker:
    """A learner's ranker before its first list; with a pool, it begins with what other learners knew."""
    spec, can = settings.spec, settings.capabilities()
    features = None
    if can.needs_features:
        features = {id: state.features for id, state in items.items()}
    priors: dict[ItemId, Prior] | None = None
    if settings.takes_item_priors():
        priors = {id: state.prior for id, state in items.items() if state.prior is not None}
    ranker = LoggedRanker(
        list(items), settings.places, settings.policy, settings.seed(segment), features=features,
        person=spec.person if can.needs_features else 0, join=spec.join, steps=spec.steps,
        prior_mean=spec.prior_mean, prior_strength=spec.prior_strength, priors=priors,
        new_per_list=spec.new_per_list, open_slates=NO_LIMIT, name=settings.learner_name(segment),
    )  # fmt: skip
    # A pool of items is nothing for a policy over features, and the other way round: the policy may have changed.
    fits = pool is not None and isinstance(pool.pool, WeightsPool) == can.needs_features
    if pool is not None and fits and pool.seq > settings.floor and pool.pool.looks:
        ranker.begin_pooled(pool.pool, pool.strength, priors or {})
    if spec.pool == "prior":
        ranker.keep_own_counts()
    hidden = [id for id, state in items.items() if state.hidden]
    if hidden:
        ranker.hide(hidden)
    if settings.first_list:
        ranker.reopen(settings.first_list - 1)
        ranker.drop(settings.first_list - 1)
    return ranker


def change_items(ranker: LoggedRanker, event: ItemsEvent) -> None:
    """Apply an event of the ranking's items to a learner's ranker."""
    by_features = ranker.capabilities.needs_features
    new = [put for put in event.put if put.id not in ranker]
    if new:
        rows = np.array([put.features for put in new]) if by_features else None
        priors = None
        if ranker.capabilities.samples != "nothing":
            priors = {put.id: put.prior for put in new if put.prior is not None}
        ranker.add([put.id for put in new], features=rows, priors=priors)
    new_ids = {put.id for put in new}
    for put in event.put:
        if put.id not in new_ids and by_features and put.features is not None:
            ranker.change(put.id, put.features)
    hide = [put.id for put in event.put if put.hidden and not ranker.is_hidden(put.id)]
    show = [put.id for put in event.put if not put.hidden and ranker.is_hidden(put.id)]
    if hide:
        ranker.hide(hide)
    if show:
        ranker.unhide(show)
    if removed := [id for id in event.removed if id in ranker]:
        ranker.remove(removed)


def item_parts(event: ItemsEvent) -> list[ItemsEvent]:
    """Short events that together do what one does, so that a learner can apply it a part at a time.

    Items with priors stay together, since a prior counts by the others.
    """
    if len(event.put) + len(event.removed) <= AT_ONCE or any(put.prior is not None for put in event.put):
        return [event]
    put = [ItemsEvent(put=event.put[n : n + AT_ONCE]) for n in range(0, len(event.put), AT_ONCE)]
    return put + [ItemsEvent(removed=event.removed[n : n + AT_ONCE]) for n in range(0, len(event.removed), AT_ONCE)]


def logged_list(ranker: LoggedRanker, event: ListEvent, own: bool) -> Shown | None:
    """A list of the log, ready to be learned; `own` if the ranker's policy made it.

    None if the ranker cannot learn from it: another policy made it, and an item was removed since, or the ranker's
    policy learns only from its own lists.
    """
    if own and event.is_by_policy:
        return ranker.recall(event.items, event.record())
    if not ranker.capabilities.learns_from_any_list or not all(item in ranker for item in event.items):
        return None
    by_features = ranker.capabilities.needs_features
    features = rows_by_item(event.features) if by_features and event.features is not None else None
    person = event.person if by_features else None
    try:
        return ranker.take_over(event.items, event.number, person, features)
    except InvalidInput:  # for example, the list has no features of a person
        return None


def learn_list(ranker: LoggedRanker, event: ListEvent, outcome: ListOutcome, own: bool) -> None:
    """Learn a list of the log from its outcome."""
    report = outcome.merged.for_learning()
    if not event.learns:
        ranker.drop(event.number)
    elif own and event.is_by_policy:
        ranker.reopen(event.number)
        ranker.settle(event.record(), *report)
    elif (shown := logged_list(ranker, event, own)) is None:
        ranker.drop(event.number)
    else:
        ranker.learn(shown, *report)


def begin_from_import(ranker: LoggedRanker, event: ImportedEvent) -> None:
    """Let a new learner's ranker begin with an imported belief, unless the policy was changed since."""
    state = event.state()
    with suppress(InvalidInput):  # a function of the log and of the settings, so that all replays agree
        ranker.begin_from(state)


class SkippedList(NamedTuple):
    """The event by which a list should have been learned, and why it was not."""

    event: EventRow
    reason: str


class Replay:
    """Replays the events of one learner; another policy made the lists up to event `policy_seq`."""

    def __init__(self, ranker: LoggedRanker, seq: int, start: int, policy_seq: int, fetch: FetchEvent) -> None:
        self.ranker = ranker
        self.machines: Machines | None = frozenset([this_machine()])  # on which its belief is computed
        self.seq = seq  # of the last event replayed
        self.events = 0  # number of events so far
        self._start = start  # lists up to this event are not part of its history
        self._policy_seq = policy_seq
        self._fetch = fetch
        self._open_lists: dict[int, ListEvent] = {}  # by seq, as far as they find room
        self._open_bytes = 0
        self.skipped: list[SkippedList] = []

    def run(self, events: Iterable[EventRow], between: Callable[[], None] = lambda: None) -> None:
        """Replay further events of the learner and of its ranking's items, in order; calls `between` after each step.

        A list that cannot be read or learned is skipped: a function of the log, so that all replays agree. Those that
        should have been learned are in `skipped`.
        """
        for event in events:
            for _ in self.steps(event):
                between()

    def steps(self, event: EventRow) -> Iterator[None]:
        """Replay an event in short steps; the caller may do other things in between."""
        self.seq = event.seq
        self.events += 1
        if event.kind == ITEMS:
            for part in item_parts(decode_items(event.body)):
                change_items(self.ranker, part)
                yield
        elif event.kind == IMPORTED:
            begin_from_import(self.ranker, decode_imported(event.body))
        elif event.kind in (LIST, LEARN, DROP, QUARANTINED) and event.impression is not None:
            try:
                self._replay(event)
            except UNREADABLE as problem:
                if event.kind == LEARN:
                    self.skipped.append(SkippedList(event, str(problem)))
        yield

    def _replay(self, event: EventRow) -> None:
        """Replay an event of a list."""
        if event.kind == LIST:
            made = decode_list(event.body)
            self.ranker.reopen(made.number)
            if self._open_bytes < MOST_OPEN_BYTES:
                self._open_lists[event.seq] = made
                self._open_bytes += len(event.body)
            return
        outcome: ListOutcome | QuarantinedEvent
        outcome = decode_quarantined(event.body) if event.kind == QUARANTINED else decode_outcome(event.body)
        if outcome.list_seq <= self._start:
            return
        closed = self._open_lists.pop(outcome.list_seq, None) or self._fetch_list(outcome.list_seq)
        if closed is None:
            raise InvalidInput("The event of the list is missing.")
        if isinstance(outcome, ListOutcome) and event.kind == LEARN:
            try:
                learn_list(self.ranker, closed, outcome, own=outcome.list_seq > self._policy_seq)
            except UNREADABLE:  # raised before anything is learned
                self.ranker.drop(closed.number)
                raise
        else:
            self.ranker.drop(closed.number)

    def _fetch_list(self, seq: int) -> ListEvent | None:
        event = self._fetch(seq)
        return None if event is None else decode_list(event.body)


def replay_from_start(settings: LearnerSettings, row: LearnerRow, items: ItemStates, fetch: FetchEvent) -> Replay:
    """A learner before all its events, with the items of that moment."""
    start = settings.first_event(row.id)
    ranker = new_ranker(settings, row.segment, items, _first_pool(row, fetch))
    return Replay(ranker, start, start, settings.policy_seq, fetch)


def _first_pool(row: LearnerRow, fetch: FetchEvent) -> KnownPool | None:
    """The pool that a learner began with."""
    created = fetch(row.id)
    seq = 0 if created is None else decode_learner(created.body).pool
    if seq == 0:
        return None
    logged = fetch(seq)
    if logged is None:
        raise InvalidInput(f"The event {seq} of its pool is missing.")
    return decode_pool(logged)


def replay_from_log(
    reader: LogReader, settings: LearnerSettings, row: LearnerRow, between: Callable[[], None] = lambda: None
) -> Replay:
    """A learner before all its events, with the items of that moment according to the log; calls `between` often."""

    def events() -> Iterator[EventRow]:
        for event in reader.item_events(row.ranking, 0):
            yield event
            between()

    items = items_at(events(), settings.first_event(row.id))
    return replay_from_start(settings, row, items, reader.event)


def replay_from_snapshot(settings: LearnerSettings, row: LearnerRow, kept: SnapshotRow, fetch: FetchEvent) -> Replay:
    """A learner as it was at a snapshot."""
    belief, machines = split_machines(kept.body)
    ranker = LoggedRanker.from_bytes(belief, settings.policy, settings.learner_name(row.segment))
    replay = Replay(ranker, kept.seq, settings.first_event(row.id), settings.policy_seq, fetch)
    replay.machines = with_this_machine(machines)
    return replay


def events_since(reader: LogReader, row: LearnerRow, seq: int) -> Iterator[EventRow]:
    """Events of a learner and of its ranking's items after an event, in order."""
    return in_order(reader.learner_events(row.id, seq), reader.item_events(row.ranking, seq))


def in_order(*events: Iterable[EventRow]) -> Iterator[EventRow]:
    """Merge ordered series of events by seq."""
    return merge(*events, key=attrgetter("seq"))
