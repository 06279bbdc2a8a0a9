"""The dependent click model: several clicks, and after each a probability of leaving that depends on the position."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.clicks.best_list import EVEN, best_by_worth
from toplist.core.compiling import helper
from toplist.core.problem import Problem, probabilities
from toplist.core.randomness import branch, toss
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import entry


@entry("Dependent click model", "katariya2016", hides=("order",))
class DCM(NamedTuple):
    """Users who click what attracts them, and after a click at position k leave with probability `termination[k]`.

    Parameters
    ----------
    termination : float or array_like of float, default 0.5
        Probability of leaving satisfied after a click, one for all positions or one per position, not necessarily
        sorted.

    Notes
    -----
    The reward is the probability of leaving satisfied, `1 - prod(1 - v w)`, v the termination and w the attraction.
    Katariya, Kveton, Szepesvari and Wen, DCM Bandits, ICML 2016; the model is Guo, Liu and Wang's (WSDM 2009).
    """

    termination: Any = 0.5
    order: Any = ()  # positions, the most terminating first; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """One termination probability per position, and the positions sorted by it."""
        termination = probabilities("DCM's termination", self.termination, problem.positions, "position")
        return self._replace(termination=termination, order=np.argsort(-termination, kind="stable"))

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; return their number."""
        return dcm_click(self.termination, items, attraction, labels, visitor, page)

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Probability of leaving satisfied."""
        return dcm_reward(self.termination, attraction)

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The k-th most attractive item at the k-th most terminating position."""
        best_by_worth(attraction, EVEN, self.order, items)


@entry("Dependent click model of the moment", "liu2018", hides=("lasting",))
class ChangingDCM(NamedTuple):
    """DCM users whose termination probabilities come from the world at each step, as in a `Contextual` world."""

    lasting: bool = False  # unused: a part needs a field

    def prepare(self, problem: Problem) -> Self:
        """Nothing to resolve."""
        return self

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; return their number."""
        return dcm_click(moment.termination, items, attraction, labels, visitor, page)

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Probability of leaving satisfied."""
        return dcm_reward(moment.termination, attraction)

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The k-th most attractive item at the k-th most terminating position of this step."""
        best_by_worth(attraction, EVEN, moment.places, items)


@helper
def dcm_click(termination: Floats, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
    """Draw the clicks of one visitor; return their number."""
    clicks, end = 0, len(items)
    for place in range(len(items)):
        page.clicks[place] = 0
        if place < end and toss(visitor, labels[items[place]], attraction[place]):
            page.clicks[place] = 1
            clicks += 1
            leaving = branch(visitor, -1)  # coins of the positions, independent of those of the items
            if toss(leaving, place, termination[place]):
                end = place + 1
    page.left[0] = end
    return clicks


@helper
def dcm_reward(termination: Floats, attraction: Floats) -> float:
    """Probability of leaving satisfied."""
    nothing = 1.0
    for place in range(len(attraction)):
        nothing *= 1.0 - termination[place] * attraction[place]
    return 1.0 - nothing
