"""The cascade model: the user scans from the top and leaves with the first item that attracts."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from toplist.clicks.best_list import EVEN, best_by_worth
from toplist.clicks.dcm import DCM
from toplist.core.problem import Problem, whole
from toplist.core.randomness import toss
from toplist.core.slate import NONE, Floats, Ints, Page
from toplist.support.catalogue import entry


@entry("Cascade model", "kveton2015")
class Cascade(NamedTuple):
    """Users who scan from the top, click the first item that attracts them, and leave.

    Parameters
    ----------
    depth : int or None, default None
        Number of positions that a user examines at most; None is all of them, as in the papers.

    Notes
    -----
    The reward of a list is the probability of a click, `1 - prod(1 - w)`, w the attraction. Kveton, Szepesvari, Wen and
    Ashkan, Cascading Bandits, ICML 2015; the model is Craswell and others' (WSDM 2008).
    """

    depth: Any = None

    def prepare(self, problem: Problem) -> Self:
        """Resolve the depth; without one, these are DCM users who leave after the first click.

        The numbers are the same, and the loop is compiled once for both.
        """
        if self.depth is None and type(self) is Cascade:
            return DCM(1.0).prepare(problem)  # type: ignore[return-value]
        if self.depth is None:  # a subclass, which may click differently
            return self._replace(depth=problem.positions)
        return self._replace(depth=whole("Cascade's depth", self.depth, 1, "or leave it out for all positions"))

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; return their number."""
        clicks, end = 0, min(self.depth, len(items))
        for place in range(len(items)):
            page.clicks[place] = 0
            if place < end and toss(visitor, labels[items[place]], attraction[place]):
                page.clicks[place] = 1
                clicks += 1
                end = place + 1
        page.left[0] = end
        return clicks

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Probability of a click."""
        nothing = 1.0
        for place in range(min(self.depth, len(items))):
            nothing *= 1.0 - attraction[place]
        return 1.0 - nothing

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The most attractive items, the most attractive first; the order does not change the reward."""
        best_by_worth(attraction, EVEN, NONE, items)
