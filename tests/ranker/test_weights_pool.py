"""Pools of weights: what segments know together, against known draws and against learning the lists oneself."""

from typing import Any

import numpy as np
import pytest

from toplist import Ranker, Rankers, make
from toplist.core.problem import Problem
from toplist.core.slate import Floats, empty_page, empty_slate
from toplist.parts.memory.ridge import covariance
from toplist.ranker.own_sums import OwnSums, own_of
from toplist.ranker.weights_pool import ALIKE, WeightsPool

D = 5
ONES: Floats = np.ones(D)


def own_sums(rows: Floats, values: Floats, per_list: int = 4) -> OwnSums:
    """The sums of a segment with these observations, a few in each list."""
    own = OwnSums(rows.shape[1])
    slate, page = empty_slate(per_list, rows.shape[1]), empty_page(per_list)
    for begin in range(0, len(rows), per_list):
        size = len(rows[begin : begin + per_list])
        slate.size[0] = size
        slate.rows[:size] = rows[begin : begin + per_list]
        page.value[:size], page.weight[:size], page.weight[size:] = values[begin : begin + per_list], 1.0, 0.0
        own.add(slate, page)
    return own


def drawn_pool(strength: float | None, segments: int, looks: int, seed: int = 0) -> WeightsPool:
    """Clicks of segments whose weights differ as the model says: a look at an item tells as much as `strength` says."""
    random = np.random.default_rng(seed)
    mean = np.full(D, 0.12)
    second = np.full((D, D), 0.25) + np.eye(D) / 12.0  # of x x', for rows uniform in [0, 1]^d
    rate = 0.5 * D * 0.12
    spread = 0.0 if strength is None else rate * (1.0 - rate) / (1.0 + strength) / D
    root = np.linalg.cholesky(np.linalg.inv(second)) * np.sqrt(spread)
    pool = WeightsPool()
    for _ in range(segments):
        rows = random.random((looks, D))
        weights = mean + root @ random.standard_normal(D)
        chance = np.clip(rows @ weights, 0.0, 1.0)
        pool.add(own_sums(rows, (random.random(looks) < chance).astype(np.float64)), ONES)
    return pool


@pytest.mark.parametrize("strength", [20.0, 60.0, 200.0])
def test_the_strength_of_drawn_segments_is_found(strength: float) -> None:
    """Of five pools the median: now and then a difference is not beyond doubt, and segments are taken as alike."""
    found = np.median([drawn_pool(strength, 80, 400, seed).strength() for seed in range(5)])
    assert found == pytest.approx(strength, rel=0.3)


def test_segments_that_have_hardly_begun_are_taken_as_alike() -> None:
    """A divided ranking: what everybody told is known, and chance in the first looks of segments makes none differ."""
    alike = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        pool = WeightsPool()
        for looks in (4000, *range(5, 105, 10)):
            rows = random.random((looks, D))
            values = (random.random(looks) < rows @ np.full(D, 0.12)).astype(np.float64)
            pool.add(own_sums(rows, values), ONES, is_segment=looks < 4000)
        alike += pool.strength() == ALIKE
    assert alike >= 17


def test_few_segments_are_enough_on_average() -> None:
    """The weights of all are known from three segments only, for which the estimate allows."""
    found = np.mean([1.0 / (1.0 + drawn_pool(40.0, 3, 600, seed).strength()) for seed in range(40)])
    assert 1.0 / found - 1.0 == pytest.approx(40.0, rel=0.4)


def test_segments_that_are_alike_make_a_strong_prior() -> None:
    assert drawn_pool(None, 60, 400).strength() > 800.0


def test_without_segments_to_compare_the_strength_is_the_usual_one() -> None:
    assert WeightsPool().strength() == ALIKE
    assert drawn_pool(3.0, 1, 300).strength() == ALIKE  # one segment cannot differ
    everybody = WeightsPool()
    for _ in range(3):
        everybody.add(own_sums(np.ones((8, D)), np.ones(8)), ONES, is_segment=False)
    assert everybody.strength() == ALIKE
    assert (everybody.looks, everybody.squared_looks) == (24.0, 0.0)


def test_a_feature_that_never_varies_does_no_harm() -> None:
    random = np.random.default_rng(1)
    pool, without = WeightsPool(), WeightsPool()
    for _ in range(10):
        rows, values = random.random((200, 2)), (random.random(200) < 0.3).astype(np.float64)
        pool.add(own_sums(np.append(rows, np.zeros((200, 1)), axis=1), values), np.ones(3))
        without.add(own_sums(rows, values), np.ones(2))
    assert 100.0 < pool.strength() <= ALIKE
    assert pool.strength() == pytest.approx(without.strength())
    gram, total = pool.sums_for_new_segment(50.0, np.ones(3))
    expected_gram, expected_total = without.sums_for_new_segment(50.0, np.ones(2))
    assert gram[:2, :2] == pytest.approx(expected_gram)
    assert total[:2] == pytest.approx(expected_total)


