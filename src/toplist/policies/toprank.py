"""TopRank: blocks of items whose order is not known yet, each shown in random order."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.arrange import lay_out
from toplist.parts.index.select import select
from toplist.policies.by_name import entry
from toplist.policies.duels import Flags, assess_duels, level, won_for_good

CONSTANT = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))


class Blocks(NamedTuple):
    """Who won against whom, and the block of each item."""

    wins: Ints  # (items, items): duels that the one won against the other
    beats: Flags  # (items, items): 1 where the one is better for good
    block: Ints  # per item, the best block being 0: the length of the longest chain of better items above it
    stirred: Ints  # per item, room: whether its block has just changed
    clock: Ints  # one element: lists learned


class Shuffle(NamedTuple):
    """Room to draw one list."""

    score: Floats  # per candidate
    chosen: Ints  # per place
    drawn: Floats  # per place


@entry("TopRank", hides=("scale",))
class TopRank(NamedTuple):
    """Shows blocks of items, better blocks first, and inside each a random order, until one item beats another.

    Of two items in the same block, the one clicked while the other is not wins a duel. An item beats another for good
    once its lead in N duels reaches sqrt(2 N log(c sqrt(N) / delta)). Blocks peel off the items beaten by nobody left.
    Nothing is assumed about how people click but that better items and higher places get more clicks. Lattimore,
    Kveton, Li and Szepesvari, TopRank: A Practical Algorithm for Online Stochastic Ranking, NeurIPS 2018, algorithm 1,
    where delta is 1/n.
    """

    delta: float | str = "theory"  # the probability of ever ordering two items wrongly
    scale: float = 0.0  # 2 log(c / delta); filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Resolve delta."""
        delta = level("TopRank", self.delta, problem, 1.0)
        return self._replace(delta=delta, scale=2.0 * math.log(CONSTANT / delta))

    def begin(self, problem: Problem) -> Blocks:
        """One block of all items."""
        pairs = (problem.items, problem.items)
        return Blocks(
            wins=np.zeros(pairs, dtype=np.int64),
            beats=np.zeros(pairs, dtype=np.int8),
            block=np.zeros(problem.items, dtype=np.int64),
            stirred=np.zeros(problem.items, dtype=np.int64),
            clock=np.zeros(1, dtype=np.int64),
        )

    def scratch(self, problem: Problem) -> Shuffle:
        """Room for one list."""
        places = problem.positions
        return Shuffle(np.zeros(problem.items), np.zeros(places, dtype=np.int64), np.zeros(places))

    def slate(self, problem: Problem) -> Slate:
        """The memo holds the block of each place, and who of the last block did not get a place, item by item."""
        return empty_slate(problem.positions, problem.features, memo=1 + -(-problem.items // problem.positions))

    def capabilities(self) -> Capabilities:
        """What is known is about pairs, so items cannot come later; only a random order says who is better."""
        return Capabilities(adds_items=False, learns_from_any_list=False, samples="nothing")

    def rank(self, belief: Blocks, cache: Shuffle, request: Request, slate: Slate) -> None:
        """Block by block, at random inside."""
        candidates = request.candidates
        size = min(request.positions, len(candidates))
        slate.size[0] = size
        key = branch(request.key, -1)  # apart from the key that breaks ties
        for i in range(len(candidates)):
            item = candidates[i]
            cache.score[i] = -(belief.block[item] + uniform(key, request.labels[item]))
        items, drawn = slate.items[:size], cache.drawn[:size]
        select(cache.score, candidates, len(candidates), request.labels, request.key, items, drawn)
        if len(request.pins) > 0 or len(request.order) > 0:
            lay_out(cache.chosen, request.order, request.pins, slate)
        last = -1
        for place in range(size):
            pinned = len(request.pins) > 0 and request.pins[place] >= 0
            block = -1 if pinned else belief.block[slate.items[place]]
            slate.memo[place, 0] = block
            last = max(last, block)
        slate.memo[:, 1:] = 0.0
        for item in candidates:
            if belief.block[item] == last:
                missed(slate, item, 1.0)
        for place in range(size):
            missed(slate, slate.items[place], 0.0)

    def learn(self, belief: Blocks, slate: Slate, page: Page) -> None:
        """Every clicked item wins against those of its block that were not clicked, or not even shown."""
        belief.clock[0] += 1
        size = slate.size[0]
        last = -1.0
        for place in range(size):
            last = max(last, slate.memo[place, 0])
        width = slate.memo.shape[1] - 1
        for place in range(size):
            block = slate.memo[place, 0]
            if page.clicks[place] == 0 or block < 0.0:
                continue
            winner = slate.items[place]
            for other in range(size):
                if slate.memo[other, 0] == block and page.clicks[other] == 0:
                    duel(belief, winner, slate.items[other], self.scale)
            if block == last:
                for item in range(len(belief.block)):
                    if slate.memo[item // width, 1 + item % width] == 1.0:
                        duel(belief, winner, item, self.scale)

    def sample(self, belief: Blocks, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """An item alone wins no duel."""

    def assess(self, belief: Blocks, request: Request, place: int | None) -> Assessment:
        """Duels, and the share of them that was won."""
        return assess_duels(belief.wins, request, "at random among those not known to be better or worse")


@helper
def missed(slate: Slate, item: int, flag: float) -> None:
    """Note whether an item of the last block was left without a place."""
    width = slate.memo.shape[1] - 1
    slate.memo[item // width, 1 + item % width] = flag


@helper
def duel(belief: Blocks, winner: int, loser: int, scale: float) -> None:
    """Count a duel; where it decides for good, the loser goes below the winner, and those it beats below it."""
    if not won_for_good(belief.wins, winner, loser, scale, 1.0):
        return
    if belief.beats[winner, loser] == 1 or belief.beats[loser, winner] == 1:  # decided while this list was out
        return
    belief.beats[winner, loser] = 1
    push_down(belief, loser, belief.block[winner] + 1)


@helper
def push_down(belief: Blocks, item: int, block: int) -> None:
    """Move an item to a block, and everything it beats below it, and so on.

    There are as many blocks as items at most: items that beat each other in a circle, which happens with probability
    delta, meet in the last one and are shuffled there.
    """
    items = len(belief.block)
    if belief.block[item] >= min(block, items - 1):
        return
    belief.block[item] = min(block, items - 1)
    belief.stirred[item] = 1
    waiting = 1
    while waiting > 0:
        for upper in range(items):
            if belief.stirred[upper] == 0:
                continue
            belief.stirred[upper] = 0
            waiting -= 1
            below = min(belief.block[upper] + 1, items - 1)
            for lower in range(items):
                if belief.beats[upper, lower] == 1 and belief.block[lower] < below:
                    belief.block[lower] = below
                    if belief.stirred[lower] == 0:
                        belief.stirred[lower] = 1
                        waiting += 1
