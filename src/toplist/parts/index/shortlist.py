"""The best few of very many items, without scoring most of them.

From one list to the next, an index changes only if its item was observed, and with the slowly growing budget. So the
items are split into blocks. Each block has a ceiling that no index in it exceeds while the budget stays within a range;
it is recomputed when counts in the block were touched, or when the budget leaves the range. A list opens only the
blocks whose ceiling reaches a lower bound of the K-th best index.

Ceilings do not help where very many items are equal, as unseen items are. Therefore one pair of counts, recently shared
by very many items that could have been among the best, is the common one. Items with the common counts are left out of
the ceilings. They have one index, and among equals the larger hash goes first, so a list needs only the K of them with
the largest hashes; and of items that are not better, only those whose hash is as large.

The rest is a shortlist, and the best of it are the best of all: the lists are the same as by scoring everything.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, MANY, block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.select import select
from toplist.parts.memory.counts import Counts

RANGE, TINY = 0.02, 1e-9  # relative and least absolute growth of the budget until all ceilings are recomputed
ROUNDING = 1e-12  # absolute and relative margin of the bounds; indices are accurate to a fiftieth of it
LONG = 256  # a longer shortlist leads to other common counts
HASHED_TOGETHER = 32  # hashes per vectorised loop; a divisor of BLOCK
LOWEST = -(1 << 63)  # the smallest hash


class BlockCeilings(NamedTuple):
    """Per item a line above its index for any budget; per block a ceiling over its lines; and scratch space."""

    examined: Floats  # per item, the counts of its line; -1 for none
    clicked: Floats
    base: Floats  # the line: base + slope * budget; -1 for items with the common counts ...
    slope: Floats
    since: Floats  # ... and the budget at which the line touches the index
    known: Ints  # per block, its touch count when the ceiling was computed; -1 if outdated
    ceiling: Floats  # per block, over all but the common items, at the start of the range ...
    rise: Floats  # ... and its slope within the range
    foremost: Ints  # per block, the item with the highest line at the start of the range
    alike: Ints  # per block, the number of items with the common counts
    reach: Floats  # two elements: the range of budgets
    common: Floats  # two elements: the common counts; -1 for none
    height: Floats  # scratch: per block, its ceiling at the current budget
    highest: Floats  # scratch: the heights of the highest blocks ...
    leader: Ints  # ... and their foremost items
    items: Ints  # scratch: the shortlist ...
    value: Floats  # ... and its indices


def empty_ceilings(problem: Problem) -> BlockCeilings:
    """Nothing is computed yet; the arrays are empty below MANY items."""
    blocks = block_count(problem)
    items = problem.items if blocks > 0 else 0
    return BlockCeilings(
        examined=np.full(items, -1.0),
        clicked=np.zeros(items),
        base=np.zeros(items),
        slope=np.zeros(items),
        since=np.zeros(items),
        known=np.full(blocks, -1),
        ceiling=np.zeros(blocks),
        rise=np.zeros(blocks),
        foremost=np.zeros(blocks, dtype=np.int64),
        alike=np.zeros(blocks, dtype=np.int64),
        reach=np.array([0.0, -1.0]),
        common=np.full(2, -1.0),
        height=np.zeros(blocks),
        highest=np.zeros(problem.positions),
        leader=np.zeros(problem.positions, dtype=np.int64),
        items=np.zeros(items, dtype=np.int64),
        value=np.zeros(items),
    )


@helper
def is_worthwhile(ceilings: BlockCeilings, candidates: Ints, wanted: int) -> bool:
    """Whether the candidates are many and dense, so that most blocks can stay closed."""
    count = len(candidates)
    if len(ceilings.items) == 0 or count < MANY:
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
    absent = min(end * BLOCK, len(ceilings.items)) - first * BLOCK - len(candidates)
    if not ceilings.reach[0] <= budget <= ceilings.reach[1]:
        ceilings.reach[0], ceilings.reach[1] = budget, budget * (1.0 + RANGE) + TINY
        for block in range(len(ceilings.known)):
            ceilings.known[block] = -1
    alike = 0
    for block in range(first, end):
        if ceilings.known[block] != belief.touched[block]:
            find_ceiling(scoring, belief, ceilings, block)
        ceilings.height[block] = ceilings.ceiling[block] + ceilings.rise[block] * (budget - ceilings.reach[0])
        alike += ceilings.alike[block]
    least = least_of_best(scoring, ceilings, candidates, first, end, absent, budget, wanted)
    level, share = -np.inf, 0.0  # the index of the common items, and the share of them to include
    if alike > 0:
        level = scoring.tangent(ceilings.common[0], ceilings.common[1], budget)[0]
        if alike - absent >= wanted:
            least = max(least, lower_bound(level))
        if level >= least:
            share = (wanted + 4.0 * math.sqrt(wanted) + 8.0) / alike
    while True:
        found, common = fill_shortlist(scoring, ceilings, request, first, end, absent, budget, least, level, share)
        if share == 0.0 or share >= 1.0 or common >= wanted:
            break
        share *= 8.0  # rare: fewer than `wanted` hashes are that large
    if found > (max(alike, LONG) if share > 0.0 else LONG):
        choose_common_counts(ceilings, belief, found)
    return found


@helper
def lower_bound(index: float) -> float:
    """A value below an index by more than the rounding of any line above it."""
    return index * (1.0 - 2.0 * ROUNDING) - 2.0 * ROUNDING


@helper
def tangent_line(scoring: Any, examined: float, clicked: float, budget: float) -> tuple[float, float]:
    """Base and slope of the tangent at a budget; the index is concave, so it is never above."""
    index, slope = scoring.tangent(examined, clicked, budget)
    return index - slope * budget, slope


@routine
def find_ceiling(scoring: Any, belief: Counts, ceilings: BlockCeilings, block: int) -> None:
    """Update the lines and the ceiling of a block.

    The maximum of several lines is convex, so it lies below its chord.
    """
    base, slope, common, reach = ceilings.base, ceilings.slope, ceilings.common, ceilings.reach
    now, then, foremost, alike = -1.0, -1.0, -1, 0  # no index is below 0
    drawn = -1  # the item of the last new line: its neighbours often have equal counts
    for item in range(block * BLOCK, min((block + 1) * BLOCK, len(base))):
        examined, clicked = belief.examined[item], belief.clicked[item]
        if examined == common[0] and clicked == common[1]:
            ceilings.examined[item], base[item], slope[item] = -1.0, -1.0, 0.0
            alike += 1
            continue
        if examined != ceilings.examined[item] or clicked != ceilings.clicked[item]:
            if drawn >= 0 and examined == ceilings.examined[drawn] and clicked == ceilings.clicked[drawn]:
                base[item], slope[item] = base[drawn], slope[drawn]
            else:
                base[item], slope[item] = tangent_line(scoring, examined, clicked, reach[1])
            ceilings.examined[item], ceilings.clicked[item], ceilings.since[item] = examined, clicked, reach[1]
            drawn = item
        height = base[item] + slope[item] * reach[0]
        if height > now:
            now, foremost = height, item
        then = max(then, base[item] + slope[item] * reach[1])
    ceilings.ceiling[block], ceilings.foremost[block], ceilings.alike[block] = now, foremost, alike
    ceilings.rise[block] = (then - now) / (reach[1] - reach[0]) if now < np.inf else 0.0
    ceilings.known[block] = belief.touched[block]


@routine
def least_of_best(
    scoring: Any,
    ceilings: BlockCeilings,
    candidates: Ints,
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
    for block in range(first, end):
        height, item = ceilings.height[block], ceilings.foremost[block]
        if height > highest[wanted - 1] and is_among(candidates, item, absent):
            position = wanted - 1
            while position > 0 and highest[position - 1] < height:
                highest[position], leader[position] = highest[position - 1], leader[position - 1]
                position -= 1
            highest[position], leader[position] = height, item
    if highest[wanted - 1] == -np.inf:
        return -0.5  # every line reaches it, except the -1 of common items
    least = np.inf
    for position in range(wanted):
        item = leader[position]
        least = min(least, scoring.tangent(ceilings.examined[item], ceilings.clicked[item], budget)[0])
    return lower_bound(least)


@helper
def is_among(candidates: Ints, item: int, absent: int) -> bool:
    """Whether an item is a candidate; `absent` items from the first to the last block are not."""
    if absent == 0 or item < 0:
        return item >= 0
    low = max(0, item - candidates[0] - absent)
    high = min(len(candidates), item - candidates[0] + 1)
    while low < high:
        middle = (low + high) // 2
        if candidates[middle] < item:
            low = middle + 1
        else:
            high = middle
    return bool(low < len(candidates) and candidates[low] == item)


@routine
def fill_shortlist(
    scoring: Any, ceilings: BlockCeilings, request: Request, first: int, end: int, absent: int, budget: float,
    least: float, level: float, share: float,
) -> tuple[int, int]:  # fmt: skip
    """Fill the shortlist: common items with this share of the hashes, and others that are better or have such a hash.

    Returns its length and the number of common items in it; it is complete only if these are enough for a list.
    """
    lowest = int((1.0 - 2.0 * share) * 2.0**63) if 0.0 < share < 1.0 else LOWEST
    found, common, until = 0, 0, ceilings.reach[1]
    examined, clicked, is_better = -1.0, -1.0, False  # the counts last compared with the common ones
    for block in range(first, end):
        hashed, opened = share > 0.0 and ceilings.alike[block] > 0, ceilings.height[block] >= least
        if not hashed and not opened:
            continue
        stop = min((block + 1) * BLOCK, len(ceilings.items))
        for begin in range(block * BLOCK, stop, HASHED_TOGETHER):
            here = slice(begin, min(begin + HASHED_TOGETHER, stop))
            labels, base, slope = request.labels[here], ceilings.base[here], ceilings.slope[here]
            largest, reaching = LOWEST, 0
            if hashed:  # both loops are vectorised, and mostly find nothing
                for i in range(len(labels)):
                    largest = max(largest, branch(request.key, labels[i]))
            if opened:
                for i in range(len(base)):
                    reaching += 1 if base[i] + slope[i] * until >= least else 0
            lucky = hashed and largest >= lowest
            if reaching == 0 and not lucky:
                continue
            for i in range(len(labels)):
                item, taken, is_common = begin + i, False, base[i] == -1.0
                if opened and base[i] + slope[i] * until >= least:  # never true for a common item
                    taken = line_reaches(scoring, ceilings, item, budget, least)
                    if taken and branch(request.key, labels[i]) < lowest:
                        if ceilings.examined[item] != examined or ceilings.clicked[item] != clicked:
                            examined, clicked = ceilings.examined[item], ceilings.clicked[item]
                            is_better = scoring.tangent(examined, clicked, budget)[0] > level
                        taken = is_better
                elif lucky and is_common:
                    taken = branch(request.key, labels[i]) >= lowest
                if taken and is_among(request.candidates, item, absent):
                    ceilings.items[found] = item
                    found += 1
                    common += 1 if is_common else 0
    return found, common


@helper
def line_reaches(scoring: Any, ceilings: BlockCeilings, item: int, budget: float, least: float) -> bool:
    """Whether an item's line, updated for the range, reaches this level."""
    base, slope, until = ceilings.base, ceilings.slope, ceilings.reach[1]
    if ceilings.since[item] != until:
        base[item], slope[item] = tangent_line(scoring, ceilings.examined[item], ceilings.clicked[item], until)
        ceilings.since[item] = until
        ceilings.known[item // BLOCK] = -1
    return bool(base[item] + slope[item] * budget >= least)


@routine
def choose_common_counts(ceilings: BlockCeilings, belief: Counts, found: int) -> None:
    """Make the counts that most items of a long shortlist share the common ones, if there are any."""
    item, votes = 0, 0
    for i in range(found):  # Boyer and Moore's vote
        other = ceilings.items[i]
        if votes == 0:
            item = other
        same = belief.examined[other] == belief.examined[item] and belief.clicked[other] == belief.clicked[item]
        votes += 1 if same else -1
    examined, clicked = belief.examined[item], belief.clicked[item]
    if votes > 0 and (examined != ceilings.common[0] or clicked != ceilings.common[1]):
        ceilings.common[0], ceilings.common[1] = examined, clicked
        ceilings.reach[1] = -1.0  # outdates all ceilings
