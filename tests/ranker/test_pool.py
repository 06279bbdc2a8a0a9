"""Pools: what many segments know together, against enumerated expectations and against another estimator."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from toplist import Prior
from toplist.ranker.own_counts import OwnCounts
from toplist.ranker.pool import LARGEST_STRENGTH, USUAL_STRENGTH, USUAL_WEIGHT, Pool


def counts(looks: Any, clicks: Any) -> OwnCounts:
    found = OwnCounts(len(looks))
    found.looks[:], found.clicks[:] = looks, clicks
    return found


def pool_of(looks: Any, clicks: Any) -> Pool:
    """A pool of segments (rows) and items (columns)."""
    pool = Pool()
    for n, s in zip(looks, clicks, strict=True):
        pool.add([f"item {item}" for item in range(len(n))], counts(n, s))
    return pool


def drawn(strength: float, segments: int, items: int, looks: int, seed: int = 0) -> tuple[Any, Any]:
    """Clicks of segments that differ as the model says."""
    rng = np.random.default_rng(seed)
    mean = rng.uniform(0.05, 0.6, items)
    attraction = rng.beta(mean * strength, (1 - mean) * strength, (segments, items))
    n = rng.integers(looks // 2, 2 * looks, (segments, items))
    return n, rng.binomial(n, attraction)


def most_likely(looks: Any, clicks: Any) -> float:
    """The strength with the largest likelihood, with the means as they were observed: another estimator."""
    mean = clicks.sum(axis=0) / looks.sum(axis=0)

    def loss(log_strength: float) -> float:
        a = np.exp(log_strength) * mean
        return -float(stats.betabinom.logpmf(clicks, looks, a, np.exp(log_strength) - a).sum())

    return float(np.exp(optimize.minimize_scalar(loss, bounds=(0.0, 8.0), method="bounded").x))


@pytest.mark.parametrize("rho", [0.0, 0.05, 0.5])
def test_the_expectation_behind_the_estimate_is_exact(rho: float) -> None:
    """Over all outcomes of three segments: the sum of (s - n m)^2 is v (A + rho B) on average."""
    looks, mean = (2, 3, 5), 0.3
    total, squares = sum(looks), sum(n * n for n in looks)
    expected = 0.0
    for clicks in product(*(range(n + 1) for n in looks)):
        if rho == 0.0:
            chances = [stats.binom.pmf(s, n, mean) for s, n in zip(clicks, looks, strict=True)]
        else:
            strength = 1 / rho - 1
            a, b = mean * strength, (1 - mean) * strength
            chances = [stats.betabinom.pmf(s, n, a, b) for s, n in zip(clicks, looks, strict=True)]
        middle = sum(clicks) / total
        squared = sum((s - n * middle) ** 2 for s, n in zip(clicks, looks, strict=True))
        expected += float(np.prod(chances)) * squared
    alone = total - squares / total
    together = squares - 2 * sum(n**3 for n in looks) / total + squares**2 / total**2 - alone
    assert expected == pytest.approx(mean * (1 - mean) * (alone + rho * together))


@pytest.mark.parametrize("strength", [5.0, 30.0, 100.0])
def test_the_learned_strength_is_about_that_of_the_largest_likelihood(strength: float) -> None:
    looks, clicks = drawn(strength, segments=120, items=20, looks=80)
    learned = pool_of(looks, clicks).strength()
    assert learned == pytest.approx(strength, rel=0.25)
    assert learned == pytest.approx(most_likely(looks, clicks), rel=0.2)


@pytest.mark.parametrize("segments", [2, 3, 6])
def test_few_segments_are_enough_where_there_are_many_items(segments: int) -> None:
    """The mean of each item is known from few segments only, for which the estimate allows."""
    looks, clicks = drawn(20.0, segments, items=1500, looks=40, seed=segments)
    assert pool_of(looks, clicks).strength() == pytest.approx(20.0, rel=0.1)


def test_segments_that_are_alike_make_a_strong_prior() -> None:
    rng = np.random.default_rng(4)
    looks = np.full((200, 20), 100)
    clicks = rng.binomial(looks, np.linspace(0.05, 0.5, 20))
    assert pool_of(looks, clicks).strength() > 500.0
    same = np.full((2, 1), 10_000)
    assert pool_of(same, same / 2).strength() == pytest.approx(LARGEST_STRENGTH)


def test_without_segments_to_compare_the_strength_is_the_usual_one() -> None:
    assert Pool().strength() == USUAL_STRENGTH
    everybody = Pool()
    everybody.add(["a"], counts([500.0], [100.0]), is_segment=False)
    assert everybody.strength() == USUAL_STRENGTH
    assert pool_of([[500]], [[100]]).strength() == pytest.approx(USUAL_STRENGTH)  # one segment cannot differ
    looks, clicks = drawn(3.0, segments=3, items=2, looks=4)
    assert (looks**2).sum() < USUAL_WEIGHT / 10
    assert pool_of(looks, clicks).strength() > 60.0  # too few looks to say how different they are


def test_a_prior_is_weaker_where_the_mean_is_uncertain() -> None:
    pool = pool_of([[1000, 4]] * 50, [[200, 1]] * 50)
    priors = pool.priors(100.0, {})
    assert [prior.mean for prior in priors.values()] == [0.2, 0.25]
    often, seldom = (prior.strength for prior in priors.values())
    # One look in 101 is shared by all of a segment; the mean itself is uncertain by its looks, shared likewise.
    rho = 1 / 101
    assert often == pytest.approx(1 / (rho + (50_000 + rho * 50 * (1000**2 - 1000)) / 50_000**2) - 1)
    assert seldom == pytest.approx(1 / (rho + (200 + rho * 50 * 12) / 200**2) - 1)
    assert seldom < often < 100.0


def test_lists_of_everybody_tell_of_the_mean_and_priors_of_items_count_too() -> None:
    pool = Pool()
    pool.add(["a", None, "b"], counts([1000.0, 7.0, 0.0], [250.0, 7.0, 0.0]), is_segment=False)
    assert pool.items == ["a"]
    alone = pool.priors(50.0, {})["a"]
    assert alone.mean == 0.25
    assert alone.strength == pytest.approx(1 / (1 / 51 + 1 / 1000) - 1)
    priors = pool.priors(50.0, {"a": Prior(0.5, 1000.0), "b": Prior(0.4, 30.0)})
    assert priors["a"].mean == pytest.approx(300 / 1100)  # a prior counts as 100 looks at most
    assert priors["a"].strength == pytest.approx(1 / (1 / 51 + 1 / 1100) - 1)
    assert set(priors) == {"a"}  # nothing is known of b but its prior


def test_sums_come_back_as_they_were() -> None:
    looks, clicks = drawn(20.0, segments=12, items=40, looks=10)
    pool = pool_of(looks, clicks)
    again = Pool(pool.items, pool.sums.tolist())
    assert again.priors(33.0, {}) == pool.priors(33.0, {})
    assert (again.strength(), again.looks) == (pool.strength(), float(looks.sum()))
