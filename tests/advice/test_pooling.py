"""How much items differ is learned from the fit: the strength of a Beta, and that of a fitted log."""

import numpy as np
import pytest
from small_logs_of_truth import EQUAL, made_log

from toplist.advice.pooling import STRENGTHS, beta_prior, pooled_priors
from toplist.logs import Prior, fit_model

OLD = Prior(0.4, 2.0)


@pytest.mark.parametrize("strength", [3.0, 12.0, 60.0])
def test_the_strength_of_known_coins_is_found(strength: float) -> None:
    """600 coins of a known Beta, tossed 5 to 400 times: within two steps of the grid."""
    random = np.random.default_rng(1)
    tosses = random.integers(5, 400, 600).astype(np.float64)
    heads = random.binomial(tosses.astype(np.int64), random.beta(0.2 * strength, 0.8 * strength, 600)).astype(
        np.float64
    )
    found = beta_prior(heads, tosses, OLD)
    assert found.mean == pytest.approx(0.2, abs=0.02)
    assert abs(STRENGTHS.index(found.strength) - STRENGTHS.index(strength)) <= 2


def test_few_coins_keep_their_prior() -> None:
    assert beta_prior(np.ones(3), np.full(3, 10.0), OLD) == OLD


def test_items_that_are_alike_are_shrunk_together() -> None:
    log, _ = made_log(EQUAL, 2500)
    found = pooled_priors(fit_model(log, "dcm", errors="none"))
    assert found["attraction"].mean == pytest.approx(0.25, abs=0.04)
    assert found["attraction"].strength >= 60.0


def test_items_that_differ_are_not() -> None:
    log, _ = made_log(np.linspace(0.05, 0.9, 6)[None], 2500, disorder=3.0)
    assert pooled_priors(fit_model(log, "dcm", errors="none"))["attraction"].strength <= 8.0


def test_satisfaction_has_a_prior_of_its_own() -> None:
    log, _ = made_log(EQUAL, 800, "sdbn", disorder=3.0)
    assert set(pooled_priors(fit_model(log, "sdbn", errors="none"))) == {"attraction", "satisfaction"}
