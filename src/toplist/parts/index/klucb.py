"""KL-UCB, exact and lazy: the largest mean that the counts do not rule out, solved only where it matters.

An item's index U changes with the slowly growing budget c. With u = U - mean and v = mean (1 - mean),
dU/dc = (v/u + 1 - 2 mean - u) / T. That falls as u grows, so U is concave in c and lies under its tangent; and
(dU/dc)^2 is convex in u, so the second derivative shrinks and U lies over its parabola at the last exact value.
U also changes when the item is observed. Observations without a click, T to T + m, reduce it, but not below T / (T + m)
of its value: thinning both distributions by a = T / (T + m) brings them closer, (T + m) KL(a p || a q) <= T KL(p || q).
After a click it is solved again.

Almost always these bounds alone determine the best items and their order; the rest is solved exactly. The lists are the
same as those of solving everything: the index is a pure function of (T, sum, budget), and the bounds are widened by
more than its rounding.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from toplist.core.beliefs import MANY
from toplist.core.compiling import helper
from toplist.core.problem import Problem, number
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.early_kl import EarlyScratch, choose_early, early_scratch
from toplist.parts.index.few_on_gpu import FEW_ON_GPU, FewOnGPU
from toplist.parts.index.gaps import leave_out
from toplist.parts.index.kl_level import Level, level_of, may_reach_level
from toplist.parts.index.kl_solver import (
    ROUNDING,
    fill_kl_upper_in_bulk,
    kl_bend,
    kl_budget,
    kl_estimate,
    kl_slope,
    kl_tangent,
    kl_upper,
)
from toplist.parts.index.last_list import ByLastList
from toplist.parts.index.select import AnySelection, ShortSelection, gather, is_contiguous, selection_for
from toplist.parts.index.shortlist import NoShortlist, Shortlist, empty_shortlist
from toplist.parts.memory.counts import Counts, place_of_counts

BELOW_ALL = -2.0  # no index is below 0, and no bound below -1
SHARED = 256  # cached solves for items with equal counts, at most; a power of 2


class LazyBounds(NamedTuple):
    """Per item the last exact index and its tangent; and scratch space."""

    examined: Floats  # counts at the last solve
    clicked: Floats  # -1 for none
    per_try: Floats  # 1 / examined at the last solve
    since: Floats  # the budget at the last solve
    value: Floats  # the index at the last solve
    slope: Floats  # its first derivative; 0 for an index that does not depend on the budget
    bend: Floats  # half of its negative second derivative
    latest: Floats  # one element: the budget of the last list
    shared: Floats  # (a power of 2, 7): counts and budget of recent solves, their index, slope and bend, 1 / T
    gathered: Floats  # (9, items)
    low: Floats
    high: Floats
    value_of: Floats
    slot_of: Ints
    unclear: Ints
    solves: Ints  # one element: number of exact solves, to monitor the cost
    selection: ShortSelection | AnySelection
    early: EarlyScratch  # for the first lists of few items
    shortlist: Shortlist | NoShortlist  # for very many items; the fields above then serve small subsets only


class KLUCB(NamedTuple):
    """The KL-UCB index: the largest q with `T KL(mean || q) <= log t + loglog log log t`.

    log log t is taken as 0 until log t exceeds 1.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t; 3 is the papers'.

    Notes
    -----
    Garivier and Cappe, The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond, COLT 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from toplist.core.problem import Problem
    >>> from toplist.core.slate import NONE, Request
    >>> from toplist.parts.memory import Everything
    >>> belief = Everything(prior_mean=0.5, prior_strength=10.0).begin(Problem(items=1, positions=1))
    >>> belief.clock[0] = 100.0
    >>> request = Request(np.arange(1), 1, NONE, NONE, np.zeros((1, 0)), 0, np.arange(1), key=0)
    >>> KLUCB().exact(belief, request).round(6).tolist()
    [0.958607]
    """

    loglog: float = 3.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        return self._replace(loglog=number("KLUCB's loglog", self.loglog, 0.0, 1e9, "the papers' is 3"))

    def scratch(self, problem: Problem) -> LazyBounds:
        """Nothing is solved yet."""
        items = problem.items
        return LazyBounds(
            examined=np.zeros(items),
            clicked=np.full(items, -1.0),
            per_try=np.zeros(items),
            since=np.zeros(items),
            value=np.zeros(items),
            slope=np.zeros(items),
            bend=np.zeros(items),
            latest=np.full(1, -np.inf),
            shared=np.full((min(SHARED, 1 << (items - 1).bit_length()), 7), -1.0),
            gathered=np.zeros((9, items)),
            low=np.zeros(items),
            high=np.zeros(items),
            value_of=np.zeros(items),
            slot_of=np.zeros(items, dtype=np.int64),
            unclear=np.zeros(items, dtype=np.int64),
            solves=np.zeros(1, dtype=np.int64),
            selection=selection_for(problem.positions),
            early=early_scratch(problem),
            shortlist=empty_shortlist(problem),
        )

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def takes_gaps(self) -> bool:
        """Yes: exceptions of a request are left out of its shortlist."""
        return True

    def exact(self, belief: Counts, request: Request) -> Floats:
        """Solved for every candidate."""
        upper = np.zeros(len(request.candidates))
        fill_kl_upper_in_bulk(belief, request.candidates, kl_budget(belief, self.loglog), upper)
        return upper

    def on_gpu(self, problem: Problem) -> KLUCB | FewOnGPU | ByLastList:
        """A form that chooses the same items and is quicker on a GPU, unless there are very many items."""
        if problem.items <= FEW_ON_GPU:
            return FewOnGPU(self)
        return ByLastList(self) if problem.items < MANY else self

    def allowance(self, belief: Counts) -> float:
        """The budget of the next list."""
        return kl_budget(belief, self.loglog)

    def solved(self, examined: float, clicked: float, budget: float) -> float:
        """The index."""
        return kl_upper(examined, clicked, budget)

    def estimated(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """A series where there are enough observations."""
        return kl_estimate(examined, clicked, budget)

    def level_for(self, belief: Counts, budget: float, least: float) -> Level:
        """The level, and the budget in whole observations."""
        return level_of(least, budget, belief.unit[0])

    def may_reach(self, examined: float, clicked: float, level: Level) -> bool:
        """By the divergence of the mean from the level."""
        return may_reach_level(examined, clicked, level)

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index, and its slope."""
        return kl_tangent(examined, clicked, budget)

    def top(self, belief: Counts, cache: LazyBounds, request: Request, chosen: Ints, scores: Floats) -> None:
        """Solve what the bounds leave open, and take the best."""
        budget = kl_budget(belief, self.loglog)
        if cache.shortlist.suits(request.candidates, len(chosen)):
            cache.solves[0] += cache.shortlist.take_best(self, belief, request, budget, chosen, scores)
            return
        if choose_early(belief, cache.early, request, budget, chosen, scores):
            return
        if budget < cache.latest[0]:
            cache.clicked[:] = -1.0  # the bounds hold only while the budget grows
        cache.latest[0] = budget
        contenders = fill_contenders(belief, cache, request, budget, len(chosen))
        cache.selection.select_contenders(
            cache.value_of, cache.slot_of, contenders, request.labels, request.key, chosen, scores
        )


