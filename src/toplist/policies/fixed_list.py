"""A policy that shows a given list: a yardstick, and in a simulation the all-knowing policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, refuse, whole
from toplist.core.protocols import Capabilities
from toplist.core.slate import Ints, Page, Request, Slate, empty_slate


class Nothing(NamedTuple):
    """The belief of those who learn nothing."""

    clock: Ints  # one element: lists learned


class ShowList(NamedTuple):
    """Shows one given list, whatever happens; without one, a simulation tells it the best list of every moment."""

    items: Sequence[int] | Ints = ()

    def prepare(self, problem: Problem) -> Self:
        """Check that there is a list of the right length, if any."""
        if len(self.items) == 0:
            return self
        items = [whole("An item of ShowList's list", item, 0, "items are numbered from 0") for item in self.items]
        if (
            len(items) != problem.positions
            or len(set(items)) < len(items)
            or not set(items) <= set(range(problem.items))
        ):
            accepted = f"{problem.positions} different items between 0 and {problem.items - 1}"
            raise refuse("ShowList's list", items, accepted, "give one item per position")
        return self._replace(items=np.array(items, dtype=np.int64))

    def told(self, best_items: Ints) -> Self:
        """Where a simulation keeps the best list of the moment."""
        return self._replace(items=best_items) if len(self.items) == 0 else self

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
            learns=False,
            adds_items=False,
            takes_subsets=False,
            takes_pins=False,
            samples="nothing",
            needs_simulator=len(self.items) == 0,
        )

    def rank(self, belief: Nothing, cache: Nothing, request: Request, slate: Slate) -> None:
        """The list."""
        size = 0
        for place in range(min(request.positions, len(self.items))):
            if self.items[place] >= 0:  # below 0 where fewer items are there
                slate.items[place] = self.items[place]
                size = place + 1
        slate.size[0] = size

    def learn(self, belief: Nothing, slate: Slate, page: Page) -> None:
        """Count the list."""
        belief.clock[0] += 1

    def sample(self, belief: Nothing, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Nothing to remember."""
