"""Logistic regression: maximum likelihood weights of features, fitted with every list or by gradient steps."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from toplist.core.problem import InvalidInput, Problem, number, refuse, whole
from toplist.core.slate import Floats, Request, Slate
from toplist.parts.memory.logit import Logit, add_observation, begin_logit, logit_deviation, logit_doubt, tally_logit
from toplist.parts.memory.newton import fit, history_row, set_curvature
from toplist.parts.memory.ridge import CLICK_NOISE, require_features, symmetric_inverse


def checked_ridge(part: str, ridge: Any, problem: Problem) -> float:
    """lambda, at least K for the paper's bound; K by default."""
    require_features(part, problem)
    if ridge is None:
        return float(problem.positions)
    checked = number(f"{part}'s ridge", ridge, 0.0, 1e9, "or leave it out for K, the papers' minimum")
    if checked == 0.0:
        raise refuse(f"{part}'s ridge", ridge, "above 0", "or leave it out for K, the papers' minimum")
    return checked


class LogisticMemory:
    """What logistic memories have in common, however they fit their weights."""

    __slots__ = ()

    def keeps(self) -> str:
        """A logistic belief."""
        return "logistic"

    def tally(self, belief: Logit, request: Request) -> tuple[Floats, Floats]:
        """How often each candidate was examined, and its expected value."""
        return tally_logit(belief, request)

    def deviation(self, belief: Logit, request: Request) -> Floats:
        """Standard deviation of the expected values."""
        return logit_deviation(belief, request)

    def doubt(self, belief: Logit) -> Floats:
        """Standard deviation of the weights."""
        return logit_doubt(belief)


class _LogisticFields(NamedTuple):
    penalty: float = 1e-2
    ridge: Any = None
    capacity: int = 4096


class Logistic(LogisticMemory, _LogisticFields):
    """Logistic regression: the maximum likelihood weights with penalty `penalty/2 |theta|^2`, by Newton's method.

    Without a penalty, linearly separable clicks have no maximum likelihood weights. A row of the history is a feature
    vector with its tries and clicks, so an item with constant features has one row. If features change with every call,
    the latest `capacity` rows are stored, and older ones are folded into a Gaussian around the estimate of that time.

    Parameters
    ----------
    penalty : float, default 0.01
        Factor of the penalty.
    ridge : float or None, default None
        lambda in V = lambda I + sum of x x'; None for K.
    capacity : int, default 4096
        Number of rows of the history.

    Notes
    -----
    liu2018, equation (4), which has no penalty and stores everything.
    """

    __slots__ = ()

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        penalty = number("Logistic's penalty", self.penalty, 0.0, 1e9, "give a small number above 0")
        if penalty == 0.0:
            raise refuse("Logistic's penalty", self.penalty, "above 0", "0.01 has hardly any effect")
        capacity = whole("Logistic's capacity", self.capacity, problem.positions, "give the number of rows to store")
        return self._replace(penalty=penalty, ridge=checked_ridge("Logistic", self.ridge, problem), capacity=capacity)

    def begin(self, problem: Problem) -> Logit:
        """An empty belief."""
        return begin_logit(problem, self.ridge, self.capacity, self.penalty)

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> Logit:
        """A prior of the weights in place of the penalty.

        V counts an observation as x x', of which the likelihood has the share p (1 - p), at most CLICK_NOISE squared.
        """
        belief = begin_logit(problem, self.ridge, self.capacity, self.penalty)
        belief.theta[:], belief.pull[:] = mean, precision @ mean
        belief.precision[:] = precision - self.penalty * np.eye(problem.features)
        belief.bend[:] = symmetric_inverse(precision)
        seen = self.ridge * np.eye(problem.features) + precision / CLICK_NOISE**2
        belief.gram[:], belief.inverse[:] = np.triu(seen), symmetric_inverse(seen)
        belief.base[:] = belief.inverse
        return belief

    def tick(self, belief: Logit) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Logit, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add one observation, to the latest row of the item if its features are the same."""
        features = slate.rows[place]
        mean = add_observation(belief, item, features, weight, value)
        row = history_row(belief, item, features)
        belief.tries[row] += weight
        belief.clicked[row] += weight * value
        set_curvature(belief, row, belief.tries[row] * mean * (1.0 - mean))
        belief.used[2] = 1

    def conclude(self, belief: Logit) -> None:
        """Fit, if there are new observations."""
        if belief.used[2] == 1:
            fit(belief, self.penalty)
            belief.total[:] = 0.0
            belief.used[2] = 0


class _SGDFields(NamedTuple):
    rate: float = 0.05
    ridge: Any = None


class LogisticSGD(LogisticMemory, _SGDFields):
    """Logistic regression by one gradient step per list, at a cost that does not grow with the number of lists.

    Parameters
    ----------
    rate : float, default 0.05
        Size of a step; the paper prints none.
    ridge : float or None, default None
        lambda in V = lambda I + sum of x x'; None for K.

    Notes
    -----
    `theta += rate * sum of (value - mu(theta'x)) x` over the list, at the theta before it (liu2018, equations (14) and
    (15)).
    """

    __slots__ = ()

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        rate = number("LogisticSGD's rate", self.rate, 0.0, 1e9, "give the size of a step, as 0.05")
        return self._replace(rate=rate, ridge=checked_ridge("LogisticSGD", self.ridge, problem))

    def begin(self, problem: Problem) -> Logit:
        """An empty belief, without a history."""
        return begin_logit(problem, self.ridge, 0)

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> NoReturn:
        """Refused."""
        raise InvalidInput(
            "LogisticSGD takes no prior of its weights: its steps have a fixed size, whatever the precision; use "
            "Logistic()."
        )

    def tick(self, belief: Logit) -> None:
        """One more list."""
        belief.clock[0] += 1.0
        belief.total[:] = 0.0

    def add(self, belief: Logit, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add the gradient of one observation."""
        add_observation(belief, item, slate.rows[place], weight, value)

    def conclude(self, belief: Logit) -> None:
        """Take one step."""
        for i in range(len(belief.theta)):
            belief.theta[i] += self.rate * belief.total[i]
