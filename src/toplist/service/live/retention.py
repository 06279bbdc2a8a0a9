"""Deletes what is no longer kept: old events of rankings with a retention, and all rows of deleted rankings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import monotonic

from toplist.service.errors import Conflict, StoreUnavailable
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import Transactions
from toplist.service.log.events import ForgottenEvent, encode
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import (
    FIRST_TALLY,
    FORGOTTEN,
    DeletedLearnerRow,
    DeletedRow,
    DeleteTallies,
    EventRow,
    ForgetImpressions,
    LearnerRow,
    PurgeDone,
    PurgeEvents,
    PurgeLearner,
    PurgeLearnerDone,
    Row,
    WipeLog,
)

LEARNERS_AT_ONCE = 10  # each is loaded and gets a snapshot
LARGE_LEARNER = 1 << 20  # bytes
BATCHES_PER_RANKING = 20  # in one call of `forget_old`
WIPE_AGAIN = 1.0  # seconds between attempts to overwrite what was deleted, which also gathers deletions
PURGED_AT_ONCE = 1000  # seqs of the log, and items


class Retention:
    """Deletes what is no longer kept."""

    def __init__(self, transactions: Transactions, compiler: PolicyCompiler) -> None:
        self._transactions, self._compiler = transactions, compiler
        self._wipe_at = 0.0
        self.next_learner: dict[int, int] = {}  # per ranking, the learner after which forgetting goes on

    async def forget_old(self, now: int | None = None) -> int:
        """Delete impressions older than their ranking's retention, a few learners at a time; returns their number.

        A snapshot of a learner is kept before the events go that it was learned from.
        """
        read = self._transactions.clock()
        if not self._transactions.clock.is_believed:
            return 0
        now = read if now is None else now
        total = 0
        trouble: Exception | None = None
        rankings = (await self._transactions.state()).rankings
        self.next_learner = {ranking.id: self.next_learner.get(ranking.id, 0) for ranking in rankings.values()}
        for ranking in list(rankings.values()):
            if ranking.spec.retention is None:
                continue
            try:
                await self._compiler.wait_for(ranking.settings)
            except StoreUnavailable:
                raise
            except Exception as problem:  # of one ranking: raised after the others had their turn
                trouble = problem
                continue
            for _ in range(BATCHES_PER_RANKING):
                impressions = await self._forget_batch(ranking, now)
                if impressions is None:
                    break
                total += impressions
                await asyncio.sleep(0)  # requests are served even if nothing was written
                if not self.next_learner[ranking.id]:
                    break
        if trouble is not None:
            raise trouble
        return total

    async def _forget_batch(self, ranking: LiveRanking, now: int) -> int | None:
        """Forget the old impressions of a few learners; None if the ranking must not be touched now."""
        state = await self._transactions.state()
        after = self.next_learner.get(ranking.id, 0)
        retention = ranking.spec.retention
        if retention is None or not _may_forget(state, ranking):
            return None

        def read(reader: LogReader) -> tuple[int, list[tuple[LearnerRow, int]]]:
            until = reader.seq_before(now - round(retention * 1000))
            rows = reader.learners(ranking.id, after, LEARNERS_AT_ONCE)
            return until, [(row, reader.closed_impressions(row.id, until)) for row in rows]

        until, counted = await state.store.read(read)
        impressions = 0
        forgotten: set[int] = set()
        written: Awaitable[None] | None = None
        try:
            for row, count in counted:
                try:
                    if not count or await state.learners.load(ranking, row.segment) is None:
                        continue
                except Conflict:  # it cannot be loaded, so no snapshot can stand for its events: they are kept
                    continue
                may_forget = _may_forget(state, ranking) and ranking.spec.retention == retention
                if not may_forget or not self._transactions.is_current(state):
                    return None
                with self._transactions.change():  # at once: loading the next learner may evict this one
                    rows = forget_rows(state, ranking, row, count, until, now)
                forgotten.add(row.id)
                written = self._transactions.commit(rows)
                impressions += count
                if ranking.learner_size > LARGE_LEARNER:
                    await written  # else several large snapshots would wait for the disk
        finally:
            if forgotten:
                state.forget(forgotten, until)
        if written is not None:
            await written  # and with it all before
        self.next_learner[ranking.id] = counted[-1][0].id if len(counted) == LEARNERS_AT_ONCE else 0
        return impressions

    async def purge_deleted(self) -> bool:
        """Delete a part of the rows of a deleted ranking, or of an earlier measuring; returns whether there was any.

        The store keeps the progress, so that purging goes on after a restart.
        """
        state = await self._transactions.state()
        if not state.has_deleted and not state.store.keeps_deleted:
            return await self._purge_sums(state)
        state.has_deleted = False  # a deletion during the reads changes it
        try:
            await self._transactions.commit([])  # deletions on their way are read, too
            purged = await self._purge_ranking(state) or await self._purge_learner(state)
        except BaseException:
            state.has_deleted = True
            raise
        state.has_deleted |= purged  # there may be more
        return purged or await self._purge_sums(state)

    async def _purge_ranking(self, state: LiveState) -> bool:
        """Delete a part of the rows of a deleted ranking."""
        deleted = await state.store.read(lambda reader: reader.deleted_ranking())
        if not self._transactions.is_current(state):
            return True
        if deleted is None:
            return False
        ranking, seq, last = deleted.row
        until = min(seq + PURGED_AT_ONCE, last - 1)
        rows: list[Row] = [PurgeEvents(ranking, seq, until, PURGED_AT_ONCE), DeletedRow(ranking, until, last)]
        is_done = seq == until and not deleted.has_items
        if is_done:
            rows = [PurgeDone(ranking)]
        if is_done or state.purging != ranking:  # a look at all impressions, which takes a while
            state.purging = ranking
            await state.purge(ranking)
            if not self._transactions.is_current(state):
                return True
        await self._transactions.commit(rows)
        return True

    async def _purge_learner(self, state: LiveState) -> bool:
        """Delete a part of the rows of a deleted learner; when none is left, overwrite all that was deleted."""

        def read(reader: LogReader) -> tuple[DeletedLearnerRow, bool] | None:
            rows = reader.deleted_learners(1)
            if not rows:
                return None
            learner, ranking = rows[0]
            return rows[0], reader.has_events(learner) or reader.has_tallies(ranking, learner)

        found = await state.store.read(read)
        if not self._transactions.is_current(state):
            return True
        rows: list[Row] = []
        if found is not None:
            row, has_rows = found
            purge = PurgeLearner(row.ranking, row.learner, PURGED_AT_ONCE)
            if not has_rows or state.purging != row.learner:
                state.purging = row.learner
                await state.purge_learner(row.learner)
                if not self._transactions.is_current(state):
                    return True
            with self._transactions.change():
                rows = [purge if has_rows else PurgeLearnerDone(row.learner)]
                if not has_rows:
                    state.learners.forget_deleted(row.learner)
        elif state.store.keeps_deleted and monotonic() >= self._wipe_at:
            self._wipe_at = monotonic() + WIPE_AGAIN
            rows = [WipeLog()]
        if rows:
            await self._transactions.commit(rows)
        return found is not None

    async def _purge_sums(self, state: LiveState) -> bool:
        """Look at a part of a ranking's sums, and delete those of earlier measurings among them.

        With a million visitors they are too many for one commit. After a restart, all sums are looked at again.
        """
        if not state.outdated_sums or not self._transactions.is_current(state):
            return False
        id, after = next(iter(state.outdated_sums.items()))
        if after == FIRST_TALLY:
            await self._transactions.commit([])  # lists that were closed before the measuring began
        found = await state.store.read(lambda reader: reader.tally_places(id, after, PURGED_AT_ONCE))
        ranking = state.rankings_by_id.get(id)
        if not self._transactions.is_current(state) or ranking is None or state.outdated_sums.get(id) is not after:
            return True
        measured = ranking.settings.measured
        rows: list[Row] = []
        if any(begun < measured for _, begun in found):
            rows = [DeleteTallies(id, measured, *after, *found[-1][0])]
        if len(found) < PURGED_AT_ONCE:
            del state.outdated_sums[id]
        else:
            state.outdated_sums[id] = found[-1][0]
        if rows:
            await self._transactions.commit(rows)
        return True


def _may_forget(state: LiveState, ranking: LiveRanking) -> bool:
    """A policy in training needs its events until it serves, or it could not be rebuilt."""
    return state.rankings.get(ranking.name) is ranking and not ranking.is_changing_policy


def forget_rows(state: LiveState, ranking: LiveRanking, row: LearnerRow, count: int, until: int, now: int) -> list[Row]:
    """The rows by which a learner in memory forgets impressions closed by events up to `until`, `count` of them."""
    learner = state.learners.get(ranking, row.segment)
    assert learner is not None
    seq = state.next_seq()
    rows: list[Row] = [
        learner.snapshot(base=True),
        ForgetImpressions(ranking.id, row.id, until),
        EventRow(seq, now, ranking.id, row.id, FORGOTTEN, None, encode(ForgottenEvent(until, count))),
    ]
    learner.seq = seq  # keeps it in memory until all of this is committed
    return rows + state.learners.evict()
