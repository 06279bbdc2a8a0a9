"""Ridge regression for an index that draws weights: it keeps a factor of the Gram matrix instead of its inverse.

A draw from N(theta, M^-1) is theta + U^-1 z with U'U = M and z standard normal. So a list needs one factor of M,
whatever the number of its observations, and no inverse.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Request, Slate
from toplist.parts.memory.ridge import (
    FACTORED,
    Linear,
    Ridge,
    add_to_sums,
    begin_linear,
    linear_deviation,
    linear_doubt,
    tally_linear,
)
from toplist.parts.memory.symmetric import add_square, factor, solve_lower, solve_upper


class FactoredRidge(NamedTuple):
    """`Ridge` whose belief has the factor U of M = U'U in place of the inverse; policies that draw weights choose it.

    Parameters
    ----------
    sigma : float, default 0.1
        Noise of an observation.
    prior : float, default 1.0
        Precision of the prior on each weight.
    """

    sigma: float = 0.1
    prior: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters, and that there are features."""
        ready = Ridge(self.sigma, self.prior).prepare(problem)
        return self._replace(sigma=ready.sigma, prior=ready.prior)

    def begin(self, problem: Problem) -> Linear:
        """The prior."""
        belief = begin_linear(problem, self.prior, self.sigma)
        return with_factor(belief, np.eye(problem.features) * math.sqrt(self.prior))

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> Linear:
        """A prior of the weights in place of `prior`: M = precision, and theta = mean."""
        belief = Ridge(self.sigma, self.prior).begin_from(problem, mean, precision)
        return with_factor(belief, np.asarray(np.linalg.cholesky(precision).T, dtype=np.float64))

    def add_sums(self, belief: Linear, gram: Floats, total: Floats) -> None:
        """Count observations by their sums of x x' and of value x, before any other."""
        add_to_sums(belief, gram, total)
        conclude_factored(belief)

    def keeps(self) -> str:
        """A linear belief."""
        return "linear"

    def tally(self, belief: Linear, request: Request) -> tuple[Floats, Floats]:
        """How often each candidate was examined, and its expected value."""
        return tally_linear(belief, request)

    def deviation(self, belief: Linear, request: Request) -> Floats:
        """As in Ridge."""
        return linear_deviation(belief, request)

    def doubt(self, belief: Linear) -> Floats:
        """Per feature, the standard deviation of its weight."""
        return linear_doubt(belief)

    def tick(self, belief: Linear) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Linear, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add one observation."""
        row, precision = slate.rows[place], weight / (belief.sigma[0] * belief.sigma[0])
        belief.examined[item] += weight
        add_square(belief.gram, row, precision)
        if value != 0.0:
            for i in range(len(row)):
                belief.total[i] += weight * value * row[i]

    def conclude(self, belief: Linear) -> None:
        """Update the factor and the estimate."""
        conclude_factored(belief)


def with_factor(belief: Linear, upper: Floats) -> Linear:
    """The belief with a factor in place of the inverse."""
    belief.inverse[:], belief.updates[1] = upper, FACTORED
    np.fill_diagonal(belief.inverse, 1.0 / np.diag(upper))
    return belief


@helper
def conclude_factored(belief: Linear) -> None:
    """Factor M, and solve M theta = B / sigma^2."""
    theta, scale = belief.theta, 1.0 / (belief.sigma[0] * belief.sigma[0])
    if belief.updates[1] != FACTORED:  # an older version saved it with an inverse
        for i in range(len(theta)):
            for j in range(i):
                belief.inverse[i, j] = 0.0
        belief.updates[0], belief.updates[1] = 0, FACTORED
    factor(belief.gram, belief.inverse)
    for i in range(len(theta)):
        theta[i] = scale * belief.total[i]
    solve_lower(belief.inverse, theta)
    solve_upper(belief.inverse, theta)
