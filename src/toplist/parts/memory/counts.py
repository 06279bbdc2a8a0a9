"""Memories that count: how much each item was examined and what that brought."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.beliefs import BLOCK, block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, prior
from toplist.core.slate import Floats, Ints, Request, Slate


class Counts(NamedTuple):
    """What an index over counts reads: per item the sums of weights and of values, and a clock.

    Memories that forget keep more, and their beliefs have these fields among others. Whoever changes counts says so by
    `touch`, for indices remember what they have seen of very many items.
    """

    examined: Floats  # T: sum of weights
    clicked: Floats  # T times the mean: sum of weight times value
    unit: Floats  # one element: what a whole observation adds by now; above 1 where the past is discounted
    clock: Floats  # one element: lists learned, as this memory counts them
    touched: Ints  # per BLOCK of items, how often counts in it were changed; empty where there are not MANY


def untouched_blocks(problem: Problem) -> Ints:
    """No count was changed yet."""
    return np.zeros(block_count(problem), dtype=np.int64)


@helper
def touch(belief: Any, item: int) -> None:
    """Tell that an item's counts were changed: what somebody concluded from them is outdated."""
    if len(belief.touched) > 0:
        belief.touched[item // BLOCK] += 1


@routine
def touch_all(belief: Any) -> None:
    """Tell that any counts may have been changed."""
    for block in range(len(belief.touched)):
        belief.touched[block] += 1


def tally_counts(belief: Any, items: Ints) -> tuple[Floats, Floats]:
    """Tries, in units of a fresh one, and means; nan for items never examined."""
    examined = belief.examined[items]
    mean = np.full(len(items), np.nan)
    np.divide(belief.clicked[items], examined, out=mean, where=examined > 0.0)
    return examined / belief.unit[0], mean


class Everything(NamedTuple):
    """Keeps everything for ever.

    A prior, as if each item had been examined `prior_strength` times with mean `prior_mean`, may stand for what was
    known before.
    """

    prior_mean: float = 0.5
    prior_strength: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        """Check the prior."""
        mean, strength = prior("Everything's ", self.prior_mean, self.prior_strength)
        return self._replace(prior_mean=mean, prior_strength=strength)

    def begin(self, problem: Problem) -> Counts:
        """Counts of the prior alone."""
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
        """Tries, in units of a fresh one, and means."""
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
        """Nothing is left to do."""
