"""PMED against SciPy's solvers and a second, plain implementation of its rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from toplist.core.problem import Problem
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Floats, Request, empty_page
from toplist.policies import make
from toplist.policies.dual_simplex import add_constraint, begin_program, empty_tableau, fill_solution, solve_program
from toplist.policies.pmed import find_best_list, next_lists
from toplist.policies.pmed_plan import empty_plan, fit_factors, make_plan

THETA = np.array([0.26, 0.08, 0.5, 0.06, 0.19, 0.12, 0.36])


@pytest.mark.parametrize("seed", range(30))
def test_programs_are_solved_as_by_scipy(seed: int) -> None:
    """Also where a constraint is added to a solved program, and where nothing satisfies all of them."""
    rng = np.random.default_rng(seed)
    columns, rows, most = int(rng.integers(2, 20)), int(rng.integers(1, 12)), 100.0
    cost = rng.normal(0.3, 1.0, columns)
    weight = rng.random((rows, columns)) * (rng.random((rows, columns)) < 0.5)
    weight[0] = rng.choice([-1.0, 0.0, 1.0], columns)
    least = np.append(0.0, np.full(rows - 1, 1.0))
    table, solution = empty_tableau(columns, rows), np.zeros(columns)
    begin_program(table, cost, most)
    for last in range(rows):
        add_constraint(table, weight[last], least[last])
        bounds = np.append(-least[: last + 1], most)
        known = scipy.optimize.linprog(cost, np.vstack([-weight[: last + 1], np.ones(columns)]), bounds)
        assert solve_program(table) == (known.status == 0)
        if known.status != 0:
            return
        fill_solution(table, solution)
        assert cost @ solution == pytest.approx(known.fun, abs=1e-6)
        assert np.all(weight[: last + 1] @ solution >= least[: last + 1] - 1e-5)


def divergence(one: Any, two: Any) -> Any:
    return one * np.log(one / two) + (1 - one) * np.log((1 - one) / (1 - two))


def least_regret(theta: Floats, kappa: Floats) -> float:
    """The program of the plan with SciPy alone: constraints by L-BFGS in logarithms, and a full solution each time."""
    theta = np.sort(theta)[::-1]
    items, places = len(theta), len(kappa)
    rate, cost = np.outer(theta, kappa), (theta[:places] - theta[:, None]) * kappa
    apart = ~np.eye(items, places, dtype=bool)
    columns = np.flatnonzero(apart)
    rows, least = [], []
    for own in range(places):
        row = np.zeros((items, places))
        row[:, own] += 1.0
        row[own] -= 1.0
        rows.append(row.ravel()[columns])
        least.append(0.0)
    shown, found = np.zeros((items, places)), 0.0
    for number in range(60):
        before = len(rows)
        for low in range(1, items):
            equal = low - 1 if low < places else places - 1
            moving = [i for i in range(1, items) if i not in (low, 0 if equal else low)]

            def chances(moved: Floats, low: int = low, equal: int = equal, moving: list[int] = moving) -> Any:
                levels = np.log(theta)
                levels[moving] = moved
                levels[low] = levels[equal]
                return levels[:, None] + np.log(theta[:places] * kappa) - levels[:places]

            def told(moved: Floats, chances: Any = chances, shown: Floats = shown) -> float:
                logs = chances(moved)
                outside = np.maximum(logs + 1e-9, 0.0).sum()
                value = (shown * apart * divergence(rate, np.exp(np.minimum(logs, -1e-9)))).sum()
                return float(value + 1e4 * outside)

            start = np.log(theta)[moving]
            if number > 0:
                start = scipy.optimize.minimize(told, start, method="L-BFGS-B", options={"maxiter": 400}).x
            if told(start) < 1.0 - 1e-3:
                row = divergence(rate, np.exp(np.minimum(chances(start), -1e-6)))
                rows.append(row.ravel()[columns])
                least.append(1.0)
        if len(rows) == before:
            return found
        solved = scipy.optimize.linprog(cost.ravel()[columns], -np.array(rows), -np.array(least))
        assert solved.x is not None
        shown, found = np.zeros((items, places)), float(cost.ravel()[columns] @ solved.x)
        shown.ravel()[columns] = solved.x
    raise AssertionError("no end")


@pytest.mark.parametrize(("items", "places"), [(4, 2), (6, 3), (7, 1), (4, 4)])
def test_the_plan_has_the_least_regret(items: int, places: int) -> None:
    """To 1%, since both stop where every world is ruled out but for 1/1000."""
    theta, kappa = THETA[:items], np.array([1.0 / (1 + place) for place in range(places)])
    need = np.zeros((items, places))
    make_plan(empty_plan(items, places), theta, kappa, need)
    order = np.argsort(-theta)
    regret = ((theta[order[:places]] - theta[:, None]) * kappa * need).sum()
    assert regret == pytest.approx(least_regret(theta, kappa), rel=0.01)
    for place, item in enumerate(order[:places]):  # as often as others stand in its position, at most
        assert need[item].sum() <= need[:, place].sum() + 1e-6


def test_the_fit_has_the_largest_likelihood() -> None:
    rng, places = np.random.default_rng(3), 3
    kappa = np.array([1.0, 0.6, 0.3])
    shown = rng.integers(5, 200, (7, places)).astype(float)
    clicked = rng.binomial(shown.astype(int), np.outer(THETA, kappa)).astype(float)

    def loss(levels: Floats) -> float:
        logs = levels[:7, None] + np.append(0.0, levels[7:])
        tries = shown + 1  # half a click and half a display without one
        share = (clicked + 0.5) / tries
        return float(-(tries * (share * logs + (1 - share) * np.log1p(-np.exp(logs)))).sum())

    known = scipy.optimize.minimize(loss, np.full(9, -1.0), bounds=[(-20, -1e-6)] * 9, method="L-BFGS-B")
    theta, fitted = np.full(7, 0.5), 1.0 / np.arange(1.0, 4.0)
    fit_factors(clicked, shown, theta, fitted, 200)
    assert loss(np.log(np.append(theta, fitted[1:]))) <= known.fun + 1e-6
    assert theta == pytest.approx(np.exp(known.x[:7]), abs=1e-3)
    assert np.all(np.diff(fitted) <= 0.0)


def test_fitted_examination_descends() -> None:
    """Also where the second position has more clicks than the first."""
    shown = np.full((3, 3), 100.0)
    theta, kappa = np.full(3, 0.5), 1.0 / np.arange(1.0, 4.0)
    fit_factors(shown * [0.2, 0.4, 0.1], shown, theta, kappa, 100)
    assert kappa[1] == 1.0 > kappa[2] > 0.2


def paths(plan: dict[tuple[int, int], float], leader: list[int]) -> list[tuple[float, list[int]]]:
    """The plan as lists: paths from outside first, each begun where most is left, then cycles."""
    found: list[tuple[float, list[int]]] = []
    while True:
        outer = {cell: count for cell, count in plan.items() if cell[0] not in leader and count > 0.5}
        cells = outer or {cell: count for cell, count in plan.items() if count > 0.5}
        if not cells:
            return found
        walk = [max(cells, key=lambda cell: (cells[cell], -cell[0], -cell[1]))]
        visited = [leader.index(walk[0][0]) if not outer else -1]  # where the items of the walk come from
        while True:
            visited.append(walk[-1][1])
            moved = leader[walk[-1][1]]
            ahead = {cell: count for cell, count in plan.items() if cell[0] == moved and count > 0.5}
            if not ahead:
                break
            walk.append(max(ahead, key=lambda cell: (ahead[cell], -cell[1])))
            if walk[-1][1] in visited:
                walk = walk[visited.index(walk[-1][1]) :]
                break
        if not outer and leader.index(walk[0][0]) != walk[-1][1]:
            plan[walk[0]] = 0.0
            continue
        count, made = min(plan[cell] for cell in walk), list(leader)
        for item, place in walk:
            plan[item, place] -= count
            made[place] = item
        found.append((count, made))


@pytest.mark.parametrize(("learned", "rare"), [(54, False), (55, True)])
def test_a_display_is_rare_below_alpha_times_the_root_of_log_t(learned: int, rare: bool) -> None:
    """The root of log 55 is the first above 2."""
    problem = Problem(len(THETA), 3)
    policy = make("pmed").prepare(problem)
    belief = policy.begin(problem)
    belief.shown[:], belief.theta[:], belief.clock[:] = 2.0, THETA, learned
    next_lists(belief, policy.alpha, policy.fit_gap, policy.plan_gap)
    assert (belief.waiting[0] > 1) == rare


@pytest.mark.parametrize(("missing", "waits"), [(0.49, False), (0.51, True), (1.2, True)])
def test_half_a_display_of_a_plan_may_be_missing(missing: float, waits: bool) -> None:
    problem = Problem(len(THETA), 3)
    policy = make("pmed(alpha=0)").prepare(problem)
    belief = policy.begin(problem)
    belief.theta[:], belief.clock[:] = np.sort(THETA)[::-1], 100.0
    belief.need[4, 2] = missing / math.log(100.0)  # item 4 in place of item 2
    find_best_list(belief)
    next_lists(belief, policy.alpha, policy.fit_gap, policy.plan_gap)
    assert belief.queue[: belief.waiting[0]].tolist() == [[0, 1, 2], [0, 1, 4]][: 1 + waits]


def test_lists_are_those_of_the_plain_rule() -> None:
    """Every list of a run on position-based users, the clicks of some of which arrive three lists late."""
    items, places, alpha = len(THETA), 3, 2.0
    problem, kappa = Problem(items, places), np.array([1.0, 0.6, 0.3])
    policy = make("pmed(alpha=2, fit_gap=5, plan_gap=40)").prepare(problem)
    belief, page, cache = policy.begin(problem), empty_page(places), policy.scratch(problem)
    labels: Any = np.array([11, 5, 23, 2, 17, 3, 8])
    turns = sorted(range(items), key=lambda item: -branch(-2, labels[item]))  # the item of each turn
    cyclic = [[(first + place) % items for place in range(places)] for first in range(items)]
    waiting, shown, learned, planned = [list(made) for made in cyclic], np.zeros((items, places)), 0, 0
    rng, late, long_ways = np.random.default_rng(4), [], 0
    fitted, planned_at, plans = 0, 0, 0  # lists learned at the last fit and at the last plan
    for number in range(1500):
        key, slate = branch(8, number), policy.slate(problem)
        request = Request(np.arange(items), places, NONE, NONE, np.zeros((items, 0)), 0, labels, key)
        policy.rank(belief, cache, request, slate)
        drawn = waiting[int(uniform(branch(key, -1), 0) * len(waiting))]
        assert slate.items.tolist() == [turns[turn] for turn in drawn], f"list {number}"
        late.append((slate, (rng.random(places) < THETA[slate.items] * kappa).astype(np.int64)))
        while len(late) > (3 if number % 50 < 10 else 0):
            given, page.clicks[:] = late.pop(0)
            page.seen[:] = -1.0
            before, need = belief.theta.copy(), belief.need.copy()
            policy.learn(belief, given, page)
            learned += 1
            made = [turns.index(item) for item in given.items.tolist()]
            shown[made, range(places)] += 1
            if made in waiting:
                waiting[waiting.index(made)] = waiting[-1]
                waiting.pop()
            fits = not waiting and (fitted == 0 or learned >= fitted + 5)
            makes_plan = not waiting and (planned_at == 0 or learned >= planned_at + max(40, 0.1 * planned_at))
            assert np.array_equal(before, belief.theta) != fits, f"fit after {learned} lists"
            assert np.array_equal(need, belief.need) != makes_plan, f"plan after {learned} lists"
            fitted, planned_at, plans = (
                (learned if fits else fitted),
                (learned if makes_plan else planned_at),
                plans + makes_plan,
            )
            if waiting:
                continue
            leader = sorted(range(items), key=lambda item: -belief.theta[item])[:places]
            waiting = [leader]

            def add(made: list[int], waiting: list[list[int]] = waiting) -> None:
                if any(all(other[place] != made[place] for other in waiting) for place in range(places)):
                    waiting.append(made)

            for made in cyclic:
                if any(shown[made[place], place] < alpha * math.sqrt(math.log(learned)) for place in range(places)):
                    add(list(made))
            cells = {(i, at): belief.need[i, at] * math.log(learned) for i in range(items) for at in range(places)}
            seen = shown.copy()
            for count, made in paths(
                {cell: left for cell, left in cells.items() if leader[cell[1]] != cell[0]}, leader
            ):
                least = seen[made, range(places)].min()
                if least < count:
                    add(made)
                    planned += 1
                    long_ways += sum(a != b for a, b in zip(made, leader, strict=True)) > 1
                seen[made, range(places)] -= min(least, count)
    assert planned > 10 < long_ways
    assert plans > 10
    assert sorted(range(items), key=lambda turn: -belief.theta[turn])[:places] == [
        turns.index(item) for item in (2, 6, 0)
    ]
