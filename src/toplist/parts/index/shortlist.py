"""The best few of very many items, without scoring most of them.

From one list to the next, an index changes only if its item was observed, and with the slowly growing budget. So the
items are split into blocks, each with a ceiling that no index in it exceeds (`block_ceilings`). A list opens only the
blocks whose ceiling reaches a lower bound of the K-th best index; groups of blocks, none of which does, are skipped
together.

Ceilings do not help where very many items are equal, as unseen items are. Therefore one pair of counts, recently shared
by very many items that could have been among the best, is the common one. Items with the common counts are left out of
the ceilings. They have one index, and among equals the highest standing goes first (`ties`), so a list needs only the K
of them with the highest standings; and of items that are not better, only those whose standing is as high. One hash per
block tells whether it has such an item, and few blocks have. Where blocks are few, the leaders of blocks give a closer
bound first.

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
    NONE_COMMON,
    NOT_CHOSEN,
    BlockCeilings,
    count_common,
    empty_ceilings,
    find_heights,
    line_reaches,
    lower_bound,
)
from toplist.parts.index.draw_numbers import (
    LEADERS,
    leader_of,
    least_number,
    limit_of_blocks,
    limit_of_items,
    number_above,
    top_bits,
)
from toplist.parts.index.gaps import is_eligible, is_present
from toplist.parts.index.select import select
from toplist.parts.index.ties import is_behind
from toplist.parts.memory.counts import Counts

LONG, SHORTEST = 256, 4  # a longer shortlist, also in items per block, leads to other common counts
SAMPLE = 1024  # items that the first common counts are chosen from
CROWDED = 0.125 / BLOCK  # a share of items that makes it worthwhile to compare the leaders of blocks first
EVERY_NUMBER = 2.0  # numbers by which ties are broken are at most 1
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
    found = shortlist(scoring, belief, ceilings, request, budget, len(chosen))
    items, value, computed = ceilings.items, ceilings.value, 0
    examined, clicked = -1.0, -1.0
    for i in range(found):
        if belief.examined[items[i]] == examined and belief.clicked[items[i]] == clicked:
            value[i] = value[i - 1]
        else:
            examined, clicked = belief.examined[items[i]], belief.clicked[items[i]]
            value[i] = scoring.tangent(examined, clicked, budget)[0]
            computed += 1
    select(value, items, found, request.labels, request.key, chosen, scores)
    return computed


@routine
def shortlist(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, budget: float, wanted: int
) -> int:
    """Fill `ceilings.items` with candidates that include the best `wanted`; their number."""
    candidates = request.candidates
    first, end = candidates[0] // BLOCK, candidates[len(candidates) - 1] // BLOCK + 1
    agree_on_common_counts(ceilings, belief, candidates, first, end)
    absent = min(end * BLOCK, len(ceilings.items)) - first * BLOCK - len(candidates)
    alike, least = 0, np.inf
    if is_never_seen(scoring, ceilings, first, budget):
        alike = count_common(belief, ceilings, request, first, end)
    if alike - absent - len(request.exceptions) < wanted:  # else these go before all others, whatever their indices
        alike = find_heights(scoring, belief, ceilings, request, first, end, budget)
        least = least_of_best(scoring, ceilings, request, first, end, absent, budget, wanted)
    level, share = -np.inf, 0.0  # the index of the common items, and the share of them to include
    if alike > 0:
        level = scoring.tangent(ceilings.common[first, 0], ceilings.common[first, 1], budget)[0]
        if alike - absent - len(request.exceptions) >= wanted:
            least = max(least, lower_bound(level))
        if level >= least:
            share = (wanted + 3.0 * math.sqrt(wanted) + 4.0) / alike
            if share > CROWDED:
                share = smaller_share(belief, ceilings, request, first, end, absent, wanted, share)
    while True:
        found, common = fill_shortlist(
            scoring, belief, ceilings, request, first, end, absent, budget, least, level, share
        )
        if share == 0.0 or share >= 1.0 or common >= wanted:
            break
        share *= 8.0  # rare: fewer than `wanted` standings are that high
    long = min(LONG, SHORTEST * (end - first))  # other common counts outdate all of these blocks
    if found > (max(alike, long) if share > 0.0 else long):
        choose_common_counts(ceilings, belief, found, first, end)
    for item in request.exceptions:
        if not is_present(request.present, item):  # so it is eligible, but in no ceiling
            ceilings.items[found] = item
            found += 1
    return found


@helper
def is_never_seen(scoring: Any, ceilings: BlockCeilings, first: int, budget: float) -> bool:
    """Whether the common counts have an infinite index, as items have that were never examined."""
    examined, clicked = ceilings.common[first, 0], ceilings.common[first, 1]
    return bool(examined == 0.0 and scoring.tangent(examined, clicked, budget)[0] == np.inf)


@routine
def least_of_best(
    scoring: Any,
    ceilings: BlockCeilings,
    request: Request,
    first: int,
    end: int,
    absent: int,
    budget: float,
    wanted: int,
) -> float:
    """A lower bound of the `wanted`-th best index: the least of the foremost items of the highest blocks."""
    highest, leader = ceilings.highest, ceilings.leader
    for position in range(wanted):
        highest[position] = -np.inf
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
    if highest[wanted - 1] == -np.inf:
        return -0.5  # every line reaches it, but neither COMMON nor NOT_PRESENT does
    least = np.inf
    for position in range(wanted):
        item = leader[position]
        least = min(least, scoring.tangent(ceilings.examined[item], ceilings.clicked[item], budget)[0])
    return lower_bound(least)


@routine
def smaller_share(
    belief: Counts, ceilings: BlockCeilings, request: Request, first: int, end: int, absent: int, wanted: int,
    share: float,
) -> float:  # fmt: skip
    """A share of the common items with at least `wanted` of them, by their blocks' leaders; `share` if that is less."""
    leaders, drawn = branch(request.key, LEADERS), ceilings.leader  # the hashes of the blocks with the best leaders
    for position in range(wanted):
        drawn[position] = NO_HASH
    for block in range(first, end):
        own = branch(leaders, block)
        if ceilings.alike[block] == 0 or top_bits(own) >= top_bits(drawn[wanted - 1]):
            continue
        begin, stop = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.items))
        item = begin + leader_of(own)
        if item >= stop or (ceilings.alike[block] < stop - begin and not is_common(belief, ceilings, request, item)):
            continue
        if is_eligible(request, item, absent):
            position = wanted - 1
            while position > 0 and top_bits(drawn[position - 1]) > top_bits(own):
                drawn[position] = drawn[position - 1]
                position -= 1
            drawn[position] = own
    return share if drawn[wanted - 1] == NO_HASH else min(share, least_number(drawn[wanted - 1]))


