"""A policy in one file: most lists show the best items known, some are drawn at random, and these alone teach it.

The document "Add an algorithm" walks through it. To have it checked, and played beside another:

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

COIN, SHUFFLE = -1, -2  # what is drawn from a list's key; numbers from 0 up belong to the items, whose ties it breaks
DRAWN = 0  # the memo's only column: 1 where chance chose the item


class Room(NamedTuple):
    """Arrays to work in; compiled methods cannot make their own."""

    score: Floats  # per eligible item
    spare: Ints  # per place; lay_out keeps the items here while it moves them
    worth: Floats  # per place


class RandomBucket(NamedTuple):
    """Shows the items with the highest click rates in lists drawn at random, which are this share of all lists.

    A random list puts every item at every place equally often, so that the click rates in it compare items fairly,
    however people read. The price: random lists earn little, for ever, and the others teach nothing.
    """

    share: float = 0.1
    reading: Any = EveryPlace()
    memory: Any = Everything()

    def prepare(self, problem: Problem) -> Self:
        """Check the share, and let the parts get ready."""
        share = number("RandomBucket's share", self.share, 0.0, 1.0, "0.1 draws one list of ten at random")
        return self._replace(share=share, reading=self.reading.prepare(problem), memory=self.memory.prepare(problem))

    def begin(self, problem: Problem) -> Any:
        """The belief before anything is known."""
        return self.memory.begin(problem)

    def scratch(self, problem: Problem) -> Room:
        """The cache, which may be thrown away at any time."""
        return Room(np.zeros(problem.items), np.zeros(problem.positions, dtype=np.int64), np.zeros(problem.positions))

    def slate(self, problem: Problem) -> Slate:
        """An empty slate, with one number per place to find again when the clicks come."""
        return empty_slate(problem.positions, problem.features, memo=1)

    def capabilities(self) -> Capabilities:
        """Learns from its own lists only: of any other it cannot say what chance chose."""
        return Capabilities(learns_from_any_list=False)

    def rank(self, belief: Counts, cache: Room, request: Request, slate: Slate) -> None:
        """Toss a coin for the list; score by chance or by click rate; show the best."""
        drawn = toss(request.key, COIN, self.share)
        shuffle = branch(request.key, SHUFFLE)
        candidates = request.candidates
        for i in range(len(candidates)):
            item = candidates[i]
            tries = belief.examined[item]
            rate = belief.clicked[item] / tries if tries > 0.0 else 0.0  # what chance has not shown yet can wait
            cache.score[i] = uniform(shuffle, request.labels[item]) if drawn else rate
        select(cache.score, candidates, len(candidates), request.labels, request.key, slate.items, cache.worth)
        slate.size[0] = min(request.positions, len(candidates))
        lay_out(cache.spare, request.order, request.pins, slate)
        for place in range(slate.size[0]):
            pinned = len(request.pins) > 0 and request.pins[place] >= 0
            slate.memo[place, DRAWN] = 1.0 if drawn and not pinned else 0.0

    def learn(self, belief: Counts, slate: Slate, page: Page) -> None:
        """Count what chance chose, and nothing else."""
        self.reading.read(page, slate.size[0])
        self.memory.tick(belief)
        for place in range(slate.size[0]):
            if slate.memo[place, DRAWN] == 1.0 and page.weight[place] > 0.0:
                self.memory.add(belief, slate.items[place], page.weight[place], page.value[place], slate, place)

    def sample(self, belief: Counts, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Count free samples, given before an item is ever shown."""
        self.memory.add(belief, item, weight, value, slate, place)
