"""Priors of items from a fit: means, and strengths in observations."""

import math

import numpy as np
import pytest
from small_logs_of_truth import made_log

import toplist
from toplist.advice import priors_of_fit
from toplist.advice.known_visitors import known_visitors
from toplist.advice.priors import MOST_STRENGTH, reading_scales, scale_of
from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, FittedModel, fit_model
from toplist.logs.models import MODELS


def fitted(lists: int = 40) -> FittedModel:
    """A cascade of "a" above "b": of four lists, one has a click on "a" and two on "b"."""
    log = ClickLog.from_lists(["q"] * lists, [["a", "b"]] * lists, clicked=[[1], [2], [2], []] * (lists // 4))
    return fit_model(log, "cascade", priors={})


def test_the_strength_is_the_number_of_observations() -> None:
    """Without a prior of the fit, the error of a rate of n observations is worth n - 1 of them, as in a Beta."""
    found = priors_of_fit(fitted(), "q")
    assert list(found) == ["b", "a"]
    assert found["a"] == pytest.approx((0.25, 39.0))  # examined 40 times
    assert found["b"] == pytest.approx((2 / 3, 29.0))  # where "a" was not clicked


def test_trust_and_cap() -> None:
    assert priors_of_fit(fitted(), "q", trust=0.5)["a"].strength == pytest.approx(19.5)
    assert priors_of_fit(fitted(), "q", trust=0.0)["a"].strength == 0.0
    assert priors_of_fit(fitted(4000), "q")["a"].strength == MOST_STRENGTH
    assert priors_of_fit(fitted(4000), "q", trust=0.2)["a"].strength == pytest.approx(0.2 * MOST_STRENGTH)
    assert priors_of_fit(fitted(4000), "q", most=1e6)["a"].strength == pytest.approx(3999.0)


def test_a_prior_of_the_fit_is_worth_observations_too() -> None:
    log = ClickLog.from_lists(["q"] * 40, [["a", "b"]] * 40, clicked=[[1], [2], [2], []] * 10)
    assert priors_of_fit(fit_model(log, "cascade"), "q")["a"].strength == pytest.approx(41.0)


def test_an_attraction_without_error_has_no_strength() -> None:
    log = ClickLog.from_lists(["q"] * 4, [["a", "b"]] * 4, clicked=[[1], [1], [1], [1]])
    found = priors_of_fit(fit_model(log, "cascade", priors={}), "q")  # "a" always, "b" never examined
    assert found["a"] == (1.0, 0.0)
    assert all(math.isfinite(prior.strength) for prior in found.values())


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput, match="The trust is 2"):
        priors_of_fit(fitted(), "q", trust=2.0)
    with pytest.raises(InvalidInput):
        priors_of_fit(fitted(), "unknown")


def test_the_scale_of_a_reading() -> None:
    """By hand: attraction 0.5 of "a" and 0.25 of "b"; up to the first click, 3 clicks on 0.5 + 0.5 + 0.75 + 0.75."""
    log = ClickLog.from_lists(["q"] * 4, [["a", "b"]] * 4, clicked=[[1, 2], [1], [2], []])
    model = FittedModel.from_values(MODELS["dcm"]._replace(positions=2), {"q": {"a": [0.5], "b": [0.25]}}, [0.5, 0.5])  # type: ignore[attr-defined]
    found = reading_scales(model, log)
    assert found["ThroughFirstClick"] == pytest.approx(3 / 2.5)
    assert found["ThroughLastClick"] == pytest.approx(4 / 2.75)
    assert scale_of(toplist.make("dcm-ts"), found) == found["ThroughLastClick"]
    assert scale_of(toplist.make("exploring(policy='cascade-ts')"), found) == found["ThroughFirstClick"]
    assert scale_of(toplist.make("bubble-rank(delta=0.001)"), found) == 1.0


def test_visitors_as_a_policy_assumes_have_a_scale_of_one() -> None:
    attraction = np.array([[0.2, 0.4, 0.6, 0.3]])
    log, truth = made_log(attraction, 3000, "cascade", disorder=3.0)
    assert reading_scales(truth, log)["ThroughFirstClick"] == pytest.approx(1.0, abs=0.05)
    below, other = made_log(attraction, 3000, "pbm", disorder=3.0)
    assert reading_scales(other, below)["ThroughLastClick"] < 0.98  # lower positions are examined less
    assert priors_of_fit(fitted(), "q", scale=0.5)["a"].mean == pytest.approx(0.125)
    assert known_visitors("pbm", attraction, 3, 0).attraction("q0") == other.attraction("q0")