@helper
def is_common(belief: Counts, ceilings: BlockCeilings, request: Request, item: int) -> bool:
    """Whether an item is present and has the common counts of its block."""
    common = ceilings.common[item // BLOCK]
    is_alike = belief.examined[item] == common[0] and belief.clicked[item] == common[1]
    return bool(is_alike and is_present(request.present, item))


@routine
def fill_shortlist(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, first: int, end: int, absent: int,
    budget: float, least: float, level: float, share: float,
) -> tuple[int, int]:  # fmt: skip
    """Fill the shortlist: this share of the common items, by standing, and others that are better or stand as high.

    Returns its length and the number of common items in it; it is complete only if these are enough for a list.
    """
    most = share if share < 1.0 else EVERY_NUMBER  # the number of a common item must not be above it
    leaders, limit = branch(request.key, LEADERS), limit_of_blocks(most)
    found, common = 0, 0
    for group in range(first // GROUP, (end - 1) // GROUP + 1):
        has_common = share > 0.0 and ceilings.group_alike[group] > 0
        if not has_common and ceilings.group_height[group] < least:
            continue
        begin, stop = max(first, group * GROUP), min(end, (group + 1) * GROUP)
        height, alike, some = ceilings.height[begin:stop], ceilings.alike[begin:stop], 0
        for i in range(len(height)):  # vectorised, and mostly finds nothing
            lucky = has_common & (alike[i] > 0) & (top_bits(branch(leaders, begin + i)) < limit)
            some += 1 if lucky | (height[i] >= least) else 0
        if some == 0:
            continue
        for block in range(begin, stop):
            if has_common and ceilings.alike[block] > 0 and top_bits(branch(leaders, block)) < limit:
                before = found
                found = add_common(belief, ceilings, request, block, branch(leaders, block), most, absent, found)
                common += found - before
            if ceilings.height[block] >= least:
                found = add_reaching(scoring, ceilings, request, block, absent, budget, least, level, most, found)
    return found, common


@routine
def add_common(
    belief: Counts, ceilings: BlockCeilings, request: Request, block: int, drawn: int, most: float, absent: int,
    found: int,
) -> int:  # fmt: skip
    """Add the common items of a block whose number is not above a limit; the new length of the shortlist.

    `drawn` is the hash of the block.
    """
    begin, stop = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.items))
    leader, least, limit = leader_of(drawn), least_number(drawn), limit_of_items(most)
    labels, others = request.labels[begin:stop], 0
    if least < most:
        for i in range(len(labels)):  # vectorised, and mostly finds nothing
            others += 1 if top_bits(branch(request.key, labels[i])) < limit else 0
    all_common = ceilings.alike[block] == stop - begin
    low, high = (0, len(labels)) if others > 0 else (leader, min(leader + 1, len(labels)))
    for i in range(low, high):
        if not all_common and not is_common(belief, ceilings, request, begin + i):
            continue
        number = least if i == leader else number_above(least, top_bits(branch(request.key, labels[i])))
        if number <= most and is_eligible(request, begin + i, absent):
            ceilings.items[found] = begin + i
            found += 1
    return found


