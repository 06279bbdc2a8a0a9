"""Learners by ranking and segment: recently used ones are in memory, others are loaded from the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, takewhile

from toplist.core.problem import InvalidInput
from toplist.ranker import LoggedRanker
from toplist.service.errors import Conflict
from toplist.service.live.ranking import LiveRanking
from toplist.service.log.events import LearnerEvent, encode
from toplist.service.log.replay import (
    Replay,
    change_items,
    in_order,
    new_ranker,
    replay_from_snapshot,
    replay_from_start,
)
from toplist.service.log.settings import ItemStates, LearnerSettings, items_at
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.protocol import ITEMS, LEARNER, EventRow, LearnerRow, LogReader, Row, SnapshotRow, Store

SNAPSHOT_EVERY = 1000  # events of a learner; more if a snapshot is large
WORTH_A_SNAPSHOT = 64  # events; fewer are replayed faster than a snapshot is written
MOST_CHANGES = 1000  # of a ranking's items, kept in memory until all learners have applied them


class LoadedLearner:
    """A learner in memory."""

    __slots__ = ("applied_changes", "id", "ranker", "ranking", "room", "segment", "seq", "unkept")

    def __init__(
        self, id: int, ranking: LiveRanking, segment: str | None, ranker: LoggedRanker, seq: int, unkept: int
    ) -> None:
        self.id, self.ranking, self.segment, self.ranker = id, ranking, segment, ranker
        self.seq = seq  # of the last event it has seen
        self.applied_changes = ranking.change_count
        self.unkept = unkept  # events since its latest snapshot
        self.room = ranker.room

    @property
    def is_behind(self) -> bool:
        """Whether it has not applied all changes of the items."""
        ranking = self.ranking
        return self.applied_changes != ranking.dropped_changes + len(ranking.changes)

    def apply_changes(self) -> None:
        """Apply the changes of the items since it was last used."""
        ranking = self.ranking
        for change in ranking.changes[self.applied_changes - ranking.dropped_changes :]:
            change_items(self.ranker, change.event)
            self.seq = change.seq
            self.unkept += 1
        self.applied_changes = ranking.change_count
        self.room = self.ranker.room

    def count_event(self, seq: int) -> None:
        """Count one more event that it has seen."""
        self.seq = seq
        self.unkept += 1

    def snapshot(self, base: bool = False) -> SnapshotRow:
        """Its belief as a row."""
        self.unkept = 0
        return SnapshotRow(self.id, base, self.seq, self.ranking.settings.policy_seq, self.ranker.to_bytes())

    @property
    def needs_snapshot(self) -> bool:
        """Whether replaying its events again would take long."""
        return self.unkept >= max(SNAPSHOT_EVERY, self.room // 4000)


class Learners:
    """Learners by ranking and segment; those in memory take about `most_bytes` at most."""

    def __init__(self, store: Store, commits: GroupCommit, most_bytes: int) -> None:
        self._store, self._commits = store, commits
        self._most_bytes = most_bytes
        self._loaded: dict[tuple[int, str | None], LoadedLearner] = {}  # the most recently used is last
        self._by_id: dict[int, LoadedLearner] = {}
        self._bytes = 0
        self.deleted: set[int] = set()  # ids of learners whose segments were deleted

    def __len__(self) -> int:
        return len(self._loaded)

    def __iter__(self) -> Iterator[LoadedLearner]:
        return iter(list(self._loaded.values()))

    def of_ranking(self, ranking: LiveRanking) -> list[LoadedLearner]:
        """Learners of a ranking that are in memory."""
        return [learner for learner in self._loaded.values() if learner.ranking is ranking]

    def by_id(self, id: int) -> LoadedLearner | None:
        """A learner if it is in memory, with all changes of its items applied."""
        learner = self._by_id.get(id)
        if learner is not None:
            self._apply_changes(learner)
        return learner

    def is_loaded(self, id: int) -> bool:
        """Whether a learner is in memory."""
        return id in self._by_id

    def has(self, ranking: LiveRanking, segment: str | None) -> bool:
        """Whether the learner of a segment is in memory."""
        return (ranking.id, segment) in self._loaded

    def get(self, ranking: LiveRanking, segment: str | None) -> LoadedLearner | None:
        """The learner of a segment if it is in memory; marks it as the most recently used."""
        learner = self._loaded.pop((ranking.id, segment), None)
        if learner is not None:
            self._loaded[ranking.id, segment] = learner
            self._apply_changes(learner)
        return learner

    async def load(self, ranking: LiveRanking, segment: str | None) -> LoadedLearner | None:
        """The learner of a segment, from memory or from the store; None if there is none yet."""
        while (learner := self.get(ranking, segment)) is None:
            row = await self.find_row(ranking, segment)
            if row is None or ranking.is_deleted:
                return None
            if self.has(ranking, segment):  # another request loaded it during the read
                continue
            settings = ranking.settings
            load = _LearnerLoad(ranking, row, self._commits)
            try:
                with self._commits.watch_events() as arrived:
                    replay = await self._store.read(load)
                load.is_over = True
                if ranking.is_deleted:
                    return None
                if ranking.settings is not settings or self.has(ranking, segment) or row.id in self.deleted:
                    continue
                replay.run(event for event in arrived if event.seq > replay.seq and load.concerns(event))
            except _ReadIsOver:
                continue
            except InvalidInput as problem:
                if ranking.settings is not settings:
                    continue
                raise Conflict(f"The ranking {ranking.name!r} cannot serve: {problem}") from problem
            self._add(LoadedLearner(row.id, ranking, segment, replay.ranker, replay.seq, replay.events))
        return learner

    async def find_row(self, ranking: LiveRanking, segment: str | None) -> LearnerRow | None:
        """The row of a segment's learner, committed or not; None if there is none."""
        while ranking.has_learner:
            for row in self._commits.pending_rows():
                if type(row) is not LearnerRow or row.id in self.deleted:
                    continue
                if row.ranking == ranking.id and row.segment == segment:
                    return row
            with self._commits.watch_events() as arrived:
                found = await self._store.read(lambda reader: reader.learner(ranking.id, segment))
            if found is not None and found.id in self.deleted:
                found = None
            if found is not None or not any(event.kind == LEARNER and event.ranking == ranking.id for event in arrived):
                return found
        return None

    def create(self, ranking: LiveRanking, segment: str | None, seq: int, now: int) -> tuple[LoadedLearner, list[Row]]:
        """Create a learner with the current items; returns it and its rows."""
        ranker = new_ranker(ranking.settings, segment, ranking.items)
        learner = LoadedLearner(seq, ranking, segment, ranker, seq, 1)
        ranking.has_learner = True
        self._add(learner)
        event = EventRow(seq, now, ranking.id, seq, LEARNER, None, encode(LearnerEvent(segment)))
        return learner, [event, LearnerRow(seq, ranking.id, segment)]

    def undo_create(self, learner: LoadedLearner, had_learner: bool) -> None:
        """Undo `create`; `had_learner` is the former `has_learner` of the ranking."""
        self._remove(learner)
        learner.ranking.has_learner = had_learner

    def remove(self, ranking: LiveRanking) -> None:
        """Remove the learners of a ranking from memory."""
        for learner in self.of_ranking(ranking):
            self._remove(learner)

    def delete(self, id: int) -> None:
        """Delete a learner; a new one takes its place with the next list of its segment."""
        self.deleted.add(id)
        if (learner := self._by_id.get(id)) is not None:
            self._remove(learner)

    def evict(self) -> list[Row]:
        """If memory is short, drop learners without uncommitted events; returns the snapshots to write."""
        if self._bytes <= self._most_bytes:
            return []
        pending = self._commits.first_pending_seq()
        rows: list[Row] = []
        for learner in self:
            if self._bytes <= self._most_bytes or len(self._loaded) == 1:
                break
            if learner.seq < pending:
                if learner.unkept >= WORTH_A_SNAPSHOT:
                    rows.append(learner.snapshot())
                self._remove(learner)
        return rows

    def trim_changes(self, ranking: LiveRanking) -> None:
        """If a ranking keeps many changes of its items, apply them to all its learners and drop them."""
        if len(ranking.changes) < MOST_CHANGES:
            return
        for learner in self.of_ranking(ranking):
            self._apply_changes(learner)
        ranking.drop_changes()

    def _add(self, learner: LoadedLearner) -> None:
        self._loaded[learner.ranking.id, learner.segment] = learner
        self._by_id[learner.id] = learner
        self._bytes += learner.room

    def _remove(self, learner: LoadedLearner) -> None:
        del self._loaded[learner.ranking.id, learner.segment]
        del self._by_id[learner.id]
        self._bytes -= learner.room

    def _apply_changes(self, learner: LoadedLearner) -> None:
        if learner.is_behind:
            before = learner.room
            try:
                learner.apply_changes()
            except BaseException:  # it may be half changed: it is loaded again when it is next used
                self._remove(learner)
                raise
            self._bytes += learner.room - before


class _ReadIsOver(Exception):
    """An event is needed that the read, which is over, did not bring."""


class _LearnerLoad:
    """Reads a learner and replays its events: those in the log, then those that wait for their commit."""

    def __init__(self, ranking: LiveRanking, row: LearnerRow, commits: GroupCommit) -> None:
        self._row = row
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

    def __call__(self, reader: LogReader) -> Replay:
        """Read and replay."""
        with reader.snapshot_reads():  # a commit may replace events by a snapshot
            return self._replay(reader)

    def _replay(self, reader: LogReader) -> Replay:
        settings, row = self._settings, self._row
        kept = self._latest_snapshot(reader)
        start = settings.first_event(row.id) if kept is None else kept.seq
        pending = [event for event in self._events if event.seq > start and self.concerns(event)]
        changes = list(self._committed(reader.item_events(row.ranking, start)))

        def fetch(seq: int) -> EventRow | None:
            if seq >= self._first_pending:
                return next((event for event in self._events if event.seq == seq), None)
            if self.is_over:
                raise _ReadIsOver
            return reader.event(seq)

        if kept is not None:
            replay = replay_from_snapshot(settings, row, kept, fetch)
        elif changes or any(event.kind == ITEMS for event in pending):
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
