"""The click chain model: whether a user continues depends on whether they clicked, and on what."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number
from toplist.core.randomness import branch, toss
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import entry


class ListSearch(NamedTuple):
    """Scratch arrays of the search for the best list."""

    worth: Floats  # per item: R / (1 - f), by which the best list is sorted
    ranked: Ints  # the available items, sorted by worth
    value: Floats  # per number of positions: the largest reward of a list of items from some rank on
    taken: Any  # (ranks, positions - 1): whether the item of this rank heads the best list of that length


@entry("Click chain model", hides=("table",))
class CCM(NamedTuple):
    """Users who click what attracts them, and continue or leave depending on the relevance of what they clicked.

    Parameters
    ----------
    after_nothing : float, default 0.9
        Probability of examining the next position after no click (alpha1).
    after_irrelevant : float, default 0.8
        The same after a click on an item of relevance 0 (alpha2).
    after_relevant : float, default 0.3
        The same after a click on an item of relevance 1 (alpha3).

    Notes
    -----
    The relevance R of an item is its attraction; after a click the user continues with probability
    `after_irrelevant (1 - R) + after_relevant R`. The reward is the expected number of clicks. Guo, Liu, Kannan, Minka,
    Taylor, Wang and Faloutsos, Click Chain Model in Web Search, WWW 2009.
    """

    after_nothing: float = 0.9
    after_irrelevant: float = 0.8
    after_relevant: float = 0.3
    table: Any = ()  # scratch; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Check the three probabilities, and make the scratch arrays."""
        items, positions = problem.items, problem.positions
        table = ListSearch(
            worth=np.zeros(items),
            ranked=np.zeros(items, dtype=np.int64),
            value=np.zeros(positions + 1),
            taken=np.zeros((items, positions), dtype=np.bool_),
        )
        asked = ("after_nothing", "after_irrelevant", "after_relevant")
        given = {name: number(f"CCM's {name}", getattr(self, name), 0.0, 1.0, "give one probability") for name in asked}
        return self._replace(**given, table=table)

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; return their number."""
        patient = branch(visitor, -1)  # coins of the positions, independent of those of the items
        clicks, end = 0, len(items)
        for place in range(len(items)):
            page.clicks[place] = 0
            if place < end:
                own = attraction[place]
                going = self.after_nothing
                if toss(visitor, labels[items[place]], own):
                    page.clicks[place] = 1
                    clicks += 1
                    going = self.after_irrelevant * (1.0 - own) + self.after_relevant * own
                if not toss(patient, place, going):
                    end = place + 1
        page.left[0] = end
        return clicks

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Expected number of clicks."""
        expected = 0.0
        for place in range(len(items) - 1, -1, -1):
            own = attraction[place]
            leaving = leave_probability(self.after_nothing, self.after_irrelevant, self.after_relevant, own)
            expected = own + (1.0 - leaving) * expected
        return expected

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The list with the most expected clicks, exactly; ties go to the lower index.

        With f the probability of continuing, a list earns R1 + f1 (R2 + f2 (...)). Exchanging neighbours shows that any
        set of items is best sorted by decreasing R / (1 - f). The set follows by dynamic programming from the last rank
        up: the best k items from rank i on are those from i + 1 on, or item i followed by the best k - 1 from i + 1 on.
        """
        worth, ranked, value, taken = self.table
        count, size = 0, len(items)
        for item in range(len(attraction)):
            if attraction[item] >= 0.0:
                leaving = leave_probability(
                    self.after_nothing, self.after_irrelevant, self.after_relevant, attraction[item]
                )
                worth[item] = attraction[item] / leaving if leaving > 0.0 else np.inf
                ranked[count] = item
                count += 1
        sort_by_worth(worth, ranked[:count])
        value[0] = 0.0
        for rank in range(count - 1, -1, -1):
            own = attraction[ranked[rank]]
            leaving = leave_probability(self.after_nothing, self.after_irrelevant, self.after_relevant, own)
            left = count - rank  # items to choose from, including this one
            for places in range(min(size, left), 0, -1):
                with_it = own + (1.0 - leaving) * value[places - 1]
                taken[rank, places - 1] = places == left or with_it >= value[places]
                if taken[rank, places - 1]:
                    value[places] = with_it
        place = 0
        for rank in range(count):
            if place < size and taken[rank, size - place - 1]:
                items[place] = ranked[rank]
                place += 1


@helper
def leave_probability(after_nothing: float, after_irrelevant: float, after_relevant: float, attraction: float) -> float:
    """Probability of not examining the next position, clicked or not; exactly 0 where every user continues."""
    after_click = (1.0 - after_irrelevant) * (1.0 - attraction) + (1.0 - after_relevant) * attraction
    return (1.0 - after_nothing) * (1.0 - attraction) + after_click * attraction


@helper
def sort_by_worth(worth: Floats, items: Ints) -> None:
    """Sort items by decreasing worth, ties by increasing index; Shellsort, in place."""
    gap = len(items) // 2
    while gap > 0:
        for i in range(gap, len(items)):
            item, j = items[i], i
            while j >= gap:
                above = items[j - gap]
                if worth[above] > worth[item] or (worth[above] == worth[item] and above < item):
                    break
                items[j] = above
                j -= gap
            items[j] = item
        gap = gap // 2
