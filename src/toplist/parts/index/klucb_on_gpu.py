"""KL-UCB as a GPU computes it for few items: almost nothing is remembered, since memory is slower than arithmetic.

The items of the last list are solved exactly. The least of their indices is a level q that all of the best items reach,
and an item reaches it if T KL(mean || q) is at most the budget: two logarithms in single precision instead of a solve.
The few other items that reach it, as far as rounding can tell, are solved too. The index is a pure function of the
counts and the budget, so the lists are those of `KLUCB`.

Runs play in step, one per thread. So loops over all candidates only note the hits, and solves follow each other in
loops of their own: the first solves of all runs go together, then the second ones, and so on.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.gaps import is_listed
from toplist.parts.index.kl_level import Level, level_of, may_reach_level
from toplist.parts.index.kl_solver import kl_budget, kl_upper
from toplist.parts.index.last_list import is_one_of
from toplist.parts.index.select import insert
from toplist.parts.index.ties import wins_tie
from toplist.parts.memory.counts import Counts

RECENT = 16  # counts that others are compared with


class ListCache(NamedTuple):
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

    def scratch(self, problem: Problem) -> ListCache:
        """Any items serve as the last list before the first one."""
        found, same, first = (np.zeros(problem.items, dtype=np.int64) for _ in range(3))
        last, value, solves = np.arange(problem.positions), np.zeros(problem.items), np.zeros(1, dtype=np.int64)
        return ListCache(last, found, same, first, value, solves)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def top(self, belief: Counts, cache: ListCache, request: Request, chosen: Ints, scores: Floats) -> None:
        """Solve the last list and what can be better, and take the best."""
        candidates, labels, key, last = request.candidates, request.labels, request.key, cache.items
        budget, wanted = kl_budget(belief, self.loglog), min(len(chosen), len(candidates))
        unit = belief.unit[0]
        replace_absent(last, candidates, wanted)
        cache.solves[0] += wanted
        for j in range(wanted):
            value = kl_upper(belief.examined[last[j]], belief.clicked[last[j]], budget)
            insert(value, last[j], j + 1, labels, key, chosen, scores)
        found = find_others(belief, cache, candidates, wanted, level_of(scores[wanted - 1], budget, unit))
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
def find_others(belief: Counts, cache: ListCache, candidates: Ints, wanted: int, level: Level) -> int:
    """Fill `found` with candidates outside of the last list whose index can reach a level; their number."""
    found, others = 0, 0
    for i in range(len(candidates)):
        if may_reach_level(belief.examined[candidates[i]], belief.clicked[candidates[i]], level):
            cache.found[found] = candidates[i]
            found += 1
    for j in range(found):
        if not is_one_of(cache.found[j], cache.items, wanted):
            cache.found[others] = cache.found[j]
            others += 1
    return others


@helper
def number_counts(belief: Counts, cache: ListCache, found: int) -> int:
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
def offer(value: float, slot: int, wanted: int, labels: Ints, key: int, chosen: Ints, scores: Floats) -> None:
    """Insert a slot among the best if it goes before the last of them."""
    worst = scores[wanted - 1]
    if value > worst or (value == worst and wins_tie(slot, chosen[wanted - 1], labels, key)):
        insert(value, slot, wanted, labels, key, chosen, scores)
