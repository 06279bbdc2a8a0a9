"""The user browsing model: examination of a position depends on the position and on that of the last click above."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.clicks.best_list import EVEN, best_by_worth, improve_by_exchange
from toplist.core.problem import Problem, number, refuse
from toplist.core.randomness import branch, toss
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import entry


@entry("User browsing model", hides=("order", "chances", "shown"))
class UBM(NamedTuple):
    """Users who examine a position depending on where the last click above it was, and click what attracts them.

    Parameters
    ----------
    examination : float or array_like of float, default 0.7
        A K x K table: position k is examined with probability `examination[k][j]`, j the position of the last click
        above; the last column stands for no click yet, and entries on or above the diagonal in other columns are not
        used. One number g makes the table `g^(d - 1)`, d positions below the last click, or below the top of the page
        without one: the first position, and the one below a click, are always examined.

    Notes
    -----
    The reward is the expected number of clicks. Dupret and Piwowarski, A User Browsing Model to Predict Search Engine
    Click Data from Past Observations, SIGIR 2008.
    """

    examination: Any = 0.7
    order: Any = ()  # positions by mean examination, the most examined first; filled by `prepare`
    chances: Any = ()  # per position of the last click, scratch; filled by `prepare`
    shown: Any = ()  # per position, scratch; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """The table, the order of its rows, and the scratch arrays."""
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
        advice = (
            "give one number, or a row per position with a column per position of the last click and a last for none"
        )
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
        """Draw the clicks of one visitor; return their number."""
        looking = branch(visitor, -1)  # coins of the positions, independent of those of the items
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
        """Expected number of clicks, from the distribution of the last click's position."""
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
        """A list that no exchange improves, of two positions or with an item outside: an approximation.

        The search begins with the k-th most attractive item at the k-th most examined position.
        """
        best_by_worth(attraction, EVEN, self.order, items)
        improve_by_exchange(self, moment, attraction, items, self.shown[: len(items)])
