"""Indices whose exploration budget shrinks with an item's own observations: KL-UCB++ and MOSS.

For a known number of lists the budget of an item depends on its own counts alone, and so does its index: it is computed
when the item is observed, and is not changed by time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk, routine
from toplist.core.problem import Problem, number, refuse
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.gaps import leave_out
from toplist.parts.index.kl_solver import kl_upper
from toplist.parts.index.select import select
from toplist.parts.index.shortlist import NoShortlist, Shortlist, empty_shortlist
from toplist.parts.memory.counts import Counts

DOUBLING = 0.0  # a horizon that doubles with the number of lists


class PerCountCache(NamedTuple):
    """Per item the last index and its counts; and scratch space."""

    examined: Floats
    clicked: Floats  # -1 for none
    value: Floats
    share: Floats  # two elements: lists per item, and the unit of the counts, for which the values hold
    score: Floats
    shortlist: Shortlist | NoShortlist


def per_count_cache(problem: Problem) -> PerCountCache:
    """Nothing is computed yet."""
    items = problem.items
    return PerCountCache(
        examined=np.zeros(items),
        clicked=np.full(items, -1.0),
        value=np.zeros(items),
        share=np.zeros(2),
        score=np.zeros(items),
        shortlist=empty_shortlist(problem),
    )


@helper
def share_of_lists(belief: Counts, steps: float, items: float) -> float:
    """n / L; without a known number of lists, n is the next power of 2 above the number learned."""
    if steps > DOUBLING:
        return steps / items
    n = 2.0
    while n <= belief.clock[0]:
        n *= 2.0
    return n / items


@helper
def moss_budget(share: float, examined: float) -> float:
    """log+(n / (L T))."""
    return max(0.0, math.log(share / examined))


@helper
def plus_plus_budget(share: float, examined: float) -> float:
    """log+(y (1 + log+(y)^2)) with y = n / (L T)."""
    log = math.log(share / examined)
    return log + math.log1p(log * log) if log > 0.0 else 0.0


def horizon(part: str, given: Any, problem: Problem) -> float:
    """The number of lists, or DOUBLING where it is unknown."""
    if isinstance(given, str):
        if given != "theory":
            raise refuse(
                f"{part}'s steps", given, "a number of lists or 'theory'", "'theory' is that of the simulation"
            )
        return DOUBLING if problem.steps is None else float(problem.steps)
    if isinstance(given, float) and given == DOUBLING:  # prepared already
        return DOUBLING
    return number(f"{part}'s steps", given, 1.0, 1e18, "give the number of lists, as 1e6")


@routine
def best_by_count(
    scoring: Any, belief: Counts, cache: PerCountCache, request: Request, share: float, chosen: Ints, scores: Floats
) -> None:
    """Fill the items with the largest index; it is computed anew for those observed since the last list."""
    unit, candidates = belief.unit[0], request.candidates
    if share != cache.share[0] or unit != cache.share[1]:
        cache.share[0], cache.share[1] = share, unit
        for item in range(len(cache.clicked)):
            cache.clicked[item] = -1.0
        cache.shortlist.outdate()
    if unit == 1.0 and cache.shortlist.suits(candidates, len(chosen)):
        cache.shortlist.take_best(scoring, belief, request, share, chosen, scores)
        return
    for i in range(len(candidates)):
        item = candidates[i]
        if belief.examined[item] != cache.examined[item] or belief.clicked[item] != cache.clicked[item]:
            cache.examined[item], cache.clicked[item] = belief.examined[item], belief.clicked[item]
            cache.value[item] = scoring.tangent(belief.examined[item] / unit, belief.clicked[item] / unit, share)[0]
        cache.score[i] = cache.value[item]
    leave_out(request, cache.score, -np.inf)
    select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


@routine
def plus_plus_value(examined: float, clicked: float, share: float) -> float:
    """The KL-UCB++ index."""
    return kl_upper(examined, clicked, plus_plus_budget(share, examined)) if examined > 0.0 else np.inf


@helper
def moss_value(examined: float, clicked: float, share: float) -> float:
    """The MOSS index."""
    return clicked / examined + math.sqrt(moss_budget(share, examined) / examined) if examined > 0.0 else np.inf


@helper
def fill_plus_plus(examined: Floats, clicked: Floats, share: float, values: Floats) -> None:
    """Fill the KL-UCB++ indices."""
    for i in range(len(examined)):
        values[i] = plus_plus_value(examined[i], clicked[i], share)


@helper
def fill_moss(examined: Floats, clicked: Floats, share: float, values: Floats) -> None:
    """Fill the MOSS indices."""
    for i in range(len(examined)):
        values[i] = moss_value(examined[i], clicked[i], share)


fill_plus_plus_in_bulk, fill_moss_in_bulk = in_bulk(fill_plus_plus), in_bulk(fill_moss)


class PerCountIndex(NamedTuple):
    """The fields and methods of both; a class derived from it has the index."""

    steps: Any = "theory"
    items: float = 0.0  # L; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Resolve the number of lists; L is the number of items at the beginning, also where others are added."""
        return self._replace(steps=horizon(type(self).__name__, self.steps, problem), items=float(problem.items))

    def scratch(self, problem: Problem) -> PerCountCache:
        """Nothing is computed yet."""
        return per_count_cache(problem)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def takes_gaps(self) -> bool:
        """Yes: exceptions of a request are left out of its shortlist."""
        return True

    def exact(self, belief: Counts, request: Request) -> Floats:
        """The index of every candidate."""
        unit, items, values = belief.unit[0], request.candidates, np.zeros(len(request.candidates))
        share = share_of_lists(belief, self.steps, self.items)
        self.fill(belief.examined[items] / unit, belief.clicked[items] / unit, share, values)
        return values

    def fill(self, examined: Floats, clicked: Floats, share: float, values: Floats) -> None:
        """Fill the indices of items with these counts."""
        raise NotImplementedError

    def top(self, belief: Counts, cache: PerCountCache, request: Request, chosen: Ints, scores: Floats) -> None:
        """Compute the index of the items observed since the last list, and take the best."""
        share = share_of_lists(belief, self.steps, self.items)
        best_by_count(self, belief, cache, request, share, chosen, scores)


