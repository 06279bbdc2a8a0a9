"""Users of all fitted click models in one class, so that a policy is compiled once, and whose reward is clicks."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.clicks import CCM, DBN, DCM, PBM, UBM, Cascade
from toplist.clicks.best_list import EVEN, best_by_worth, improve_by_exchange
from toplist.core.compiling import compiled
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch, toss
from toplist.core.slate import NONE, Floats, Ints, Page
from toplist.logs.patterns import speed


class BrowsingUsers(NamedTuple):
    """Users who look at a position, click what attracts them, and go on or leave, clicked or not.

    Parameters
    ----------
    examination : ndarray of float, shape (positions, positions)
        Probability of looking at a position by the position of the last click above; the last column is for no click.
    after_click : ndarray of float
        Probability of going on after a click, by position; times `onward`.
    onward : ndarray of float
        The same by item.
    after_skip : ndarray of float
        Probability of going on after an item that was seen and not clicked, by position.
    by_last : bool
        Whether the examination depends on the last click; if not, the reward is cheaper.

    Notes
    -----
    The reward is the expected number of clicks, for all models: what an advice counts.
    """

    examination: Any
    after_click: Any
    onward: Any
    after_skip: Any
    by_last: bool
    chances: Any = ()  # per position of the last click, scratch; filled by `prepare`
    shown: Any = ()  # per position, scratch; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Make the scratch arrays."""
        return self._replace(chances=np.zeros(problem.positions), shown=np.zeros(problem.positions))

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; return their number."""
        looking, staying = branch(visitor, -1), branch(visitor, -2)
        clicks, last, end = 0, len(self.examination) - 1, len(items)
        for place in range(len(items)):
            page.clicks[place] = 0
            if place < end and toss(looking, place, self.examination[place, last]):
                going = self.after_skip[place]
                if toss(visitor, labels[items[place]], attraction[place]):
                    page.clicks[place] = 1
                    clicks += 1
                    last = place
                    going = self.after_click[place] * self.onward[items[place]]
                if not toss(staying, place, going):
                    end = place + 1
        page.left[0] = end
        return clicks

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Expected number of clicks."""
        none, expected = len(self.examination) - 1, 0.0
        if not self.by_last:
            here = 1.0
            for place in range(len(items)):
                seen = here * self.examination[place, none]
                clicked = seen * attraction[place]
                expected += clicked
                onward = clicked * self.after_click[place] * self.onward[items[place]]
                here += onward - seen + (seen - clicked) * self.after_skip[place]
            return expected
        self.chances[none] = 1.0
        for place in range(len(items)):
            clicked = 0.0
            for above in range(place + 1):
                last = above if above < place else none
                seen = self.chances[last] * self.examination[place, last]
                here = seen * attraction[place]
                clicked += here
                self.chances[last] += (seen - here) * self.after_skip[place] - seen
            expected += clicked
            if place < none:
                self.chances[place] = clicked * self.after_click[place] * self.onward[items[place]]
        return expected

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """A list that no exchange improves, of two positions or with an item outside: an approximation."""
        best_by_worth(attraction, EVEN, NONE, items)
        improve_by_exchange(self, moment, attraction, items, self.shown[: len(items)])


def browsing_users(users: Any, attraction: Floats, positions: int) -> BrowsingUsers:
    """The same users, whose reward is clicks.

    Parameters
    ----------
    users : click model
        Users of `toplist.clicks`, as a fitted model gives them.
    attraction : ndarray of float
        Attraction of the items.
    positions : int
        Number of positions of the page.

    Returns
    -------
    BrowsingUsers
        The users.

    Raises
    ------
    InvalidInput
        If the class of the users is unknown.

    Examples
    --------
    >>> users = browsing_users(DCM([0.5, 0.5]), np.array([0.4, 0.2]), 2).prepare(Problem(2, 2))
    >>> round(float(users.reward(None, np.array([0, 1]), np.array([0.4, 0.2]))), 3)
    0.56
    """
    problem = Problem(len(attraction), positions)
    prepared = users.prepare(problem)
    looks, items = np.ones((positions, positions)), np.ones(len(attraction))
    ones, by_last = np.ones(positions), False
    after_click, onward, after_skip = ones, items, ones
    if isinstance(prepared, Cascade):
        after_click = np.zeros(positions)
    elif isinstance(prepared, DCM):
        after_click = 1.0 - prepared.termination
    elif isinstance(prepared, DBN):
        after_skip = np.full(positions, prepared.persistence)
        after_click, onward = after_skip, 1.0 - prepared.satisfaction
    elif isinstance(prepared, CCM):
        after_skip = np.full(positions, prepared.after_nothing)
        onward = prepared.after_irrelevant * (1.0 - attraction) + prepared.after_relevant * attraction
    elif isinstance(prepared, PBM):
        looks = np.repeat(prepared.examination[:, None], positions, axis=1)
    elif isinstance(prepared, UBM):
        looks, by_last = prepared.examination, True
    else:
        raise InvalidInput(f"{type(users).__name__} users cannot be played; fit a model of toplist.logs.models.")
    return BrowsingUsers(looks.copy(), after_click.copy(), onward.copy(), after_skip.copy(), by_last)


class ListValues(NamedTuple):
    """Expected clicks of given lists, and of the best list."""

    lists: Floats
    best: float


def list_values(users: BrowsingUsers, attraction: Floats, lists: Ints) -> ListValues:
    """Expected clicks of lists of items, and of the best list.

    Parameters
    ----------
    users : BrowsingUsers
        The users, prepared.
    attraction : ndarray of float
        Attraction of the items.
    lists : ndarray of int, shape (lists, positions)
        The lists, with -1 for an empty position.

    Returns
    -------
    ListValues
        Their values.
    """
    positions = lists.shape[1]
    values, best = np.zeros(len(lists) + 1), np.zeros(positions, dtype=np.int64)
    loop = speed(value_lists, (len(lists) + len(attraction)) * positions**2)
    loop(users, attraction, lists, np.zeros(positions), best, values)
    return ListValues(values[:-1], float(values[-1]))


@compiled
def value_lists(users: Any, attraction: Floats, lists: Ints, shown: Floats, best: Ints, values: Floats) -> None:
    """Fill the expected clicks of each list, and last those of the best list."""
    for number in range(len(lists)):
        for place in range(len(shown)):
            item = lists[number, place]
            shown[place] = attraction[item] if item >= 0 else 0.0
        values[number] = users.reward(attraction, lists[number], shown)
    users.best(attraction, attraction, best)
    for place in range(len(shown)):
        shown[place] = attraction[best[place]]
    values[len(lists)] = users.reward(attraction, best, shown)
