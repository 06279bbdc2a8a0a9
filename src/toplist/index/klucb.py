"""KL-UCB, exact and lazy: the largest mean that the counts do not rule out, solved only where it can matter.

An item's index changes when the item is observed; otherwise only through the slowly growing budget. The index is
increasing and concave in the budget, so its last exact value bounds it from below and the tangent there from above.
Almost always these bounds alone tell the best items and their order; what they leave open is solved exactly. The
lists are the same as those of solving everything: the index is a pure function of (T, sum, budget), and the bounds
are widened by more than its rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.compiled import helper
from toplist.index.select import gather, select, side_by_side
from toplist.memory.counts import Counts
from toplist.problem import Problem, number
from toplist.slate import Floats, Ints, Request

ROUNDING = 1e-12  # by how much bounds are widened; the solver is good to a hundredth of it
SHARED = 256  # solves remembered for items with equal counts


@helper
def kl_upper(examined: float, clicked: float, budget: float) -> float:
    """The largest q in [p, 1] with T KL(p || q) <= budget, where p = clicked / T; infinity for T = 0.

    A third-order iteration between brackets, from a start that depends on the arguments alone.
    """
    if examined <= 0.0:
        return np.inf
    mean = clicked / examined
    radius = budget / examined
    if mean >= 1.0:
        return 1.0
    if radius <= 0.0:
        return mean
    if mean <= 0.0:
        return -math.expm1(-radius)
    # In terms of d = q - p the terms of KL cancel without loss. Start from its power series, inverted.
    other = 1.0 - mean
    variance = mean * other
    skew = other - mean
    normal = math.sqrt(2.0 * radius / variance)
    fifth = (1.0 - variance * (26.0 - 313.0 * variance)) / 4320.0
    fourth = -skew * (1.0 + 23.0 * variance) / 270.0 + normal * fifth
    third = (1.0 - 13.0 * variance) / 36.0 + normal * fourth
    d = variance * normal * (1.0 + normal * (skew / 3.0 + normal * third))
    low, high = 0.0, min(math.sqrt(0.5 * radius), other)  # Pinsker's inequality
    if normal > 2.5 or d >= 0.9 * high:
        # Far out, start from a bound that is good near 1: leave out of KL what q itself contributes.
        entropy = mean * math.log(mean) + other * math.log(other)
        high = min(high, other - math.exp((entropy - radius) / other))
        d = high
    per_mean, per_other = 1.0 / mean, 1.0 / other
    for _ in range(60):
        rest = other - d
        if rest <= 0.0:
            return 1.0
        q = mean + d
        excess = -mean * math.log1p(d * per_mean) - other * math.log1p(-d * per_other) - radius
        if excess > 0.0:
            high = d
        else:
            low = d
        # Householder's third-order step: the error goes with its fourth power.
        inverse = 1.0 / (q * rest)
        per_q, per_rest = inverse * rest, inverse * q
        per_slope = q * rest / d
        from_q, from_rest = mean * per_q * per_q, other * per_rest * per_rest
        bend = 0.5 * (from_q + from_rest) * per_slope
        twist = (from_rest * per_rest - from_q * per_q) * per_slope / 3.0
        newton = excess * per_slope
        step = newton * (1.0 - bend * newton) / (1.0 - 2.0 * bend * newton + twist * newton * newton)
        following = d - step
        if low < following < high:
            d = following
            if abs(step) <= 1e-3 * min(d, rest):
                break
        elif high - low <= 1e-16 or step == 0.0:
            break
        else:
            d = 0.5 * (low + high)
    return mean + d


@helper
def kl_slope(examined: float, clicked: float, upper: float) -> float:
    """How fast `kl_upper` grows with the budget, at a budget where it is `upper`."""
    mean = clicked / examined
    return upper * (1.0 - upper) / (examined * (upper - mean)) if upper > mean else 0.0


class LazyBounds(NamedTuple):
    """Per item the last exact index and where its tangent starts; and room to work in."""

    examined: Floats  # the counts at the last solve; -1 where there was none
    clicked: Floats
    value: Floats  # the index then
    slope: Floats  # its derivative then
    base: Floats  # where the tangent meets budget 0, widened by the rounding
    latest: Floats  # one element: the largest budget so far
    shared: Floats  # (SHARED, 4): counts, budget and index of recent solves
    room: Floats  # (7, items)
    low: Floats
    high: Floats
    value_of: Floats
    slot_of: Ints
    solves: Ints  # one element: how many exact solves were made, for those who watch the cost


class KLUCB(NamedTuple):
    """The largest q with T KL(mean || q) <= log t + loglog log log t (Garivier and Cappe, COLT 2011).

    log log t is taken as 0 until log t exceeds 1; the papers' `loglog` is 3.
    """

    loglog: float = 3.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        return self._replace(loglog=number("KLUCB's loglog", self.loglog, 0.0, 1e9, "the papers' is 3"))

    def scratch(self, problem: Problem) -> LazyBounds:
        """Nothing solved yet."""
        room = problem.items
        return LazyBounds(
            examined=np.full(room, -1.0),
            clicked=np.zeros(room),
            value=np.zeros(room),
            slope=np.zeros(room),
            base=np.zeros(room),
            latest=np.full(1, -np.inf),
            shared=np.full((SHARED, 4), -1.0),
            room=np.zeros((7, room)),
            low=np.zeros(room),
            high=np.zeros(room),
            value_of=np.zeros(room),
            slot_of=np.zeros(room, dtype=np.int64),
            solves=np.zeros(1, dtype=np.int64),
        )

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def top(self, belief: Counts, cache: LazyBounds, request: Request, chosen: Ints, scores: Floats) -> None:
        """Solve what the bounds leave open, take the best."""
        budget = exploration_budget(belief.clock[0] + 1.0, self.loglog)
        if budget < cache.latest[0]:
            cache.examined[:] = -1.0  # the last values bound from below only while the budget grows
        cache.latest[0] = budget
        contenders = narrow(belief, cache, request.candidates, budget, len(chosen))
        select(cache.value_of, cache.slot_of, contenders, request.labels, request.key, chosen, scores)


@helper
def exploration_budget(t: float, loglog: float) -> float:
    """log t + loglog log log t, where log log t is 0 until log t exceeds 1."""
    log = math.log(t)
    return log + loglog * math.log(log) if log > 1.0 else log


@helper
def narrow(belief: Counts, cache: LazyBounds, candidates: Ints, budget: float, wanted: int) -> int:
    """Fill `slot_of` and `value_of` with all that can be among the best `wanted`, in their true order; their number."""
    count = len(candidates)
    low, high = cache.low, cache.high
    bound(belief, cache, candidates, budget)
    for i in range(count):
        if low[i] == -np.inf:
            solve(belief, cache, candidates[i], budget)
            low[i] = cache.value[candidates[i]]
            high[i] = low[i]
    least = kth_largest(low, count, wanted, cache.value_of)
    found = 0
    for i in range(count):
        if high[i] >= least:
            # Sorted by upper bound while they are few, so that overlaps are between neighbours.
            place = found
            found += 1
            while place > 0 and found <= 4 * wanted and high[cache.slot_of[place - 1]] < high[i]:
                cache.slot_of[place] = cache.slot_of[place - 1]
                place -= 1
            cache.slot_of[place] = i
    lowest_above = np.inf
    for j in range(found):
        i = cache.slot_of[j]
        overlaps = lowest_above <= high[i] or (j + 1 < found and high[cache.slot_of[j + 1]] >= low[i])
        lowest_above = min(lowest_above, low[i])
        if (overlaps or found > 4 * wanted) and low[i] < high[i]:
            solve(belief, cache, candidates[i], budget)
    for j in range(found):
        item = candidates[cache.slot_of[j]]
        cache.slot_of[j] = item
        cache.value_of[j] = cache.value[item]
    return found


@helper
def bound(belief: Counts, cache: LazyBounds, candidates: Ints, budget: float) -> None:
    """Fill `low` and `high` for each candidate; `low` is minus infinity where the counts have changed."""
    if side_by_side(candidates):
        here = slice(candidates[0], candidates[0] + len(candidates))
        tangents(
            belief.examined[here],
            cache.examined[here],
            belief.clicked[here],
            cache.clicked[here],
            cache.value[here],
            cache.slope[here],
            cache.base[here],
            budget,
            cache,
        )
    else:
        room = cache.room
        gather(belief.examined, candidates, room[0])
        gather(cache.examined, candidates, room[1])
        gather(belief.clicked, candidates, room[2])
        gather(cache.clicked, candidates, room[3])
        gather(cache.value, candidates, room[4])
        gather(cache.slope, candidates, room[5])
        gather(cache.base, candidates, room[6])
        here = slice(0, len(candidates))
        tangents(
            room[0][here], room[1][here], room[2][here], room[3][here], room[4][here], room[5][here], room[6][here],
            budget, cache,
        )  # fmt: skip


@helper
def tangents(
    examined: Floats,
    then_examined: Floats,
    clicked: Floats,
    then_clicked: Floats,
    value: Floats,
    slope: Floats,
    base: Floats,
    budget: float,
    cache: LazyBounds,
) -> None:
    """The loop of `bound`, on arrays side by side."""
    low, high = cache.low, cache.high
    for i in range(len(examined)):
        known = (examined[i] == then_examined[i]) & (clicked[i] == then_clicked[i])
        exact = slope[i] == 0.0  # an index that no budget moves
        low[i] = (value[i] if exact else value[i] - ROUNDING) if known else -np.inf
        high[i] = base[i] + slope[i] * budget


@helper
def kth_largest(values: Floats, count: int, wanted: int, room: Floats) -> float:
    """The `wanted`-th largest of the first `count` values; minus infinity where there are fewer."""
    if count < wanted:
        return -np.inf
    filled = 0
    for i in range(count):
        value = values[i]
        if filled == wanted:
            if value <= room[wanted - 1]:
                continue
        else:
            filled += 1
        place = filled - 1
        while place > 0 and room[place - 1] < value:
            room[place] = room[place - 1]
            place -= 1
        room[place] = value
    return float(room[wanted - 1])


@helper
def solve(belief: Counts, cache: LazyBounds, item: int, budget: float) -> None:
    """Bring an item's index, and the tangent to it, up to date; items with equal counts share one solve."""
    examined, clicked = belief.examined[item], belief.clicked[item]
    line = int(examined * 31.0 + clicked * 7.0) % SHARED
    shared = cache.shared
    if shared[line, 0] == examined and shared[line, 1] == clicked and shared[line, 2] == budget:
        value = shared[line, 3]
    else:
        value = kl_upper(examined, clicked, budget)
        cache.solves[0] += 1
        shared[line, 0], shared[line, 1], shared[line, 2], shared[line, 3] = examined, clicked, budget, value
    cache.value[item], cache.examined[item], cache.clicked[item] = value, examined, clicked
    if clicked >= examined:  # never examined, or always clicked: infinity or 1, whatever the budget
        cache.slope[item], cache.base[item] = 0.0, value
        return
    if value - clicked / examined < 1e-7:
        cache.examined[item] = -1.0  # a tangent this steep bounds nothing; solve again next time
    slope = max(kl_slope(examined, clicked, value), 1e-300)  # not 0, which would say exact
    cache.slope[item] = slope
    cache.base[item] = value - slope * budget + ROUNDING