def test_a_new_segment_counts_as_much_as_the_strength_says() -> None:
    pool = drawn_pool(50.0, 40, 500)
    assert pool.gram is not None
    assert pool.total is not None
    gram, total = pool.sums_for_new_segment(50.0, ONES)
    rho, looks = 1 / 51, 40 * 500
    worth = D * (1 / (rho + D / looks + rho * 40 * 500**2 / looks**2) - 1)
    assert gram == pytest.approx(pool.gram * worth / looks)
    assert total == pytest.approx(pool.total * worth / looks)
    assert worth < 50.0 * D
    nothing, _ = pool.sums_for_new_segment(0.0, ONES)
    assert (nothing == 0.0).all()
    twice, _ = pool.sums_for_new_segment(50.0, 2.0 * ONES)
    assert twice == pytest.approx(gram / 4.0)


def test_only_segments_that_were_seen_most_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.ranker.weights_pool.MOST_NUMBERS", 2 * 2 * D * D)
    random, pool = np.random.default_rng(2), WeightsPool()
    for looks in (40, 400, 20, 300):
        pool.add(own_sums(random.random((looks, D)), np.ones(looks)), ONES)
    assert pool.looks == 760.0
    assert pool.squared_looks == 40.0**2 + 400.0**2 + 20.0**2 + 300.0**2


def test_sums_come_back_as_they_were() -> None:
    own = own_sums(np.random.default_rng(3).random((9, D)), np.arange(9.0))
    again = own_of({name: array.copy() for name, array in own.arrays().items()})
    assert isinstance(again, OwnSums)
    assert again.fits(7, D)
    assert not again.fits(7, D + 1)
    assert [array.tolist() for array in again.arrays().values()] == [array.tolist() for array in own.arrays().values()]
    assert own.counts[:, 0].tolist() == [2.0, 1.0]  # every other list


ITEMS = [f"item {n}" for n in range(8)]
ROWS = dict(zip(ITEMS, np.random.default_rng(4).random((8, 3)).tolist(), strict=True))


def taught(rankers: Any, segment: Any, lists: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(lists):
        shown = rankers.rank(segment)
        rankers.learn(segment, shown, [item for item in shown if random.random() < 0.4 * ROWS[item][0]])


@pytest.mark.filterwarnings("ignore:Features are divided")
@pytest.mark.parametrize("policy", ["cascade-lin-ucb", "exploring(policy='cascade-lin-ts', share=0.2)"])
def test_a_new_segment_begins_as_if_it_had_seen_what_everybody_told(policy: str) -> None:
    """With all weight, its belief is that of a ranker that learned the same lists itself."""
    rankers = Rankers(ITEMS, 3, policy, features=ROWS, pool_strength=1e9, compiled=False)
    taught(rankers, None, 60, 5)
    new, everybody = rankers["new"].belief, rankers[None].belief
    assert new.theta == pytest.approx(everybody.theta, rel=0.02, abs=1e-3)
    assert new.inverse == pytest.approx(everybody.inverse, rel=0.05, abs=1e-5)
    cold = Ranker(ITEMS, 3, policy, features=ROWS, compiled=False).belief
    assert (cold.theta == 0.0).all()


@pytest.mark.filterwarnings("ignore:Features are divided")
def test_priors_of_weights_are_kept_and_not_taken_for_observations() -> None:
    rankers = Rankers(
        ITEMS, 3, "cascade-lin-ucb", features=ROWS, prior_weights=([0.1, 0.2, 0.3], 1000.0), compiled=False
    )
    first = rankers["a"].belief
    for segment in ("b", "c", "d"):
        assert rankers[segment].belief.theta == pytest.approx(first.theta)
    taught(rankers, "a", 30, 6)
    begun, scale = rankers["new"].belief, np.linalg.norm(list(ROWS.values()), axis=1).max()
    assert begun.theta != pytest.approx(first.theta)
    lower = np.abs(begun.theta / scale - [0.1, 0.2, 0.3]).max()
    assert 0.0 < lower < 0.3


@pytest.mark.parametrize("name", ["cascade-lin-ucb", "cascade-lin-ts"])
def test_adding_sums_is_learning(name: str) -> None:
    """Against ridge regression from scratch."""
    random = np.random.default_rng(7)
    rows, values = random.random((40, D)), random.random(40)
    policy: Any = make(f"{name}(sigma=0.5)")
    problem = Problem(4, 2, D)
    ready = policy.prepare(problem)
    belief = ready.begin(problem)
    ready.add_sums(belief, rows.T @ rows, rows.T @ values)
    gram = np.eye(D) + rows.T @ rows / 0.25
    assert covariance(belief) == pytest.approx(np.linalg.inv(gram))
    assert belief.theta == pytest.approx(np.linalg.solve(gram, rows.T @ values / 0.25))
    assert np.triu(belief.gram) == pytest.approx(np.triu(gram))
