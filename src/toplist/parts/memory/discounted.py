"""Counts that fade: every new list makes all that was learned before it count a little less."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, number, refuse
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.memory.counts import tally_counts, touch, touch_all, untouched_blocks
from toplist.parts.memory.horizon import DOUBLING, discount_for, expected_changes, steps_or_doubling

LARGEST_UNIT = 2.0**100  # of the unit; a power of 2, so that dividing by it rounds nothing


class DiscountedCounts(NamedTuple):
    """Counts in a growing unit: instead of all the old becoming less, the new counts for more."""

    examined: Floats  # per item
    clicked: Floats
    unit: Floats  # one element: what a whole observation adds by now
    clock: Floats  # one element: lists learned, discounted like everything else
    touched: Ints  # per BLOCK of items
    gamma: Floats  # one element
    lists: Ints  # two elements: lists learned, and at which number gamma is set anew


class Discounted(NamedTuple):
    """At every list, multiplies all that it knows by gamma, and adds what the list said (li2019, CascadeDUCB).

    `gamma` is a number; or "theory", which is 1 - sqrt(changes / n) / 4 for n steps; or "doubling", the same for the
    largest power of 2 among the numbers of lists so far, which "theory" is as well where n is not known. `changes` is
    how often people are expected to change their minds.
    """

    gamma: Any = "theory"
    changes: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Resolve gamma."""
        changes = expected_changes("Discounted", self.changes, problem)
        return self._replace(
            gamma=resolve_discount("Discounted's gamma", self.gamma, changes, problem), changes=changes
        )

    def begin(self, problem: Problem) -> DiscountedCounts:
        """Nothing is known."""
        return DiscountedCounts(
            examined=np.zeros(problem.items),
            clicked=np.zeros(problem.items),
            unit=np.ones(1),
            clock=np.zeros(1),
            touched=untouched_blocks(problem),
            gamma=np.full(1, max(self.gamma, 0.0)),  # where it doubles, the first list sets it
            lists=np.array([0, 1]),
        )

    def keeps(self) -> str:
        """Counts."""
        return "counts"

    def forgetful(self) -> bool:
        """What is old counts less."""
        return True

    def tally(self, belief: DiscountedCounts, request: Request) -> tuple[Floats, Floats]:
        """Tries, in units of a fresh one, and means."""
        return tally_counts(belief, request.candidates)

    def tick(self, belief: DiscountedCounts) -> None:
        """One more list: all before it counts less."""
        update_discount(belief, self.gamma, self.changes)
        belief.unit[0] /= belief.gamma[0]
        if belief.unit[0] > LARGEST_UNIT:
            belief.unit[0] /= LARGEST_UNIT
            rescale_counts(belief.examined)
            rescale_counts(belief.clicked)
            touch_all(belief)
        belief.clock[0] = belief.gamma[0] * belief.clock[0] + 1.0

    def add(self, belief: DiscountedCounts, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Count one observation."""
        belief.examined[item] += weight * belief.unit[0]
        belief.clicked[item] += weight * value * belief.unit[0]
        touch(belief, item)

    def conclude(self, belief: DiscountedCounts) -> None:
        """Nothing is left to do."""


def resolve_discount(what: str, given: Any, changes: float, problem: Problem) -> float:
    """gamma as a number; DOUBLING stays what it is."""
    advice = "the nearer to 1, the longer the past counts"
    if isinstance(given, str):
        steps = steps_or_doubling(what, given, problem, advice)
        return DOUBLING if steps is None else discount_for(float(steps), changes)
    if given == DOUBLING:
        return DOUBLING
    gamma = number(what, given, 0.0, 1.0, advice)
    if gamma == 0.0:
        raise refuse(what, given, "above 0 and at most 1", advice)
    return gamma


@helper
def update_discount(belief: Any, gamma: float, changes: float) -> None:
    """Count a list; where gamma follows their number, set it anew at every power of 2."""
    belief.lists[0] += 1
    if gamma == DOUBLING and belief.lists[0] == belief.lists[1]:
        steps = float(belief.lists[0])
        belief.gamma[0] = discount_for(steps, min(steps, changes))
        belief.lists[1] *= 2


@routine
def rescale_counts(counts: Floats) -> None:
    """Go back to a small unit; what counts for nothing any more is forgotten."""
    for item in range(len(counts)):
        counts[item] /= LARGEST_UNIT
