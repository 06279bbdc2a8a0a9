"""Items that cover topics: what attracts is what an item adds to those above it, weighted by a person's preferences."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.compiled import compiled, helper
from toplist.coverage import coverage_kind, gain
from toplist.naming import entry
from toplist.problem import Problem, refuse
from toplist.slate import NONE, Floats, Ints
from toplist.worlds.fixed import feature_rows, page_size


class Covering(NamedTuple):
    """The state of a world of topics, which does not change: room to add up a list's coverage."""

    covered: Floats  # per topic


@entry("Topic coverage", "hiranandani2019", hides=("known",))
class TopicCoverage(NamedTuple):
    """Each item covers topics, and attracts by its gain over the items above it, <gain, preferences>.

    `topics` has a row per item with a degree in [0, 1] per topic; `preferences` are the person's, at least 0 and
    together at most 1. `known` is what policies know of the items, the topics themselves where it is left out.
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
        preferences = np.array(self.preferences, dtype=np.float64)
        if preferences.shape != (topics.shape[1],) or not (preferences >= 0).all() or preferences.sum() > 1 + 1e-9:
            accepted = f"{topics.shape[1]} numbers of at least 0 that add up to at most 1"
            raise refuse("TopicCoverage's preferences", self.preferences, accepted, "give one per topic")
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
        """Before the first step."""
        return Covering(np.zeros(self.topics.shape[1]))

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
        """Nothing changes after the first step."""
        return step == 0

    def attract(self, moment: Covering, items: Ints, attraction: Floats) -> None:
        """What each item adds to those above it."""
        moment.covered[:] = 0.0
        for place in range(len(items)):
            attraction[place] = add_item(self.topics, self.preferences, self.coverage, items[place], moment.covered)

    def best_list(self, moment: Covering, users: Any, items: Ints) -> None:
        """The greedy list: at each place the item that adds most; of equals, the one of the lower index."""
        moment.covered[:] = 0.0
        for place in range(len(items)):
            best, most = -1, -1.0
            for item in range(len(self.topics)):
                taken = False
                for above in range(place):
                    taken |= items[above] == item
                worth = weighted_gain(self.topics, self.preferences, self.coverage, item, moment.covered)
                if not taken and worth > most:
                    best, most = item, worth
            items[place] = best
            add_item(self.topics, self.preferences, self.coverage, best, moment.covered)


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


def exact_best(world: TopicCoverage, termination: float = 1.0) -> tuple[list[int], float]:
    """The list with the highest 1 - prod(1 - termination * attraction), and that reward, by trying all lists.

    That is L (L-1) ... (L-K+1) of them, so it is for small problems.

    >>> world = TopicCoverage([[0.5, 0.0], [0.5, 0.0], [0.0, 0.4]], [0.6, 0.4], positions=2)
    >>> exact_best(world)[0]
    [0, 2]
    """
    checked = world.checked()
    items, best = np.zeros(checked.positions, dtype=np.int64), np.zeros(checked.positions, dtype=np.int64)
    covered = np.zeros((checked.positions + 1, checked.topics.shape[1]))
    missed = np.ones(checked.positions + 1)
    reward = search(checked.topics, checked.preferences, checked.coverage, termination, items, best, covered, missed)
    return best.tolist(), reward


@compiled
def search(
    topics: Floats, preferences: Floats, kind: int, termination: float, items: Ints, best: Ints, covered: Floats,
    missed: Floats,
) -> float:  # fmt: skip
    """Count through all lists like an odometer; `covered` and `missed` hold what stands above each place."""
    last = len(items) - 1
    most = -1.0
    place = 0
    items[0] = -1
    while place >= 0:
        items[place] += 1
        if items[place] >= len(topics):
            place -= 1
            continue
        taken = False
        for above in range(place):
            taken |= items[above] == items[place]
        if taken:
            continue
        for topic in range(topics.shape[1]):
            covered[place + 1, topic] = covered[place, topic]
        worth = add_item(topics, preferences, kind, items[place], covered[place + 1])
        missed[place + 1] = missed[place] * (1.0 - termination * worth)
        if place < last:
            place += 1
            items[place] = -1
        elif 1.0 - missed[place + 1] > most:
            most = 1.0 - missed[place + 1]
            for other in range(len(items)):
                best[other] = items[other]
    return most
