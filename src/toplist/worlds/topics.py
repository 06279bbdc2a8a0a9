"""Items that cover topics: what attracts is what an item adds to those above it, weighted by a person's preferences."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import compiled, helper
from toplist.core.coverage import coverage_kind, gain
from toplist.core.problem import InvalidInput, Problem, refuse
from toplist.core.randomness import uniform
from toplist.core.slate import NONE, Floats, Ints
from toplist.support.catalogue import entry
from toplist.worlds.fixed import feature_rows, page_size


class Covering(NamedTuple):
    """The state of a world of topics: who is there, and room to add up a list's coverage."""

    covered: Floats  # per topic
    preferences: Floats  # per topic, of the person of this run


@entry("Topic coverage", "hiranandani2019", hides=("known",))
class TopicCoverage(NamedTuple):
    """Each item covers topics, and attracts by its gain over the items above it, <gain, preferences>.

    `topics` has a row per item with a degree in [0, 1] per topic; `preferences` are the person's, at least 0 and
    together at most 1, or a row of them for each of several people, of whom every run draws one, each equally likely.
    `known` is what policies know of the items, the topics themselves where it is left out.
    `coverage` is "probabilistic" or "maximum". Cascade users on it make the CDCM of hiranandani2019, section 3; DCM
    users with termination zeta its appendix C; PBM users with examination 1 are those of Yue and Guestrin. The best
    list is the greedy one, as in the paper, so that regret can be below 0.
    """

    topics: Any
    preferences: Any
    positions: int
    coverage: Any = "probabilistic"
    known: Any = ()  # (items, features)

    def checked(self) -> Self:
        """This world with its parameters validated and coerced."""
        topics = degrees("TopicCoverage's topics", self.topics)
        preferences = tastes("TopicCoverage's preferences", self.preferences, topics.shape[1])
        known = topics if len(self.known) == 0 else feature_rows("TopicCoverage's known", self.known, len(topics))
        return self._replace(
            topics=topics,
            preferences=preferences,
            positions=page_size(len(topics), self.positions),
            coverage=coverage_kind("TopicCoverage's coverage", self.coverage),
            known=known,
        )

    def problem(self, steps: int | None = None) -> Problem:
        """L items, K positions, d features."""
        return Problem(len(self.topics), self.positions, self.known.shape[1], steps)

    def begin(self) -> Covering:
        """Before the first step, with the first person."""
        return Covering(np.zeros(self.topics.shape[1]), self.preferences[0].copy())

    def features(self, moment: Covering) -> Floats:
        """What policies know."""
        known: Floats = self.known
        return known

    def revision(self, moment: Covering) -> int:
        """Always the same features."""
        return 0

    def order(self, moment: Covering) -> Ints:
        """Nobody tells."""
        return NONE

    def eligible(self, moment: Covering, candidates: Ints) -> int:
        """All, always."""
        return len(candidates)

    def advance(self, moment: Covering, step: int, key: int) -> bool:
        """Draw the person of this run at the first step; nothing changes after it."""
        if step == 0:
            person = int(uniform(key, 0) * len(self.preferences))
            for topic in range(len(moment.preferences)):
                moment.preferences[topic] = self.preferences[person, topic]
        return step == 0

    def attract(self, moment: Covering, items: Ints, attraction: Floats) -> None:
        """What each item adds to those above it."""
        moment.covered[:] = 0.0
        for place in range(len(items)):
            attraction[place] = add_item(self.topics, moment.preferences, self.coverage, items[place], moment.covered)

    def best_list(self, moment: Covering, users: Any, items: Ints) -> None:
        """The greedy list: at each place the item that adds most; of equals, the one of the lower index."""
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
    """What an item adds to a list that covers so much already, in the eyes of a person."""
    worth = 0.0
    for topic in range(len(covered)):
        worth += preferences[topic] * gain(topics[item, topic], covered[topic], kind)
    return worth


@helper
def add_item(topics: Floats, preferences: Floats, kind: int, item: int, covered: Floats) -> float:
    """Put an item below a list; what it adds, as above."""
    worth = weighted_gain(topics, preferences, kind, item, covered)
    for topic in range(len(covered)):
        covered[topic] += gain(topics[item, topic], covered[topic], kind)
    return worth


def degrees(what: str, given: Any) -> Floats:
    """A row per item of degrees in [0, 1]."""
    try:
        rows = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2 or rows.size == 0 or not ((rows >= 0) & (rows <= 1)).all():
        raise refuse(what, given, "a row per item of numbers in [0, 1]", "give a degree of coverage per topic")
    return rows


