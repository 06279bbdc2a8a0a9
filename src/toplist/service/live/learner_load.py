"""Reads a learner and replays its events, on the event loop or in another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import chain, takewhile
from time import perf_counter

from toplist.service.live.ranking import LiveRanking
from toplist.service.log.replay import Replay, in_order, replay_from_snapshot, replay_from_start
from toplist.service.log.settings import ItemStates, LearnerSettings, items_at
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.protocol import LogReader, Store
from toplist.service.store.row_kinds import ITEMS, EventRow, LearnerRow, SnapshotRow

MANY_CHANGES = 2  # of a ranking's items, thousands each, which are replayed in another thread
MANY_EVENTS = 200  # of a learner, which are replayed in another thread; some milliseconds


class ReadIsOver(Exception):
    """An event is needed that the read, which is over, did not bring."""


class LearnerLoad:
    """Reads a learner and replays its events: those in the log, then those that wait for their commit."""

    def __init__(self, ranking: LiveRanking, row: LearnerRow, commits: GroupCommit, leaves_long: bool = False) -> None:
        self._row, self._leaves_long = row, leaves_long
        self._settings: LearnerSettings = ranking.settings
        self._items: ItemStates = dict(ranking.items)
        self._first_pending = commits.first_pending_seq()
        pending = list(commits.pending_rows())
        self._events = [event for event in pending if type(event) is EventRow and event.ranking == row.ranking]
        self._snapshots = [kept for kept in pending if type(kept) is SnapshotRow and kept.learner == row.id]
        self.is_over = False  # whether the reader must not be used any more

    def concerns(self, event: EventRow) -> bool:
        """Whether the learner replays an event."""
        return event.learner == self._row.id or (event.ranking == self._row.ranking and event.kind == ITEMS)

    def __call__(self, reader: LogReader) -> Replay | None:
        """Read and replay; None if that takes long, and may be left to another thread."""
        with reader.snapshot_reads():  # a commit may replace events by a snapshot
            kept = self._latest_snapshot(reader)
            return None if self._leaves_long and self._takes_long(reader, kept) else self._replay(reader, kept)

    def _takes_long(self, reader: LogReader, kept: SnapshotRow | None) -> bool:
        """Whether the event loop would be held up.

        After a crash, every learner replays the same changes of items; after a change of the policy, one that was not
        trained before replays all of its lists.
        """
        start = self._start(kept)
        return reader.has_item_events(self._row.ranking, start, MANY_CHANGES) or reader.has_learner_events(
            self._row.id, start, MANY_EVENTS
        )

    async def replay_arrived(self, replay: Replay, arrived: list[EventRow], seconds: float, rest: float) -> None:
        """Replay events that came during the read, and those that come meanwhile; others are served in between."""
        until = perf_counter() + seconds
        for event in arrived:  # it grows
            if event.seq > replay.seq and self.concerns(event):
                for _ in replay.steps(event):
                    if perf_counter() > until:
                        await asyncio.sleep(rest)
                        until = perf_counter() + seconds

    def in_thread(self, store: Store) -> Replay:
        """Read and replay in another thread."""
        reader = store.reader()
        try:
            with reader.snapshot_reads():
                return self._replay(reader, self._latest_snapshot(reader))
        finally:
            reader.close()

    def _start(self, kept: SnapshotRow | None) -> int:
        """The event after which the replay begins."""
        return self._settings.first_event(self._row.id) if kept is None else kept.seq

    def _replay(self, reader: LogReader, kept: SnapshotRow | None) -> Replay:
        settings, row, start = self._settings, self._row, self._start(kept)
        pending = [event for event in self._events if event.seq > start and self.concerns(event)]
        changes = self._committed(reader.item_events(row.ranking, start))  # one by one: each may have all items

        def fetch(seq: int) -> EventRow | None:
            if seq >= self._first_pending:
                return next((event for event in self._events if event.seq == seq), None)
            if self.is_over:
                raise ReadIsOver
            return reader.event(seq)

        if kept is not None:
            replay = replay_from_snapshot(settings, row, kept, fetch)
        elif reader.has_item_events(row.ranking, start, 1) or any(event.kind == ITEMS for event in pending):
            waiting = (event for event in self._events if event.kind == ITEMS)
            ever = chain(self._committed(reader.item_events(row.ranking, 0)), waiting)
            replay = replay_from_start(settings, row, items_at(ever, start), fetch)
        else:
            replay = replay_from_start(settings, row, self._items, fetch)
        replay.run(in_order(self._committed(reader.learner_events(row.id, start)), changes))
        replay.run(pending)
        return replay

    def _committed(self, events: Iterable[EventRow]) -> Iterator[EventRow]:
        return takewhile(lambda event: event.seq < self._first_pending, events)

    def _latest_snapshot(self, reader: LogReader) -> SnapshotRow | None:
        """The latest snapshot, committed or not: a policy is not trained twice while its rows wait for a commit."""
        policy_seq = self._settings.policy_seq
        waiting = [kept for kept in self._snapshots if kept.policy_seq == policy_seq]
        return waiting[-1] if waiting else reader.snapshot(self._row.id, policy_seq)
