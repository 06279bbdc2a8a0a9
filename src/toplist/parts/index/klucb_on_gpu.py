"""KL-UCB as a GPU computes it: almost nothing is remembered, since memory is slower there than arithmetic.

The items of the last list are solved exactly. The least of their indices is a level q that all of the best items reach,
and an item reaches it if T KL(mean || q) is at most the budget: two logarithms in single precision instead of a solve.
The few other items that reach it, as far as rounding can tell, are solved too. The index is a pure function of the
counts and the budget, so the lists are those of `KLUCB`.

Runs play in step, one per thread. So loops over all candidates only note the hits, and solves follow each other in
loops of their own: the first solves of all runs go together, then the second ones, and so on.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.block_ceilings import lower_bound
from toplist.parts.index.gaps import is_listed
from toplist.parts.index.kl_solver import kl_budget, kl_upper
from toplist.parts.index.select import insert
from toplist.parts.index.ties import wins_tie
from toplist.parts.memory.counts import Counts

LOWEST, HIGHEST = 1e-9, 1.0 - 1e-6  # levels that single precision can tell apart from 0 and 1
MOST = 1e30  # counts
ONE, LEAST = np.float32(1.0), np.float32(1e-30)
# In `may_reach`, with e = 2^-24: the argument of a logarithm has a relative error below 4e, the logarithm itself, at
# most 14 where it counts, one below 2e; products and sums add less than 2e of 15. In all, less than 64e of the tries.
PER_TRY = np.float32(1e-5)
SLACK = 1e-4
RECENT = 16  # counts that others are compared with


Level = tuple[float, float, float, float]  # an index, its reciprocal, that of its complement, and the largest T KL


class LastList(NamedTuple):
    """The items of the last list; and scratch space."""

    items: Ints
    found: Ints  # other items that can be among the best
    same: Ints  # the number of the counts of each
    first: Ints  # per number, an item with these counts ...
    value: Floats  # ... and its index
    solves: Ints  # one element: number of exact solves, to monitor the cost


class KLUCBOnGPU(NamedTuple):
    """The index of `KLUCB`, which chooses the same items; it is quicker on a GPU, and slower elsewhere.

    Parameters
    ----------
    loglog : float
        That of the index.
    """

    loglog: float

    def prepare(self, problem: Problem) -> Self:
        """It is made of a prepared index."""
        return self

    def scratch(self, problem: Problem) -> LastList:
        """Any items serve as the last list before the first one."""
        found, same, first = (np.zeros(problem.items, dtype=np.int64) for _ in range(3))
        last, value, solves = np.arange(problem.positions), np.zeros(problem.items), np.zeros(1, dtype=np.int64)
        return LastList(last, found, same, first, value, solves)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def top(self, belief: Counts, cache: LastList, request: Request, chosen: Ints, scores: Floats) -> None:
        """Solve the last list and what can be better, and take the best."""
        candidates, labels, key, last = request.candidates, request.labels, request.key, cache.items
        budget, wanted = kl_budget(belief, self.loglog), min(len(chosen), len(candidates))
        limit = budget / belief.unit[0]
        replace_absent(last, candidates, wanted)
        cache.solves[0] += wanted
        for j in range(wanted):
            value = kl_upper(belief.examined[last[j]], belief.clicked[last[j]], budget)
            insert(value, last[j], j + 1, labels, key, chosen, scores)
        found = find_others(belief, cache, candidates, wanted, limit, scores[wanted - 1])
        distinct = number_counts(belief, cache, found)
        cache.solves[0] += distinct
        for d in range(distinct):
            item = cache.first[d]
            cache.value[d] = kl_upper(belief.examined[item], belief.clicked[item], budget)
        for j in range(found):
            offer(cache.value[cache.same[j]], cache.found[j], wanted, labels, key, chosen, scores)
        for j in range(wanted):
            last[j] = chosen[j]


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
def find_others(belief: Counts, cache: LastList, candidates: Ints, wanted: int, limit: float, least: float) -> int:
    """Fill `found` with candidates outside of the last list whose index can be as large as `least`; their number."""
    level, found, others = level_of(least, limit), 0, 0
    for i in range(len(candidates)):
        if may_reach(belief, candidates[i], level):
            cache.found[found] = candidates[i]
            found += 1
    for j in range(found):
        if not is_one_of(cache.found[j], cache.items, wanted):
            cache.found[others] = cache.found[j]
            others += 1
    return others


@helper
def level_of(least: float, limit: float) -> Level:
    """The level to reach for an index of `least`."""
    level = min(lower_bound(least), HIGHEST)
    if level < LOWEST:
        level, limit = 0.5, np.inf
    return level, 1.0 / level, 1.0 / (1.0 - level), limit + SLACK


@helper
def may_reach(belief: Counts, item: int, level: Level) -> bool:
    """Whether the index of an item can reach a level: rounded, but False only if it cannot."""
    least, per_least, per_rest = np.float32(level[0]), np.float32(level[1]), np.float32(level[2])
    scale, examined, clicked = 1.0 / belief.unit[0], belief.examined[item], belief.clicked[item]
    tries, hits = np.float32(min(scale * examined, MOST)), np.float32(min(scale * clicked, MOST))
    misses = np.float32(min(max(scale * (examined - clicked), 0.0), MOST))
    per_try = ONE / max(tries, LEAST)
    above = hits * math.log(max(hits * per_try * per_least, LEAST))
    below = misses * math.log(max(misses * per_try * per_rest, LEAST))
    return bool((hits >= least * tries) | (not above + below > np.float32(level[3]) + PER_TRY * tries))


@helper
def number_counts(belief: Counts, cache: LastList, found: int) -> int:
    """Number the different counts of the found items, of which many may have equal ones; how many there are.

    Compared with the last few only: equal counts with several numbers do no harm.
    """
    distinct = 0
    for j in range(found):
        item, number = cache.found[j], distinct
        for d in range(max(0, distinct - RECENT), distinct):
            other = cache.first[d]
            if (belief.examined[item] == belief.examined[other]) & (belief.clicked[item] == belief.clicked[other]):
                number = d
        cache.same[j], cache.first[number] = number, item
        distinct = max(distinct, number + 1)
    return distinct


@helper
def is_one_of(item: int, items: Ints, count: int) -> bool:
    """Whether an item is one of the first `count`."""
    same = 0
    for j in range(count):
        same += 1 if items[j] == item else 0
    return same > 0


@helper
def offer(value: float, slot: int, wanted: int, labels: Ints, key: int, chosen: Ints, scores: Floats) -> None:
    """Insert a slot among the best if it goes before the last of them."""
    worst = scores[wanted - 1]
    if value > worst or (value == worst and wins_tie(slot, chosen[wanted - 1], labels, key)):
        insert(value, slot, wanted, labels, key, chosen, scores)
