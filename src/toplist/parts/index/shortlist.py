"""The best few of very many items, found without a look at most of them.

From one list to the next, indices change only where something was learned, and with a budget that grows slowly. So the
items are taken in blocks. Of each block a ceiling is known that no index in it exceeds while the budget stays within a
range; it is found anew when counts in the block were touched, or when the budget leaves the range. A list opens only
the blocks whose ceiling reaches what the K-th best has at least.

Ceilings tell nothing where very many items are equal, as all are that nobody has seen. Therefore one pair of counts,
which very many items had lately that could have been among the best, is the common one. Items with the common counts
are left out of the ceilings. They have one index, and among equals the larger hash goes first, so of these a list wants
only the K largest hashes; and of items that are not better than they, only those whose hash is as large.

What is left is a shortlist, and the best of it are the best of all: the lists are the same as by a look at everything.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, MANY, blocks_of
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.select import select
from toplist.parts.memory.counts import Counts

RANGE, TINY = 0.02, 1e-9  # by what share, and at least by how much, the budget may grow until all is found anew
ROUNDING = 1e-12  # by how much, and by what share, a bound may be wrong; indices are good to a fiftieth of it
LONG = 256  # a shortlist that is longer than this asks for other common counts
TOGETHER = 32  # hashes that are computed together; a divisor of BLOCK
LOWEST = -(1 << 63)  # of all hashes


class Outlook(NamedTuple):
    """Per item a line that its index stays below, whatever the budget; per block a ceiling; and room to work in."""

    examined: Floats  # per item, the counts that its line was drawn for; -1 where none was drawn
    clicked: Floats
    base: Floats  # the line: base + slope * budget; -1 for all items that have the common counts ...
    slope: Floats
    since: Floats  # ... and the budget where the line touches the index
    known: Ints  # per block, how often it had been touched when its ceiling was found; -1 where it must be found anew
    ceiling: Floats  # per block, of all its items but the common ones, at the beginning of the range ...
    rise: Floats  # ... and how fast it rises within
    foremost: Ints  # per block, the item with the highest line at the beginning of the range
    alike: Ints  # per block, how many items have the common counts
    reach: Floats  # two elements: the range of budgets
    common: Floats  # two elements: the common counts; -1 for none
    height: Floats  # per block, room for its ceiling now
    highest: Floats  # room for the heights of the highest blocks ...
    leader: Ints  # ... and the foremost items in them
    items: Ints  # room for the shortlist ...
    value: Floats  # ... and the indices of those in it


def outlook_room(problem: Problem) -> Outlook:
    """Nothing is known; there is no room where there are not MANY items."""
    blocks = blocks_of(problem)
    items = problem.items if blocks > 0 else 0
    return Outlook(
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
def is_worthwhile(outlook: Outlook, candidates: Ints, wanted: int) -> bool:
    """Whether the candidates are many, with few items between them, so that most blocks can stay closed."""
    count = len(candidates)
    if len(outlook.items) == 0 or count < MANY:
        return False
    return 2 * count > candidates[count - 1] - candidates[0] and 4 * wanted * BLOCK <= count


@routine
def best_of_many(
    scoring: Any, belief: Counts, outlook: Outlook, request: Request, budget: float, chosen: Ints, scores: Floats
) -> int:
    """Fill `chosen` and `scores` with the best candidates and their indices; how many indices had to be computed.

    `scoring.tangent` knows the index. An outlook is of one belief.
    """
    found = shortlist(scoring, belief, outlook, request, budget, len(chosen))
    items, value, computed = outlook.items, outlook.value, 0
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
def shortlist(scoring: Any, belief: Counts, outlook: Outlook, request: Request, budget: float, wanted: int) -> int:
    """Fill `outlook.items` with candidates among which the best `wanted` are; their number."""
    candidates = request.candidates
    first, end = candidates[0] // BLOCK, candidates[len(candidates) - 1] // BLOCK + 1
    absent = min(end * BLOCK, len(outlook.items)) - first * BLOCK - len(candidates)
    if not outlook.reach[0] <= budget <= outlook.reach[1]:
        outlook.reach[0], outlook.reach[1] = budget, budget * (1.0 + RANGE) + TINY
        for block in range(len(outlook.known)):
            outlook.known[block] = -1
    alike = 0
    for block in range(first, end):
        if outlook.known[block] != belief.touched[block]:
            find_ceiling(scoring, belief, outlook, block)
        outlook.height[block] = outlook.ceiling[block] + outlook.rise[block] * (budget - outlook.reach[0])
        alike += outlook.alike[block]
    least = least_of_best(scoring, outlook, candidates, first, end, absent, budget, wanted)
    level, share = -np.inf, 0.0  # the index of the common items, and which share of them is wanted
    if alike > 0:
        level = scoring.tangent(outlook.common[0], outlook.common[1], budget)[0]
        if alike - absent >= wanted:
            least = max(least, lowered(level))
        if level >= least:
            share = (wanted + 4.0 * math.sqrt(wanted) + 8.0) / alike
    while True:
        found, common = collect(scoring, outlook, request, first, end, absent, budget, least, level, share)
        if share == 0.0 or share >= 1.0 or common >= wanted:
            break
        share *= 8.0  # hardly ever: of so many hashes fewer than `wanted` are that large
    if found > (max(alike, LONG) if share > 0.0 else LONG):
        ask_for_common(outlook, belief, found)
    return found


@helper
def lowered(index: float) -> float:
    """So much below an index that no line above it, however both were rounded, is lower."""
    return index * (1.0 - 2.0 * ROUNDING) - 2.0 * ROUNDING


@helper
def line(scoring: Any, examined: float, clicked: float, budget: float) -> tuple[float, float]:
    """Base and slope of the tangent at a budget, which the index is nowhere above, since it is concave."""
    index, slope = scoring.tangent(examined, clicked, budget)
    return index - slope * budget, slope


@routine
def find_ceiling(scoring: Any, belief: Counts, outlook: Outlook, block: int) -> None:
    """Bring lines and ceiling of a block up to date.

    The highest of several lines is convex, and so lies below its chord.
    """
    base, slope, common, reach = outlook.base, outlook.slope, outlook.common, outlook.reach
    now, then, foremost, alike = -1.0, -1.0, -1, 0  # no index is below 0
    drawn = -1  # the last item whose line was drawn: its neighbours often have equal counts
    for item in range(block * BLOCK, min((block + 1) * BLOCK, len(base))):
        examined, clicked = belief.examined[item], belief.clicked[item]
        if examined == common[0] and clicked == common[1]:
            outlook.examined[item], base[item], slope[item] = -1.0, -1.0, 0.0
            alike += 1
            continue
        if examined != outlook.examined[item] or clicked != outlook.clicked[item]:
            if drawn >= 0 and examined == outlook.examined[drawn] and clicked == outlook.clicked[drawn]:
                base[item], slope[item] = base[drawn], slope[drawn]
            else:
                base[item], slope[item] = line(scoring, examined, clicked, reach[1])
            outlook.examined[item], outlook.clicked[item], outlook.since[item] = examined, clicked, reach[1]
            drawn = item
        height = base[item] + slope[item] * reach[0]
        if height > now:
            now, foremost = height, item
        then = max(then, base[item] + slope[item] * reach[1])
    outlook.ceiling[block], outlook.foremost[block], outlook.alike[block] = now, foremost, alike
    outlook.rise[block] = (then - now) / (reach[1] - reach[0]) if now < np.inf else 0.0
    outlook.known[block] = belief.touched[block]


@routine
def least_of_best(
    scoring: Any, outlook: Outlook, candidates: Ints, first: int, end: int, absent: int, budget: float, wanted: int
) -> float:
    """What the `wanted`-th best candidate has at least: as much as the foremost items of the highest blocks."""
    highest, leader = outlook.highest, outlook.leader
    for place in range(wanted):
        highest[place] = -np.inf
    for block in range(first, end):
        height, item = outlook.height[block], outlook.foremost[block]
        if height > highest[wanted - 1] and is_among(candidates, item, absent):
            place = wanted - 1
            while place > 0 and highest[place - 1] < height:
                highest[place], leader[place] = highest[place - 1], leader[place - 1]
                place -= 1
            highest[place], leader[place] = height, item
    if highest[wanted - 1] == -np.inf:
        return -0.5  # which every line reaches but the -1 of common items
    least = np.inf
    for place in range(wanted):
        item = leader[place]
        least = min(least, scoring.tangent(outlook.examined[item], outlook.clicked[item], budget)[0])
    return lowered(least)


@helper
def is_among(candidates: Ints, item: int, absent: int) -> bool:
    """Whether an item is a candidate, where so many items from the first to the last block are not."""
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
def collect(
    scoring: Any, outlook: Outlook, request: Request, first: int, end: int, absent: int, budget: float, least: float,
    level: float, share: float,
) -> tuple[int, int]:  # fmt: skip
    """Fill the shortlist: common items with this share of the hashes, and what is better or reaches with such a hash.

    How long it is, and how many common items are in it; only where these are enough for a list, nothing is missing.
    """
    lowest = int((1.0 - 2.0 * share) * 2.0**63) if 0.0 < share < 1.0 else LOWEST
    found, common, until = 0, 0, outlook.reach[1]
    examined, clicked, is_better = -1.0, -1.0, False  # the last counts that were compared with the common ones
    for block in range(first, end):
        hashed, opened = share > 0.0 and outlook.alike[block] > 0, outlook.height[block] >= least
        if not hashed and not opened:
            continue
        stop = min((block + 1) * BLOCK, len(outlook.items))
        for begin in range(block * BLOCK, stop, TOGETHER):
            here = slice(begin, min(begin + TOGETHER, stop))
            labels, base, slope = request.labels[here], outlook.base[here], outlook.slope[here]
            largest, reaching = LOWEST, 0
            if hashed:  # both loops run on vectors, and mostly find nothing
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
                if opened and base[i] + slope[i] * until >= least:  # which no common item does
                    taken = reaches(scoring, outlook, item, budget, least)
                    if taken and branch(request.key, labels[i]) < lowest:
                        if outlook.examined[item] != examined or outlook.clicked[item] != clicked:
                            examined, clicked = outlook.examined[item], outlook.clicked[item]
                            is_better = scoring.tangent(examined, clicked, budget)[0] > level
                        taken = is_better
                elif lucky and is_common:
                    taken = branch(request.key, labels[i]) >= lowest
                if taken and is_among(request.candidates, item, absent):
                    outlook.items[found] = item
                    found += 1
                    common += 1 if is_common else 0
    return found, common


@helper
def reaches(scoring: Any, outlook: Outlook, item: int, budget: float, least: float) -> bool:
    """Whether an item's line is that high, once it is drawn for the range."""
    base, slope, until = outlook.base, outlook.slope, outlook.reach[1]
    if outlook.since[item] != until:
        base[item], slope[item] = line(scoring, outlook.examined[item], outlook.clicked[item], until)
        outlook.since[item] = until
        outlook.known[item // BLOCK] = -1
    return bool(base[item] + slope[item] * budget >= least)


@routine
def ask_for_common(outlook: Outlook, belief: Counts, found: int) -> None:
    """Make those counts the common ones that most items of a long shortlist have, if there are such."""
    item, votes = 0, 0
    for i in range(found):  # Boyer and Moore's vote
        other = outlook.items[i]
        if votes == 0:
            item = other
        same = belief.examined[other] == belief.examined[item] and belief.clicked[other] == belief.clicked[item]
        votes += 1 if same else -1
    examined, clicked = belief.examined[item], belief.clicked[item]
    if votes > 0 and (examined != outlook.common[0] or clicked != outlook.common[1]):
        outlook.common[0], outlook.common[1] = examined, clicked
        outlook.reach[1] = -1.0  # all ceilings are others now
