"""The best few of very many items, without scoring most of them.

From one list to the next, an index changes only if its item was observed, and with the slowly growing budget. So the
items are split into blocks, each with a ceiling that no index in it exceeds (`block_ceilings`). A list opens only the
blocks whose ceiling reaches a lower bound of the K-th best index; groups of blocks, none of which does, are skipped
together.

Ceilings do not help where very many items are equal, as unseen items are. Therefore a few kinds of counts, recently
shared by many items that could have been among the best, are common (`common_counts`). Items with common counts are
left out of the ceilings, and only counted. If enough of them for a list have an index as high as a level, a list needs
all above the level, which are few, and of those at the level only the K with the highest standings (`ties`); and of
items that are not better, only those whose standing is as high. One hash per block tells whether it has such an item,
and few blocks have. Where blocks are few, the leaders of blocks give a closer bound first.

The rest is a shortlist, and the best of it are the best of all: the lists are the same as by scoring everything.
Slots without an item and hidden items are left out of the ceilings; the exceptions of a request are few, and are left
out of the shortlist.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.block_ceilings import (
    COMMON,
    GROUP,
    BlockCeilings,
    count_common,
    empty_ceilings,
    find_heights,
    index_of,
    lower_bound,
    outdate_kinds,
)
from toplist.parts.index.common_counts import (
    KINDS,
    NO_KIND,
    NOT_CHOSEN,
    agree_on_blocks,
    are_all_of_kind,
    choose_kind,
    count_of_kinds,
    enough_reach,
    kinds_between,
)
from toplist.parts.index.draw_numbers import (
    LEADERS,
    leader_of,
    least_number,
    top_bits,
)
from toplist.parts.index.fill_shortlist import EVERY_NUMBER, Bar, fill_shortlist, is_present_of_kind
from toplist.parts.index.gaps import is_eligible, is_present
from toplist.parts.index.select import select
from toplist.parts.memory.counts import Counts

LONG, PER_BLOCK = 64, 1.0 / 32.0  # if more items are looked at one by one, other counts become common
SCATTERED = 32  # items that are hashed one by one in the time of a whole block
SAMPLE = 1024  # items that the first common counts are chosen from
CROWDED = 0.125 / BLOCK  # a share of items that makes it worthwhile to compare the leaders of blocks first
NO_HASH = -1  # in place of the hash of a block


class Shortlist(NamedTuple):
    """Finds the best of very many items."""

    ceilings: BlockCeilings

    def suits(self, candidates: Ints, wanted: int) -> bool:
        """Whether the candidates are many and dense."""
        return is_worthwhile(self.ceilings, candidates, wanted)

    def take_best(
        self, scoring: Any, belief: Counts, request: Request, budget: float, chosen: Ints, scores: Floats
    ) -> int:
        """Open only the blocks that matter."""
        return best_of_many(scoring, belief, self.ceilings, request, budget, chosen, scores)

    def outdate(self) -> None:
        """Forget all ceilings and lines."""
        for block in range(len(self.ceilings.known)):
            self.ceilings.known[block] = -1
        for item in range(len(self.ceilings.since)):
            self.ceilings.since[item] = 0.0


class NoShortlist(NamedTuple):
    """In place of a shortlist where items stay few: its code is then not even compiled."""

    nothing: Ints

    def suits(self, candidates: Ints, wanted: int) -> bool:
        """Never."""
        return False

    def take_best(
        self, scoring: Any, belief: Counts, request: Request, budget: float, chosen: Ints, scores: Floats
    ) -> int:
        """Nothing, since it never suits."""
        return 0

    def outdate(self) -> None:
        """There is nothing to forget."""


def empty_shortlist(problem: Problem) -> Shortlist | NoShortlist:
    """Nothing is computed yet."""
    if problem.grows or block_count(problem) > 0:
        return Shortlist(empty_ceilings(problem))
    return NoShortlist(np.zeros(1, dtype=np.int64))


@helper
def is_worthwhile(ceilings: BlockCeilings, candidates: Ints, wanted: int) -> bool:
    """Whether the candidates are many and dense, so that most blocks can stay closed."""
    count = len(candidates)
    if len(ceilings.items) == 0:
        return False
    return 2 * count > candidates[count - 1] - candidates[0] and 4 * wanted * BLOCK <= count


@routine
def best_of_many(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, budget: float, chosen: Ints, scores: Floats
) -> int:
    """Fill `chosen` and `scores` with the best candidates and their indices; returns the number of computed indices.

    The index is `scoring.tangent`. The ceilings belong to one belief.
    """
    ceilings.computed[0] = 0
    found = shortlist(scoring, belief, ceilings, request, budget, len(chosen))
    items, value = ceilings.items, ceilings.value
    for i in range(found):
        value[i] = index_of(scoring, ceilings, belief.examined[items[i]], belief.clicked[items[i]], budget)
    select(value, items, found, request.labels, request.key, chosen, scores)
    return int(ceilings.computed[0])


@routine
def shortlist(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, budget: float, wanted: int
) -> int:
    """Fill `ceilings.items` with candidates that include the best `wanted`; their number."""
    candidates, common = request.candidates, ceilings.common
    first, end = candidates[0] // BLOCK, candidates[len(candidates) - 1] // BLOCK + 1
    agree_on_blocks(common, first, end)
    if common.counts[0, 0] == NOT_CHOSEN:
        choose_first_kind(ceilings, belief, request)
    absent = min(end * BLOCK, len(ceilings.items)) - first * BLOCK - len(candidates)
    enough = wanted + absent + len(request.exceptions)
    level = -np.inf
    if is_never_seen(scoring, ceilings, budget):
        count_common(belief, ceilings, request, first, end)
        level = level_of_enough(scoring, ceilings, budget, enough)
    if level < np.inf:  # else these go before all others, whatever their indices
        find_heights(scoring, belief, ceilings, request, first, end, budget)
        level = level_of_enough(scoring, ceilings, budget, enough)
    least = least_of_best(scoring, ceilings, request, first, end, absent, budget, wanted, lower_bound(level))
    better = kinds_between(common, least, np.inf) & ~kinds_between(common, -np.inf, level)
    tied, share, are_few = 0, 0.0, False
    if level >= least:
        tied = kinds_between(common, level, level)
        alike = count_of_kinds(common, tied)
        share = (wanted + 3.0 * math.sqrt(wanted) + 4.0) / alike  # by number: most likely enough for a list
        are_few = alike <= SCATTERED * (end - first) * min(1.0, share * BLOCK)
        if not are_few and share > CROWDED:
            share = smaller_share(belief, ceilings, request, first, end, absent, wanted, tied, share)
    while True:
        most = 0.0 if tied == 0 else share if share < 1.0 else EVERY_NUMBER
        bar = Bar(budget, least, level, most, tied, are_few, better, absent)
        found, alike, ties, dropped = fill_shortlist(scoring, belief, ceilings, request, first, end, bar)
        if tied == 0 or share >= 1.0 or ties >= wanted:
            break
        share *= 8.0  # rare: fewer than `wanted` standings are that high
    ceilings.looked[0] = found - alike + dropped
    is_long = ceilings.looked[0] > LONG + PER_BLOCK * (end - first)  # since another kind outdates all blocks
    if is_long and choose_kind(common, belief, ceilings.items, found, dropped, request.key, least):
        outdate_kinds(ceilings)
    for item in request.exceptions:
        if not is_present(request.present, item):  # so it is eligible, but in no ceiling
            ceilings.items[found] = item
            found += 1
    return found


@routine
def choose_first_kind(ceilings: BlockCeilings, belief: Counts, request: Request) -> None:
    """Choose the first common counts by some of the candidates."""
    candidates = request.candidates
    count = min(SAMPLE, len(candidates))
    for i in range(count):
        ceilings.items[i] = candidates[i * len(candidates) // count]
    ceilings.common.counts[:] = NO_KIND
    choose_kind(ceilings.common, belief, ceilings.items, count, 0, request.key, -np.inf)


@routine
def is_never_seen(scoring: Any, ceilings: BlockCeilings, budget: float) -> bool:
    """Whether common counts have an infinite index, as items have that were never examined."""
    counts = ceilings.common.counts
    for kind in range(KINDS):
        if counts[kind, 0] == 0.0 and index_of(scoring, ceilings, counts[kind, 0], counts[kind, 1], budget) == np.inf:
            return True
    return False


@routine
def level_of_enough(scoring: Any, ceilings: BlockCeilings, budget: float, enough: int) -> float:
    """The highest index that enough common items reach; minus infinity if there are not so many."""
    common, level = ceilings.common, -np.inf
    for kind in range(KINDS):
        common.indices[kind] = -np.inf
        if common.total[kind] > 0:
            common.indices[kind] = index_of(scoring, ceilings, common.counts[kind, 0], common.counts[kind, 1], budget)
    for kind in range(KINDS):
        if common.indices[kind] > level and enough_reach(common, common.indices[kind], enough):
            level = common.indices[kind]
    return level


@routine
def least_of_best(
    scoring: Any, ceilings: BlockCeilings, request: Request, first: int, end: int, absent: int, budget: float,
    wanted: int, floor: float,
) -> float:  # fmt: skip
    """A lower bound of the `wanted`-th best index: the least of the foremost items of the highest blocks.

    `floor` is another one, and returned if it is higher.
    """
    highest, leader = ceilings.highest, ceilings.leader
    for position in range(wanted):
        highest[position] = floor
    for group in range(first // GROUP, (end - 1) // GROUP + 1):
        if ceilings.group_height[group] <= max(highest[wanted - 1], COMMON):
            continue
        for block in range(max(first, group * GROUP), min(end, (group + 1) * GROUP)):
            height, item = ceilings.height[block], ceilings.foremost[block]
            if height > highest[wanted - 1] and is_eligible(request, item, absent):
                position = wanted - 1
                while position > 0 and highest[position - 1] < height:
                    highest[position], leader[position] = highest[position - 1], leader[position - 1]
                    position -= 1
                highest[position], leader[position] = height, item
    if highest[wanted - 1] == floor:
        return max(floor, -0.5)  # every line reaches that, but neither COMMON nor NOT_PRESENT does
    least = np.inf
    for position in range(wanted):
        item = leader[position]
        least = min(least, index_of(scoring, ceilings, ceilings.examined[item], ceilings.clicked[item], budget))
    return max(floor, lower_bound(least))


@routine
def smaller_share(
    belief: Counts, ceilings: BlockCeilings, request: Request, first: int, end: int, absent: int, wanted: int,
    tied: int, share: float,
) -> float:  # fmt: skip
    """A share of the tied items with at least `wanted` of them, by their blocks' leaders; `share` if that is less."""
    leaders, drawn = branch(request.key, LEADERS), ceilings.leader  # the hashes of the blocks with the best leaders
    for position in range(wanted):
        drawn[position] = NO_HASH
    for block in range(first, end):
        own = branch(leaders, block)
        if ceilings.common.kinds[block] & tied == 0 or top_bits(own) >= top_bits(drawn[wanted - 1]):
            continue
        begin, stop = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.items))
        item = begin + leader_of(own)
        if item >= stop or (
            not are_all_of_kind(ceilings.common, tied, block, stop - begin)
            and not is_present_of_kind(belief, ceilings, request, tied, item)
        ):
            continue
        if is_eligible(request, item, absent):
            position = wanted - 1
            while position > 0 and top_bits(drawn[position - 1]) > top_bits(own):
                drawn[position] = drawn[position - 1]
                position -= 1
            drawn[position] = own
    return share if drawn[wanted - 1] == NO_HASH else min(share, least_number(drawn[wanted - 1]))