class KLUCBPlusPlus(PerCountIndex):
    """KL-UCB++: the largest q with `T KL(mean || q) <= log+(y (1 + log+(y)^2))`, where y = n / (L T).

    Parameters
    ----------
    steps : float or "theory", default "theory"
        Number of lists n; "theory" is that of the simulation. Where it is unknown, n is the next power of 2 above the
        number of lists learned.
    items : float, default 0.0
        L, the number of items at the beginning; filled by `prepare`.

    Notes
    -----
    Menard and Garivier, A Minimax and Asymptotically Optimal Algorithm for Stochastic Bandits, ALT 2017, for L arms.
    The paper needs a known n; the powers of 2 are ours.
    """

    __slots__ = ()

    def fill(self, examined: Floats, clicked: Floats, share: float, values: Floats) -> None:
        """Solve for every item."""
        fill_plus_plus_in_bulk(examined, clicked, share, values)

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index for n / L = budget, which does not grow."""
        return plus_plus_value(examined, clicked, budget), 0.0


class MOSS(PerCountIndex):
    """MOSS: mean + sqrt(log+(n / (L T)) / T).

    Parameters
    ----------
    steps : float or "theory", default "theory"
        Number of lists n; "theory" is that of the simulation. Where it is unknown, n is the next power of 2 above the
        number of lists learned.
    items : float, default 0.0
        L, the number of items at the beginning; filled by `prepare`.

    Notes
    -----
    Audibert and Bubeck, Minimax Policies for Adversarial and Stochastic Bandits, COLT 2009, for L arms. The paper needs
    a known n; the powers of 2 are ours.
    """

    __slots__ = ()

    def fill(self, examined: Floats, clicked: Floats, share: float, values: Floats) -> None:
        """The formula for every item."""
        fill_moss_in_bulk(examined, clicked, share, values)

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index for n / L = budget, which does not grow."""
        return moss_value(examined, clicked, budget), 0.0
