"""TopRank: blocks of items whose order is not known yet, each shown in random order."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.arrange import lay_out
from toplist.parts.index.select import AnySelection, ShortSelection, selection_for
from toplist.policies.by_name import entry
from toplist.policies.duels import (
    Flags,
    assess_duels,
    checked_delta,
    last_block,
    loser,
    note_unplaced,
    record_win,
    rivals,
)
from toplist.policies.propensity.levels import probabilities_by_level
from toplist.policies.propensity.positions import free_candidates, ranks_of_positions, with_pins

CONSTANT = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))


class Blocks(NamedTuple):
    """Duels won between items, and the block of each item."""

    wins: Ints  # (items, items): duels that the row's item won against the column's
    beats: Flags  # (items, items): 1 where the row's item is better with certainty
    block: Ints  # per item, the best block being 0: length of the longest chain of better items above it
    stirred: Ints  # per item, scratch: whether its block has just changed
    clock: Ints  # one element: lists learned


class Shuffle(NamedTuple):
    """Scratch arrays for drawing one list."""

    score: Floats  # per candidate
    chosen: Ints  # per position
    drawn: Floats  # per position
    selection: ShortSelection | AnySelection


@entry("TopRank", hides=("scale",))
class TopRank(NamedTuple):
    """Shows blocks of items, better blocks first, each in random order; splits a block once one item beats another.

    Parameters
    ----------
    delta : float or "theory", default "theory"
        Probability of ever ordering two items wrongly; "theory" is 1/n for n steps.

    Notes
    -----
    Of two items in the same block, the one clicked while the other is not wins a duel. An item beats another for good
    once its lead in N duels reaches `sqrt(2 N log(c sqrt(N) / delta))`. Each block consists of the items not beaten by
    any item outside the blocks above. The only assumption about clicks is that better items and higher positions get
    more of them. Lattimore, Kveton, Li and Szepesvari, TopRank: A Practical Algorithm for Online Stochastic Ranking,
    NeurIPS 2018, algorithm 1, where delta is 1/n.
    """

    delta: float | str = "theory"
    scale: float = 0.0  # 2 log(c / delta); filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Resolve delta."""
        delta = checked_delta("TopRank", self.delta, problem, 1.0)
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
        """Arrays for one list."""
        places = problem.positions
        chosen = np.zeros(places, dtype=np.int64)
        return Shuffle(np.zeros(problem.items), chosen, np.zeros(places), selection_for(places))

    def slate(self, problem: Problem) -> Slate:
        """The memo holds the block of each position, and a flag per item of the last block without a position."""
        return empty_slate(problem.positions, problem.features, memo=1 + -(-problem.items // problem.positions))

    def capabilities(self) -> Capabilities:
        """Beliefs are about pairs, so items cannot be added; only lists in random order say which item is better."""
        return Capabilities(adds_items=False, learns_from_any_list=False, samples="nothing")

    def rank(self, belief: Blocks, cache: Shuffle, request: Request, slate: Slate) -> None:
        """Fill block by block, in random order within each."""
        candidates = request.candidates
        size = min(request.positions, len(candidates))
        slate.size[0] = size
        key = branch(request.key, -1)  # independent of the key that breaks ties
        for i in range(len(candidates)):
            item = candidates[i]
            cache.score[i] = -(belief.block[item] + uniform(key, request.labels[item]))
        items, drawn = slate.items[:size], cache.drawn[:size]
        cache.selection.select_best(cache.score, candidates, len(candidates), request.labels, request.key, items, drawn)
        if len(request.pins) > 0 or len(request.order) > 0:
            lay_out(cache.chosen, request.order, request.pins, slate)
        note_unplaced(belief.block, request, slate, 1)

    def learn(self, belief: Blocks, slate: Slate, page: Page) -> None:
        """Every clicked item wins against the items of its block that were not clicked or not shown."""
        belief.clock[0] += 1
        last, items = last_block(slate), len(belief.wins)
        for place in range(slate.size[0]):
            for asked in range(rivals(slate, page, place, last, items)):
                other = loser(slate, page, place, asked, 1)
                if other >= 0:
                    settle_duel(belief, slate.items[place], other, self.scale)

    def sample(self, belief: Blocks, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Ignored: an item alone wins no duel."""

    def list_probabilities(self, belief: Blocks, request: Request, items: Ints) -> ListProbabilities:
        """Exact: a level per block."""
        return self.weigh_lists(belief, request, items[None]).of_list(0)

    def weigh_lists(self, belief: Blocks, request: Request, lists: Ints) -> ListProbabilities:
        """The same for several lists."""
        size = lists.shape[1]
        free, ranks = free_candidates(request, size), ranks_of_positions(request, NONE, size)
        by_block = probabilities_by_level(-belief.block[free].astype(np.float64), free, ranks, lists)
        return with_pins(by_block, request, lists)

    def assess(self, belief: Blocks, request: Request, place: int | None) -> Assessment:
        """Duels, and the share won."""
        return assess_duels(belief.wins, request, "at random among those not known to be better or worse")


@helper
def settle_duel(belief: Blocks, winner: int, loser: int, scale: float) -> None:
    """Count a duel; where it decides the pair, push the loser below the winner, and the items it beats below it."""
    if not record_win(belief.wins, winner, loser, scale, 1.0):
        return
    if (
        belief.beats[winner, loser] == 1 or belief.beats[loser, winner] == 1
    ):  # decided while this list waited for its clicks
        return
    belief.beats[winner, loser] = 1
    push_down(belief, loser, belief.block[winner] + 1)


@helper
def push_down(belief: Blocks, item: int, block: int) -> None:
    """Move an item down to a block, and recursively every item it beats below it.

    There are at most as many blocks as items: items that beat each other in a cycle, which happens with probability
    delta, end in the last one and are shuffled there.
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
