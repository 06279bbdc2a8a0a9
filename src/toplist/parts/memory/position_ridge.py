"""Ridge regression in which an observation counts by the discount of its position."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, number, refuse
from toplist.core.slate import Floats, Request, Slate
from toplist.parts.memory.ridge import (
    Linear,
    add_observation,
    begin_linear,
    linear_deviation,
    linear_doubt,
    require_features,
    tally_linear,
    update_estimate,
)

UNRESOLVED: Floats = np.zeros(0)


class PositionRidge(NamedTuple):
    """Ridge regression of the observed values on the features, both times the discount of their position.

    Parameters
    ----------
    discount : float or sequence of float, default 1.0
        gamma_k, how much a click at position k is worth: `discount^(k - 1)`, or one number per position; above 0 and at
        most 1. True once `prepare` has resolved it.
    prior : float or "theory", default "theory"
        lambda, the precision of the prior on each weight; "theory" is the sum of gamma_k^2, the smallest with a
        guarantee.
    squares : ndarray of float, default empty
        gamma_k^2; filled by `prepare`.

    Notes
    -----
    M = prior I + sum of gamma_k^2 x x', B = sum of gamma_k^2 x times value, theta = M^-1 B. Li, Wang, Zhang and Chen,
    Contextual Combinatorial Cascading Bandits, ICML 2016, algorithm 1.

    Examples
    --------
    >>> PositionRidge(0.5).prepare(Problem(items=9, positions=3, features=2)).prior
    1.3125
    """

    discount: Any = 1.0
    prior: Any = "theory"
    squares: Any = UNRESOLVED

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters, and that there are features."""
        require_features("PositionRidge", problem)
        is_prepared = self.discount is True and len(self.squares) > 0
        squares = self.squares if is_prepared else squared_discounts(self.discount, problem.positions)
        return self._replace(
            discount=True, prior=ridge_prior(self.prior, squares), squares=np.array(squares, dtype=np.float64)
        )

    def begin(self, problem: Problem) -> Linear:
        """The prior."""
        return begin_linear(problem, self.prior, 1.0)

    def keeps(self) -> str:
        """A linear belief."""
        return "linear"

    def tally(self, belief: Linear, request: Request) -> tuple[Floats, Floats]:
        """How often each candidate was examined, and its expected value."""
        return tally_linear(belief, request)

    def deviation(self, belief: Linear, request: Request) -> Floats:
        """sqrt(x' M^-1 x), times the noise of a click, at most 0.5."""
        return linear_deviation(belief, request)

    def doubt(self, belief: Linear) -> Floats:
        """Per feature, the standard deviation of its weight."""
        return linear_doubt(belief)

    def tick(self, belief: Linear) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Linear, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add one observation."""
        belief.examined[item] += weight
        add_observation(belief, slate.rows[place], weight * self.squares[place], value)

    def conclude(self, belief: Linear) -> None:
        """Update the estimate."""
        update_estimate(belief)


def squared_discounts(discount: Any, positions: int) -> Floats:
    """gamma_k^2 for each position.

    >>> squared_discounts(0.5, 3).tolist(), squared_discounts([1, 0.5], 2).tolist()
    ([1.0, 0.25, 0.0625], [1.0, 0.25])
    """
    advice = "give one discount, as 0.9, or one per position"
    if np.ndim(discount) == 0:
        one = number("The discount of positions", discount, 0.0, 1.0, advice)
        each = [one**place for place in range(positions)]
    else:
        each = [number("The discount of a position", one, 0.0, 1.0, advice) for one in discount]
        if len(each) != positions:
            raise refuse("The number of discounts", len(each), f"{positions}, one per position", advice)
    if min(each) == 0.0:
        raise refuse("The discount of a position", 0.0, "above 0", advice)
    return np.square(np.array(each, dtype=np.float64))


def ridge_prior(given: Any, squares: Floats) -> float:
    """The precision of the prior: a number above 0, or that of the theory."""
    if isinstance(given, str) and given == "theory":
        return float(squares.sum())
    prior = number("The prior of weights", given, 0.0, 1e9, "or 'theory'")
    if prior == 0.0:
        raise refuse("The prior of weights", given, "above 0", "or 'theory'")
    return prior
