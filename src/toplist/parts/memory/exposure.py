"""Counts for users who examine a position with a known probability: displays and clicks, per position."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, probabilities, refuse
from toplist.core.slate import Floats, Request, Slate


class Exposed(NamedTuple):
    """The belief that an index with known examination probabilities reads.

    Parameters
    ----------
    shown : ndarray of float
        Per item N, the number of displays.
    exposure : ndarray of float
        Per item E, the displays weighted by the examination probability of their positions.
    clicked : ndarray of float
        Per item S, the number of clicks.
    missed : ndarray of float, shape (items times positions,)
        Per item and position the number of displays without a click.
    examination : ndarray of float
        Per position the examination probability.
    clock : ndarray of float, shape (1,)
        Number of lists learned.
    """

    shown: Floats
    exposure: Floats
    clicked: Floats
    missed: Floats
    examination: Floats
    clock: Floats


class Exposure(NamedTuple):
    """Counts displays, weighted by the probability that their position is examined.

    Parameters
    ----------
    examination : array_like of float or "reciprocal", default "reciprocal"
        One probability per position, or one for all; "reciprocal" is 1, 1/2, 1/3 and so on.

    Examples
    --------
    >>> from toplist.core.problem import Problem
    >>> Exposure().prepare(Problem(items=10, positions=4)).examination.round(3).tolist()
    [1.0, 0.5, 0.333, 0.25]
    """

    examination: Any = "reciprocal"

    def prepare(self, problem: Problem) -> Self:
        """Check the probabilities: one per position, none of them 0."""
        return self._replace(
            examination=checked_examination("Exposure's examination", self.examination, problem.positions)
        )

    def begin(self, problem: Problem) -> Exposed:
        """Nothing was shown."""
        items = problem.items
        return Exposed(
            shown=np.zeros(items),
            exposure=np.zeros(items),
            clicked=np.zeros(items),
            missed=np.zeros(items * problem.positions),
            examination=self.examination.copy(),
            clock=np.zeros(1),
        )

    def keeps(self) -> str:
        """Exposure."""
        return "exposure"

    def tally(self, belief: Exposed, request: Request) -> tuple[Floats, Floats]:
        """Weighted displays, and clicks per weighted display."""
        exposure = belief.exposure[request.candidates]
        mean = np.full(len(exposure), np.nan)
        np.divide(belief.clicked[request.candidates], exposure, out=mean, where=exposure > 0.0)
        return exposure, np.minimum(mean, 1.0)

    def tick(self, belief: Exposed) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Exposed, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Count one display."""
        belief.shown[item] += weight
        belief.exposure[item] += weight * belief.examination[place]
        belief.clicked[item] += weight * value
        belief.missed[item * len(belief.examination) + place] += weight * (1.0 - value)

    def conclude(self, belief: Exposed) -> None:
        """Not needed."""


def checked_examination(what: str, given: Any, positions: int) -> Floats:
    """Examination probability per position; a position that is never examined cannot be learned from."""
    if isinstance(given, str):
        if given != "reciprocal":
            raise refuse(
                what,
                given,
                "'reciprocal', one probability or one per position",
                "give the probability that each position is examined",
            )
        return 1.0 / np.arange(1.0, positions + 1.0)
    examination = probabilities(what, given, positions, "position")
    if not examination.all():
        raise refuse(what, given, "above 0 at every position", "show fewer positions")
    return examination
