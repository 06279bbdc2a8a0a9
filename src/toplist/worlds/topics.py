"""Worlds whose items cover topics: an item attracts by its gain over the items above, weighted by user preferences."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import compiled, helper
from toplist.core.coverage import coverage_kind, gain
from toplist.core.problem import InvalidInput, Problem, float_array, refuse
from toplist.core.randomness import uniform
from toplist.core.slate import NONE, Floats, Ints
from toplist.support.catalogue import entry
from toplist.worlds.fixed import checked_features, checked_positions


class Covering(NamedTuple):
    """The state of a topic world: the user of the run, and scratch to add up a list's coverage."""

    covered: Floats  # per topic
    preferences: Floats  # per topic, of the user of this run


@entry("Topic coverage", "hiranandani2019", hides=("known",))
class TopicCoverage(NamedTuple):
    """Each item covers topics, and attracts by its gain in coverage over the items above it, `<gain, preferences>`.

    Parameters
    ----------
    topics : array_like of float
        A row per item, with a degree of coverage in [0, 1] per topic.
    preferences : array_like of float
        The user's weight per topic, at least 0 and together at most 1; or a row per user, of whom every run draws one
        uniformly.
    positions : int
        Number of positions K.
    coverage : {"probabilistic", "maximum"}, default "probabilistic"
        How items cover a topic together.
    known : array_like of float, optional
        Features that policies receive, a row per item; by default the topics.

    Notes
    -----
    `Cascade` users on it make the CDCM of hiranandani2019, section 3; `DCM` users with termination zeta its appendix C;
    `PBM` users with examination 1 are those of Yue and Guestrin. The best list is the greedy one, as in the paper, so
    regret can be below 0.
    """

    topics: Any
    preferences: Any
    positions: int
    coverage: Any = "probabilistic"
    known: Any = ()

    def checked(self) -> Self:
        """This world with its parameters validated and coerced."""
        topics = checked_topics("TopicCoverage's topics", self.topics)
        preferences = checked_preferences("TopicCoverage's preferences", self.preferences, topics.shape[1])
        known = topics if len(self.known) == 0 else checked_features("TopicCoverage's known", self.known, len(topics))
        return self._replace(
            topics=topics,
            preferences=preferences,
            positions=checked_positions(len(topics), self.positions),
            coverage=coverage_kind("TopicCoverage's coverage", self.coverage),
            known=known,
        )

    def problem(self, steps: int | None = None) -> Problem:
        """L items, K positions, d features."""
        return Problem(len(self.topics), self.positions, self.known.shape[1], steps)

    def begin(self) -> Covering:
        """The state before the first step, with the first user."""
        return Covering(np.zeros(self.topics.shape[1]), self.preferences[0].copy())

    def features(self, moment: Covering) -> Floats:
        """The features that policies receive."""
        known: Floats = self.known
        return known

    def revision(self, moment: Covering) -> int:
        """0: the features never change."""
        return 0

    def order(self, moment: Covering) -> Ints:
        """Empty: the order of the positions is unknown."""
        return NONE

    def eligible(self, moment: Covering, candidates: Ints) -> int:
        """All items are always eligible."""
        return len(candidates)

    def advance(self, moment: Covering, step: int, key: int) -> bool:
        """Draw the user of this run at the first step; nothing changes after it."""
        if step == 0:
            user = int(uniform(key, 0) * len(self.preferences))
            for topic in range(len(moment.preferences)):
                moment.preferences[topic] = self.preferences[user, topic]
        return step == 0

    def attract(self, moment: Covering, items: Ints, attraction: Floats) -> None:
        """Fill the gain of each listed item over those above it."""
        moment.covered[:] = 0.0
        for place in range(len(items)):
            attraction[place] = add_item(self.topics, moment.preferences, self.coverage, items[place], moment.covered)

    def best_list(self, moment: Covering, users: Any, items: Ints) -> None:
        """The greedy list: at each position the item with the largest gain, ties to the lower index."""
        moment.covered[:] = 0.0
        for place in range(len(items)):
            best, most = -1, -1.0
            for item in range(len(self.topics)):
                taken = False
                for above in range(place):
                    taken |= items[above] == item
                worth = weighted_gain(self.topics, moment.preferences, self.coverage, item, moment.covered)
                if not taken and worth > most:
                    best, most = item, worth
            items[place] = best
            add_item(self.topics, moment.preferences, self.coverage, best, moment.covered)


@helper
def weighted_gain(topics: Floats, preferences: Floats, kind: int, item: int, covered: Floats) -> float:
    """The gain of an item over a list's coverage, weighted by a user's preferences."""
    worth = 0.0
    for topic in range(len(covered)):
        worth += preferences[topic] * gain(topics[item, topic], covered[topic], kind)
    return worth


@helper
def add_item(topics: Floats, preferences: Floats, kind: int, item: int, covered: Floats) -> float:
    """Add an item's coverage to a list's; return its weighted gain."""
    worth = weighted_gain(topics, preferences, kind, item, covered)
    for topic in range(len(covered)):
        covered[topic] += gain(topics[item, topic], covered[topic], kind)
    return worth


def checked_topics(what: str, given: Any) -> Floats:
    """A row per item of degrees in [0, 1]."""
    rows = float_array(given)
    if rows.ndim != 2 or rows.size == 0 or not ((rows >= 0) & (rows <= 1)).all():
        raise refuse(what, given, "a row per item of numbers in [0, 1]", "give a degree of coverage per topic")
    return rows


