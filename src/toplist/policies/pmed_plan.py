"""What PMED computes from its counts: the fit of both factors, and how often each item must be shown at each position.

Click rates are products, so in logarithms both tasks are convex: with v = log theta + log kappa, the divergence
`-p v - (1 - p) log(1 - e^v)` is convex in v, which is linear in the unknown logarithms. Each is solved by Newton's
method, one unknown at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.elementary import exponential, exponential_minus_one, logarithm, logarithm_of_one_plus
from toplist.core.slate import Floats, Ints
from toplist.policies.dual_simplex import (
    Tableau,
    add_constraint,
    begin_program,
    empty_tableau,
    fill_solution,
    solve_program,
)

PRIOR = 0.5  # clicks, and displays without a click, of every item at every position before anything is learned
HIGHEST, LOWEST = -1e-6, -30.0  # of the logarithm of a probability
FIRST_SWEEPS, SWEEPS = 50, 2  # over all values of a fit: of the first one, and of those that go on from the last
WORLD_SWEEPS = 30  # over the unknowns of another world, at most
STILL = 1e-5  # a sweep whose steps are smaller is the last
LONGEST = 0.5  # step
MOST = 1e9  # of all displays that a plan asks for, per log t
ALIKE = 1e-6  # worlds against which no display tells more are not ruled out: it would take millions of displays
ROUNDS = 30  # in which constraints are added
SLACK = 1e-3  # a world that is ruled out but for this share needs no constraint


class Plan(NamedTuple):
    """Working arrays of a fit and of a plan; items stand by descending attraction, as in `order`."""

    order: Ints  # (items,): the best item first
    rate: Floats  # (items * positions,): click rates of the fit
    level: Floats  # (items,): logarithms of attractions in another world
    leading: Floats  # (positions,): logarithm of the click rate of each position in the best list
    cost: Floats  # (items * positions,): regret of a display
    weight: Floats  # what a display tells against another world
    asked: Floats  # the displays of the last solution
    table: Tableau


def empty_plan(items: int, positions: int) -> Plan:
    """Arrays for a number of items and positions."""
    cells = items * positions
    return Plan(
        np.arange(items), np.zeros(cells), np.zeros(items), np.zeros(positions), np.zeros(cells), np.zeros(cells),
        np.zeros(cells), empty_tableau(cells, positions + 2 * items),
    )  # fmt: skip


@helper
def slopes(share: float, level: float) -> tuple[float, float]:
    """First and second derivative of -p v - (1 - p) log(1 - e^v)."""
    odds = 1.0 / exponential_minus_one(-level)
    return (1.0 - share) * odds - share, (1.0 - share) * odds * (1.0 + odds)


@routine
def fit_factors(clicked: Floats, shown: Floats, theta: Floats, kappa: Floats, sweeps: int) -> None:
    """Move attractions and examination probabilities towards the largest likelihood; kappa begins at 1 and descends."""
    items, places = shown.shape
    for _ in range(sweeps):
        for item in range(items):
            level = better_level(clicked[item], shown[item], theta[item], kappa)
            theta[item] = exponential(min(max(level, LOWEST), HIGHEST))
        for place in range(1, places):
            level = better_level(clicked[:, place], shown[:, place], kappa[place], theta)
            kappa[place] = exponential(min(max(level, LOWEST), logarithm(kappa[place - 1])))


@helper
def better_level(clicked: Floats, shown: Floats, factor: float, others: Floats) -> float:
    """The logarithm of a factor after a step of Newton's method, not too long a one; the other factors are fixed."""
    first, second = 0.0, 0.0
    for i in range(len(others)):
        clicks, misses = clicked[i] + PRIOR, shown[i] - clicked[i] + PRIOR
        chance = factor * others[i]
        odds = chance / (1.0 - chance)  # as in `slopes`, without a logarithm and its exponential
        first += misses * odds - clicks
        second += misses * odds * (1.0 + odds)
    return logarithm(factor) + min(max(-first / second, -LONGEST), LONGEST)


@helper
def is_less_attractive(theta: Floats, item: int, other: int) -> bool:
    """Whether an item goes after another."""
    return theta[item] < theta[other] or (theta[item] == theta[other] and item > other)


@routine
def sort_by_attraction(theta: Floats, order: Ints) -> None:
    """Order the items by descending attraction, equal ones by their numbers; quick if almost in order before."""
    for i in range(len(order)):
        item, at = order[i], i
        while at > 0 and is_less_attractive(theta, order[at - 1], item):
            order[at] = order[at - 1]
            at -= 1
        order[at] = item


