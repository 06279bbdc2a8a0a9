"""Pools: what all learners of a ranking know of its items together, from which the learner of a new segment begins.

A pool is an event of the log, and a learner's first event names its pool: so it can be rebuilt. It need not be the
latest knowledge: it is brought up to date when a new segment comes and the log has grown by a quarter.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from toplist.ranker.weights_pool import AnyPool, WeightsPool, empty_pool
from toplist.service.errors import Conflict
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import Transactions
from toplist.service.log.events import encode
from toplist.service.log.pools import KnownPool, decode_pool, pool_event
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import POOL, WHOLE_RANKING, EventRow

GROWTH, FIRST = 1.25, 100  # a pool is outdated once there are so many times as many events, and so many more
MOST_LEARNERS = 1000  # whose knowledge is pooled, the most recently used ones
FEW_LEARNERS = 20  # in memory; if there are fewer, the oldest ones are loaded
AT_ONCE = 5000  # counts of items, or sums of features, that are added without a pause


class SegmentPools:
    """Keeps the pools of rankings up to date."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._turn: asyncio.Lock | None = None  # made in the event loop

    def is_outdated(self, state: LiveState, ranking: LiveRanking) -> bool:
        """Whether a new segment should begin with another pool than the latest."""
        if ranking.spec.pool != "prior" or not ranking.has_learner:
            return False
        pool, checked = ranking.pool, ranking.pool_checked
        if checked is None:
            return True
        stated = ranking.spec.pool_strength
        if pool is not None and stated is not None and pool.strength != stated:
            return True
        return state.last_seq - ranking.id > GROWTH * (checked - ranking.id) + FIRST

    async def update(self, state: LiveState, ranking: LiveRanking) -> None:
        """Log a new pool, if the learners know more than the latest one did; the caller holds memory for a learner."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        async with self._turn:
            if self.is_outdated(state, ranking):
                await self._update(state, ranking)

    async def _update(self, state: LiveState, ranking: LiveRanking) -> None:
        if ranking.pool_checked is None and ranking.pool is None:
            ranking.pool = await state.store.read(lambda reader: _latest(reader, ranking.id))
        checked, settings = state.last_seq, ranking.settings
        pool = await self._sums(state, ranking)
        # Of many features, it takes a while.
        learned = await asyncio.to_thread(pool.strength) if isinstance(pool, WeightsPool) else pool.strength()
        if not self._transactions.is_current(state) or ranking.settings is not settings:
            return  # the caller looks again
        known = ranking.pool if ranking.pool is not None and ranking.pool.seq > settings.floor else None
        if known is not None and known.pool.looks and type(known.pool) is not type(pool):
            known = None  # it is of a policy with features, or without, that came before
        stated = ranking.spec.pool_strength
        is_stated = known is None or stated is None or known.strength == stated
        ranking.pool_checked = checked
        if known is not None and known.pool.looks >= pool.looks:
            if is_stated:
                return
            pool = known.pool  # its strength is stated
        with self._transactions.change():
            seq, now = state.next_seq(), self._transactions.clock()
            event = pool_event(pool, learned if stated is None else stated)
            ranking.pool = KnownPool(seq, event.strength, pool)
            row = EventRow(seq, now, ranking.id, WHOLE_RANKING, POOL, None, encode(event))
        await self._transactions.commit([row])

    async def _sums(self, state: LiveState, ranking: LiveRanking) -> AnyPool:
        """What the learners in memory know, and some others that are loaded for it."""
        pool, added = empty_pool(ranking.can.needs_features), set[int]()
        since = 0
        for segment in await self._segments(state, ranking):
            with suppress(Conflict):  # it is in quarantine
                learner = await state.learners.load(ranking, segment, reserved=True)
                if learner is not None and learner.id not in added:
                    added.add(learner.id)
                    learner.ranker.add_to_pool(pool, is_segment=segment is not None)
                    since += len(learner.ranker) + ranking.settings.joined**2
            if since >= AT_ONCE:
                since = 0
                await asyncio.sleep(0)
        return pool

    async def _segments(self, state: LiveState, ranking: LiveRanking) -> list[str | None]:
        """Segments whose learners are added: those in memory, and the oldest ones if these are few."""
        loaded = [learner.segment for learner in state.learners.of_ranking(ranking)][-MOST_LEARNERS:]
        older: list[str | None] = []
        if len(loaded) < FEW_LEARNERS:
            rows = await state.store.read(lambda reader: reader.learners(ranking.id, 0, FEW_LEARNERS))
            older = [row.segment for row in rows if row.id not in state.learners.deleted]
        return list(dict.fromkeys([None, *loaded, *older]))


def _latest(reader: LogReader, ranking: int) -> KnownPool | None:
    row = reader.latest_pool(ranking)
    return None if row is None else decode_pool(row)
