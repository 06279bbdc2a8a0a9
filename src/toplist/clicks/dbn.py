"""The dynamic Bayesian network model: attraction, satisfaction with the clicked item, and persistence."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from toplist.clicks.best_list import best_by_worth
from toplist.core.problem import Problem, number, probabilities
from toplist.core.randomness import branch, toss
from toplist.core.slate import NONE, Floats, Ints, Page
from toplist.support.catalogue import entry


@entry("Dynamic Bayesian network model", "kveton2015")
class DBN(NamedTuple):
    """Users who click what attracts them, leave if the item satisfies them, and otherwise continue with `persistence`.

    Parameters
    ----------
    satisfaction : float or array_like of float, default 0.7
        Probability that a clicked item satisfies, one for all items or one per item.
    persistence : float, default 0.7
        Probability of examining the next position when not satisfied.

    Notes
    -----
    The reward is the probability of leaving satisfied, `sum_k g^(k-1) w_k prod_{i<k} (1 - w_i)`, where w is attraction
    times satisfaction and g the persistence. Chapelle and Zhang, A Dynamic Bayesian Network Click Model for Web Search
    Ranking, WWW 2009; kveton2015, section 5.3.
    """

    satisfaction: Any = 0.7
    persistence: float = 0.7

    def prepare(self, problem: Problem) -> Self:
        """Check the probabilities; one satisfaction per item."""
        satisfaction = probabilities("DBN's satisfaction", self.satisfaction, problem.items, "item")
        persistence = number("DBN's persistence", self.persistence, 0.0, 1.0, "give one probability")
        return self._replace(satisfaction=satisfaction, persistence=persistence)

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; return their number."""
        satisfied, patient = branch(visitor, -1), branch(visitor, -2)
        clicks, end = 0, len(items)
        for place in range(len(items)):
            page.clicks[place] = 0
            if place < end:
                item = items[place]
                if toss(visitor, labels[item], attraction[place]):
                    page.clicks[place] = 1
                    clicks += 1
                    if toss(satisfied, labels[item], self.satisfaction[item]):
                        end = place + 1
                if not toss(patient, place, self.persistence):
                    end = place + 1
        page.left[0] = end
        return clicks

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Probability of leaving satisfied."""
        total, still_here = 0.0, 1.0
        for place in range(len(items)):
            satisfying = attraction[place] * self.satisfaction[items[place]]
            total += still_here * satisfying
            still_here *= (1.0 - satisfying) * self.persistence
        return total

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The most satisfying items, the most satisfying first."""
        best_by_worth(attraction, self.satisfaction, NONE, items)
