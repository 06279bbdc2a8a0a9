"""The form of an index over counts for a GPU, for few items: almost nothing is remembered, memory is slower there.

The items of the last list are estimated first. The least of their estimates is a level that all of the best items
reach, and single precision tells which other items can reach it. These few are estimated too. Two items whose estimates
are too close to tell which one is better are computed exactly. The index is a pure function of the counts and the
budget, so the lists are those of the index itself.

Runs play in step, one per thread. So loops over all candidates only note the hits, and estimates follow each other in a
loop of their own: the first ones of all runs go together, then the second ones, and so on.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.gaps import is_listed
from toplist.parts.index.ties import wins_tie
from toplist.parts.memory.counts import Counts

FEW_ON_GPU = 64  # items, at most: as many as a number has bits


class FewCache(NamedTuple):
    """The items of the last list, and behind them others that can be among the best now."""

    pool: Ints
    computed: Ints  # one element: number of pairs that were computed exactly, to monitor the cost


class FewOnGPU(NamedTuple):
    """An index that chooses the same items as another; it is quicker on a GPU, and slower elsewhere.

    Parameters
    ----------
    scoring : HotLevel
        The index, prepared.
    """

    scoring: Any

    def prepare(self, problem: Problem) -> Self:
        """It is made of a prepared index."""
        return self

    def scratch(self, problem: Problem) -> FewCache:
        """Any items serve as the last list before the first one."""
        return FewCache(np.arange(problem.positions + problem.items) % problem.items, np.zeros(1, dtype=np.int64))

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def top(self, belief: Counts, cache: FewCache, request: Request, chosen: Ints, scores: Floats) -> None:
        """Estimate the last list and what can be better, and take the best."""
        scoring, pool, wanted = self.scoring, cache.pool, min(len(chosen), len(request.candidates))
        budget, error = scoring.allowance(belief), 0.0
        replace_absent(pool, request.candidates, wanted)
        begin, end = 0, wanted
        while begin < end:  # the last list, then the others: one loop, since short code is quicker
            for j in range(begin, end):
                item, position = pool[j], min(j, wanted)
                worth, own_error = scoring.estimated(belief.examined[item], belief.clicked[item], budget)
                error = max(error, own_error)
                while position > 0 and goes_before(
                    scoring, belief, cache, budget, 2.0 * error, item, worth, chosen[position - 1],
                    scores[position - 1], request,
                ):  # fmt: skip
                    if position < wanted:
                        chosen[position], scores[position] = chosen[position - 1], scores[position - 1]
                    position -= 1
                if position < wanted:
                    chosen[position], scores[position] = item, worth
            begin = end
            if begin == wanted:
                level = scoring.level_for(belief, budget, scores[wanted - 1] - error)
                end = find_others(scoring, belief, pool, request.candidates, wanted, level)
        for j in range(wanted):
            pool[j] = chosen[j]


@helper
def replace_absent(last: Ints, candidates: Ints, wanted: int) -> None:
    """Take the first candidates in place of the last list if one of its items is no candidate."""
    gaps = candidates[len(candidates) - 1] - candidates[0] + 1 - len(candidates)
    for j in range(wanted):
        if not is_listed(candidates, last[j], gaps):
            for i in range(wanted):
                last[i] = candidates[i]
            return


@helper
def find_others(scoring: Any, belief: Counts, pool: Ints, candidates: Ints, wanted: int, level: Any) -> int:
    """Append candidates outside of the last list whose index can reach a level; the new length of the pool."""
    listed, end = 0, wanted
    for j in range(wanted):
        listed |= 1 << pool[j]
    for i in range(len(candidates)):
        item = candidates[i]
        reaches = scoring.may_reach(belief.examined[item], belief.clicked[item], level)
        if reaches & ((listed >> item) & 1 == 0):
            pool[end] = item
            end += 1
    return end


@helper
def goes_before(
    scoring: Any, belief: Counts, cache: FewCache, budget: float, error: float, item: int, worth: float, rival: int,
    rival_worth: float, request: Request,
) -> bool:  # fmt: skip
    """Whether an item is better than another: by their estimates, or by the indices where errors leave it open."""
    if worth > rival_worth + error or worth < rival_worth - error:
        return bool(worth > rival_worth)
    if belief.examined[item] != belief.examined[rival] or belief.clicked[item] != belief.clicked[rival]:
        cache.computed[0] += 1
        own = scoring.solved(belief.examined[item], belief.clicked[item], budget)
        other = scoring.solved(belief.examined[rival], belief.clicked[rival], budget)
        if own != other:
            return bool(own > other)
    return wins_tie(item, rival, request.labels, request.key)
