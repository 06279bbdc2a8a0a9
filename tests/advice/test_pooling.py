"""What items are like is learned from the fit: mean by impressions and features, and how much items differ."""

import numpy as np
import pytest
from small_logs_of_truth import EQUAL, made_log

from toplist.advice.pooling import PairFacts, beta_regression, mean_of, pooled_priors
from toplist.core.slate import Floats
from toplist.logs import ClickLog, Prior, fit_model

OLD = Prior(0.4, 2.0)


def coins(mean: Floats, strength: float, seed: int) -> tuple[Floats, Floats]:
    """Heads and tosses of coins whose probabilities are of known Beta distributions."""
    random = np.random.default_rng(seed)
    tosses = random.integers(5, 400, len(mean))
    chance = random.beta(mean * strength, (1.0 - mean) * strength)
    return random.binomial(tosses, chance).astype(np.float64), tosses.astype(np.float64)


@pytest.mark.parametrize("strength", [3.0, 12.0, 60.0])
def test_known_coefficients_and_strength_are_found(strength: float) -> None:
    """900 coins: coefficients within 0.15, the strength within half of itself."""
    random = np.random.default_rng(7)
    columns = np.stack([np.ones(900), random.standard_normal(900)], axis=1)
    mean = 1.0 / (1.0 + np.exp(-(columns @ [-1.4, 0.8])))
    found = beta_regression(*coins(mean, strength, 1), columns, OLD)
    assert found.weights == pytest.approx([-1.4, 0.8], abs=0.15)
    assert 0.5 * strength <= found.strength <= 1.5 * strength


def test_few_coins_have_no_regression() -> None:
    columns = np.stack([np.ones(6), np.arange(6.0)], axis=1)
    some = beta_regression(np.arange(6.0), np.full(6, 10.0), columns, OLD)
    assert some.weights[1] == 0.0
    few = beta_regression(np.ones(3), np.full(3, 10.0), columns[:3], OLD)
    assert mean_of(columns, few.weights) == pytest.approx(np.full(6, 0.4))
    assert few.strength == 2.0


def shares(log: ClickLog, model: str = "dcm", **facts: object) -> tuple[Floats, Floats]:
    """Prior means and strengths of the pairs of a log."""
    fitted = fit_model(log, model, errors="none")
    heads, tails = pooled_priors(fitted, PairFacts(log, **facts))(fitted.pair_query, fitted.pair_item)  # type: ignore[arg-type]
    return (heads / (heads + tails))[:, 0], (heads + tails)[:, 0]


def test_items_that_are_alike_are_shrunk_together() -> None:
    mean, strength = shares(made_log(np.full((3, 6), 0.25), 4000)[0])
    assert mean == pytest.approx(np.full(18, 0.25), abs=0.06)
    assert strength.min() >= 40.0


def test_items_that_differ_are_not() -> None:
    _, strength = shares(made_log(np.tile(np.linspace(0.05, 0.9, 6), (3, 1)), 4000, disorder=5.0)[0])
    assert strength.max() <= 8.0


def test_items_that_a_good_ranking_rarely_shows_are_expected_to_be_worse() -> None:
    attraction = np.tile(np.linspace(0.5, 0.02, 12), (3, 1))  # the old ranking prefers the first items
    log, _ = made_log(attraction, 4000, disorder=0.6)
    mean, _ = shares(log)
    fitted = fit_model(log, "dcm", errors="none")
    shown = np.bincount(fitted.pair_numbers(log), minlength=len(mean))
    assert mean[shown == shown.max()] > 2.0 * mean[shown == shown.min()].min()


def test_features_tell_what_an_item_is_like() -> None:
    attraction = np.random.default_rng(2).choice([0.1, 0.6], (3, 8))
    log, _ = made_log(attraction, 4000, disorder=5.0)
    features = {f"q{q}-{i}": np.array([float(attraction[q, i] > 0.3)]) for q in range(3) for i in range(8)}
    fitted = fit_model(log, "dcm", errors="none")
    good = np.array([features[str(log.items[code])][0] > 0 for code in fitted.pair_item])
    mean, strength = shares(log, features=features)
    assert mean[good].min() > 0.45
    assert mean[~good].max() < 0.2
    assert strength.min() > shares(log)[1].max()


def test_satisfaction_has_a_prior_of_its_own() -> None:
    log, _ = made_log(EQUAL, 800, "sdbn", disorder=3.0)
    fitted = fit_model(log, "sdbn", errors="none")
    heads, _ = pooled_priors(fitted, PairFacts(log))(fitted.pair_query, fitted.pair_item)
    assert heads.shape == (6, 2)
