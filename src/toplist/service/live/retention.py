"""What is kept and for how long: old events go, once what was learned from them is kept in another way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from toplist.service.clock import milliseconds
from toplist.service.errors import Conflict, Refused, StoreUnavailable
from toplist.service.live.ranking import RankingState
from toplist.service.live.state import Memory
from toplist.service.live.transaction import Core
from toplist.service.log.events import Forgotten, encode
from toplist.service.store.protocol import FORGOTTEN, EventRow, Forget, LearnerRow, Purge, Purged, Row

FORGOTTEN_AT_ONCE = 10  # learners, which are loaded and kept
FORGOTTEN_IN_A_ROW = 20  # times that many, for each ranking
PURGED_AT_ONCE = 1000  # events of the log that are looked through, and items


class Keeping(Core):
    """Retention, and copies of everything."""

    def __init__(self, path: Path, clock: Callable[[], int] = milliseconds, *, hot_bytes: int = 512 << 20) -> None:
        super().__init__(path, clock, hot_bytes=hot_bytes)
        self._forgotten_to: dict[int, int] = {}  # per ranking, the learner at which forgetting goes on

    async def retain(self, now: int | None = None) -> int:
        """Forget what is older than rankings want to keep, a few learners at a time; how many impressions these were.

        What a learner knows is kept before the events go that it knows it from.
        """
        now = self._clock() if now is None else now
        total = 0
        trouble: Exception | None = None
        rankings = self._now().rankings
        self._forgotten_to = {ranking.id: self._forgotten_to.get(ranking.id, 0) for ranking in rankings.values()}
        for name, ranking in list(rankings.items()):
            if ranking.spec.retention is None:
                continue
            try:
                await self._warming.ready(ranking.setting)
            except StoreUnavailable:
                raise
            except Exception as problem:  # that of one ranking: it is told once the others had their turn
                trouble = problem
                continue
            for _ in range(FORGOTTEN_IN_A_ROW):
                with self._changing() as memory:
                    # A policy in training has learned from events that must then be there for whoever rebuilds it.
                    if memory.rankings.get(name) is not ranking or ranking.changing or ranking.spec.retention is None:
                        break
                    begin = self._forgotten_to.get(ranking.id, 0)
                    learners = memory.store.learners(ranking.id, begin, FORGOTTEN_AT_ONCE)
                    self._forgotten_to[ranking.id] = learners[-1].id if len(learners) == FORGOTTEN_AT_ONCE else 0
                    rows, impressions = forgotten(memory, ranking, learners, now)
                await self._written(rows)
                await asyncio.sleep(0)  # others have their turn even where there was nothing to write
                total += impressions
                if not self._forgotten_to[ranking.id]:
                    break
        if trouble is not None:
            raise trouble
        return total

    async def purge(self) -> bool:
        """Delete a part of what a deleted ranking left behind; whether there was something.

        The store knows how far it is, so that it goes on after a restart. Others have their turn between two parts.
        """
        with self._changing() as memory:
            left = memory.store.left()
            if left is None:
                return False
            memory.purge(left.ranking)
            until = min(left.seq + PURGED_AT_ONCE, left.last - 1)
            rows: list[Row] = [Purge(left.ranking, left.seq, until, PURGED_AT_ONCE)]
            if left.seq == until and not left.items:
                rows = [Purged(left.ranking)]
        await self._written(rows)
        return True

    async def backup(self, path: Path) -> None:
        """Write all that is committed to a new file, while everything goes on."""
        if path.exists():
            raise Refused(f"There is a file {path} already; name another one, or remove it.")
        store = self._now().store
        await asyncio.to_thread(store.backup, path)

    def states(self) -> dict[tuple[str, str | None], bytes]:
        """What the learners in memory know, to be compared with what the log says they should."""
        memory = self._now()
        states: dict[tuple[str, str | None], bytes] = {}
        for learner in memory.learners:
            current = memory.learners.hot(learner.id)
            assert current is not None
            states[learner.ranking.name, learner.key] = current.ranker.to_bytes()
        return states


def forgotten(memory: Memory, ranking: RankingState, learners: list[LearnerRow], now: int) -> tuple[list[Row], int]:
    """Forget what is older than a ranking wants to keep of some learners: the rows, and how many impressions."""
    assert ranking.spec.retention is not None
    until = memory.store.seq_at(now - round(ranking.spec.retention * 1000))
    rows: list[Row] = []
    impressions = 0
    for row in learners:
        count = memory.store.closed_before(row.id, until)
        try:
            learner = memory.learners.find(ranking, row.key) if count else None
        except Conflict:  # what it knows cannot be kept, so its events must be
            continue
        if learner is None:
            continue
        seq = memory.next_seq()
        rows += (
            learner.snapshot(base=True),
            Forget(ranking.id, row.id, until),
            EventRow(seq, now, ranking.id, row.id, FORGOTTEN, None, encode(Forgotten(until, count))),
        )
        learner.seq = seq  # so it stays in memory until all of this is committed
        memory.forget(row.id, until)
        impressions += count
    rows += memory.learners.evicted()
    return rows, impressions
