"""Thompson sampling for very many items: opens only the blocks whose least number may lead to a draw that matters."""

from __future__ import annotations

import math

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper, routine
from toplist.core.randomness import branch
from toplist.core.slate import Ints, Request
from toplist.parts.index.beta_draw import CERTAIN, as_limit
from toplist.parts.index.draw_level import EDITION
from toplist.parts.index.draw_numbers import (
    BELOW_1,
    LEADERS,
    TO_UNIT,
    leader_of,
    least_number,
    number_above,
    top_bits,
)
from toplist.parts.index.gaps import is_eligible
from toplist.parts.index.lazy_draws import LazyDraws, draw_item, find_limit, follow_level
from toplist.parts.memory.counts import Counts

# Items with a large limit are looked at one by one, so that their block seldom opens for them. Large is whatever is the
# cheapest, as opening a block takes about as long as looking at that number of items.
OPENING = 50.0
RAREST, STEPS = CERTAIN >> 13, 5  # the smallest limit that may be large; then 4 times as much, and so on
FEW, MOST = 16, 4  # the candidates must be at least 16 times the list, and a quarter of all items
TOGETHER = 16  # blocks looked at in a vectorised loop


@helper
def suits_blocks(candidates: Ints, wanted: int, slots: int) -> bool:
    """Whether the candidates are dense and most of what is stored, so that blocks stay closed and share one level."""
    count = len(candidates)
    if MOST * count < slots or FEW * wanted > count:
        return False
    return bool(2 * count > candidates[count - 1] - candidates[0])


@routine
def find_block_limits(belief: Counts, cache: LazyDraws, block: int) -> None:
    """Update the limits of a block's items, the list of its likely ones, and the limit of the block's own number."""
    blocks, first = cache.blocks, block * BLOCK
    end = min(first + BLOCK, len(cache.limit))
    if blocks.edition[block] != cache.levels[EDITION]:
        follow_level(belief, cache, first, end)
    last = -1
    for item in range(first, end):
        examined, clicked = belief.examined[item], belief.clicked[item]
        if examined != cache.examined[item] or clicked != cache.clicked[item]:
            if last >= 0 and examined == cache.examined[last] and clicked == cache.clicked[last]:
                cache.examined[item], cache.clicked[item], cache.limit[item] = examined, clicked, cache.limit[last]
                cache.start[item], cache.rate[item] = cache.start[last], cache.rate[last]
                cache.mass[item] = cache.mass[last]
            else:
                find_limit(belief, cache, item)
                last = item  # its neighbours often have equal counts
    large = cheapest_large_limit(cache.limit[first:end])
    likely, most = 0, 0
    for item in range(first, end):
        if cache.limit[item] > large:
            blocks.listed[first + likely] = item
            likely += 1
        else:
            most = max(most, cache.limit[item])
    blocks.likely[block], blocks.edition[block] = likely, cache.levels[EDITION]
    blocks.limit[block] = as_limit(chance_of_opening(most))
    blocks.known[block] = belief.touched[block]


@helper
def chance_of_opening(most: int) -> float:
    """The probability that the least number of a block is below a limit."""
    return -math.expm1(BLOCK * math.log1p(-min(most * TO_UNIT, BELOW_1)))


@helper
def cheapest_large_limit(limits: Ints) -> int:
    """The limit above which a block's items are better looked at one by one."""
    large, best, cost = RAREST, RAREST, math.inf
    for _ in range(STEPS):
        above, most = 0, 0
        for i in range(len(limits)):
            above += 1 if limits[i] > large else 0
            most = max(most, limits[i] if limits[i] <= large else 0)
        expected = above + OPENING * chance_of_opening(most)
        if expected < cost:
            best, cost = large, expected
        large *= 4
    return best


@routine
def find_in_blocks(belief: Counts, cache: LazyDraws, request: Request, key: int) -> int:
    """Draw for all candidates whose draw may reach the level; their number."""
    candidates, blocks = request.candidates, cache.blocks
    first, end = candidates[0] // BLOCK, candidates[len(candidates) - 1] // BLOCK + 1
    absent = min(end * BLOCK, len(cache.limit)) - first * BLOCK - len(candidates)
    leaders, edition, found = branch(key, LEADERS), cache.levels[EDITION], 0
    for begin in range(first, end, TOGETHER):
        stop = min(begin + TOGETHER, end)
        open_ones = 0
        for block in range(begin, stop):
            closed = (
                (blocks.known[block] == belief.touched[block])
                & (blocks.edition[block] == edition)
                & (blocks.likely[block] == 0)
                & (top_bits(branch(leaders, block)) >= blocks.limit[block])
            )
            open_ones += 0 if closed else 1
        if open_ones == 0:
            continue
        for block in range(begin, stop):
            if blocks.known[block] != belief.touched[block] or blocks.edition[block] != edition:
                find_block_limits(belief, cache, block)
            drawn = branch(leaders, block)
            if top_bits(drawn) < blocks.limit[block]:
                found = draw_in_block(belief, cache, request, key, block, drawn, absent, found)
            elif blocks.likely[block] > 0:
                found = draw_likely(belief, cache, request, key, block, drawn, absent, found)
    return found


@routine
def draw_in_block(
    belief: Counts, cache: LazyDraws, request: Request, key: int, block: int, drawn: int, absent: int, found: int
) -> int:
    """Draw for the items of a block whose numbers are below their limits."""
    first = block * BLOCK
    end = min(first + BLOCK, len(cache.limit))
    leader, least = first + leader_of(drawn), least_number(drawn)
    for begin in range(first, end, TOGETHER):
        here = slice(begin, min(begin + TOGETHER, end))
        labels, limit = request.labels[here], cache.limit[here]
        below = 0
        for i in range(len(labels)):
            below += 1 if top_bits(branch(key, labels[i])) < limit[i] else 0
        if below == 0 and not begin <= leader < begin + TOGETHER:
            continue
        for i in range(len(labels)):
            if begin + i == leader or top_bits(branch(key, labels[i])) < limit[i]:
                found = draw_if_below(belief, cache, request, key, begin + i, leader, least, absent, found)
    return found


@routine
def draw_likely(
    belief: Counts, cache: LazyDraws, request: Request, key: int, block: int, drawn: int, absent: int, found: int
) -> int:
    """Draw for the likely items of a block whose numbers are below their limits."""
    first = block * BLOCK
    leader, least = first + leader_of(drawn), -1.0
    for i in range(cache.blocks.likely[block]):
        item = cache.blocks.listed[first + i]
        if item == leader or top_bits(branch(key, request.labels[item])) < cache.limit[item]:
            if least < 0.0:
                least = least_number(drawn)
            found = draw_if_below(belief, cache, request, key, item, leader, least, absent, found)
    return found


@routine
def draw_if_below(
    belief: Counts, cache: LazyDraws, request: Request, key: int, item: int, leader: int, least: float, absent: int,
    found: int,
) -> int:  # fmt: skip
    """Draw for an item if it is eligible and its number is below its limit; the number of draws so far."""
    own = branch(key, request.labels[item])
    number = least if item == leader else number_above(least, top_bits(own))
    if number >= cache.limit[item] * TO_UNIT or not is_eligible(request, item, absent):
        return found
    cache.items[found], cache.value[found] = item, draw_item(belief, cache, item, number, own)
    return found + 1
