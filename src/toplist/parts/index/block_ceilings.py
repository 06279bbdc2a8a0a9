"""Ceilings of blocks of very many items: no index in a block is above its ceiling while the budget stays in a range.

An item's line is a tangent of its index, which is concave in the budget and so never above it. A ceiling is recomputed
when counts in its block were touched, or when the budget leaves the range. The ranges of the blocks end at different
budgets, so that no list has to recompute all ceilings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.slate import Bools, Floats, Ints, Request
from toplist.parts.index.gaps import is_present
from toplist.parts.memory.counts import Counts

RANGE, TINY = 0.02, 1e-9  # mean relative and least absolute growth of the budget until a ceiling is recomputed
GOLDEN_RATIO = 0.6180339887498949  # spreads the ends of the ranges evenly
ROUNDING = 1e-12  # absolute and relative margin of the bounds; indices are accurate to a fiftieth of it
GROUP = 64  # blocks that are skipped together
COMMON, NOT_PRESENT = -1.0, -2.0  # in place of the base of a line; no index is below 0


class BlockCeilings(NamedTuple):
    """Per item a line above its index for any budget; per block a ceiling over its lines; and scratch space."""

    examined: Floats  # per item, the counts of its line
    clicked: Floats
    base: Floats  # the line: base + slope * budget; COMMON, NOT_PRESENT ...
    slope: Floats
    since: Floats  # ... and the budget at which the line touches the index; 0 for no line
    known: Ints  # per block, its touch count when the ceiling was computed; -1 if outdated
    begun: Floats  # per block, the range of budgets for which the ceiling holds
    until: Floats
    ceiling: Floats  # per block, over all but the common items, at the start of the range ...
    rise: Floats  # ... and its slope within the range
    foremost: Ints  # per block, the item with the highest line at the start of the range
    alike: Ints  # per block, the number of items with the common counts
    common: Floats  # two elements: the common counts; -1 for none
    used: Ints  # one element: whether a list was made with it
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
        known=np.full(blocks, -1),
        begun=np.zeros(blocks),
        until=np.zeros(blocks),
        ceiling=np.zeros(blocks),
        rise=np.zeros(blocks),
        foremost=np.zeros(blocks, dtype=np.int64),
        alike=np.zeros(blocks, dtype=np.int64),
        common=np.full(2, -1.0),
        used=np.zeros(1, dtype=np.int64),
        height=np.zeros(blocks),
        group_height=np.zeros(groups),
        group_alike=np.zeros(groups, dtype=np.int64),
        highest=np.zeros(problem.positions),
        leader=np.zeros(problem.positions, dtype=np.int64),
        items=np.zeros(items, dtype=np.int64),
        value=np.zeros(items),
    )


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
    ceilings.known[block], ceilings.begun[block] = belief.touched[block], budget
    width = RANGE * (0.5 + (block * GOLDEN_RATIO) % 1.0)
    until = budget * (1.0 + width) + TINY
    ceilings.until[block], ceilings.rise[block], ceilings.foremost[block] = until, 0.0, -1
    if is_all_common(belief, ceilings, request.present, begin, end):
        ceilings.ceiling[block], ceilings.alike[block] = COMMON, end - begin
        ceilings.begun[block], ceilings.until[block] = 0.0, np.inf
        return
    base, slope, common = ceilings.base, ceilings.slope, ceilings.common
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
def is_all_common(belief: Counts, ceilings: BlockCeilings, present: Bools, begin: int, end: int) -> bool:
    """Whether all items of a block are present and have the common counts: then they need no lines."""
    examined, clicked, others = belief.examined[begin:end], belief.clicked[begin:end], 0
    for i in range(len(examined)):
        others += 1 if (examined[i] != ceilings.common[0]) | (clicked[i] != ceilings.common[1]) else 0
    for item in range(begin, min(end, len(present))):
        others += 0 if present[item] else 1
    return others == 0


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
