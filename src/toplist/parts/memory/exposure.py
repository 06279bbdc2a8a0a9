"""Counts for people who look at a place or not, with a probability that is known: what was shown where, and clicked."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, probabilities, refuse
from toplist.core.slate import Floats, Request, Slate


class Exposed(NamedTuple):
    """What an index for a known examination reads; per item, all places together, and what each place said."""

    shown: Floats  # N: displays
    exposure: Floats  # E: displays, each as much as its place is looked at
    clicked: Floats  # S
    missed: Floats  # (items times places): displays without a click
    examination: Floats  # per place
    clock: Floats  # one element: lists learned


class Exposure(NamedTuple):
    """Counts displays by the probability with which their place is looked at.

    `examination` has one probability per position, or one for all; "reciprocal" is 1, 1/2, 1/3 and so on.
    """

    examination: Any = "reciprocal"

    def prepare(self, problem: Problem) -> Self:
        """One probability per position, none of them 0."""
        return self._replace(
            examination=checked_examination("Exposure's examination", self.examination, problem.positions)
        )

    def begin(self, problem: Problem) -> Exposed:
        """Nothing shown."""
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
        """Displays by how much they were looked at, and clicks over that."""
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
        """Nothing is left to do."""


def checked_examination(what: str, given: Any, positions: int) -> Floats:
    """The probability of being looked at, per position; what is never looked at cannot be learned from."""
    if isinstance(given, str):
        if given != "reciprocal":
            raise refuse(what, given, "'reciprocal', one probability or one per position", "give the probability that each position is examined")
        return 1.0 / np.arange(1.0, positions + 1.0)
    examination = probabilities(what, given, positions, "position")
    if not examination.all():
        raise refuse(what, given, "above 0 at every position", "show fewer positions")
    return examination
