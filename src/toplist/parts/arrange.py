"""Arrangements: how a list is made from scores."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.coverage import coverage_kind, gain
from toplist.core.problem import Problem, places, refuse, whole
from toplist.core.slate import NONE, Floats, Ints, Request, Slate
from toplist.parts.index.select import largest

EVERY_TOPIC = -1  # all features are topics


class ComposedCache(NamedTuple):
    """The cache of a composed policy: the scratch space of the arrangement, and the cache of the index."""

    arrangement: Any
    scoring: Any


class TopKScratch(NamedTuple):
    """Scratch space of `TopK`: the best items and their scores."""

    items: Ints
    scores: Floats


class TopK(NamedTuple):
    """Show the best item at the most valuable position, the next best at the next, and so on.

    Parameters
    ----------
    order : {"first", "last"} or sequence of int, default "first"
        The positions from the most to the least valuable. "first" is from the top down, as in all papers but one;
        "last" is from the bottom up, which puts the worst of the best first (kveton2015, Table 2); or any order of
        1-based positions (katariya2016: the most terminating position first). True once `prepare` has resolved it.
    places : ndarray of int, default empty
        The order counted from 0, empty for "first"; filled by `prepare`.

    Examples
    --------
    >>> from toplist.core.problem import Problem
    >>> TopK("last").prepare(Problem(items=10, positions=3)).places.tolist()
    [2, 1, 0]
    """

    order: Any = "first"
    places: Any = NONE

    def prepare(self, problem: Problem) -> Self:
        """Resolve the order."""
        if self.order is True:
            return self._replace(places=np.array(self.places, dtype=np.int64))
        if not isinstance(self.order, str):
            order = places("TopK's order", self.order, problem.positions)
        elif self.order in ("first", "last"):
            order = list(range(problem.positions))[::-1] if self.order == "last" else []
        else:
            accepted = "'first', 'last' or a sequence of positions"
            raise refuse("TopK's order", self.order, accepted, "name the most valuable positions first")
        return self._replace(order=True, places=np.array(order, dtype=np.int64))

    def scratch(self, problem: Problem) -> TopKScratch:
        """Scratch space for one list."""
        return TopKScratch(np.zeros(problem.positions, dtype=np.int64), np.zeros(problem.positions))

    def asks(self) -> str:
        """The best items."""
        return "top"

    def arrange(self, scoring: Any, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        """Let the index choose the items, and lay them out."""
        scratch = cache.arrangement
        scoring.top(belief, cache.scoring, request, slate.items, scratch.scores)
        slate.size[0] = min(request.positions, len(request.candidates))
        if len(request.order) > 0:
            lay_out(scratch.items, request.order, request.pins, slate)
        elif len(self.places) > 0 or len(request.pins) > 0:
            lay_out(scratch.items, self.places, request.pins, slate)
        copy_rows(request, slate)


@helper
def copy_rows(request: Request, slate: Slate) -> None:
    """Copy the features of the listed items to the slate, if it has room for them."""
    if slate.rows.shape[1] > 0:
        for position in range(slate.size[0]):
            row, scored = slate.rows[position], request.features[slate.items[position]]
            for feature in range(len(row)):
                row[feature] = scored[feature]


class DiverseScratch(NamedTuple):
    """Scratch space of `Diverse`: what the list covers so far, and a value per item."""

    covered: Floats  # per feature
    value: Floats
    blocked: Ints  # items that cannot be chosen: pinned or already placed


class Diverse(NamedTuple):
    """Fill each position, from the top down, with the item whose gain over the items above has the best value.

    Features are topics, which an item covers to a degree in [0, 1]. The slate stores the gain with which each item was
    scored.

    Parameters
    ----------
    coverage : {"probabilistic", "maximum"}, default "probabilistic"
        How items cover a topic together: 1 - prod(1 - degree), or the largest degree.
    topics : int or "all", default "all"
        Number of leading features that are topics. The others are of the item alone, whatever stands above it.

    Notes
    -----
    Hiranandani, Singh, Gupta, Burhanuddin, Wen and Kveton, Cascading Linear Submodular Bandits, UAI 2019, algorithm 1.
    """

    coverage: Any = "probabilistic"
    topics: Any = "all"

    def prepare(self, problem: Problem) -> Self:
        """Resolve the kind of coverage, and the number of topics."""
        topics = self.topics
        if isinstance(topics, str) or topics == EVERY_TOPIC:
            if topics not in ("all", EVERY_TOPIC):
                raise refuse("Diverse's topics", topics, "a whole number or 'all'", "give the number of topics")
            topics = EVERY_TOPIC
        elif whole("Diverse's topics", topics, 0, "give the number of topics") > problem.features:
            raise refuse("Diverse's topics", topics, f"at most {problem.features}, the number of features", "or 'all'")
        return self._replace(coverage=coverage_kind("Diverse's coverage", self.coverage), topics=int(topics))

    def is_hybrid(self) -> bool:
        """Whether some features are no topics."""
        return self.topics not in ("all", EVERY_TOPIC)

    def scratch(self, problem: Problem) -> DiverseScratch:
        """Scratch space for one list."""
        blocked = np.zeros(2 * problem.positions, dtype=np.int64)
        return DiverseScratch(np.zeros(problem.features), np.zeros(problem.items), blocked)

    def asks(self) -> str:
        """A value for each item's gain."""
        return "gauge"

    def arrange(self, scoring: Any, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        """Place one item after the other."""
        scratch, candidates = cache.arrangement, request.candidates
        size = min(request.positions, len(candidates))
        slate.size[0] = size
        scratch.covered[:] = 0.0
        blocked = 0
        for position in range(min(size, len(request.pins))):
            if request.pins[position] >= 0:
                scratch.blocked[blocked] = request.pins[position]
                blocked += 1
        placed = -1
        for position in range(size):
            if placed >= 0:
                scratch.value[placed] = -np.inf  # with the earlier ones, which still are: `gauge` leaves them aside
            scoring.gauge(belief, cache.scoring, request, scratch.covered, self.coverage, placed, scratch.value)
            for i in range(blocked):
                scratch.value[scratch.blocked[i]] = -np.inf
            placed = request.pins[position] if len(request.pins) > 0 else -1
            if placed < 0:
                placed = largest(scratch.value, candidates, request.labels, request.key)
                scratch.blocked[blocked] = placed
                blocked += 1
            slate.items[position] = placed
            for feature in range(len(scratch.covered)):
                added = gain(request.features[placed, feature], scratch.covered[feature], self.coverage)
                slate.rows[position, feature] = added
                if self.topics == EVERY_TOPIC or feature < self.topics:
                    scratch.covered[feature] += added


@helper
def lay_out(best: Ints, order: Ints, pins: Ints, slate: Slate) -> None:
    """Spread the slate's items, best first, over its positions in their order; pinned positions keep their pins."""
    size = slate.size[0]
    for position in range(size):
        best[position] = slate.items[position]
    following = 0
    for rank in range(len(slate.items)):
        position = order[rank] if len(order) > 0 else rank
        if position >= size:
            continue
        if len(pins) > 0:
            if pins[position] >= 0:
                slate.items[position] = pins[position]
                continue
            while is_pinned(best[following], pins, size):
                following += 1
        slate.items[position] = best[following]
        following += 1


@helper
def is_pinned(item: int, pins: Ints, size: int) -> bool:
    """Whether an item is pinned to a position."""
    for position in range(size):
        if pins[position] == item:
            return True
    return False
