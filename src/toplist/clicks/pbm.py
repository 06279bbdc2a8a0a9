"""The position-based model: whether a position is examined depends on the position alone."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.clicks.best_list import EVEN, best_by_worth
from toplist.core.problem import Problem, probabilities
from toplist.core.randomness import branch, toss
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import entry


@entry("Position-based model", hides=("order",))
class PBM(NamedTuple):
    """Users who examine each position with its own probability, and click what attracts them there.

    Parameters
    ----------
    examination : float or array_like of float, default 1.0
        Probability that a position is examined, one for all positions or one per position.

    Notes
    -----
    The reward is the expected number of clicks. With examination 1 everywhere it is the user without position bias of
    Yue and Guestrin (NIPS 2011), whom LSBGreedy assumes; the model is Richardson and others' (WWW 2007).
    """

    examination: Any = 1.0
    order: Any = ()  # positions, the most examined first; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """One probability per position, and the positions sorted by it."""
        examination = probabilities("PBM's examination", self.examination, problem.positions, "position")
        return self._replace(examination=examination, order=np.argsort(-examination, kind="stable"))

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; return their number."""
        looking = branch(visitor, -1)  # coins of the positions, independent of those of the items
        clicks = 0
        for place in range(len(items)):
            clicked = toss(looking, place, self.examination[place]) and toss(
                visitor, labels[items[place]], attraction[place]
            )
            page.clicks[place] = 1 if clicked else 0
            clicks += page.clicks[place]
        page.left[0] = len(items)
        return clicks

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Expected number of clicks."""
        expected = 0.0
        for place in range(len(items)):
            expected += self.examination[place] * attraction[place]
        return expected

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The k-th most attractive item at the k-th most examined position."""
        best_by_worth(attraction, EVEN, self.order, items)