def tastes(what: str, given: Any, topics: int) -> Floats:
    """A row per person of preferences, at least 0 and together at most 1; one person's may come without a row."""
    try:
        rows = np.array(given, dtype=np.float64, ndmin=2)
    except (TypeError, ValueError):
        rows = np.empty(0)
    fits = rows.ndim == 2 and len(rows) > 0 and rows.shape[1] == topics
    if not fits or not (rows >= 0).all() or not (rows.sum(axis=1) <= 1 + 1e-9).all():
        accepted = f"{topics} numbers of at least 0 that add up to at most 1, or rows of these"
        raise refuse(what, given, accepted, "give one per topic")
    return rows


def greedy_best(world: TopicCoverage, termination: float = 1.0) -> tuple[list[int], float]:
    """The list that takes, from the top, the item that adds most, and its reward as in `exact_best`.

    >>> world = TopicCoverage([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]], [0.6, 0.4], positions=2)
    >>> items, reward = greedy_best(world)
    >>> items, round(reward, 9)
    ([0, 2], 0.412)
    """
    checked = _for_one("greedy_best", world)
    items, attraction = np.zeros(checked.positions, dtype=np.int64), np.zeros(checked.positions)
    moment = checked.begin()
    checked.best_list(moment, None, items)
    checked.attract(moment, items, attraction)
    return items.tolist(), 1.0 - float(np.prod(1.0 - termination * attraction))


def exact_best(world: TopicCoverage, termination: float = 1.0) -> tuple[list[int], float]:
    """The list with the highest 1 - prod(1 - termination * attraction), and that reward.

    Of the L (L-1) ... (L-K+1) lists, all are tried but those that cannot be better than the best so far. That is
    feasible for some hundred items and four positions.

    >>> world = TopicCoverage([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]], [0.6, 0.4], positions=2)
    >>> exact_best(world)[0]
    [0, 2]
    """
    checked = _for_one("exact_best", world)
    items, reward = greedy_best(checked, termination)
    best, d = np.array(items), checked.topics.shape[1]
    stack = Stack(
        items=np.zeros(len(best), dtype=np.int64),
        worth=np.zeros((len(best), len(checked.topics))),
        covered=np.zeros((len(best), d)),
        missed=np.ones(len(best)),
    )
    found = search(checked.topics, checked.preferences[0], checked.coverage, termination, stack, best, 1.0 - reward)
    return best.tolist(), 1.0 - found


def _for_one(what: str, world: TopicCoverage) -> TopicCoverage:
    """A world, checked, that has one person only."""
    checked = world.checked()
    if len(checked.preferences) > 1:
        raise InvalidInput(
            f"{what} finds the best list for one person, but this world has {len(checked.preferences)}; "
            f"give it the preferences of one."
        )
    return checked


class Stack(NamedTuple):
    """How far a search is: per place, what stands there and what is known of the list above it."""

    items: Ints
    worth: Floats  # (places, items): what each item would add there; -1 for those that stand above
    covered: Floats  # (places, topics): by the list above
    missed: Floats  # the probability that nothing above satisfies


@compiled
def search(
    topics: Floats, preferences: Floats, kind: int, termination: float, stack: Stack, best: Ints, least: float
) -> float:
    """Look for a list that is missed with less probability than `least`, as `best` is; the least that there is.

    Two neighbours may be exchanged without loss so that the one that adds more to those above both goes first: what
    the two add together stays, and the product of what they leave falls as they become less equal. So it is enough to
    look at lists where no item would have added more one place higher up than the item there does. In these, no item
    adds more than the one above it, which tells how good a list that begins like this can become.
    """
    last = len(stack.items) - 1
    place = 0
    appraise(topics, preferences, kind, stack, 0)
    while place >= 0:
        stack.items[place] += 1
        item = stack.items[place]
        if item == len(topics):
            place -= 1
            continue
        worth = stack.worth[place, item]
        if worth < 0.0 or (place > 0 and stack.worth[place - 1, item] > stack.worth[place - 1, stack.items[place - 1]]):
            continue
        missed = stack.missed[place] * (1.0 - termination * worth)
        hoped = missed
        for _ in range(place, last):
            hoped *= 1.0 - termination * worth
        if hoped >= least:
            continue
        if place == last:
            least = missed
            for other in range(len(best)):
                best[other] = stack.items[other]
        else:
            place += 1
            stack.missed[place] = missed
            for topic in range(topics.shape[1]):
                stack.covered[place, topic] = stack.covered[place - 1, topic]
            add_item(topics, preferences, kind, item, stack.covered[place])
            appraise(topics, preferences, kind, stack, place)
    return least


@helper
def appraise(topics: Floats, preferences: Floats, kind: int, stack: Stack, place: int) -> None:
    """Begin with a place: what could stand there, and what would it add?"""
    stack.items[place] = -1
    for item in range(len(topics)):
        stack.worth[place, item] = weighted_gain(topics, preferences, kind, item, stack.covered[place])
    for above in range(place):
        stack.worth[place, stack.items[above]] = -1.0
