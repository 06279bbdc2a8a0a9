"""Memories that count: how much each item was examined, and how often it was clicked."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.beliefs import BLOCK, block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, prior
from toplist.core.slate import Floats, Ints, Request, Slate


class Counts(NamedTuple):
    """The belief that an index over counts reads.

    Memories that forget store more; their beliefs have these fields among others. Code that changes counts must call
    `touch`, because indices cache what they have computed for very many items.

    Parameters
    ----------
    examined : ndarray of float
        Per item T, the sum of weights.
    clicked : ndarray of float
        Per item T times the mean, the sum of weights times values.
    unit : ndarray of float, shape (1,)
        Weight that a whole observation adds now; above 1 if the past is discounted.
    clock : ndarray of float, shape (1,)
        Number of lists learned, as this memory counts them.
    touched : ndarray of int
        Per block of items the number of changes to its counts; empty for few items.
    """

    examined: Floats
    clicked: Floats
    unit: Floats
    clock: Floats
    touched: Ints  # per BLOCK; empty below MANY items

    def copy_arm(self, source: Any, arm: int, to: int) -> bool:
        """Copy the counts of an arm; whether they are others than before."""
        if self.examined[to] == source.examined[arm] and self.clicked[to] == source.clicked[arm]:
            return False
        self.examined[to], self.clicked[to] = source.examined[arm], source.clicked[arm]
        return True

    def count_changes(self, source: Any, first: int, end: int) -> int:
        """The number of arms in a range whose counts are others there."""
        examined, clicked, changed = source.examined[first:end], source.clicked[first:end], 0
        known_examined, known_clicked = self.examined[first:end], self.clicked[first:end]
        for i in range(len(examined)):  # vectorised
            changed += 1 if (examined[i] != known_examined[i]) | (clicked[i] != known_clicked[i]) else 0
        return changed

    def copy_rest(self, source: Any) -> None:
        """Copy the unit and the clock."""
        self.unit[0], self.clock[0] = source.unit[0], source.clock[0]


def untouched_blocks(problem: Problem) -> Ints:
    """Counters of changes, all 0."""
    return np.zeros(block_count(problem), dtype=np.int64)


@helper
def place_of_counts(examined: float, clicked: float, places: int) -> int:
    """A place in a table with a power of 2 of places: the same for equal counts, and mostly another for others."""
    return int(examined * 31.0 + clicked * 7.0) & (places - 1)


@helper
def touch(belief: Any, item: int) -> None:
    """Note that the counts of an item were changed: caches built on them are outdated."""
    if len(belief.touched) > 0:
        belief.touched[item // BLOCK] += 1


@routine
def touch_all(belief: Any) -> None:
    """Note that any counts may have been changed."""
    for block in range(len(belief.touched)):
        belief.touched[block] += 1


def tally_counts(belief: Any, items: Ints) -> tuple[Floats, Floats]:
    """Examinations, in units of a new one, and means; nan for items never examined."""
    examined = belief.examined[items]
    mean = np.full(len(items), np.nan)
    np.divide(belief.clicked[items], examined, out=mean, where=examined > 0.0)
    return examined / belief.unit[0], mean


class Everything(NamedTuple):
    """Counts all observations, for ever.

    Parameters
    ----------
    prior_mean : float, default 0.5
        Mean of the prior.
    prior_strength : float, default 0.0
        Number of examinations that the prior of each item stands for.
    """

    prior_mean: float = 0.5
    prior_strength: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        """Check the prior."""
        mean, strength = prior("Everything's ", self.prior_mean, self.prior_strength)
        return self._replace(prior_mean=mean, prior_strength=strength)

    def begin(self, problem: Problem) -> Counts:
        """The counts of the prior."""
        return Counts(
            examined=np.full(problem.items, self.prior_strength),
            clicked=np.full(problem.items, self.prior_strength * self.prior_mean),
            unit=np.ones(1),
            clock=np.zeros(1),
            touched=untouched_blocks(problem),
        )

    def keeps(self) -> str:
        """Counts."""
        return "counts"

    def tally(self, belief: Counts, request: Request) -> tuple[Floats, Floats]:
        """Examinations, in units of a new one, and means."""
        return tally_counts(belief, request.candidates)

    def tick(self, belief: Counts) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Counts, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Count one observation."""
        belief.examined[item] += weight
        belief.clicked[item] += weight * value
        touch(belief, item)

    def conclude(self, belief: Counts) -> None:
        """Not needed."""
