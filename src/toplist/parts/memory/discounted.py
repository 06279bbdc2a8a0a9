"""Discounted counts: every new list reduces the weight of all earlier ones."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, number, refuse
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.memory.counts import tally_counts, touch, touch_all, untouched_blocks
from toplist.parts.memory.horizon import DOUBLING, discount_for, expected_changes, steps_or_doubling

LARGEST_UNIT = 2.0**100  # a power of 2, so that dividing by it is exact


class DiscountedCounts(NamedTuple):
    """Counts in a growing unit: instead of reducing the old counts, new observations count more."""

    examined: Floats  # per item
    clicked: Floats
    unit: Floats  # one element: the weight of a new observation
    clock: Floats  # one element: discounted number of lists learned
    touched: Ints  # per BLOCK of items
    gamma: Floats  # one element
    lists: Ints  # two elements: lists learned, and the number at which gamma is updated next


class Discounted(NamedTuple):
    """Discounts old lists by gamma: multiplies all counts by gamma at every list, and adds its observations.

    Parameters
    ----------
    gamma : float or {"theory", "doubling"}, default "theory"
        Discount. "theory" is 1 - sqrt(changes / n) / 4 for n steps; "doubling" is the same with the largest power of 2
        among the numbers of lists so far as n. "theory" with an unknown horizon is "doubling".
    changes : float, default 1.0
        Expected number of changes of the users.

    Notes
    -----
    The memory of CascadeDUCB (li2019).

    Examples
    --------
    >>> from toplist.core.problem import Problem
    >>> Discounted().prepare(Problem(items=10, positions=3, steps=10_000)).gamma
    0.9975
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
        """An empty belief."""
        return DiscountedCounts(
            examined=np.zeros(problem.items),
            clicked=np.zeros(problem.items),
            unit=np.ones(1),
            clock=np.zeros(1),
            touched=untouched_blocks(problem),
            gamma=np.full(1, max(self.gamma, 0.0)),  # with doubling, the first list sets it
            lists=np.array([0, 1]),
        )

    def keeps(self) -> str:
        """Counts."""
        return "counts"

    def forgetful(self) -> bool:
        """Old observations count less."""
        return True

    def tally(self, belief: DiscountedCounts, request: Request) -> tuple[Floats, Floats]:
        """Examinations, in units of a new one, and means."""
        return tally_counts(belief, request.candidates)

    def tick(self, belief: DiscountedCounts) -> None:
        """One more list: discount all earlier ones."""
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
        """Not needed."""


def resolve_discount(what: str, given: Any, changes: float, problem: Problem) -> float:
    """gamma as a number; DOUBLING is kept."""
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
    """Count a list; if gamma depends on their number, update it at every power of 2."""
    belief.lists[0] += 1
    if gamma == DOUBLING and belief.lists[0] == belief.lists[1]:
        steps = float(belief.lists[0])
        belief.gamma[0] = discount_for(steps, min(steps, changes))
        belief.lists[1] *= 2


@routine
def rescale_counts(counts: Floats) -> None:
    """Go back to a small unit; counts that underflow are forgotten."""
    for item in range(len(counts)):
        counts[item] /= LARGEST_UNIT