@routine
def make_plan(plan: Plan, theta: Floats, kappa: Floats, need: Floats) -> None:
    """Fill how often each item must be shown at each position, per log t; if that cannot be found, it stays.

    The least regret that rules out every world with another best list, in which the clicks of this one are the same.
    Displays of the best list cost nothing, so they are left out: what remains of a plan is that an item of the best
    list may stand elsewhere only as often as others stand in its position. Such worlds are found one by one.
    """
    items, places = len(theta), len(kappa)
    sort_by_attraction(theta, plan.order)
    for i in range(items):
        own = theta[plan.order[i]]
        for place in range(places):
            best = theta[plan.order[place]]
            plan.rate[i * places + place] = own * kappa[place]
            plan.cost[i * places + place] = (best - own) * kappa[place] if i != place else 0.0
            plan.leading[place] = logarithm(best * kappa[place])
    begin_program(plan.table, plan.cost, MOST)
    for own in range(places):
        for i in range(items):
            for place in range(places):
                sign = 1.0 if place == own else (-1.0 if i == own else 0.0)
                plan.weight[i * places + place] = sign if i != place else 0.0
        add_constraint(plan.table, plan.weight, 0.0)
    if not solve_program(plan.table):
        return
    fill_solution(plan.table, plan.asked)
    for number in range(ROUNDS):
        before = plan.table.used[0]
        for low in range(1, items):
            if plan.table.used[0] == len(plan.table.value):
                break
            begin_world(plan, theta, low)
            if number > 0:
                approach_world(plan, places, low)
            told, most = weigh_world(plan, places)
            if told < 1.0 - SLACK and most > ALIKE:
                for at in range(len(plan.weight)):
                    plan.weight[at] /= most
                add_constraint(plan.table, plan.weight, 1.0 / most)
        if plan.table.used[0] == before:
            break
        if not solve_program(plan.table):
            return
        fill_solution(plan.table, plan.asked)
    for i in range(items):
        for place in range(places):
            need[plan.order[i], place] = plan.asked[i * places + place] if i != place else 0.0


@helper
def begin_world(plan: Plan, theta: Floats, low: int) -> None:
    """The world in which an item is as good as the one above it in the best list, and all else is as fitted."""
    for i in range(len(theta)):
        plan.level[i] = logarithm(theta[plan.order[i]])
    plan.level[low] = plan.level[equal_item(len(plan.leading), low)]


@helper
def equal_item(places: int, low: int) -> int:
    """The item of the best list that is no better than item `low` in another world."""
    return low - 1 if low < places else places - 1


@routine
def approach_world(plan: Plan, places: int, low: int) -> None:
    """Move to the world of this kind against which the displays tell least.

    The attraction of the best item is known, as position 1 is always examined; where others differ, the examination
    of their positions differs so that the clicks of the best list are the same.
    """
    equal = equal_item(places, low)
    for _ in range(WORLD_SWEEPS):
        largest = 0.0
        for i in range(1, len(plan.level)):
            if i == low:
                continue
            other = low if i == equal else -1
            first, second, low_limit, high_limit = gather(plan, places, i, other, 0.0, 0.0, -LONGEST, LONGEST)
            if other >= 0:
                first, second, low_limit, high_limit = gather(
                    plan, places, other, i, first, second, low_limit, high_limit
                )
            if second > 0.0:
                step = min(max(-first / second, low_limit), high_limit)
                plan.level[i] += step
                if other >= 0:
                    plan.level[other] += step
                largest = max(largest, abs(step))
        if largest < STILL:
            return


@helper
def gather(
    plan: Plan, places: int, i: int, other: int, first: float, second: float, low_limit: float, high_limit: float
) -> tuple[float, float, float, float]:
    """Add the derivatives of an item's attraction, and narrow the limits of a step: rates stay below 1."""
    level = plan.level
    for place in range(places):
        count = plan.asked[i * places + place]
        if count > 0.0 and place not in (i, other):
            now = level[i] + plan.leading[place] - level[place]
            one, two = slopes(plan.rate[i * places + place], now)
            first += count * one
            second += count * two
            high_limit = min(high_limit, -0.9 * now)
    if i < places:
        for item in range(len(level)):
            count = plan.asked[item * places + i]
            if count > 0.0 and item not in (i, other):
                now = level[item] + plan.leading[i] - level[i]
                one, two = slopes(plan.rate[item * places + i], now)
                first -= count * one
                second += count * two
                low_limit = max(low_limit, 0.9 * now)
    return first, second, low_limit, high_limit


@routine
def weigh_world(plan: Plan, places: int) -> tuple[float, float]:
    """Fill what each display tells against a world; what all of the plan tell, and the most that one tells."""
    told, most = 0.0, 0.0
    for i in range(len(plan.level)):
        for place in range(places):
            at = i * places + place
            plan.weight[at] = 0.0
            if i != place:
                share = plan.rate[at]
                level = min(plan.level[i] + plan.leading[place] - plan.level[place], HIGHEST)
                away = share * (logarithm(share) - level)
                away += (1.0 - share) * (logarithm_of_one_plus(-share) - logarithm(-exponential_minus_one(level)))
                plan.weight[at] = max(away, 0.0)
                told += plan.asked[at] * plan.weight[at]
                most = max(most, plan.weight[at])
    return told, most
