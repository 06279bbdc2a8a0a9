"""The best few of very many items, without scoring most of them.

From one list to the next, an index changes only if its item was observed, and with the slowly growing budget. So the
items are split into blocks. Each block has a ceiling that no index in it exceeds while the budget stays within a range;
it is recomputed when counts in the block were touched, or when the budget leaves the range. The ranges of the blocks
end at different budgets, so that no list has to recompute all of them. A list opens only the blocks whose ceiling
reaches a lower bound of the K-th best index; groups of blocks, none of which does, are skipped together.

Ceilings do not help where very many items are equal, as unseen items are. Therefore one pair of counts, recently shared
by very many items that could have been among the best, is the common one. Items with the common counts are left out of
the ceilings. They have one index, and among equals the larger hash goes first, so a list needs only the K of them with
the largest hashes; and of items that are not better, only those whose hash is as large. To find these, every common
item is hashed: that bounds the time of a list if most items are equal.

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
from toplist.core.randomness import branch, leading_bits, spread
from toplist.core.slate import Bools, Floats, Ints, Request
from toplist.parts.index.gaps import is_eligible, is_present
from toplist.parts.index.select import select
from toplist.parts.memory.counts import Counts

RANGE, TINY = 0.02, 1e-9  # mean relative and least absolute growth of the budget until a ceiling is recomputed
NARROWEST = 0.05  # relative width of the rest of a range that is kept when a ceiling is recomputed
GOLDEN_RATIO = 0.6180339887498949  # spreads the ends of the ranges evenly
ROUNDING = 1e-12  # absolute and relative margin of the bounds; indices are accurate to a fiftieth of it
LONG, SHORTEST = 256, 4  # a longer shortlist, also in items per block, leads to other common counts
SAMPLE = 1024  # items that the first common counts are chosen from
GROUP = 64  # blocks that are skipped together
LOWEST = -(1 << 63)  # the smallest hash
COMMON, NOT_PRESENT = -1.0, -2.0  # in place of the base of a line; no index is below 0
NONE_COMMON, NOT_CHOSEN = -1.0, -2.0  # in place of common counts
TOGETHER = 32  # hashes looked at in a vectorised loop


class BlockCeilings(NamedTuple):
    """Per item a line above its index for any budget; per block a ceiling over its lines; and scratch space."""

    examined: Floats  # per item, the counts of its line
    clicked: Floats
    base: Floats  # the line: base + slope * budget; COMMON, NOT_PRESENT ...
    slope: Floats
    since: Floats  # ... and the budget at which the line touches the index; 0 for no line
    salted: Ints  # per item, its label spread for hashing
    known: Ints  # per block, its touch count when the ceiling was computed; -1 if outdated
    begun: Floats  # per block, the range of budgets for which the ceiling holds
    until: Floats
    ceiling: Floats  # per block, over all but the common items, at the start of the range ...
    rise: Floats  # ... and its slope within the range
    foremost: Ints  # per block, the item with the highest line at the start of the range
    alike: Ints  # per block, the number of items with the common counts
    common: Floats  # (blocks, 2): the common counts, the same in all blocks of a request; -1 for none
    height: Floats  # scratch: per block, its ceiling at the current budget ...
    group_height: Floats  # ... and per group the largest of them
    group_alike: Ints  # scratch: per group, the number of items with the common counts
    highest: Floats  # scratch: the heights of the highest blocks ...
    leader: Ints  # ... and their foremost items
    items: Ints  # scratch: the shortlist ...
    value: Floats  # ... and its indices


def empty_ceilings(problem: Problem) -> BlockCeilings:
    """Nothing is computed yet; the arrays are empty below MANY items.

    All that is per item is 0, so that memory is taken only for items that get a line.
    """
    blocks = block_count(problem)
    items = problem.items if blocks > 0 else 0
    groups = -(-blocks // GROUP)
    return BlockCeilings(
        examined=np.zeros(items),
        clicked=np.zeros(items),
        base=np.zeros(items),
        slope=np.zeros(items),
        since=np.zeros(items),
        salted=np.zeros(items, dtype=np.int64),
        known=np.full(blocks, -1),
        begun=np.zeros(blocks),
        until=np.zeros(blocks),
        ceiling=np.zeros(blocks),
        rise=np.zeros(blocks),
        foremost=np.zeros(blocks, dtype=np.int64),
        alike=np.zeros(blocks, dtype=np.int64),
        common=np.full((blocks, 2), NOT_CHOSEN),
        height=np.zeros(blocks),
        group_height=np.zeros(groups),
        group_alike=np.zeros(groups, dtype=np.int64),
        highest=np.zeros(problem.positions),
        leader=np.zeros(problem.positions, dtype=np.int64),
        items=np.zeros(items, dtype=np.int64),
        value=np.zeros(items),
    )


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

    The index is `scoring.tangent`. The ceilings belong to one belief. Labels change only where `touched` counts it.
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
    alike = find_heights(scoring, belief, ceilings, request, first, end, budget)
    least = least_of_best(scoring, ceilings, request, first, end, absent, budget, wanted)
    level, share = -np.inf, 0.0  # the index of the common items, and the share of them to include
    if alike > 0:
        level = scoring.tangent(ceilings.common[first, 0], ceilings.common[first, 1], budget)[0]
        if alike - absent - len(request.exceptions) >= wanted:
            least = max(least, lower_bound(level))
        if level >= least:
            share = (wanted + 3.0 * math.sqrt(wanted) + 2.0) / alike
    while True:
        found, common = fill_shortlist(scoring, ceilings, request, first, end, absent, budget, least, level, share)
        if share == 0.0 or share >= 1.0 or common >= wanted:
            break
        share *= 8.0  # rare: fewer than `wanted` hashes are that large
    long = min(LONG, SHORTEST * (end - first))  # other common counts outdate all of these blocks
    if found > (max(alike, long) if share > 0.0 else long):
        choose_common_counts(ceilings, belief, found, first, end)
    for item in request.exceptions:
        if not is_present(request.present, item):  # so it is eligible, but in no ceiling
            ceilings.items[found] = item
            found += 1
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
def find_heights(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, first: int, end: int, budget: float
) -> int:
    """Fill the heights of all blocks, and of their groups; returns the number of items with the common counts."""
    total = 0
    for group in range(first // GROUP, (end - 1) // GROUP + 1):
        here = slice(max(first, group * GROUP), min(end, (group + 1) * GROUP))
        known, touched, begun = ceilings.known[here], belief.touched[here], ceilings.begun[here]
        until, ceiling, rise = ceilings.until[here], ceilings.ceiling[here], ceilings.rise[here]
        height, alike = ceilings.height[here], ceilings.alike[here]
        outdated = 0
        for i in range(len(known)):  # vectorised, and mostly finds nothing
            outdated += 1 if (known[i] != touched[i]) | (budget > until[i]) | (budget < begun[i]) else 0
        if outdated > 0:
            for i in range(len(known)):
                if known[i] != touched[i] or budget > until[i] or budget < begun[i]:
                    find_ceiling(scoring, belief, ceilings, request, here.start + i, budget)
        largest, common = -np.inf, 0
        for i in range(len(known)):
            height[i] = ceiling[i] + rise[i] * (budget - begun[i])
        for i in range(len(known)):
            largest = max(largest, height[i])
            common += alike[i]
        ceilings.group_height[group], ceilings.group_alike[group] = largest, common
        total += common
    return total


@routine
def find_ceiling(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, block: int, budget: float
) -> None:
    """Update the lines and the ceiling of a block.

    The maximum of several lines is convex, so it lies below its chord.
    """
    begin, end = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.base))
    until, narrowest = ceilings.until[block], NARROWEST * (RANGE * budget + TINY)
    # A range that lasts is kept, and with it the lines that touch at its end.
    if not ceilings.begun[block] <= budget <= until - narrowest < np.inf:
        until = budget * (1.0 + RANGE * (0.5 + (block * GOLDEN_RATIO) % 1.0)) + TINY
    ceilings.known[block], ceilings.begun[block] = belief.touched[block], budget
    ceilings.until[block], ceilings.rise[block], ceilings.foremost[block] = until, 0.0, -1
    salted, labels = ceilings.salted[begin:end], request.labels[begin:end]
    for i in range(len(salted)):
        salted[i] = spread(labels[i])
    if is_all_common(belief, ceilings.common[block], request.present, begin, end):
        ceilings.ceiling[block], ceilings.alike[block] = COMMON, end - begin
        ceilings.begun[block], ceilings.until[block] = 0.0, np.inf
        return
    base, slope, common = ceilings.base, ceilings.slope, ceilings.common[block]
    now, then, foremost, alike, grows = -1.0, -1.0, -1, 0, False  # no index is below 0
    drawn = -1  # the item of the last new line: its neighbours often have equal counts
    for item in range(begin, end):
        if not is_present(request.present, item):
            ceilings.since[item], base[item], slope[item] = 0.0, NOT_PRESENT, 0.0
            continue
        examined, clicked = belief.examined[item], belief.clicked[item]
        if examined == common[0] and clicked == common[1]:
            ceilings.since[item], base[item], slope[item] = 0.0, COMMON, 0.0
            alike += 1
            continue
        if ceilings.since[item] == 0.0 or examined != ceilings.examined[item] or clicked != ceilings.clicked[item]:
            if drawn >= 0 and examined == ceilings.examined[drawn] and clicked == ceilings.clicked[drawn]:
                base[item], slope[item] = base[drawn], slope[drawn]
            else:
                base[item], slope[item] = tangent_line(scoring, examined, clicked, until)
            ceilings.examined[item], ceilings.clicked[item], ceilings.since[item] = examined, clicked, until
            drawn = item
        height = base[item] + slope[item] * budget
        if height > now:
            now, foremost = height, item
        then = max(then, base[item] + slope[item] * until)
        grows = grows or slope[item] > 0.0
    ceilings.ceiling[block], ceilings.foremost[block], ceilings.alike[block] = now, foremost, alike
    if not grows:
        ceilings.begun[block], ceilings.until[block] = 0.0, np.inf
    elif now < np.inf:
        ceilings.rise[block] = (then - now) / (until - budget)


@helper
def is_all_common(belief: Counts, common: Floats, present: Bools, begin: int, end: int) -> bool:
    """Whether all items of a block are present and have the common counts: then they need no lines."""
    examined, clicked, others = belief.examined[begin:end], belief.clicked[begin:end], 0
    for i in range(len(examined)):
        others += 1 if (examined[i] != common[0]) | (clicked[i] != common[1]) else 0
    for item in range(begin, min(end, len(present))):
        others += 0 if present[item] else 1
    return others == 0


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
        if ceilings.group_height[group] <= highest[wanted - 1]:
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
def fill_shortlist(
    scoring: Any, ceilings: BlockCeilings, request: Request, first: int, end: int, absent: int, budget: float,
    least: float, level: float, share: float,
) -> tuple[int, int]:  # fmt: skip
    """Fill the shortlist: common items with this share of the hashes, and others that are better or have such a hash.

    Returns its length and the number of common items in it; it is complete only if these are enough for a list.
    """
    lowest = int((1.0 - 2.0 * share) * 2.0**63) if 0.0 < share < 1.0 else LOWEST
    leading = (lowest >> 33) << 33  # no hash is above its leading bits by more
    found, common = 0, 0
    examined, clicked, is_better = -1.0, -1.0, False  # the counts last compared with the common ones
    for group in range(first // GROUP, (end - 1) // GROUP + 1):
        hashes_group = share > 0.0 and ceilings.group_alike[group] > 0
        if not hashes_group and ceilings.group_height[group] < least:
            continue
        for block in range(max(first, group * GROUP), min(end, (group + 1) * GROUP)):
            hashed, opened = hashes_group and ceilings.alike[block] > 0, ceilings.height[block] >= least
            if not hashed and not opened:
                continue
            begin, stop = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.items))
            base, slope, salted = ceilings.base[begin:stop], ceilings.slope[begin:stop], ceilings.salted[begin:stop]
            reaching = 0
            if opened:  # vectorised, as the loop over hashes below, and mostly finds nothing
                for i in range(len(base)):
                    reaching += 1 if base[i] + slope[i] * budget >= least else 0
            if reaching == 0 and not hashed:
                continue
            all_common = ceilings.alike[block] == stop - begin  # then there are no lines
            for part in range(0, len(base), TOGETHER):
                end_of_part, largest = min(part + TOGETHER, len(base)), LOWEST
                if hashed:
                    some = salted[part:end_of_part]
                    for i in range(len(some)):
                        largest = max(largest, leading_bits(request.key, some[i]))
                lucky = hashed and largest >= leading
                if reaching == 0 and not lucky:
                    continue
                for i in range(part, end_of_part):
                    item, taken, is_common = begin + i, False, all_common or base[i] == COMMON
                    if is_common:
                        taken = lucky and branch(request.key, request.labels[item]) >= lowest
                    elif opened and base[i] + slope[i] * budget >= least:
                        taken = line_reaches(scoring, ceilings, item, budget, least)
                        if taken and branch(request.key, request.labels[item]) < lowest:
                            if ceilings.examined[item] != examined or ceilings.clicked[item] != clicked:
                                examined, clicked = ceilings.examined[item], ceilings.clicked[item]
                                is_better = scoring.tangent(examined, clicked, budget)[0] > level
                            taken = is_better
                    if taken and is_eligible(request, item, absent):
                        ceilings.items[found] = item
                        found += 1
                        common += 1 if is_common else 0
    return found, common


@helper
def line_reaches(scoring: Any, ceilings: BlockCeilings, item: int, budget: float, least: float) -> bool:
    """Whether an item's line, updated for the range of its block, reaches this level."""
    base, slope, block = ceilings.base, ceilings.slope, item // BLOCK
    until = ceilings.until[block]
    if slope[item] > 0.0 and ceilings.since[item] != until:
        base[item], slope[item] = tangent_line(scoring, ceilings.examined[item], ceilings.clicked[item], until)
        ceilings.since[item] = until
        ceilings.known[block] = -1
    return bool(base[item] + slope[item] * budget >= least)


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
    others = 0
    for block in range(first, end):
        others += 1 if ceilings.common[block, 0] != ceilings.common[first, 0] else 0
        others += 1 if ceilings.common[block, 1] != ceilings.common[first, 1] else 0
    if others > 0:  # an earlier request had other blocks
        set_common_counts(ceilings, first, end, ceilings.common[first, 0], ceilings.common[first, 1])


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
            ceilings.known[block] = -1