def checked_preferences(what: str, given: Any, topics: int) -> Floats:
    """A row per user of preferences, at least 0 and together at most 1; a single row may be one-dimensional."""
    rows = float_array(given, dimensions=2)
    fits = rows.ndim == 2 and len(rows) > 0 and rows.shape[1] == topics
    if not fits or not (rows >= 0).all() or not (rows.sum(axis=1) <= 1 + 1e-9).all():
        accepted = f"{topics} numbers of at least 0 that add up to at most 1, or rows of these"
        raise refuse(what, given, accepted, "give one per topic")
    return rows


def greedy_best(world: TopicCoverage, termination: float = 1.0) -> tuple[list[int], float]:
    """The list that takes, from the top, the item with the largest gain, and its reward as in `exact_best`.

    Parameters
    ----------
    world : TopicCoverage
        A world with the preferences of one user.
    termination : float, default 1.0
        Probability of leaving after a click.

    Returns
    -------
    list of int
        The list.
    float
        Its reward.

    Raises
    ------
    InvalidInput
        If the world has several users.

    Examples
    --------
    >>> world = TopicCoverage([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]], [0.6, 0.4], positions=2)
    >>> items, reward = greedy_best(world)
    >>> items, round(reward, 9)
    ([0, 2], 0.412)
    """
    checked = _checked_for_one_user("greedy_best", world)
    items, attraction = np.zeros(checked.positions, dtype=np.int64), np.zeros(checked.positions)
    moment = checked.begin()
    checked.best_list(moment, None, items)
    checked.attract(moment, items, attraction)
    return items.tolist(), 1.0 - float(np.prod(1.0 - termination * attraction))


def exact_best(world: TopicCoverage, termination: float = 1.0) -> tuple[list[int], float]:
    """The list with the highest `1 - prod(1 - termination * attraction)`, and that reward.

    Parameters
    ----------
    world : TopicCoverage
        A world with the preferences of one user.
    termination : float, default 1.0
        Probability of leaving after a click.

    Returns
    -------
    list of int
        The list.
    float
        Its reward.

    Raises
    ------
    InvalidInput
        If the world has several users.

    Notes
    -----
    Searches the L (L-1) ... (L-K+1) lists by branch and bound, which is feasible for some hundred items and four
    positions.

    Examples
    --------
    >>> world = TopicCoverage([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]], [0.6, 0.4], positions=2)
    >>> exact_best(world)[0]
    [0, 2]
    """
    checked = _checked_for_one_user("exact_best", world)
    items, reward = greedy_best(checked, termination)
    best, d = np.array(items), checked.topics.shape[1]
    path = SearchPath(
        items=np.zeros(len(best), dtype=np.int64),
        worth=np.zeros((len(best), len(checked.topics))),
        covered=np.zeros((len(best), d)),
        missed=np.ones(len(best)),
    )
    found = search(checked.topics, checked.preferences[0], checked.coverage, termination, path, best, 1.0 - reward)
    return best.tolist(), 1.0 - found


def _checked_for_one_user(what: str, world: TopicCoverage) -> TopicCoverage:
    """A checked world, which must have one user."""
    checked = world.checked()
    if len(checked.preferences) > 1:
        raise InvalidInput(
            f"{what} finds the best list for one user, but this world has {len(checked.preferences)}; "
            f"give it the preferences of one."
        )
    return checked


class SearchPath(NamedTuple):
    """The path of a search: per position its item, and the state of the list above it."""

    items: Ints
    worth: Floats  # (positions, items): gain of each item there; -1 for the items above
    covered: Floats  # (positions, topics): coverage of the list above
    missed: Floats  # per position: probability that no item above satisfies


@compiled
def search(
    topics: Floats, preferences: Floats, kind: int, termination: float, path: SearchPath, best: Ints, least: float
) -> float:
    """Find by branch and bound a list with a smaller probability of no satisfaction than `least`, that of `best`.

    Two neighbours can be exchanged without loss so that the one with the larger gain over the items above both goes
    first: their joint gain stays, and the product of their remainders falls as they become less equal. So it is enough
    to search lists where no item would have had a larger gain one position higher up than the item there. In these, no
    item has a larger gain than the one above it, which bounds the reward of every list with this beginning. Fills
    `best` and returns its probability.
    """
    last = len(path.items) - 1
    place = 0
    begin_position(topics, preferences, kind, path, 0)
    while place >= 0:
        path.items[place] += 1
        item = path.items[place]
        if item == len(topics):
            place -= 1
            continue
        worth = path.worth[place, item]
        if worth < 0.0 or (place > 0 and path.worth[place - 1, item] > path.worth[place - 1, path.items[place - 1]]):
            continue
        missed = path.missed[place] * (1.0 - termination * worth)
        hoped = missed
        for _ in range(place, last):
            hoped *= 1.0 - termination * worth
        if hoped >= least:
            continue
        if place == last:
            least = missed
            for other in range(len(best)):
                best[other] = path.items[other]
        else:
            place += 1
            path.missed[place] = missed
            for topic in range(topics.shape[1]):
                path.covered[place, topic] = path.covered[place - 1, topic]
            add_item(topics, preferences, kind, item, path.covered[place])
            begin_position(topics, preferences, kind, path, place)
    return least


@helper
def begin_position(topics: Floats, preferences: Floats, kind: int, path: SearchPath, place: int) -> None:
    """Begin with a position: compute the gain of every item that can stand there."""
    path.items[place] = -1
    for item in range(len(topics)):
        path.worth[place, item] = weighted_gain(topics, preferences, kind, item, path.covered[place])
    for above in range(place):
        path.worth[place, path.items[above]] = -1.0
