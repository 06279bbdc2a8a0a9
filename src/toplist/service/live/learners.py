"""Learners by ranking and key: those in use are in memory, all others in the store, and nobody can tell which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, takewhile

from toplist.core.problem import InvalidInput
from toplist.ranker import LoggedRanker
from toplist.service.errors import Conflict
from toplist.service.live.ranking import RankingState
from toplist.service.log.events import LearnerBody, encode
from toplist.service.log.replay import begin, beginning, change_items, first_event, from_snapshot, in_order, items_at
from toplist.service.store.group_commit import Writer
from toplist.service.store.protocol import (
    ITEMS,
    LEARNER,
    EventRow,
    LearnerRow,
    Row,
    SnapshotRow,
    Store,
)

SNAPSHOT_EVERY = 1000  # events of a learner; more where a snapshot is large
WORTH_A_SNAPSHOT = 64  # events; fewer are faster led through again
REMEMBERED_CHANGES = 1000  # of items, for learners in memory to come along later


class HotLearner:
    """A learner in memory."""

    __slots__ = ("at", "id", "key", "ranker", "ranking", "room", "seq", "unkept")

    def __init__(
        self, id: int, ranking: RankingState, key: str | None, ranker: LoggedRanker, seq: int, unkept: int
    ) -> None:
        self.id, self.ranking, self.key, self.ranker = id, ranking, key, ranker
        self.seq = seq  # the last event that it knows
        self.at = ranking.trimmed + len(ranking.changes)  # how many changes of items it knows, by the ranking's count
        self.unkept = unkept  # events since its latest snapshot
        self.room = ranker.room

    @property
    def is_behind(self) -> bool:
        """Whether items changed since the last time."""
        return self.at != self.ranking.trimmed + len(self.ranking.changes)

    def come_along(self) -> None:
        """Take in how the items changed since the last time."""
        ranking = self.ranking
        for change in ranking.changes[self.at - ranking.trimmed :]:
            change_items(self.ranker, change.body)
            self.seq = change.seq
            self.unkept += 1
        self.at = ranking.trimmed + len(ranking.changes)
        self.room = self.ranker.room

    def snapshot(self, base: bool = False) -> SnapshotRow:
        """What it knows, to be kept."""
        self.unkept = 0
        return SnapshotRow(self.id, base, self.seq, self.ranking.setting.policy, self.ranker.to_bytes())

    @property
    def wants_snapshot(self) -> bool:
        """Whether leading it through its events again would take long."""
        return self.unkept >= max(SNAPSHOT_EVERY, self.room // 4000)


class Learners:
    """All learners; `room` is about how many bytes those in memory may take."""

    def __init__(self, store: Store, writer: Writer, room: int) -> None:
        self._store, self._writer = store, writer
        self._room = room
        self._hot: dict[tuple[int, str | None], HotLearner] = {}  # those used last are last
        self._by_id: dict[int, HotLearner] = {}
        self._taken = 0

    def __len__(self) -> int:
        return len(self._hot)

    def __iter__(self) -> Iterator[HotLearner]:
        return iter(list(self._hot.values()))

    def of(self, ranking: RankingState) -> list[HotLearner]:
        """Those of a ranking that are in memory."""
        return [learner for learner in self._hot.values() if learner.ranking is ranking]

    def hot(self, id: int) -> HotLearner | None:
        """A learner, if it is in memory; it knows all changes of its items."""
        learner = self._by_id.get(id)
        if learner is not None:
            self._come_along(learner)
        return learner

    def find(self, ranking: RankingState, key: str | None) -> HotLearner | None:
        """The learner of a key, out of memory or the store; None where there is none yet."""
        learner = self._hot.pop((ranking.id, key), None)
        if learner is None:
            row = self._begun(ranking, key)
            if row is None:
                return None
            # A commit beside it may take away events that a snapshot stands for from then on.
            try:
                with self._store.reading():
                    learner = self._loaded(ranking, row)
            except InvalidInput as problem:  # nothing has changed, so nobody else must suffer
                raise Conflict(f"The ranking {ranking.name!r} cannot serve: {problem}") from problem
            self._take_in(learner)
        else:
            self._hot[ranking.id, key] = learner
            self._come_along(learner)
        return learner

    def _begun(self, ranking: RankingState, key: str | None) -> LearnerRow | None:
        """The row of a key's learner, committed or not: one that memory let go may not be in the store yet."""
        for row in self._writer.pending_rows():
            if type(row) is LearnerRow and row.key == key and row.ranking == ranking.id:
                return row
        return self._store.learner(ranking.id, key)

    def create(self, ranking: RankingState, key: str | None, seq: int, now: int) -> tuple[HotLearner, list[Row]]:
        """A new learner, with the items of now, and its rows."""
        learner = HotLearner(seq, ranking, key, begin(ranking.setting, key, ranking.items), seq, 1)
        ranking.served = True
        self._take_in(learner)
        event = EventRow(seq, now, ranking.id, seq, LEARNER, None, encode(LearnerBody(key)))
        return learner, [event, LearnerRow(seq, ranking.id, key)]

    def undo(self, learner: HotLearner) -> None:
        """Take back a learner that was just created."""
        self._let_go(learner)
        ranking = learner.ranking
        begun = any(type(row) is LearnerRow and row.ranking == ranking.id for row in self._writer.pending_rows())
        ranking.served = bool(begun or self.of(ranking) or self._store.learners(ranking.id, 0, 1))

    def _take_in(self, learner: HotLearner) -> None:
        self._hot[learner.ranking.id, learner.key] = learner
        self._by_id[learner.id] = learner
        self._taken += learner.room

    def _come_along(self, learner: HotLearner) -> None:
        if learner.is_behind:
            before = learner.room
            learner.come_along()
            self._taken += learner.room - before

    def forget(self, ranking: RankingState) -> None:
        """Drop the learners of a ranking from memory."""
        for learner in self.of(ranking):
            self._let_go(learner)

    def _let_go(self, learner: HotLearner) -> None:
        del self._hot[learner.ranking.id, learner.key]
        del self._by_id[learner.id]
        self._taken -= learner.room

    def evicted(self) -> list[Row]:
        """Make room, where there is too little: the snapshots of those that go, of which nothing is still to commit."""
        if self._taken <= self._room:
            return []
        committed = self._writer.settled_before()
        rows: list[Row] = []
        for learner in self:
            if self._taken <= self._room or len(self._hot) == 1:
                break
            if learner.seq < committed:
                if learner.unkept >= WORTH_A_SNAPSHOT:
                    rows.append(learner.snapshot())
                self._let_go(learner)
        return rows

    def come_along(self, ranking: RankingState) -> None:
        """Let all learners of a ranking take in its changes, once these become many."""
        if len(ranking.changes) < REMEMBERED_CHANGES:
            return
        for learner in self._hot.values():
            if learner.ranking is ranking:
                self._come_along(learner)
        ranking.trimmed += len(ranking.changes)
        ranking.changes.clear()

    # Out of the store -------------------------------------------------------------------------------------------------

    def _loaded(self, ranking: RankingState, row: LearnerRow) -> HotLearner:
        """A learner as it is after all events there are, committed or not."""
        first = self._writer.settled_before()

        def committed(events: Iterable[EventRow]) -> Iterator[EventRow]:
            return takewhile(lambda event: event.seq < first, events)

        def fetch(seq: int) -> EventRow | None:
            waiting = (event for event in self._writer.pending_events() if event.seq == seq)
            return self._store.event(seq) if seq < first else next(waiting, None)

        pending = [
            event
            for event in self._writer.pending_events()
            if event.learner == row.id or (event.ranking == ranking.id and event.kind == ITEMS)
        ]
        setting = ranking.setting
        kept = self._kept(row, setting.policy)
        start = first_event(setting, row.id) if kept is None else kept.seq
        changes = list(committed(self._store.item_events(ranking.id, start)))
        changing = [event for event in pending if event.kind == ITEMS]
        if kept is not None:
            replay = from_snapshot(setting, row, kept, fetch)
        elif changes or any(event.seq > start for event in changing):
            ever = chain(committed(self._store.item_events(ranking.id, 0)), changing)
            replay = beginning(setting, row, items_at(ever, start), fetch)
        else:
            replay = beginning(setting, row, ranking.items, fetch)
        replay.run(in_order(committed(self._store.learner_events(row.id, start)), changes))
        replay.run(event for event in pending if event.seq > start)
        return HotLearner(row.id, ranking, row.key, replay.ranker, replay.seq, replay.events)

    def _kept(self, row: LearnerRow, policy: int) -> SnapshotRow | None:
        """The latest snapshot of a learner, committed or not: a policy is not trained twice while its rows wait."""
        kept = None
        for waiting in self._writer.pending_rows():
            if type(waiting) is SnapshotRow and waiting.learner == row.id and waiting.policy == policy:
                kept = waiting
        return self._store.snapshot(row.id, policy) if kept is None else kept