@helper
def fill_contenders(belief: Counts, cache: LazyBounds, request: Request, budget: float, wanted: int) -> int:
    """Fill `slot_of` and `value_of` with all that can be among the best `wanted`, in true order; their number."""
    candidates, low, high = request.candidates, cache.low, cache.high
    count = len(candidates)
    fill_bounds(belief, cache, candidates, budget)
    leave_out(request, low, BELOW_ALL)
    leave_out(request, high, BELOW_ALL)
    # Loops over all candidates only compare; the hits are processed afterwards.
    stale = 0
    for i in range(count):
        if low[i] == -np.inf:
            cache.slot_of[stale] = i
            stale += 1
    for j in range(stale):
        i = cache.slot_of[j]
        solve(belief, cache, candidates[i], budget)
        low[i] = cache.value[candidates[i]]
        high[i] = low[i]
    least = float(cache.selection.kth_largest(low[:count], wanted, cache.value_of))
    found = 0
    for i in range(count):
        if high[i] >= least:
            cache.slot_of[found] = i
            found += 1
    if found > 2 * wanted + 8:
        solve_many(belief, cache, candidates, budget, found)
    else:
        solve_overlapping(belief, cache, candidates, budget, found)
    for j in range(found):
        cache.slot_of[j] = candidates[cache.slot_of[j]]
    return found


@helper
def solve_many(belief: Counts, cache: LazyBounds, candidates: Ints, budget: float, found: int) -> None:
    """Fill the exact values of many contenders; many have equal counts and share a solve."""
    examined, clicked, value = -1.0, -1.0, 0.0
    for j in range(found):
        item = candidates[cache.slot_of[j]]
        if belief.examined[item] != examined or belief.clicked[item] != clicked:
            solve(belief, cache, item, budget)
            examined, clicked, value = belief.examined[item], belief.clicked[item], cache.value[item]
        cache.value_of[j] = value


