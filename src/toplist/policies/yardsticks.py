"""Yardsticks: a list that never changes, which makes the all-knowing policy."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.problem import InvalidInput, Problem
from toplist.protocols import Capabilities
from toplist.slate import Ints, Page, Request, Slate, empty_slate


class Nothing(NamedTuple):
    """The belief of those who learn nothing."""

    clock: Ints  # one element: lists learned


class ShowList(NamedTuple):
    """Shows one given list, whatever happens. Pins and eligibility do not move it."""

    items: Ints

    def prepare(self, problem: Problem) -> Self:
        """Check that there is a list of the right length."""
        if len(self.items) != problem.positions:
            raise InvalidInput(
                f"ShowList holds {len(self.items)} items, but there are {problem.positions} positions; "
                f"give one item per position."
            )
        return self

    def begin(self, problem: Problem) -> Nothing:
        """Nothing but a count of lists."""
        return Nothing(np.zeros(1, dtype=np.int64))

    def scratch(self, problem: Problem) -> Nothing:
        """No room is needed."""
        return Nothing(np.zeros(1, dtype=np.int64))

    def slate(self, problem: Problem) -> Slate:
        """Items only."""
        return empty_slate(problem.positions, problem.features)

    def capabilities(self) -> Capabilities:
        """Learns nothing and takes nothing."""
        return Capabilities(
            learns=False, adds_items=False, takes_subsets=False, takes_pins=False, samples="nothing"
        )

    def rank(self, belief: Nothing, cache: Nothing, request: Request, slate: Slate) -> None:
        """The list."""
        slate.size[0] = len(self.items)
        for place in range(len(self.items)):
            slate.items[place] = self.items[place]

    def learn(self, belief: Nothing, slate: Slate, page: Page) -> None:
        """Count the list."""
        belief.clock[0] += 1

    def sample(self, belief: Nothing, item: int, place: int, value: float, slate: Slate) -> None:
        """Nothing to remember."""
