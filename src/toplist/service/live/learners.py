"""Learners by ranking and segment: recently used ones are in memory, others are loaded from the store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from time import perf_counter

from toplist.ranker import LoggedRanker
from toplist.service.errors import Conflict, StoreUnavailable, loaded_again, log_moved
from toplist.service.live.large_snapshots import LARGE, LargeSnapshots
from toplist.service.live.learner_load import LearnerLoad, ReadIsOver
from toplist.service.live.new_learner import BegunRanker, first_pool, first_ranker
from toplist.service.live.quarantine import Contained, QuarantinedLearners
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.work_memory import TIMES_LEARNER, WorkMemory
from toplist.service.log.events import LearnerEvent, encode
from toplist.service.log.machines import Machines, this_machine, with_machines
from toplist.service.log.replay import SkippedList, change_items
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.protocol import Store
from toplist.service.store.row_kinds import LEARNER, EventRow, LearnerRow, Row, SnapshotRow

SNAPSHOT_EVERY = 1000  # events of a learner; more if a snapshot is large
WORTH_A_SNAPSHOT = 64  # events; fewer are replayed faster than a snapshot is written
FEW_CHANGES = 4  # of the items, parts of a hundred each, which a learner applies at once
SLICE = 0.0005  # seconds of applying more of them, before others are served
REST = 2.0  # times as long: a request takes several turns of the event loop, and would wait in each
TRIES_IN_THREAD = 2  # events that come meanwhile may need another read; then the event loop waits
MEASURED_EVERY = 64  # events of a learner; it grows with its open lists
REMEMBERED_DELETIONS = 10_000  # of learners of which nothing is left; reads in progress may bring them once more
MOST_CHANGES = 1000  # of a ranking's items, kept in memory until all learners have applied them
MOST_CHANGE_BYTES = 32 << 20  # of the changes of all rankings


class LoadedLearner:
    """A learner in memory."""

    __slots__ = (
        "_has_part", "applied_changes", "events", "id", "machines", "ranker", "ranking", "room", "segment", "seq",
        "unkept",
    )  # fmt: skip

    def __init__(
        self, id: int, ranking: LiveRanking, segment: str | None, ranker: LoggedRanker, seq: int, unkept: int
    ) -> None:
        self.id, self.ranking, self.segment, self.ranker = id, ranking, segment, ranker
        self.machines: Machines | None = frozenset([this_machine()])  # on which its belief was computed
        self.seq = seq  # of the last event it has seen
        self.applied_changes = ranking.change_count
        self.unkept = unkept  # events since its latest snapshot
        self.events = 0  # since it is in memory
        self._has_part = False  # whether it has applied a part of an event, and not the rest
        self.room = ranker.room

    @property
    def changes_behind(self) -> int:
        """Number of changes of the items, or parts of them, that it has not applied."""
        return self.ranking.change_count - self.applied_changes

    @property
    def is_far_behind(self) -> bool:
        """Whether it has so many changes of the items to apply that the event loop would be held up."""
        return self.ranking.change_count - self.applied_changes > FEW_CHANGES

    def apply_changes(self, seconds: float = float("inf")) -> None:
        """Apply the changes of the items since it was last used, in their order, as many as there is time for."""
        until = perf_counter() + seconds
        for change in self.ranking.changes_after(self.applied_changes):
            change_items(self.ranker, change.event)
            self.applied_changes += 1
            self._has_part = not change.is_last
            if change.is_last:
                self.seq = change.seq
                self.unkept += 1
            if perf_counter() > until:
                break
        self.room = self.ranker.room

    def count_event(self, seq: int) -> None:
        """Count one more event that it has seen."""
        self.seq = seq
        self.unkept += 1
        self.events += 1

    def is_committed(self, refused_from: int) -> bool:
        """Whether it has seen whole events alone, all of them before the first one that was refused."""
        return self.seq < refused_from and not self._has_part

    @property
    def may_have_grown(self) -> bool:
        """Whether to measure it again: after its first list, and after every few events."""
        return self.events % MEASURED_EVERY == 1

    def snapshot(self, base: bool = False) -> SnapshotRow:
        """Its belief as a row."""
        if base:  # a rebuild begins with it
            self.machines = frozenset([this_machine()])
        return self.empty_snapshot(base)._replace(body=with_machines(self.ranker.to_bytes(), self.machines))

    def empty_snapshot(self, base: bool = False) -> SnapshotRow:
        """The row of its belief as it is now, without the belief, which the caller adds."""
        self.unkept = 0
        return SnapshotRow(self.id, base, self.seq, self.ranking.settings.policy_seq, b"")

    @property
    def is_worth_a_snapshot(self) -> bool:
        """Whether to write a snapshot before it leaves the memory; one with a part of an event fits no event."""
        return self.unkept >= WORTH_A_SNAPSHOT and not self._has_part

    @property
    def needs_snapshot(self) -> bool:
        """Whether replaying its events again would take long."""
        return self.unkept >= SNAPSHOT_EVERY and self.unkept >= self.room // 4000


class Learners:
    """Learners by ranking and segment; those in memory take `most_bytes` at most, or there is only one."""

    def __init__(
        self, store: Store, commits: GroupCommit, most_bytes: int, work: WorkMemory, quarantine: QuarantinedLearners
    ) -> None:
        self._store, self._commits, self._work, self._quarantine = store, commits, work, quarantine
        self.large_snapshots = LargeSnapshots(work, self._write_soon)
        self.most_bytes = most_bytes
        self._loaded: dict[tuple[int, str | None], LoadedLearner] = {}  # the most recently used is last
        self._by_id: dict[int, LoadedLearner] = {}
        self._bytes = 0
        self.is_dropped = False  # with the state: they may have events that were never committed, and write nothing
        self.is_moved = False  # dropped since another server wrote to the log
        self._catching_up = asyncio.Lock()  # one learner at a time
        self.deleted: set[int] = set()  # ids of learners whose segments were deleted
        self._purged: deque[int] = deque()  # those of them of which nothing is left, in that order

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
        if learner is not None and learner.applied_changes != learner.ranking.change_count:
            self._apply_changes(learner)
        return learner

    def is_loaded(self, id: int) -> bool:
        """Whether a learner is in memory."""
        return id in self._by_id

    def has(self, ranking: LiveRanking, segment: str | None) -> bool:
        """Whether the learner of a segment is in memory."""
        return (ranking.id, segment) in self._loaded

    def find(self, ranking: LiveRanking, segment: str | None) -> LoadedLearner | None:
        """The learner of a segment if it is in memory, perhaps without the latest changes of its items."""
        return self._loaded.get((ranking.id, segment))

    def far_behind(self, id: int) -> LoadedLearner | None:
        """A learner if it is in memory and should catch up before it is used."""
        learner = self._by_id.get(id)
        return learner if learner is not None and learner.is_far_behind else None

    async def catch_up(self, learner: LoadedLearner, left: int = FEW_CHANGES) -> None:
        """Apply the changes of the items that a learner has missed, while others are served.

        So many of the last are left to `get` and `by_id`. A learner that fails is no longer in memory.
        """
        async with self._catching_up:
            with suppress(Contained):
                while learner.changes_behind > left and self._by_id.get(learner.id) is learner:
                    self._apply_changes(learner, SLICE)
                    await asyncio.sleep(REST * SLICE)

    def get(self, ranking: LiveRanking, segment: str | None) -> LoadedLearner | None:
        """The learner of a segment if it is in memory; marks it as the most recently used."""
        learner = self._loaded.pop((ranking.id, segment), None)
        if learner is not None:
            self._loaded[ranking.id, segment] = learner
            if learner.applied_changes != ranking.change_count:
                self._apply_changes(learner)
        return learner

    async def load(self, ranking: LiveRanking, segment: str | None, reserved: bool = False) -> LoadedLearner | None:
        """The learner of a segment, from memory or from the store; None if there is none yet.

        `reserved` if the caller holds the memory for it.
        """
        if (known := self.find(ranking, segment)) is not None and known.is_far_behind:
            await self.catch_up(known)
        learner = self.get(ranking, segment)
        if learner is not None:
            return learner
        if reserved:
            return await self._load(ranking, segment)
        async with self._work.reserve(TIMES_LEARNER * ranking.learner_size, urgent=True):
            return await self._load(ranking, segment)

    async def _load(self, ranking: LiveRanking, segment: str | None) -> LoadedLearner | None:
        tries = 0
        while (learner := self.get(ranking, segment)) is None:
            tries += 1
            row = await self.find_row(ranking, segment)
            if row is None or ranking.is_deleted:
                return None
            await self.make_room(ranking.learner_size)
            self._check_kept()
            if self.has(ranking, segment):  # another request loaded it meanwhile
                continue
            settings = ranking.settings
            if (reason := self._quarantine.reason(row.id, settings.policy_seq)) is not None:
                raise _cannot_serve(ranking, reason)
            load = LearnerLoad(ranking, row, self._commits, leaves_long=tries <= TRIES_IN_THREAD)
            try:
                with self._commits.watch_events() as arrived:
                    replay = await self._store.read(load)
                    if replay is None:
                        replay = await asyncio.to_thread(load.in_thread, self._store)
                    load.is_over = True
                    await load.replay_arrived(replay, arrived, SLICE, REST * SLICE)
                self._check_kept()
                if ranking.is_deleted:
                    return None
                if ranking.settings is not settings or self.has(ranking, segment) or row.id in self.deleted:
                    continue
            except ReadIsOver:
                continue
            except (StoreUnavailable, MemoryError):
                raise
            except Exception as problem:
                if ranking.settings is not settings:
                    continue
                self._check_kept()
                reason = self._quarantine.add(ranking.id, row.id, settings.policy_seq, problem)
                raise _cannot_serve(ranking, reason) from problem
            loaded = LoadedLearner(row.id, ranking, segment, replay.ranker, replay.seq, replay.events)
            loaded.machines = replay.machines
            self._add(loaded)
            if replay.skipped:
                self._skip_lists(loaded, replay.skipped)
            if rows := self.evict():  # others came while this one was read, and took its room
                self._write_soon(rows)
        return learner

    def _skip_lists(self, learner: LoadedLearner, skipped: list[SkippedList]) -> None:
        """Note that lists could not be learned; rebuilds begin after them, and they are not tried again."""
        events = self._quarantine.skip_lists(skipped)
        learner.seq = events[-1].seq
        self._write_soon([*events, learner.snapshot(base=True)])

    def _write_soon(self, rows: list[Row]) -> None:
        """Write rows without waiting; a commit that fails drops the whole state."""
        self._commits.write(rows).add_done_callback(lambda done: done.cancelled() or done.exception())

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

    def new_ranker(self, ranking: LiveRanking, segment: str | None) -> LoggedRanker:
        """The ranker of a learner that would be created now."""
        return first_ranker(ranking, segment)

    def create(
        self, ranking: LiveRanking, segment: str | None, seq: int, now: int, begun: BegunRanker | None = None
    ) -> tuple[LoadedLearner, list[Row]]:
        """Create a learner with the current items, or take the one that was begun; returns it and its rows."""
        if begun is None or not begun.fits(ranking, segment):
            ranker = self.new_ranker(ranking, segment)
        else:
            ranker = begun.ranker
        learner = LoadedLearner(seq, ranking, segment, ranker, seq, 1)
        ranking.has_learner = True
        ranking.segments += segment is not None
        self._add(learner)
        pool = first_pool(ranking, segment)
        created = LearnerEvent(segment, 0 if pool is None else pool.seq)
        event = EventRow(seq, now, ranking.id, seq, LEARNER, None, encode(created))
        return learner, [event, LearnerRow(seq, ranking.id, segment)]

    def discard(self, learner: LoadedLearner) -> None:
        """Remove a learner that may be half changed from memory; it is loaded again when it is next used."""
        if self._by_id.get(learner.id) is learner:
            self._remove(learner)

    def keep(self, learner: LoadedLearner, ranking: LiveRanking) -> None:
        """Take a learner over from a former state of the same ranking."""
        if learner.id not in self.deleted:
            learner.ranking = ranking
            self._add(learner)

    def undo_create(self, learner: LoadedLearner, had_learner: bool) -> None:
        """Undo `create`; `had_learner` is the former `has_learner` of the ranking."""
        self._remove(learner)
        learner.ranking.has_learner = had_learner
        learner.ranking.segments -= learner.segment is not None

    def remove(self, ranking: LiveRanking) -> None:
        """Remove the learners of a ranking from memory."""
        for learner in self.of_ranking(ranking):
            self._remove(learner)

    def delete(self, id: int) -> None:
        """Delete a learner; a new one takes its place with the next list of its segment."""
        self.deleted.add(id)
        if (learner := self._by_id.get(id)) is not None:
            self._remove(learner)

    def forget_deleted(self, id: int) -> None:
        """Forget a deleted learner of which nothing is left, once nobody can have read of it before."""
        self._purged.append(id)
        if len(self._purged) > REMEMBERED_DELETIONS:
            self.deleted.discard(self._purged.popleft())

    def size(self, ranking: LiveRanking, segment: str | None) -> int:
        """Bytes of the learner of a segment: measured if it is in memory, else foretold."""
        learner = self._loaded.get((ranking.id, segment))
        return max(ranking.learner_size, 0 if learner is None else learner.room)

    def has_room(self, size: int) -> bool:
        """Whether one more learner of so many bytes finds room; the first one always does."""
        return self._bytes + size <= self.most_bytes or not self._loaded

    async def make_room(self, size: int) -> None:
        """Drop learners until one more of so many bytes finds room; waits for the commits of those in use."""
        while not self.has_room(size):
            self._check_kept()
            rows = self.evict(size)
            if not rows and self.has_room(size):
                return
            await self._commits.write(rows)
            await asyncio.sleep(0)  # without anything to commit, others are served nevertheless

    def _check_kept(self) -> None:
        """Refuse to go on if the state was dropped during a read."""
        if self.is_dropped:
            raise log_moved() if self.is_moved else loaded_again()

    def evict(self, size: int = 0) -> list[Row]:
        """If memory is short, drop learners without uncommitted events; returns the snapshots to write.

        There is then room for one more learner of `size` bytes; without a size, the last one stays in any case.
        """
        too_many = self._bytes + size - self.most_bytes
        if too_many <= 0 or self.is_dropped:
            return []
        pending = self._commits.first_pending_seq()
        dropped: list[LoadedLearner] = []
        for learner in self._loaded.values():
            if too_many <= 0 or (not size and len(dropped) == len(self._loaded) - 1):
                break
            if learner.seq < pending:
                dropped.append(learner)
                too_many -= learner.room
        rows: list[Row] = []
        for learner in dropped:
            if learner.is_worth_a_snapshot:
                rows += self.snapshot_rows(learner, is_leaving=True)
            self._remove(learner)
        return rows

    def snapshot_rows(self, learner: LoadedLearner, is_leaving: bool = False) -> list[Row]:
        """The row of a learner's snapshot.

        That of a large one is written later, once it is compressed. While another one is, or memory is short, there is
        none: a learner that stays gets it after one of its next events, and one that leaves replays more events.
        """
        if learner.room < LARGE:
            return [learner.snapshot()]
        if self.large_snapshots.has_room(learner.room):
            row, ranking = learner.empty_snapshot(), learner.ranking
            packed = learner.ranker.to_bytes if is_leaving else learner.ranker.state().packed
            machines = learner.machines

            def is_wanted() -> bool:
                if self.is_dropped or ranking.is_deleted or row.learner in self.deleted:
                    return False
                return ranking.settings.policy_seq == row.policy_seq

            self.large_snapshots.keep(row, learner.room, lambda: with_machines(packed(), machines), is_wanted)
        return []

    def measure(self, learner: LoadedLearner) -> None:
        """Measure the memory of a learner again."""
        self._bytes -= learner.room
        learner.room = learner.ranker.room
        self._bytes += learner.room

    def must_trim(self, ranking: LiveRanking, change_bytes: int) -> bool:
        """Whether changes of a ranking's items are many, or those of all rankings large: `trim_changes` comes first."""
        return len(ranking.changes) >= MOST_CHANGES or (bool(ranking.changes) and change_bytes > MOST_CHANGE_BYTES)

    async def trim_changes(self, ranking: LiveRanking) -> None:
        """Let a ranking's learners apply the changes of its items, while others are served, and drop them."""
        for learner in self.of_ranking(ranking):
            await self.catch_up(learner, left=0)
        ranking.drop_changes(min((learner.applied_changes for learner in self.of_ranking(ranking)), default=None))

    def _add(self, learner: LoadedLearner) -> None:
        self._loaded[learner.ranking.id, learner.segment] = learner
        self._by_id[learner.id] = learner
        self._bytes += learner.room

    def _remove(self, learner: LoadedLearner) -> None:
        del self._loaded[learner.ranking.id, learner.segment]
        del self._by_id[learner.id]
        self._bytes -= learner.room

    def _apply_changes(self, learner: LoadedLearner, seconds: float = float("inf")) -> None:
        before = learner.room
        try:
            learner.apply_changes(seconds)
        except Exception as problem:  # it may be half changed: it is loaded again when it is next used
            self._remove(learner)
            raise Contained(f"A learner of the ranking {learner.ranking.name!r} failed.") from problem
        self._bytes += learner.room - before


def _cannot_serve(ranking: LiveRanking, reason: str) -> Conflict:
    return Conflict(
        f"This segment of the ranking {ranking.name!r} cannot serve: {reason} Check the store; a change of the policy "
        f"makes new learners."
    )
