"""A linear index whose radius follows the determinant of the Gram matrix: the index of C3-UCB."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number, refuse
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.ellipsoid import choose_best, score_linear
from toplist.parts.index.layout import Layout, empty_layout
from toplist.parts.index.link import IDENTITY
from toplist.parts.memory.position_ridge import ridge_prior, squared_discounts
from toplist.parts.memory.ridge import Linear, widths
from toplist.parts.memory.symmetric import factor

THEORY = -1.0  # in compiled code, a level that the horizon gives
TINY = 1e-150  # down to this, numbers are multiplied, because a logarithm of each takes longer


class DeterminantScratch(NamedTuple):
    """Scratch space: the layout of the features, values per item and per candidate, and a triangular factor."""

    layout: Layout
    value: Floats
    gathered: Floats
    factor: Floats  # (d, d)


class DeterminantBound(NamedTuple):
    """min(theta'x + beta sqrt(x' M^-1 x), 1), where beta grows with the determinant of M.

    Parameters
    ----------
    prior : float or "theory", default "theory"
        lambda, that of the memory; "theory" is the sum of the squared discounts of all positions.
    discount : float or sequence of float, default 1.0
        Discount of the positions, that of the memory, for "theory".
    delta : float or "theory", default "theory"
        Probability that the bounds fail; "theory" is `1 / sqrt(n)`. Where the number of steps n is unknown, it is the
        number of the next list.
    noise : float, default 1.0
        Bound R on the noise of an observation.
    steps : float, default 0.0
        n, or 0 if it is unknown; filled by `prepare`.

    Notes
    -----
    `beta = noise sqrt(log(det(M) / (prior^d delta^2))) + sqrt(prior)`, and 1 for the first list. Li, Wang, Zhang and
    Chen, Contextual Combinatorial Cascading Bandits, ICML 2016, algorithm 1.
    """

    prior: Any = "theory"
    discount: Any = 1.0
    delta: Any = "theory"
    noise: float = 1.0
    steps: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters; the discount is not needed any more."""
        delta = self.delta
        if isinstance(delta, str):
            if delta != "theory":
                raise refuse("DeterminantBound's delta", delta, "a number between 0 and 1, or 'theory'", "as 0.01")
            delta = THEORY
        elif delta != THEORY:
            delta = number("DeterminantBound's delta", delta, 1e-300, 1.0, "or 'theory'")
        return self._replace(
            prior=ridge_prior(self.prior, squared_discounts(self.discount, problem.positions)),
            discount=1.0,
            delta=float(delta),
            noise=number("DeterminantBound's noise", self.noise, 0.0, 1e9, "C3-UCB's is 1"),
            steps=float(problem.steps or 0),
        )

    def scratch(self, problem: Problem) -> DeterminantScratch:
        """Nothing is laid out yet."""
        d = problem.features
        return DeterminantScratch(
            empty_layout(problem), np.zeros(problem.items), np.zeros(problem.items), np.zeros((d, d))
        )

    def reads(self) -> str:
        """A linear belief."""
        return "linear"

    def exact(self, belief: Linear, request: Request) -> Floats:
        """The formula for every candidate."""
        radius = 1.0
        if belief.clock[0] > 0.0:  # by LAPACK: the source of `factor` would take minutes with 2,000 features
            lower = np.linalg.cholesky(belief.gram.T)  # reads what `factor` reads
            radius = radius_of_factor(belief, self, np.diag(1.0 / np.diag(lower)))
        means = request.features[request.candidates] @ belief.theta
        return np.asarray(np.minimum(means + radius * widths(belief, request), 1.0), dtype=np.float64)

    def top(self, belief: Linear, cache: DeterminantScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score everything, take the best; items at the cap are equal."""
        radius = determinant_radius(belief, self, cache.factor)
        score_linear(belief, cache, request, IDENTITY, radius, cache.value)
        for item in request.candidates:
            cache.value[item] = min(cache.value[item], 1.0)
        choose_best(cache, request, chosen, scores)


@helper
def determinant_radius(belief: Linear, scoring: DeterminantBound, upper: Floats) -> float:
    """beta for the next list."""
    if belief.clock[0] <= 0.0:
        return 1.0
    factor(belief.gram, upper)
    return radius_of_factor(belief, scoring, upper)


@helper
def radius_of_factor(belief: Linear, scoring: DeterminantBound, upper: Floats) -> float:
    """beta, from the factor of the Gram matrix as `factor` fills it."""
    logarithm, product = 0.0, 1.0
    for i in range(len(belief.theta)):  # relative to the prior, so that nothing is lost where that is large
        share = scoring.prior * upper[i, i] * upper[i, i]  # at most 1: the diagonal has reciprocals
        if product * share < TINY:
            logarithm -= math.log(product)
            product = share
        else:
            product *= share
    logarithm -= math.log(product)
    delta = scoring.delta
    if delta < 0.0:
        delta = 1.0 / math.sqrt(scoring.steps if scoring.steps > 0.0 else belief.clock[0] + 1.0)
    return float(scoring.noise * math.sqrt(max(0.0, logarithm - 2.0 * math.log(delta))) + math.sqrt(scoring.prior))
