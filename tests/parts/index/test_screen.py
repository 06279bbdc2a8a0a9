"""Bounds on dense items: never below the exact value, tight enough to be of use, and the same lists as without them."""

from typing import Any

import numpy as np
import pytest

from toplist.core.coverage import COVERAGE_KINDS, gains
from toplist.core.problem import Problem
from toplist.core.slate import NONE, Floats, Request, Slate, empty_page
from toplist.parts.arrange import Diverse
from toplist.parts.feedback import ThroughFirstClick
from toplist.parts.index import Ellipsoid, LogisticBound
from toplist.parts.index.layout import FEW_FEATURES, FEW_ITEMS, fill_weights
from toplist.parts.index.screen import (
    SLACK,
    exact_width,
    fill_coarse_bounds,
    fill_fine_bounds,
    fill_head,
    level_margins,
    order_features,
    split_features,
    typical_width,
)
from toplist.parts.index.screen_tiles import FEWER, TOGETHER
from toplist.parts.memory import DiscountedRidge, Logistic, Ridge
from toplist.policies import Policy

POSITIONS = 4


def features(kind: str, items: int, d: int) -> Floats:
    """Dense features: evenly spread, with a few large ones per item, or many equal items."""
    rng = np.random.default_rng(items + d)
    if kind == "skewed":
        shares = rng.gamma(0.1, size=(items, d))
        return np.asarray(np.minimum(4.0 * shares / shares.sum(axis=1, keepdims=True), 1.0) + 1e-9)
    rows = rng.uniform(size=(items, d))
    return rows[rng.integers(items // 10, size=items)] if kind == "equal" else rows


def ask(rows: Floats, key: int, candidates: Any = None) -> Request:
    some = np.arange(len(rows)) if candidates is None else np.asarray(candidates)
    return Request(some, POSITIONS, NONE, NONE, rows, 0, np.arange(len(rows)), key)


def learned(policy: Policy, rows: Floats, lists: int) -> tuple[Any, Any, Any]:
    """A policy that has learned: with its parameters, its belief, and its cache."""
    problem = Problem(len(rows), POSITIONS, rows.shape[1])
    ready = policy.prepare(problem)
    belief, cache, slate = ready.begin(problem), ready.scratch(problem), ready.slate(problem)
    rng = np.random.default_rng(1)
    for number in range(lists):
        ready.rank(belief, cache, ask(rows, number), slate)
        page = empty_page(POSITIONS)
        page.clicks[:] = rng.uniform(size=POSITIONS) < 0.2
        ready.learn(belief, slate, page)
    return ready, belief, cache


def exact_values(rows: Floats, placed: list[int], theta: Floats, inverse: Floats, alpha: float, kind: str) -> Floats:
    """Value of every item's gain over the placed ones, by the formula."""
    x = np.array([gains(rows[[*placed, item]], kind)[-1] for item in range(len(rows))])
    return np.asarray(x @ theta + alpha * np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", x, inverse, x), 0.0)))


def gauge(policy: Any, belief: Any, cache: Any, rows: Floats, placed: list[int], kind: str) -> Floats:
    """What the index says of every item when some are placed."""
    values, covered = cache.arrangement.value, np.zeros(rows.shape[1])
    request, number = ask(rows, 7), COVERAGE_KINDS[kind]
    policy.scoring.gauge(belief, cache.scoring, request, covered, number, -1, values)
    for place, item in enumerate(placed):
        covered += gains(rows[placed[: place + 1]], kind)[-1]
        values[item] = -np.inf
        policy.scoring.gauge(belief, cache.scoring, request, covered, number, item, values)
        values[placed[: place + 1]] = -np.inf
    return np.asarray(values.copy())


@pytest.mark.parametrize("d", [1, 2, 5, 31, 64, 77])
def test_the_exact_width(d: int) -> None:
    rng = np.random.default_rng(d)
    root, row = rng.normal(size=(d, d)), rng.uniform(size=d)
    matrix = root @ root.T
    assert exact_width(matrix, row, np.zeros(d)) == pytest.approx(np.sqrt(row @ matrix @ row), rel=1e-12)


def test_wide_features_come_first() -> None:
    """Up to a factor of the root of 2; the narrowest are not told apart."""
    wide = np.random.default_rng(0).lognormal(-2.0, 3.0, 57)
    wide[[3, 50]], wide[7] = 0.0, 1e-30
    order, begin = np.zeros(57, dtype=np.int64), np.ones(64, dtype=np.int64)
    order_features(order, wide, begin, np.zeros(57, dtype=np.int64))
    assert sorted(order.tolist()) == list(range(57))
    assert set(order[-3:].tolist()) == {3, 7, 50}
    behind = np.maximum.accumulate(wide[order][::-1])[::-1]
    assert np.all(behind <= np.sqrt(2.0) * np.minimum(wide[order], 2.0) + 1e-9 + (wide[order] > 1.0) * wide.max())


@pytest.mark.parametrize("kind", COVERAGE_KINDS)
@pytest.mark.parametrize("shape", ["even", "skewed", "equal"])
def test_values_are_exact_or_bounds_below_the_largest(kind: str, shape: str) -> None:
    rows = features(shape, TOGETHER + 9, FEW_FEATURES + 1)
    policy, belief, cache = learned(Policy(ThroughFirstClick(), Ridge(), Ellipsoid(0.8), Diverse(kind)), rows, 3)
    placed = [5, 17, 80, 2]
    for count in (1, 4):
        values = gauge(policy, belief, cache, rows, placed[:count], kind)
        exact = exact_values(rows, placed[:count], belief.theta, belief.inverse, 0.8, kind)
        others = np.setdiff1d(np.arange(len(rows)), placed[:count])
        values, exact = values[others], exact[others]
        known = cache.scoring.layout.screen.known[others] == 1
        np.testing.assert_allclose(values[known], exact[known], rtol=1e-9, atol=1e-12)
        assert np.all(values >= exact - 1e-12)
        assert np.all(values[~known] < values[known].max())
        assert values.max() == pytest.approx(exact.max(), rel=1e-9)


def bounds_of_levels(
    belief: Any, layout: Any, rows: Floats, placed: list[int], kind: str, alpha: float
) -> tuple[Floats, Floats]:
    """The coarse bound of every item, and the fine one, though it is meant for a few."""
    screen, number, items = layout.screen, COVERAGE_KINDS[kind], np.arange(len(rows))
    covered = np.sum([gains(rows[placed[: place + 1]], kind)[-1] for place in range(len(placed))], axis=0)
    fill_weights(belief, layout, covered, number)
    width = typical_width(screen, belief.inverse, covered, number)
    split_features(screen, belief.inverse, covered, layout.left, number, 1.0 / width)
    screen.weights[: len(covered)] = layout.weights
    first, scale, found, values = 0, alpha * width * (1.0 + SLACK), [], np.zeros(len(rows))
    for level, fill in enumerate((fill_coarse_bounds, fill_fine_bounds)):
        head = int(screen.heads[level])
        fill_head(belief.inverse, screen.order, layout.left, 1.0 / width, first, head, screen.shares, screen.matrix)
        doubt = level_margins(belief, screen, covered, number, width, level)
        fill(screen, layout.columns, items, 0, doubt, scale, covered, number, values)
        found.append(values.copy())
        first = head
    return found[0], found[1]


@pytest.mark.parametrize("kind", COVERAGE_KINDS)
@pytest.mark.parametrize("shape", ["even", "skewed", "equal"])
@pytest.mark.parametrize("count", [1, 4])
def test_fine_bounds_hold_and_are_closer_than_coarse_ones(kind: str, shape: str, count: int) -> None:
    """Each level alone, for every item: not below the value by brute force, and the fine one with half of the excess.

    The items fill three tiles of fine bounds, the last one in part.
    """
    rows = features(shape, 2 * FEWER + 3, 60)
    policy, belief, cache = learned(Policy(ThroughFirstClick(), Ridge(), Ellipsoid(0.8), Diverse(kind)), rows, 4)
    placed = [5, 17, 30, 2][:count]
    gauge(policy, belief, cache, rows, placed, kind)
    layout = cache.scoring.layout
    coarse, fine = bounds_of_levels(belief, layout, rows, placed, kind, 0.8)
    exact = exact_values(rows, placed, belief.theta, belief.inverse, 0.8, kind)
    smaller, larger = layout.screen.heads
    assert 0 < smaller <= larger <= 60
    assert np.all(coarse >= exact)
    assert np.all(fine >= exact)
    closer = 0.5 if smaller < larger else 1.0 + 1e-6
    assert (fine - exact).mean() <= closer * (coarse - exact).mean()


def test_fine_bounds_hold_where_all_features_differ_together() -> None:
    """Items on both sides of their mean by the same number of deviations, and no negative term: no slack is left.

    The fine bound exceeds a value by less than 1 of 10,000, so that a smaller one would be below it.
    """
    steps = 0.4 * 0.9 ** np.arange(60)
    rows = 0.5 + np.where(np.arange(40) % 2, 1.0, -1.0)[:, None] * steps
    policy, belief, cache = learned(Policy(ThroughFirstClick(), Ridge(), Ellipsoid(0.8), Diverse()), rows, 2)
    gauge(policy, belief, cache, rows, [0], "probabilistic")
    belief.theta[:], belief.inverse[:] = 0.0, 1e-3 * np.eye(60) + 1e-2
    layout = cache.scoring.layout
    _, fine = bounds_of_levels(belief, layout, rows, [0], "probabilistic", 0.8)
    exact = exact_values(rows, [0], belief.theta, belief.inverse, 0.8, "probabilistic")
    assert 0 < layout.screen.heads[1] < 60
    assert np.all(fine >= exact)
    assert (fine / exact).min() < 1.0001


def test_bounds_spare_most_exact_values() -> None:
    rows = features("even", 200, 33)
    policy, belief, cache = learned(Policy(ThroughFirstClick(), Ridge(), Ellipsoid(), Diverse()), rows, 5)
    for count in (1, 4):
        gauge(policy, belief, cache, rows, [5, 17, 80, 2][:count], "probabilistic")
        assert 1 <= cache.scoring.layout.screen.known.sum() < 40


def greedy(rows: Floats, belief: Any, alpha: float, kind: str, candidates: Any) -> tuple[list[int], float]:
    """The greedy list by the formula, and the smallest gap between the best and the next best value."""
    chosen: list[int] = []
    covered, closest = np.zeros(rows.shape[1]), np.inf
    for _ in range(POSITIONS):
        x = rows * (1.0 - covered) if kind == "probabilistic" else np.maximum(rows - covered, 0.0)
        widths = np.sqrt(np.maximum(np.einsum("ij,ij->i", x @ belief.inverse, x), 0.0))
        values = np.full(len(rows), -np.inf)
        values[candidates] = (x @ belief.theta + alpha * widths)[candidates]
        values[chosen] = -np.inf
        second, first = np.sort(values)[-2:]
        closest = min(closest, float((first - second) / abs(first)))
        chosen.append(int(values.argmax()))
        covered = covered + x[chosen[-1]]
    return chosen, closest


@pytest.mark.parametrize(
    ("memory", "shape", "kind"),
    [
        (Ridge(), "even", "probabilistic"),
        (Ridge(), "skewed", "probabilistic"),
        (Ridge(), "even", "maximum"),
        (DiscountedRidge(0.9), "even", "probabilistic"),
    ],
)
def test_lists_are_those_of_scoring_everything(memory: Any, shape: str, kind: str) -> None:
    """Lists whose choice hangs on less than rounding are left out; there are none or one."""
    d = FEW_FEATURES + 20  # with fewer, four items cover all topics
    rows = features(shape, 40, d)
    policy, belief, cache = learned(Policy(ThroughFirstClick(), memory, Ellipsoid(1.1), Diverse(kind)), rows, 3)
    left_out = 0
    for number in range(4):
        candidates = np.arange(40) if number % 2 else np.setdiff1d(np.arange(40), [number, 3, 30])
        assert len(candidates) >= FEW_ITEMS
        slate: Slate = policy.slate(Problem(40, POSITIONS, d))
        policy.rank(belief, cache, ask(rows, 500 + number, candidates), slate)
        expected, closest = greedy(rows, belief, 1.1, kind, candidates)
        if closest < 1e-9:
            left_out += 1
        else:
            assert slate.items.tolist() == expected
        page = empty_page(POSITIONS)
        page.clicks[number % POSITIONS] = 1
        policy.learn(belief, slate, page)
    assert left_out <= 1


def test_equal_items_win_equally_often() -> None:
    """Four copies of each item: the copy at the second position differs from list to list."""
    rows = np.repeat(features("even", 12, 32), 4, axis=0)
    policy, belief, cache = learned(Policy(ThroughFirstClick(), Ridge(), Ellipsoid(0.5), Diverse()), rows, 4)
    seconds = []
    for number in range(24):
        slate = policy.slate(Problem(48, POSITIONS, 32))
        policy.rank(belief, cache, ask(rows, number), slate)
        seconds.append(int(slate.items[1]))
    assert len({item // 4 for item in seconds}) == 1
    assert np.bincount(np.array(seconds) % 4, minlength=4).min() > 0  # of 6 expected


def test_a_list_does_not_depend_on_the_cache() -> None:
    rows = features("even", 50, 35)
    policy, belief, cache = learned(Policy(ThroughFirstClick(), Ridge(), Ellipsoid(0.5), Diverse()), rows, 3)
    for number in range(2):
        fresh, kept = policy.slate(Problem(50, POSITIONS, 35)), policy.slate(Problem(50, POSITIONS, 35))
        policy.rank(belief, cache, ask(rows, number), kept)
        policy.rank(belief, policy.scratch(Problem(50, POSITIONS, 35)), ask(rows, number), fresh)
        assert kept.items.tolist() == fresh.items.tolist()
        assert np.array_equal(kept.rows, fresh.rows)


def test_logistic_items_are_screened_too() -> None:
    rows = features("even", 60, 40)
    policy, belief, cache = learned(
        Policy(ThroughFirstClick(), Logistic(), LogisticBound(scale=0.4, steps=0.0), Diverse()), rows, 5
    )
    values = gauge(policy, belief, cache, rows, [3], "probabilistic")
    x = np.array([gains(rows[[3, item]])[-1] for item in range(60)])
    rho = 0.4 * 0.25 * 0.5 / 0.1 * np.sqrt(20.0 * np.log1p(5.0 / (belief.ridge[0] * 40.0)) + 0.5 * np.log(6.0))
    width = np.sqrt(np.einsum("ij,jk,ik->i", x, belief.inverse, x))
    exact = 1.0 / (1.0 + np.exp(-x @ belief.theta)) + rho * width
    exact[3] = -np.inf
    assert int(values.argmax()) == int(exact.argmax())
    assert values.max() == pytest.approx(exact.max(), rel=1e-9)
    assert np.all(values >= exact - 1e-12)


def test_very_small_gains() -> None:
    """After eleven items that cover nearly everything, squares of gains are near the least of single precision."""
    rows = 0.9 + 0.09 * features("even", 60, 34)
    policy, belief, cache = learned(Policy(ThroughFirstClick(), Ridge(), Ellipsoid(0.5), Diverse()), rows, 2)
    placed = list(range(11))
    values = gauge(policy, belief, cache, rows, placed, "probabilistic")
    exact = exact_values(rows, placed, belief.theta, belief.inverse, 0.5, "probabilistic")
    exact[placed] = -np.inf
    assert 0.0 < abs(exact.max()) < 1e-12
    assert values[exact.argmax()] == pytest.approx(exact.max(), rel=1e-3)  # coverage is 1 but for a few digits
    assert int(values.argmax()) == int(exact.argmax())
