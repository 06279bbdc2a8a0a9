"""The click chain model: whether a person goes on depends on whether they clicked, and on what they clicked."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number
from toplist.core.randomness import branch, toss
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import entry


class Table(NamedTuple):
    """What the search for the best list works in."""

    worth: Floats  # per item: what decides who stands first
    ranked: Ints  # the items that are there, the first to stand first
    value: Floats  # per number of places: the most that these earn, filled with items from some rank on
    taken: Any  # (ranks, places - 1): whether the item of this rank is the first of so many


@entry("Click chain model", hides=("table",))
class CCM(NamedTuple):
    """Clicks what attracts, and goes on or not by whether something was clicked, and how relevant that was.

    An item's relevance R is its attraction. Without a click a person looks at the next position with `after_nothing`
    (alpha1), and after one with `after_irrelevant` (1 - R) + `after_relevant` R (alpha2 and alpha3). The reward is the
    expected number of clicks. Guo, Liu, Kannan, Minka, Taylor, Wang and Faloutsos, Click Chain Model in Web Search,
    WWW 2009.
    """

    after_nothing: float = 0.9
    after_irrelevant: float = 0.8
    after_relevant: float = 0.3
    table: Any = ()  # to work in; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Three probabilities, and room to work in."""
        items, positions = problem.items, problem.positions
        table = Table(
            worth=np.zeros(items),
            ranked=np.zeros(items, dtype=np.int64),
            value=np.zeros(positions + 1),
            taken=np.zeros((items, positions), dtype=np.bool_),
        )
        asked = ("after_nothing", "after_irrelevant", "after_relevant")
        given = {name: number(f"CCM's {name}", getattr(self, name), 0.0, 1.0, "give one probability") for name in asked}
        return self._replace(**given, table=table)

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; their number."""
        patient = branch(visitor, -1)  # the places' coins, apart from the items' coins
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
            leaving = leaves(self.after_nothing, self.after_irrelevant, self.after_relevant, own)
            expected = own + (1.0 - leaving) * expected
        return expected

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The list of most clicks, exactly: of equals, the item of the lower index goes first.

        With f the probability of going on, a list earns R1 + f1 (R2 + f2 (...)). Exchanging neighbours shows that items
        stand best in decreasing order of R / (1 - f), whichever they are. Which they are follows from the bottom up:
        the best k items from rank i on are those from i + 1 on, or i and below it the best k - 1 from i + 1 on.
        """
        worth, ranked, value, taken = self.table
        count, size = 0, len(items)
        for item in range(len(attraction)):
            if attraction[item] >= 0.0:
                leaving = leaves(self.after_nothing, self.after_irrelevant, self.after_relevant, attraction[item])
                worth[item] = attraction[item] / leaving if leaving > 0.0 else np.inf
                ranked[count] = item
                count += 1
        sort_falling(worth, ranked[:count])
        value[0] = 0.0
        for rank in range(count - 1, -1, -1):
            own = attraction[ranked[rank]]
            leaving = leaves(self.after_nothing, self.after_irrelevant, self.after_relevant, own)
            left = count - rank  # items to choose from, this one included
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
def leaves(after_nothing: float, after_irrelevant: float, after_relevant: float, attraction: float) -> float:
    """The probability of not looking at the next position, whether clicked or not; exactly 0 where all go on."""
    after_click = (1.0 - after_irrelevant) * (1.0 - attraction) + (1.0 - after_relevant) * attraction
    return (1.0 - after_nothing) * (1.0 - attraction) + after_click * attraction


@helper
def sort_falling(worth: Floats, items: Ints) -> None:
    """Sort items by worth, the largest first, and of equals the lower index first; Shell's sort, in place."""
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
