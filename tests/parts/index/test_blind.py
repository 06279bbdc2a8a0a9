"""Draws by chance: random lists are fair, and Exp3's draws from very many arms follow the weights."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from toplist.core.beliefs import BLOCK, MANY
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Ints, Request
from toplist.parts.index import Chance, ExploringDraw
from toplist.parts.index.blind import ENOUGH
from toplist.parts.index.sum_tree import SumTree, arm_at, empty_tree, follow_weights, sum_of_range
from toplist.parts.memory import ExponentialWeights
from toplist.parts.memory.counts import touch

ARMS = MANY + 3 * BLOCK + 7


def request_for(candidates: Ints, items: int, key: int, exceptions: Ints = NONE) -> Request:
    labels = 1000 + np.arange(items)
    return Request(candidates, 1, NONE, NONE, np.zeros((0, 0)), 0, labels, key, exceptions=exceptions)


@pytest.mark.parametrize("items", [12, ENOUGH + 44])
def test_random_lists_are_fair(items: int) -> None:
    """Every candidate at every position, and pairs of neighbours, over 15,000 lists; gaps in the candidates."""
    candidates, lists = np.arange(2, 2 * items + 2, 2), 15_000
    index, problem = Chance(), Problem(2 * items + 5, 4)
    cache, chosen, scores = index.scratch(problem), np.zeros(4, dtype=np.int64), np.zeros(4)
    shown = np.zeros((lists, 4), dtype=np.int64)
    for number in range(lists):
        index.top(None, cache, request_for(candidates, problem.items, branch(4, number)), chosen, scores)
        shown[number] = chosen
    places = np.searchsorted(candidates, shown)
    assert (candidates[places] == shown).all()
    assert all(len(set(row)) == 4 for row in shown.tolist())
    for position in range(4):
        assert stats.chisquare(np.bincount(places[:, position], minlength=items)).pvalue > 1e-3
    first, second = places[:, 0], places[:, 1] - (places[:, 1] > places[:, 0])  # of the others, the how-many-th
    table = np.zeros((4, 4))
    np.add.at(table, (first * 4 // items, second * 4 // (items - 1)), 1)
    expected = np.outer(
        np.bincount(np.arange(items) * 4 // items), np.bincount(np.arange(items - 1) * 4 // (items - 1))
    )
    assert stats.chisquare(table.ravel(), (expected * lists / expected.sum()).ravel()).pvalue > 1e-3


@pytest.mark.parametrize("items", [24, ENOUGH + 44])
def test_random_lists_are_fair_among_candidates_with_gaps(items: int) -> None:
    """A quarter is not eligible: some are not present, others are exceptions; one exception is eligible."""
    index, problem, lists = Chance(), Problem(items, 4), 10_000
    present = np.arange(items) % 6 != 1
    exceptions = np.array([1, *range(2, items, 12)])
    eligible = np.flatnonzero(present ^ np.isin(np.arange(items), exceptions))
    cache, chosen, scores = index.scratch(problem), np.zeros(4, dtype=np.int64), np.zeros(4)
    shown = np.zeros((lists, 4), dtype=np.int64)
    for number in range(lists):
        request = request_for(np.arange(items), items, branch(6, number), exceptions)._replace(present=present)
        index.top(None, cache, request, chosen, scores)
        shown[number] = chosen
    places = np.searchsorted(eligible, shown)
    assert (eligible[np.minimum(places, len(eligible) - 1)] == shown).all()
    assert all(len(set(row)) == 4 for row in shown.tolist())
    for position in range(4):
        assert stats.chisquare(np.bincount(places[:, position], minlength=len(eligible))).pvalue > 1e-3


def weights_of(random: Any) -> Any:
    """Logarithms of weights: mostly equal, some larger, at different levels in different blocks."""
    belief = ExponentialWeights(0.2).begin(Problem(ARMS, 1))
    some = random.integers(0, ARMS, 300)
    belief.logarithm[some] = random.exponential(2.0, 300)
    return belief


def draw_many(index: Any, cache: Any, belief: Any, candidates: Ints, exceptions: Ints, draws: int) -> tuple[Any, Any]:
    """Drawn arms, and the probabilities that came with them."""
    chosen, scores = np.zeros(1, dtype=np.int64), np.zeros(1)
    arms, probabilities = np.zeros(draws, dtype=np.int64), np.zeros(draws)
    for number in range(draws):
        index.top(belief, cache, request_for(candidates, ARMS, branch(8, number), exceptions), chosen, scores)
        arms[number], probabilities[number] = chosen[0], scores[0]
    return arms, probabilities


@pytest.mark.parametrize(
    ("first", "end", "excluded"),
    [
        (0, 30, []),
        (3 * BLOCK + 5, 3 * BLOCK + 45, [3 * BLOCK + 5, 3 * BLOCK + 6, 3 * BLOCK + 44]),
        (ARMS - 9, ARMS, []),
    ],
)
def test_draws_from_very_many_arms_follow_the_weights(first: int, end: int, excluded: list[int]) -> None:
    random = np.random.default_rng(first)
    belief, index = weights_of(random), ExploringDraw().prepare(Problem(ARMS, 1))
    cache, exceptions = index.scratch(Problem(ARMS, 1)), np.array(excluded, dtype=np.int64)
    candidates = np.arange(first, end)
    belief.logarithm[candidates] = random.exponential(1.5, len(candidates))
    free = np.setdiff1d(candidates, exceptions)
    exact = index.exact(belief, request_for(free, ARMS, 0))
    arms, probabilities = draw_many(index, cache, belief, candidates, exceptions, 20_000)
    assert set(arms.tolist()) <= set(free.tolist())
    seen = np.bincount(np.searchsorted(free, arms), minlength=len(free))
    assert stats.chisquare(seen, 20_000 * exact).pvalue > 1e-3
    assert probabilities == pytest.approx(exact[np.searchsorted(free, arms)], rel=1e-12)


def test_a_tree_depends_on_the_present_weights_alone() -> None:
    """Sums are bit for bit those of a new tree after weights grew, shrank, and passed the range of the tree."""
    random = np.random.default_rng(2)
    belief = weights_of(random)
    tree = empty_tree(Problem(ARMS, 1))
    follow_weights(tree, belief.logarithm, belief.touched)
    for step in range(40):
        for arm in random.integers(0, ARMS, 5):
            belief.logarithm[arm] += random.choice([0.3, 40.0, -0.2]) if step != 30 else 900.0
            touch(belief, int(arm))
        if step == 35:
            largest = int(np.argmax(belief.logarithm))
            belief.logarithm[largest] = 0.0
            touch(belief, largest)
        follow_weights(tree, belief.logarithm, belief.touched)
        fresh = empty_tree(Problem(ARMS, 1))
        follow_weights(fresh, belief.logarithm, belief.touched)
        for one, other in zip(tree, fresh, strict=True):
            assert one.tobytes() == other.tobytes()
    assert tree.scale[1] > 0.0
    leaves = len(tree.sums) // 2
    for first, end in ((0, ARMS), (5, 6), (77, 1234)):
        assert sum_of_range(tree.sums, first, end) == pytest.approx(tree.sums[leaves + first : leaves + end].sum())


def test_a_point_of_a_range_of_sums_belongs_to_an_arm_with_weight() -> None:
    tree = SumTree(np.zeros(32), np.zeros(0), np.zeros(2), np.zeros(0, dtype=np.int64))
    tree.sums[16:32] = [0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 0, 4, 5, 0, 0, 0]
    for node in range(15, 0, -1):
        tree.sums[node] = tree.sums[2 * node] + tree.sums[2 * node + 1]
    total = sum_of_range(tree.sums, 2, 13)
    assert total == 14.0
    found = [arm_at(tree.sums, 2, 13, target) for target in np.arange(0.5, 14.0)]
    assert np.bincount(found, minlength=16)[2:13].tolist() == [0, 2, 0, 0, 0, 0, 3, 0, 0, 4, 5]
    assert arm_at(tree.sums, 2, 13, 14.0) in (3, 8, 11, 12)  # rounding may lead there


def test_an_excluded_arm_with_almost_all_weight_leaves_the_others_their_digits() -> None:
    random = np.random.default_rng(6)
    belief, index = weights_of(random), ExploringDraw().prepare(Problem(ARMS, 1))
    cache = index.scratch(Problem(ARMS, 1))
    belief.logarithm[100] = 5000.0
    candidates, exceptions = np.arange(90, 110), np.array([100])
    free = np.setdiff1d(candidates, exceptions)
    belief.logarithm[free] = random.exponential(1.0, len(free))
    exact = index.exact(belief, request_for(free, ARMS, 0))
    arms, probabilities = draw_many(index, cache, belief, candidates, exceptions, 300)
    assert probabilities == pytest.approx(exact[np.searchsorted(free, arms)], rel=1e-12)
    assert len(set(arms.tolist())) > 10
