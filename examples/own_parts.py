"""A click model and a world of one's own, for simulations on the command line; docs/simulating.md uses them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from toplist.clicks.best_list import EVEN, best_by_worth
from toplist.core.problem import Problem, number
from toplist.core.randomness import branch, toss
from toplist.core.slate import NONE, Floats, Ints, Page
from toplist.worlds import Fixed


class Skimmers(NamedTuple):
    """Users who go on to the next position with probability `patience`, and click everything that attracts them."""

    patience: float = 0.7

    def prepare(self, problem: Problem) -> Self:
        """Check the probability."""
        return self._replace(patience=number("patience", self.patience, 0.0, 1.0, "give a probability"))

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; return their number."""
        going_on = branch(visitor, -1)  # coins of the positions, independent of those of the items
        clicks, end = 0, len(items)
        for place in range(len(items)):
            page.clicks[place] = 0
            if place < end and toss(visitor, labels[items[place]], attraction[place]):
                page.clicks[place] = 1
                clicks += 1
            if place < end and not toss(going_on, place, self.patience):
                end = place + 1
        page.left[0] = end
        return clicks

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Expected number of clicks."""
        looking, expected = 1.0, 0.0
        for place in range(len(items)):
            expected += looking * attraction[place]
            looking *= self.patience
        return expected

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The most attractive items, the most attractive first."""
        best_by_worth(attraction, EVEN, NONE, items)


def two_shelves(items: int = 12, positions: int = 3, good: float = 0.3, poor: float = 0.1) -> Fixed:
    """A world: every third item is good, and the others are poor."""
    return Fixed([good if item % 3 == 0 else poor for item in range(items)], positions)
