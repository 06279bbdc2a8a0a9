"""The ranker of a new learner: with the current items and what other segments know, made at once or in parts."""

from __future__ import annotations

import asyncio

from toplist.ranker import LoggedRanker
from toplist.service.live.ranking import LiveRanking
from toplist.service.log.pools import KnownPool
from toplist.service.log.replay import new_ranker

AT_ONCE = 1 << 20  # bytes of a learner that is made without a pause


def first_ranker(ranking: LiveRanking, segment: str | None) -> LoggedRanker:
    """The ranker of a learner that would be created now."""
    return new_ranker(ranking.settings, segment, ranking.items, first_pool(ranking, segment))


def first_pool(ranking: LiveRanking, segment: str | None) -> KnownPool | None:
    """The pool that a new learner begins with: that of everybody's lists begins without one."""
    pool = ranking.pool
    if segment is None or pool is None or ranking.spec.pool != "prior" or pool.seq <= ranking.settings.floor:
        return None
    return pool


class BegunRanker:
    """The ranker of a new learner that is large, made in parts: others are served in between."""

    def __init__(self, ranking: LiveRanking, segment: str | None) -> None:
        self._made_for = ranking.settings, ranking.change_count, first_pool(ranking, segment)
        self.ranker = first_ranker(ranking, segment)

    async def finish(self) -> None:
        """Make the rest of what its first list needs."""
        await asyncio.sleep(0)
        self.ranker.warm_up()
        await asyncio.sleep(0)

    def fits(self, ranking: LiveRanking, segment: str | None) -> bool:
        """Whether a ranker that is made now would be the same."""
        settings, changes, pool = self._made_for
        return settings is ranking.settings and changes == ranking.change_count and pool is first_pool(ranking, segment)
