"""The user browsing model: whether a place is looked at depends on the place and on where the last click was."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.clicks.best_list import EVEN, best_by_worth, exchange
from toplist.core.problem import Problem, number, refuse
from toplist.core.randomness import branch, toss
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import entry


@entry("User browsing model", hides=("order", "chances", "shown"))
class UBM(NamedTuple):
    """Looks at a place or not by where the last click above it was, and clicks what attracts.

    Place k is looked at with probability `examination[k][j]`, j the place of the last click above. The table has a row
    per place and as many columns, of which the last stands for no click yet; what lies on the diagonal or above it in
    other columns is not used. One number g makes the table g^(d - 1), d places below the last click, or below the top
    of the page where there is none: the first place, and the one below a click, are always looked at. The reward is
    the expected number of clicks. Dupret and Piwowarski, A User Browsing Model to Predict Search Engine Click Data
    from Past Observations, SIGIR 2008.
    """

    examination: Any = 0.7  # one number, or a table of places and places of the last click
    order: Any = ()  # places by mean examination, the most examined first; filled by `prepare`
    chances: Any = ()  # per place of the last click, to work in; filled by `prepare`
    shown: Any = ()  # per place, to work in; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """A table, the order of its rows, and room to work in."""
        size = problem.positions
        used = np.tri(size, size, -1, dtype=np.bool_)
        used[:, -1] = True
        examination = self._table(size, used)
        means = examination.sum(axis=1) / used.sum(axis=1)
        return self._replace(
            examination=examination,
            order=np.argsort(-means, kind="stable"),
            chances=np.zeros(size),
            shown=np.zeros(size),
        )

    def _table(self, size: int, used: Any) -> Floats:
        """A table of probabilities, 0 where it is not used."""
        advice = "give one number, or a row per place with a column per place of the last click and a last for none"
        what = "UBM's examination"
        try:
            table = np.array(self.examination, dtype=np.float64)
        except (TypeError, ValueError):
            raise refuse(what, self.examination, "numbers between 0 and 1", advice) from None
        if table.ndim == 0:
            number(what, self.examination, 0.0, 1.0, advice)
            above = np.arange(size)
            above[-1] = -1  # no click yet
            table = table ** np.maximum(np.arange(size)[:, None] - above - 1, 0)
        if table.shape != (size, size):
            raise refuse(what, self.examination, f"a table of {size} x {size} probabilities", advice)
        wrong = used & ~((table >= 0) & (table <= 1))  # also true for NaN
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            wrong_one = float(table[row, column])
            raise refuse(f"{what}[{row}][{column}]", wrong_one, "a probability in [0, 1]", "correct that entry")
        return np.where(used, table, 0.0)

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; their number."""
        looking = branch(visitor, -1)  # the places' coins, apart from the items' coins
        clicks, last = 0, len(self.examination) - 1
        for place in range(len(items)):
            page.clicks[place] = 0
            if toss(looking, place, self.examination[place, last]) and toss(
                visitor, labels[items[place]], attraction[place]
            ):
                page.clicks[place] = 1
                clicks += 1
                last = place
        page.left[0] = len(items)
        return clicks

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Expected number of clicks, from the chances of where the last click was."""
        none = len(self.examination) - 1
        self.chances[none] = 1.0
        expected = 0.0
        for place in range(len(items)):
            clicked = 0.0
            for above in range(place + 1):
                last = above if above < place else none
                here = self.chances[last] * self.examination[place, last] * attraction[place]
                self.chances[last] -= here
                clicked += here
            expected += clicked
            if place < none:
                self.chances[place] = clicked
        return expected

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """A list that no exchange of two improves, of its places or with an item outside: an approximation.

        The search begins with the most attractive item at the place that is most examined, and so on.
        """
        best_by_worth(attraction, EVEN, self.order, items)
        exchange(self, moment, attraction, items, self.shown[: len(items)])
