"""A policy that shows a given list: a baseline, and in a simulation the omniscient policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, refuse, whole
from toplist.core.protocols import Capabilities
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Ints, Page, Request, Slate, empty_slate


class Nothing(NamedTuple):
    """The belief of a policy that does not learn."""

    clock: Ints  # one element: lists learned


class ShowList(NamedTuple):
    """Shows one given list; without one, a simulation passes in the best list of every step.

    Parameters
    ----------
    items : sequence of int, optional
        The list, one item per position; by default the best list, which only a simulation can provide.
    """

    items: Sequence[int] | Ints = ()

    def prepare(self, problem: Problem) -> Self:
        """Check the length and the items of the list, if one is given."""
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

    def with_best_list(self, best_items: Ints) -> Self:
        """This policy reading the array where a simulation keeps the current best list, unless a list was given."""
        return self._replace(items=best_items) if len(self.items) == 0 else self

    def begin(self, problem: Problem) -> Nothing:
        """A count of lists only."""
        return Nothing(np.zeros(1, dtype=np.int64))

    def scratch(self, problem: Problem) -> Nothing:
        """Nothing is needed."""
        return Nothing(np.zeros(1, dtype=np.int64))

    def slate(self, problem: Problem) -> Slate:
        """Items only."""
        return empty_slate(problem.positions, problem.features)

    def capabilities(self) -> Capabilities:
        """Does not learn, and takes neither subsets nor pins."""
        return Capabilities(
            learns=False,
            adds_items=False,
            takes_subsets=False,
            takes_pins=False,
            samples="nothing",
            needs_simulator=len(self.items) == 0,
        )

    def rank(self, belief: Nothing, cache: Nothing, request: Request, slate: Slate) -> None:
        """Copy the list."""
        size = 0
        for place in range(min(request.positions, len(self.items))):
            if self.items[place] >= 0:  # negative where fewer items are available than positions
                slate.items[place] = self.items[place]
                size = place + 1
        slate.size[0] = size

    def list_probabilities(self, belief: Nothing, request: Request, items: Ints) -> ListProbabilities:
        """Exact: the list is certain."""
        stands = (np.asarray(self.items)[: len(items)] == items).astype(np.float64)
        return ListProbabilities.exact(np.minimum.accumulate(stands), stands)

    def learn(self, belief: Nothing, slate: Slate, page: Page) -> None:
        """Count the list."""
        belief.clock[0] += 1

    def sample(self, belief: Nothing, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Ignored."""
