"""Ridge regression for draws of weights: the same estimate as by an inverse, and beliefs of either kind go on."""

from typing import Any

import numpy as np
import pytest

from toplist.core.beliefs import copy_arrays
from toplist.core.problem import Problem
from toplist.core.slate import NONE, Floats, Request, empty_page
from toplist.parts.arrange import Diverse
from toplist.parts.feedback import EveryPlace
from toplist.parts.index import Ellipsoid, GrowingPosterior, Posterior
from toplist.parts.memory import Ridge
from toplist.parts.memory.factored_ridge import FactoredRidge
from toplist.policies import Policy

PROBLEM = Problem(30, 4, 6)
ROWS = np.random.default_rng(5).uniform(size=(30, 6))


def ask(key: int) -> Request:
    return Request(np.arange(30), 4, NONE, NONE, ROWS, 0, np.arange(30), key)


def learn_lists(policy: Any, belief: Any, first: int, count: int) -> None:
    """Learn the same lists whatever the policy would show."""
    for number in range(first, first + count):
        rng, slate, page = np.random.default_rng(number), policy.slate(PROBLEM), empty_page(4)
        slate.items[:] = rng.choice(30, 4, replace=False)
        slate.rows[:], slate.size[0] = ROWS[slate.items], 4
        page.clicks[:] = rng.uniform(size=4) < 0.4
        policy.learn(belief, slate, page)


def drawn(policy: Any, belief: Any, count: int) -> Floats:
    cache, found = policy.scratch(PROBLEM), []
    for key in range(count):
        policy.rank(belief, cache, ask(key), policy.slate(PROBLEM))
        found.append(cache.scoring.drawn.copy())
    return np.array(found)


@pytest.mark.parametrize("scoring", [Posterior(), GrowingPosterior()])
def test_policies_that_draw_weights_have_a_factor_and_the_estimate_of_an_inverse(scoring: Any) -> None:
    draws = Policy(EveryPlace(), Ridge(0.2, 2.0), scoring).prepare(PROBLEM)
    bounds = Policy(EveryPlace(), Ridge(0.2, 2.0), Ellipsoid()).prepare(PROBLEM)
    assert draws.memory == FactoredRidge(0.2, 2.0)
    assert type(bounds.memory) is Ridge
    assert draws.prepare(PROBLEM).memory == draws.memory
    one, other = draws.begin(PROBLEM), bounds.begin(PROBLEM)
    for first in (0, 25):
        factor = np.triu(one.inverse, 1) + np.diag(1.0 / np.diag(one.inverse))
        gram = one.gram + np.triu(one.gram, 1).T
        np.testing.assert_allclose(factor.T @ factor, gram, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.theta, other.theta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(draws.memory.doubt(one), bounds.memory.doubt(other), rtol=1e-9)
        for name in ("tally", "deviation"):
            same = getattr(draws.memory, name)(one, ask(0)), getattr(bounds.memory, name)(other, ask(0))
            np.testing.assert_allclose(*same, rtol=1e-9, atol=1e-12)
        learn_lists(draws, one, first, 25)
        learn_lists(bounds, other, first, 25)


def test_the_draws_of_a_factor_follow_the_distribution_of_those_of_an_inverse() -> None:
    """Means and covariances of 4000 draws of each, within 5 standard errors of the difference."""
    policy = Policy(EveryPlace(), Ridge(0.5), Posterior(scale=2.0)).prepare(PROBLEM)
    belief = policy.begin(PROBLEM)
    learn_lists(policy, belief, 0, 30)
    before = Ridge(0.5).begin(PROBLEM)
    before.theta[:], before.inverse[:] = belief.theta, np.linalg.inv(belief.gram + np.triu(belief.gram, 1).T)
    one, other = drawn(policy, belief, 4000), drawn(policy, before, 4000)
    deviation = 2.0 * np.sqrt(np.diag(before.inverse))
    assert np.all(np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5 * deviation * np.sqrt(2 / 4000))
    scale = np.outer(deviation, deviation)
    assert np.all(np.abs(np.cov(one.T) - np.cov(other.T)) < 5 * scale * np.sqrt(4 / 4000))


def test_a_belief_with_an_inverse_goes_on_with_a_factor() -> None:
    """As an older version saved it."""
    policy = Policy(EveryPlace(), Ridge(), Posterior()).prepare(PROBLEM)
    older = Policy(EveryPlace(), Ridge(), Ellipsoid()).prepare(PROBLEM)
    belief, saved = policy.begin(PROBLEM), older.begin(PROBLEM)
    learn_lists(policy, belief, 0, 20)
    learn_lists(older, saved, 0, 20)
    assert drawn(policy, saved, 3).shape == (3, 6)
    learn_lists(policy, belief, 20, 1)
    learn_lists(policy, saved, 20, 1)
    for name in ("theta", "inverse", "gram", "total"):
        np.testing.assert_allclose(getattr(saved, name), getattr(belief, name), rtol=1e-12, atol=1e-12)
    assert not np.tril(saved.inverse, -1).any()


def test_a_prior_of_the_weights() -> None:
    mean, precision = np.arange(6.0), np.diag(np.arange(1.0, 7.0)) + 0.3
    policy = Policy(EveryPlace(), Ridge(), Posterior(), Diverse()).prepare(PROBLEM)
    belief = policy.begin_from(PROBLEM, mean, precision)
    before = copy_arrays(belief)
    sample = drawn(policy, belief, 4000)
    deviation = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert np.all(np.abs(sample.mean(axis=0) - mean) < 5 * deviation / np.sqrt(4000))
    policy.learn(belief, policy.slate(PROBLEM), empty_page(4))  # an empty list
    np.testing.assert_allclose(belief.theta, before.theta, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(belief.inverse, before.inverse, rtol=1e-12, atol=1e-12)