@helper
def solve_overlapping(belief: Counts, cache: LazyBounds, candidates: Ints, budget: float, found: int) -> None:
    """Fill values of a few contenders in their true order, solving only those whose bounds overlap."""
    low, high = cache.low, cache.high
    for j in range(found):
        cache.value_of[j] = high[cache.slot_of[j]]
    cache.selection.sort_contenders(cache.value_of, cache.slot_of, found)  # so that only neighbours overlap
    lowest_above, unclear = np.inf, 0
    for j in range(found):
        i = cache.slot_of[j]
        overlaps = lowest_above <= high[i] or (j + 1 < found and high[cache.slot_of[j + 1]] >= low[i])
        lowest_above = min(lowest_above, low[i])
        cache.value_of[j] = low[i]  # exact, or enough to order it among all others
        if overlaps and low[i] < high[i]:
            cache.unclear[unclear] = j
            unclear += 1
    # Apart from the loop above: on a GPU, the first solves of all runs go together, then the second ones, and so on.
    for k in range(unclear):
        j = cache.unclear[k]
        item = candidates[cache.slot_of[j]]
        solve(belief, cache, item, budget)
        cache.value_of[j] = cache.value[item]


@helper
def fill_bounds(belief: Counts, cache: LazyBounds, candidates: Ints, budget: float) -> None:
    """Fill `low` and `high` for each candidate; `low` is minus infinity for outdated bounds."""
    count = len(candidates)
    gathered = cache.gathered
    if is_contiguous(candidates):
        here = slice(candidates[0], candidates[0] + count)
        bound_contiguous(
            (belief.examined[here], belief.clicked[here]),
            (cache.examined[here], cache.clicked[here], cache.per_try[here]),
            (cache.since[here], cache.value[here], cache.slope[here], cache.bend[here]),
            budget, cache.low, cache.high,
        )  # fmt: skip
    else:
        here = slice(0, count)
        gather(belief.examined, candidates, gathered[0])
        gather(belief.clicked, candidates, gathered[1])
        gather(cache.examined, candidates, gathered[2])
        gather(cache.clicked, candidates, gathered[3])
        gather(cache.per_try, candidates, gathered[4])
        gather(cache.since, candidates, gathered[5])
        gather(cache.value, candidates, gathered[6])
        gather(cache.slope, candidates, gathered[7])
        gather(cache.bend, candidates, gathered[8])
        bound_contiguous(
            (gathered[0][here], gathered[1][here]),
            (gathered[2][here], gathered[3][here], gathered[4][here]),
            (gathered[5][here], gathered[6][here], gathered[7][here], gathered[8][here]),
            budget, cache.low, cache.high,
        )  # fmt: skip


@helper
def bound_contiguous(
    now: tuple[Floats, Floats],
    then: tuple[Floats, Floats, Floats],
    index: tuple[Floats, Floats, Floats, Floats],
    budget: float,
    low: Floats,
    high: Floats,
) -> None:
    """The loop of `fill_bounds`, vectorised."""
    examined, clicked = now
    then_examined, then_clicked, per_try = then
    since, value, slope, bend = index
    for i in range(len(examined)):
        tries = examined[i] - then_examined[i]
        # No more new tries than old ones: a bound below 0 must not be multiplied by a negative number.
        known = (clicked[i] == then_clicked[i]) & (tries >= 0.0) & (tries <= then_examined[i])
        more = budget - since[i]
        rounding = ROUNDING if slope[i] > 0.0 else 0.0
        top = value[i] + slope[i] * more + rounding
        high[i] = top
        thinned = (top - bend[i] * more * more - 2.0 * rounding) * (1.0 - tries * per_try[i])
        low[i] = thinned if known else -np.inf


@helper
def solve(belief: Counts, cache: LazyBounds, item: int, budget: float) -> None:
    """Update an item's index and bounds; items with equal counts share one solve."""
    examined, clicked = belief.examined[item], belief.clicked[item]
    shared = cache.shared[place_of_counts(examined, clicked, len(cache.shared))]
    if shared[0] != examined or shared[1] != clicked or shared[2] != budget:
        cache.solves[0] += 1
        shared[0], shared[1], shared[2] = examined, clicked, budget
        shared[3] = kl_upper(examined, clicked, budget)
        shared[4], shared[5] = 0.0, 0.0
        if clicked < examined:  # else it is infinity or 1 for any budget
            shared[4] = max(kl_slope(examined, clicked, shared[3]), 1e-300)
            shared[5] = kl_bend(examined, clicked, shared[3])
        shared[6] = 1.0 / examined if examined > 0.0 else 0.0
    cache.value[item], cache.slope[item], cache.bend[item] = shared[3], shared[4], shared[5]
    cache.since[item], cache.examined[item], cache.per_try[item] = budget, examined, shared[6]
    # If the index hardly exceeds the mean, the parabola is too steep to be a bound: solve again next time.
    steep = examined > 0.0 and shared[3] - clicked / examined < 1e-7 and clicked < examined
    cache.clicked[item] = -1.0 if steep else clicked
