"""A policy in one file: most lists show the best known items, some are drawn at random, and it learns from these alone.

The document "Add an algorithm" explains it. To check it, and to simulate it beside another:

    toplist check examples/random_bucket.py:RandomBucket
    toplist simulate examples/random_bucket.py:RandomBucket dcm-kl-ucb
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, number
from toplist.core.protocols import Capabilities
from toplist.core.randomness import branch, toss, uniform
from toplist.core.slate import Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.arrange import lay_out
from toplist.parts.feedback import EveryPlace
from toplist.parts.index.select import select
from toplist.parts.memory import Counts, Everything

COIN, SHUFFLE = -1, -2  # branches of a list's key; from 0 up they belong to the items, to break their ties
DRAWN = 0  # the memo's only column: 1 where the item was drawn at random


class Room(NamedTuple):
    """Scratch arrays; compiled methods cannot allocate their own."""

    score: Floats  # per eligible item
    spare: Ints  # per position; lay_out keeps the items here while it moves them
    worth: Floats  # per position


class RandomBucket(NamedTuple):
    """Shows the items with the highest click-through rates in random lists, which are a given share of all lists.

    A random list puts every item at every position equally often, so that its click-through rates compare items fairly,
    independent of the position bias. The price: random lists earn little, for ever, and the others teach nothing.

    Parameters
    ----------
    share : float, default 0.1
        Share of random lists.
    """

    share: float = 0.1
    reading: Any = EveryPlace()
    memory: Any = Everything()

    def prepare(self, problem: Problem) -> Self:
        """Check the share, and prepare the parts."""
        share = number("RandomBucket's share", self.share, 0.0, 1.0, "0.1 draws one list of ten at random")
        return self._replace(share=share, reading=self.reading.prepare(problem), memory=self.memory.prepare(problem))

    def begin(self, problem: Problem) -> Any:
        """The belief before the first list."""
        return self.memory.begin(problem)

    def scratch(self, problem: Problem) -> Room:
        """The cache, which may be discarded at any time."""
        return Room(np.zeros(problem.items), np.zeros(problem.positions, dtype=np.int64), np.zeros(problem.positions))

    def slate(self, problem: Problem) -> Slate:
        """An empty slate, with one number per position that `learn` will read."""
        return empty_slate(problem.positions, problem.features, memo=1)

    def capabilities(self) -> Capabilities:
        """Learns from its own lists only: of others it does not know which items were drawn at random."""
        return Capabilities(learns_from_any_list=False)

    def rank(self, belief: Counts, cache: Room, request: Request, slate: Slate) -> None:
        """Toss a coin for the list; score at random or by click-through rate; show the best."""
        drawn = toss(request.key, COIN, self.share)
        shuffle = branch(request.key, SHUFFLE)
        candidates = request.candidates
        for i in range(len(candidates)):
            item = candidates[i]
            tries = belief.examined[item]
            rate = belief.clicked[item] / tries if tries > 0.0 else 0.0  # an item never drawn comes last
            cache.score[i] = uniform(shuffle, request.labels[item]) if drawn else rate
        select(cache.score, candidates, len(candidates), request.labels, request.key, slate.items, cache.worth)
        slate.size[0] = min(request.positions, len(candidates))
        lay_out(cache.spare, request.order, request.pins, slate)
        for place in range(slate.size[0]):
            pinned = len(request.pins) > 0 and request.pins[place] >= 0
            slate.memo[place, DRAWN] = 1.0 if drawn and not pinned else 0.0

    def learn(self, belief: Counts, slate: Slate, page: Page) -> None:
        """Count the items drawn at random, and no others."""
        self.reading.read(page, slate.size[0])
        self.memory.tick(belief)
        for place in range(slate.size[0]):
            if slate.memo[place, DRAWN] == 1.0 and page.weight[place] > 0.0:
                self.memory.add(belief, slate.items[place], page.weight[place], page.value[place], slate, place)

    def sample(self, belief: Counts, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Count free samples, given before an item is ever shown."""
        self.memory.add(belief, item, weight, value, slate, place)
