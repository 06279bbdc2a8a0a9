"""Counts per item and position: what an index needs that compares positions of known examination probability."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Request, Slate
from toplist.parts.memory.exposure import checked_examination


class Positioned(NamedTuple):
    """Clicks per item and position, and their likelihood.

    Parameters
    ----------
    total : ndarray of float
        Per item S, the number of clicks.
    exposure : ndarray of float
        Per item E, the displays weighted by the examination probability of their positions.
    clicked, missed : ndarray of float, shape (items times positions,)
        Per item and position the number of displays with and without a click.
    fit : ndarray of float, shape (items times positions,)
        Per item and position the largest log-likelihood of its clicks, S log(S / N) + F log(F / N) - S log kappa, where
        N = S + F.
    likelihood : ndarray of float
        Per item the sum of these.
    examination : ndarray of float
        Per position the examination probability kappa.
    clock : ndarray of float, shape (1,)
        Number of lists learned.
    """

    total: Floats
    exposure: Floats
    clicked: Floats
    missed: Floats
    fit: Floats
    likelihood: Floats
    examination: Floats
    clock: Floats


class PerPosition(NamedTuple):
    """Counts displays and clicks of each item at each position.

    Parameters
    ----------
    examination : array_like of float or "reciprocal", default "reciprocal"
        One probability per position, or one for all; "reciprocal" is 1, 1/2, 1/3 and so on.
    """

    examination: Any = "reciprocal"

    def prepare(self, problem: Problem) -> Self:
        """Check the probabilities: one per position, none of them 0."""
        checked = checked_examination("PerPosition's examination", self.examination, problem.positions)
        return self._replace(examination=checked)

    def begin(self, problem: Problem) -> Positioned:
        """Nothing was shown."""
        items, places = problem.items, problem.items * problem.positions
        return Positioned(
            total=np.zeros(items),
            exposure=np.zeros(items),
            clicked=np.zeros(places),
            missed=np.zeros(places),
            fit=np.zeros(places),
            likelihood=np.zeros(items),
            examination=self.examination.copy(),
            clock=np.zeros(1),
        )

    def keeps(self) -> str:
        """Counts per position."""
        return "positions"

    def tally(self, belief: Positioned, request: Request) -> tuple[Floats, Floats]:
        """Weighted displays, and clicks per weighted display."""
        exposure = belief.exposure[request.candidates]
        mean = np.full(len(exposure), np.nan)
        np.divide(belief.total[request.candidates], exposure, out=mean, where=exposure > 0.0)
        return exposure, np.minimum(mean, 1.0)

    def tick(self, belief: Positioned) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Positioned, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Count one display."""
        places = len(belief.examination)
        at, kappa = item * places + place, belief.examination[place]
        belief.total[item] += weight * value
        belief.exposure[item] += weight * kappa
        belief.clicked[at] += weight * value
        belief.missed[at] += weight * (1.0 - value)
        belief.fit[at] = best_fit(belief.clicked[at], belief.missed[at]) - belief.clicked[at] * math.log(kappa)
        likelihood = 0.0  # summed anew: differences would add up rounding errors
        for i in range(item * places, (item + 1) * places):
            likelihood += belief.fit[i]
        belief.likelihood[item] = likelihood

    def conclude(self, belief: Positioned) -> None:
        """Not needed."""


@helper
def best_fit(clicked: float, missed: float) -> float:
    """S log(S / N) + F log(F / N), 0 log 0 being 0."""
    shown = clicked + missed
    ones = clicked * math.log(clicked / shown) if clicked > 0.0 else 0.0
    return ones + (missed * math.log(missed / shown) if missed > 0.0 else 0.0)
