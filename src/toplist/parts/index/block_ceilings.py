"""Ceilings over the indices of blocks of very many items, computed again only where something has changed.

An index is concave in the budget, so the tangent at any budget is a line above it. A ceiling is a line above those of
all items of a block while the budget stays within a range; items with common counts (`common_counts`) are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.common_counts import EVERY_KIND, CommonCounts, count_kinds, empty_common_counts, is_of_kind
from toplist.parts.index.gaps import is_present
from toplist.parts.index.kind_members import Members, empty_members, strike_all
from toplist.parts.memory.counts import Counts, place_of_counts

RANGE, TINY = 0.02, 1e-9  # mean relative and least absolute growth of the budget until a ceiling is recomputed
NARROWEST = 0.05  # relative width of the rest of a range that is kept when a ceiling is recomputed
GOLDEN_RATIO = 0.6180339887498949  # spreads the ends of the ranges evenly
ROUNDING = 1e-12  # absolute and relative margin of the bounds; indices are accurate to a fiftieth of it
GROUP = 64  # blocks that are skipped together
COMMON, NOT_PRESENT = -1.0, -2.0  # in place of the base of a line; no index is below 0
SHARED = 64  # cached indices of one list; a power of 2
TOGETHER = 32  # items looked at in a vectorised loop


class BlockCeilings(NamedTuple):
    """Per item a line above its index for any budget; per block a ceiling over its lines; and scratch space."""

    examined: Floats  # per item, the counts of its line or mark
    clicked: Floats
    base: Floats  # the line: base + slope * budget; or the mark COMMON or NOT_PRESENT ...
    slope: Floats
    since: Floats  # ... and the budget at which the line touches the index; 0 for no line
    lined: Ints  # per block, whether lines and marks were set for the kinds of common counts that there are; 0 or 1
    known: Ints  # per block, its touch count when the ceiling was computed; -1 if outdated
    begun: Floats  # per block, the range of budgets for which the ceiling holds
    until: Floats
    ceiling: Floats  # per block, over all but the common items, at the start of the range ...
    rise: Floats  # ... and its slope within the range
    foremost: Ints  # per block, the item with the highest line at the start of the range
    common: CommonCounts
    members: Members
    height: Floats  # scratch: per block, its ceiling at the current budget ...
    group_height: Floats  # ... and per group the largest of them
    group_kinds: Ints  # scratch: per group, the kinds of common counts that it has items of
    highest: Floats  # scratch: the heights of the highest blocks ...
    leader: Ints  # ... and their foremost items
    items: Ints  # scratch: the shortlist ...
    value: Floats  # ... and its indices
    shared: Floats  # (SHARED, 4): counts and budget of recently computed indices, and these
    computed: Ints  # one element: the number of indices computed for the last list
    looked: Ints  # one element: the items other than common ones that the last list had to look at one by one


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
        lined=np.zeros(blocks, dtype=np.int64),
        known=np.full(blocks, -1),
        begun=np.zeros(blocks),
        until=np.zeros(blocks),
        ceiling=np.zeros(blocks),
        rise=np.zeros(blocks),
        foremost=np.zeros(blocks, dtype=np.int64),
        common=empty_common_counts(blocks),
        members=empty_members(items, blocks),
        height=np.zeros(blocks),
        group_height=np.zeros(groups),
        group_kinds=np.zeros(groups, dtype=np.int64),
        highest=np.zeros(problem.positions),
        leader=np.zeros(problem.positions, dtype=np.int64),
        items=np.zeros(items, dtype=np.int64),
        value=np.zeros(items),
        shared=np.full((SHARED if blocks > 0 else 0, 4), -1.0),
        computed=np.zeros(1, dtype=np.int64),
        looked=np.zeros(1, dtype=np.int64),
    )


@helper
def lower_bound(index: float) -> float:
    """A value below an index by more than the rounding of any line above it."""
    return index * (1.0 - 2.0 * ROUNDING) - 2.0 * ROUNDING


@routine
def index_of(scoring: Any, ceilings: BlockCeilings, examined: float, clicked: float, budget: float) -> float:
    """The index; it is computed once for items with equal counts."""
    known = ceilings.shared[place_of_counts(examined, clicked, len(ceilings.shared))]
    if known[0] != examined or known[1] != clicked or known[2] != budget:
        known[0], known[1], known[2] = examined, clicked, budget
        known[3] = scoring.tangent(examined, clicked, budget)[0]
        ceilings.computed[0] += 1
    return float(known[3])


@helper
def tangent_line(scoring: Any, examined: float, clicked: float, budget: float) -> tuple[float, float]:
    """Base and slope of the tangent at a budget; the index is concave, so it is never above."""
    index, slope = scoring.tangent(examined, clicked, budget)
    return index - slope * budget, slope


@routine
def find_heights(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, first: int, end: int, budget: float
) -> None:
    """Fill the heights of all blocks, and of their groups; and count the common items where something has changed."""
    for group in range(first // GROUP, (end - 1) // GROUP + 1):
        here = slice(max(first, group * GROUP), min(end, (group + 1) * GROUP))
        known, touched, begun = ceilings.known[here], belief.touched[here], ceilings.begun[here]
        until, ceiling, rise = ceilings.until[here], ceilings.ceiling[here], ceilings.rise[here]
        height, kinds = ceilings.height[here], ceilings.common.kinds[here]
        outdated, together = 0, 0
        for i in range(len(known)):  # vectorised, and mostly finds nothing
            outdated += 1 if (known[i] != touched[i]) | (budget > until[i]) | (budget < begun[i]) else 0
        if outdated > 0:
            for i in range(len(known)):
                if known[i] != touched[i] or budget > until[i] or budget < begun[i]:
                    find_ceiling(scoring, belief, ceilings, request, here.start + i, budget)
        for i in range(len(known)):
            height[i] = ceiling[i] + rise[i] * (budget - begun[i])
        for i in range(len(known)):
            together |= kinds[i]
        ceilings.group_height[group], ceilings.group_kinds[group] = largest_of(height), together


@routine
def count_common(belief: Counts, ceilings: BlockCeilings, request: Request, first: int, end: int) -> None:
    """Count the common items where something has changed; lines are left as they are.

    Heights are those of no other items.
    """
    common = ceilings.common
    for group in range(first // GROUP, (end - 1) // GROUP + 1):
        here = slice(max(first, group * GROUP), min(end, (group + 1) * GROUP))
        counted, touched, kinds = common.counted[here], belief.touched[here], common.kinds[here]
        height, outdated, together = ceilings.height[here], 0, 0
        for i in range(len(counted)):  # vectorised, and mostly finds nothing
            outdated += 1 if counted[i] != touched[i] else 0
        for i in range(len(counted)):
            height[i] = COMMON
        if outdated > 0:
            for i in range(len(counted)):
                if counted[i] != touched[i]:
                    count_kinds(belief, common, request.present, here.start + i, len(ceilings.base))
        for i in range(len(counted)):
            together |= kinds[i]
        ceilings.group_height[group], ceilings.group_kinds[group] = COMMON, together


@routine
def find_ceiling(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, block: int, budget: float
) -> None:
    """Update the lines and the ceiling of a block.

    The maximum of several lines is convex, so it lies below its chord.
    """
    begin, end = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.base))
    until, narrowest = ceilings.until[block], NARROWEST * (RANGE * budget + TINY)
    is_touched = ceilings.known[block] != belief.touched[block]
    # A range that lasts is kept, and with it the lines that touch at its end.
    if not ceilings.begun[block] <= budget <= until - narrowest < np.inf:
        until = budget * (1.0 + RANGE * (0.5 + (block * GOLDEN_RATIO) % 1.0)) + TINY
    ceilings.known[block], ceilings.begun[block] = belief.touched[block], budget
    ceilings.until[block], ceilings.rise[block], ceilings.foremost[block] = until, 0.0, -1
    if ceilings.common.counted[block] != belief.touched[block]:
        count_kinds(belief, ceilings.common, request.present, block, len(ceilings.base))
    if ceilings.common.alike[block] == end - begin:
        ceilings.ceiling[block], ceilings.begun[block], ceilings.until[block] = COMMON, 0.0, np.inf
        return
    if is_touched:  # otherwise only the range has ended
        update_lines(scoring, belief, ceilings, request, block, begin, end)
    base, slope = ceilings.base[begin:end], ceilings.slope[begin:end]
    rising = 0
    for i in range(len(base)):
        rising += 1 if slope[i] > 0.0 else 0
    now, then = max(highest_line(base, slope, budget), COMMON), highest_line(base, slope, until)
    if now > COMMON:
        ceilings.foremost[block] = begin + place_of_line(base, slope, budget, now)
    ceilings.ceiling[block] = now
    if rising == 0:
        ceilings.begun[block], ceilings.until[block] = 0.0, np.inf
    elif now < np.inf:
        ceilings.rise[block] = (then - now) / (until - budget)


@routine
def update_lines(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, block: int, begin: int, end: int
) -> None:
    """Update the lines of a block's items whose counts have changed; look at all items if the block has no lines yet.

    Memory that was never written to is not read first, since it would be mapped twice.
    """
    until, is_lined = ceilings.until[block], ceilings.lined[block] != 0
    drawn = -1  # the item of the last new line: its neighbours often have equal counts
    for first in range(begin, end, TOGETHER):
        here = slice(first, min(first + TOGETHER, end))
        examined, clicked, since = belief.examined[here], belief.clicked[here], ceilings.since[here]
        known_examined, known_clicked, base = ceilings.examined[here], ceilings.clicked[here], ceilings.base[here]
        outdated = len(request.present) if is_lined else 1
        for i in range(len(base) if is_lined else 0):  # vectorised
            same = (examined[i] == known_examined[i]) & (clicked[i] == known_clicked[i])
            outdated += 0 if same & ((since[i] > 0.0) | (base[i] == COMMON)) else 1
        if outdated == 0:
            continue
        for i in range(len(base)):
            item, same = first + i, examined[i] == known_examined[i] and clicked[i] == known_clicked[i]
            if not is_present(request.present, item):
                since[i], base[i], ceilings.slope[item] = 0.0, NOT_PRESENT, 0.0
            elif same and is_lined and (since[i] > 0.0 or base[i] == COMMON):
                continue
            elif is_of_kind(ceilings.common, EVERY_KIND, examined[i], clicked[i]):
                known_examined[i], known_clicked[i] = examined[i], clicked[i]
                since[i], base[i], ceilings.slope[item] = 0.0, COMMON, 0.0
            elif since[i] == 0.0 or not same:
                if drawn >= 0 and examined[i] == ceilings.examined[drawn] and clicked[i] == ceilings.clicked[drawn]:
                    base[i], ceilings.slope[item] = ceilings.base[drawn], ceilings.slope[drawn]
                else:
                    base[i], ceilings.slope[item] = tangent_line(scoring, examined[i], clicked[i], until)
                known_examined[i], known_clicked[i], since[i] = examined[i], clicked[i], until
                drawn = item
    ceilings.lined[block] = 1


@helper
def highest_line(base: Floats, slope: Floats, budget: float) -> float:
    """The largest value of some lines at a budget; four maxima that do not depend on each other."""
    a, b, c, e, i = -np.inf, -np.inf, -np.inf, -np.inf, 0
    while i + 4 <= len(base):
        a, b = max(a, base[i] + slope[i] * budget), max(b, base[i + 1] + slope[i + 1] * budget)
        c, e = max(c, base[i + 2] + slope[i + 2] * budget), max(e, base[i + 3] + slope[i + 3] * budget)
        i += 4
    while i < len(base):
        a = max(a, base[i] + slope[i] * budget)
        i += 1
    return max(a, b, c, e)


@helper
def largest_of(values: Floats) -> float:
    """The largest value; four maxima that do not depend on each other."""
    a, b, c, e, i = -np.inf, -np.inf, -np.inf, -np.inf, 0
    while i + 4 <= len(values):
        a, b, c, e = max(a, values[i]), max(b, values[i + 1]), max(c, values[i + 2]), max(e, values[i + 3])
        i += 4
    while i < len(values):
        a = max(a, values[i])
        i += 1
    return max(a, b, c, e)


@helper
def place_of_line(base: Floats, slope: Floats, budget: float, value: float) -> int:
    """The place of the first line that has this value at a budget; there must be one."""
    for first in range(0, len(base), TOGETHER):
        low, steep, found = base[first : first + TOGETHER], slope[first : first + TOGETHER], 0
        for i in range(len(low)):  # vectorised
            found += 1 if low[i] + steep[i] * budget == value else 0
        if found > 0:
            for i in range(len(low)):
                if low[i] + steep[i] * budget == value:
                    return first + i
    return 0


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
def outdate_kinds(ceilings: BlockCeilings) -> None:
    """Let all lines and marks be checked again, after a change of the kinds of common counts."""
    ceilings.known[:] = -1
    ceilings.lined[:] = 0
    strike_all(ceilings.members)
