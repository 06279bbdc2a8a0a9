"""Stacking weights: against a grid of all weights, and with models that cannot explain lists."""

from itertools import product

import numpy as np
import pytest

from toplist.advice.stacking import ENOUGH, allot, stack
from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats


def mixture(log_likelihoods: dict[str, Floats], weights: list[float], share: Floats) -> float:
    """Mean logarithm of the mixture's probability."""
    chance = np.exp(np.array(list(log_likelihoods.values())))
    return float(np.log(np.array(weights) @ chance) @ share / share.sum())


@pytest.mark.parametrize("seed", range(4))
def test_no_weights_of_a_grid_are_better(seed: int) -> None:
    random = np.random.default_rng(seed)
    likelihoods = {name: np.log(random.beta(1.0 + place, 2.0, 300)) for place, name in enumerate("abc")}
    share = random.uniform(0.5, 2.0, 300)
    found = stack(likelihoods, share)
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert found.per_list == pytest.approx(mixture(likelihoods, list(found.weights.values()), share))
    grid = [each for each in product(np.linspace(0.0, 1.0, 41), repeat=3) if abs(sum(each) - 1.0) < 1e-9]
    best = max(grid, key=lambda each: mixture(likelihoods, list(each), share))
    assert found.per_list >= mixture(likelihoods, list(best), share) - ENOUGH
    assert np.allclose(list(found.weights.values()), best, atol=0.05)
    assert found.gap < ENOUGH


def test_a_model_that_is_better_everywhere_gets_everything() -> None:
    found = stack({"bad": np.log(np.full(50, 0.2)), "good": np.log(np.full(50, 0.7))}, np.ones(50))
    assert found.weights["good"] > 0.999


def test_two_halves_of_the_truth_share_the_weight() -> None:
    """Lists of two sorts, each explained by one model only: the weights are the shares of the sorts."""
    sort = np.arange(100) < 30
    with np.errstate(divide="ignore"):
        likelihoods = {"one": np.log(sort * 0.5), "other": np.log(~sort * 0.5)}
    assert stack(likelihoods, np.ones(100)).weights == pytest.approx({"one": 0.3, "other": 0.7}, abs=1e-5)


def test_lists_that_nobody_explains_or_judges_are_left_out() -> None:
    impossible = np.array([-np.inf, -1.0, np.nan])
    found = stack({"one": impossible, "other": np.array([-np.inf, -2.0, -1.0])}, np.ones(3))
    assert found.weights["one"] > 0.999
    with pytest.raises(InvalidInput, match="No model explains any of the lists"):
        stack({"one": np.array([-np.inf])}, np.ones(1))


def test_draws_are_divided_by_weight() -> None:
    assert allot({"a": 0.5, "b": 0.3, "c": 0.2}, 20) == {"a": 10, "b": 6, "c": 4}
    assert allot({"a": 0.99, "b": 0.01}, 20) == {"a": 20}
    assert sum(allot({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}, 20).values()) == 20