@routine
def add_reaching(
    scoring: Any, ceilings: BlockCeilings, request: Request, block: int, absent: int, budget: float, least: float,
    level: float, most: float, found: int,
) -> int:  # fmt: skip
    """Add the other items of a block whose line reaches a level, unless a share of the common items goes before them.

    That share has numbers of at most `most`, or is empty if that is 0. Returns the new length of the shortlist.
    """
    begin, stop = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.items))
    base, slope, reaching = ceilings.base[begin:stop], ceilings.slope[begin:stop], 0
    if ceilings.alike[block] == stop - begin:
        return found  # all are common, and there are no lines
    for i in range(len(base)):  # vectorised, and often finds nothing
        reaching += 1 if base[i] + slope[i] * budget >= least else 0
    if reaching == 0:
        return found
    examined, clicked, is_better = -1.0, -1.0, False  # the counts last compared with the common ones
    for i in range(len(base)):
        item = begin + i
        if base[i] + slope[i] * budget < least:
            continue  # so are COMMON and NOT_PRESENT
        if not line_reaches(scoring, ceilings, item, budget, least) or not is_eligible(request, item, absent):
            continue
        if 0.0 < most <= 1.0 and is_behind(item, -most, request.labels, request.key):
            if ceilings.examined[item] != examined or ceilings.clicked[item] != clicked:
                examined, clicked = ceilings.examined[item], ceilings.clicked[item]
                is_better = scoring.tangent(examined, clicked, budget)[0] > level
            if not is_better:
                continue
        ceilings.items[found] = item
        found += 1
    return found


@routine
def agree_on_common_counts(ceilings: BlockCeilings, belief: Counts, candidates: Ints, first: int, end: int) -> None:
    """Let the blocks of a request have the same common counts; the first ones are chosen by some of the candidates."""
    if ceilings.common[first, 0] == NOT_CHOSEN:
        count = min(SAMPLE, len(candidates))
        for i in range(count):
            ceilings.items[i] = candidates[i * len(candidates) // count]
        set_common_counts(ceilings, first, end, NONE_COMMON, NONE_COMMON)
        choose_common_counts(ceilings, belief, count, first, end)
        return
    here, others = ceilings.common[first:end], 0
    examined, clicked = here[0, 0], here[0, 1]
    for i in range(len(here)):  # vectorised
        others += 1 if (here[i, 0] != examined) | (here[i, 1] != clicked) else 0
    if others > 0:  # an earlier request had other blocks
        set_common_counts(ceilings, first, end, examined, clicked)


@routine
def choose_common_counts(ceilings: BlockCeilings, belief: Counts, found: int, first: int, end: int) -> None:
    """Make the counts that most items of a long shortlist share the common ones, if there are any."""
    item, votes = 0, 0
    for i in range(found):  # Boyer and Moore's vote
        other = ceilings.items[i]
        if votes == 0:
            item = other
        same = belief.examined[other] == belief.examined[item] and belief.clicked[other] == belief.clicked[item]
        votes += 1 if same else -1
    if votes > 0:
        set_common_counts(ceilings, first, end, belief.examined[item], belief.clicked[item])


@routine
def set_common_counts(ceilings: BlockCeilings, first: int, end: int, examined: float, clicked: float) -> None:
    """Change the common counts of some blocks."""
    for block in range(first, end):
        if ceilings.common[block, 0] != examined or ceilings.common[block, 1] != clicked:
            ceilings.common[block, 0], ceilings.common[block, 1] = examined, clicked
            ceilings.known[block], ceilings.counted[block] = -1, -1
