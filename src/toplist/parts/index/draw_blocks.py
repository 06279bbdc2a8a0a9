"""Thompson sampling for very many items: looks only at those whose numbers may lead to a draw that matters.

A block has its items in the order of their limits, the largest first. The least number of a block is known by itself
(`draw_numbers`), so of an opened block only the items with limits above it are looked at, and a block is opened only if
there are any. If a few of its items have much larger limits than the others, it would be opened often for them alone.
So these, the block's hot items, have a place in arrays of all blocks' hot items, and a list looks at all of them in one
vectorised loop.
"""

from __future__ import annotations

import math

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper, routine
from toplist.core.randomness import branch
from toplist.core.slate import Ints, Request
from toplist.parts.index.beta_draw import Tail, as_limit, beta_tail, draw_to_level
from toplist.parts.index.draw_level import EDITION, LEVEL
from toplist.parts.index.draw_numbers import (
    BELOW_1,
    LEADERS,
    ROUNDING,
    TO_UNIT,
    leader_of,
    least_number,
    no_more_than_least,
    number_above,
    top_bits,
)
from toplist.parts.index.gaps import is_eligible
from toplist.parts.index.lazy_draws import (
    HOT,
    NOT_HOT,
    TOGETHER,
    Bytes,
    LazyDraws,
    find_tail,
    is_constant,
    limit_at,
    outcomes,
)
from toplist.parts.memory.counts import Counts

WORTH = 0.1  # hot items are worth their look if a block is opened less often by this share of all lists
FEW, MOST = 16, 4  # the candidates must be at least 16 times the list, and a quarter of all items
ONE_WORD = 8  # blocks whose hot items have a bit each in one number
EACH = 255  # an item's place in its block takes 8 bits


@helper
def suits_blocks(candidates: Ints, wanted: int, slots: int) -> bool:
    """Whether the candidates are dense and most of what is stored, so that blocks stay closed and share one level."""
    count = len(candidates)
    if MOST * count < slots or FEW * wanted > count:
        return False
    return bool(2 * count > candidates[count - 1] - candidates[0])


# Limits ---------------------------------------------------------------------------------------------------------------


@routine
def find_block_limits(belief: Counts, cache: LazyDraws, labels: Ints, block: int) -> None:
    """Update the limits of a block's items, their order, the hot ones, and the limits of the block's own number."""
    blocks, first = cache.blocks, block * BLOCK
    end = min(first + BLOCK, len(cache.limit))
    order, limit = blocks.order[first:end], cache.limit[first:end]
    moved, last, from_last = blocks.edition[block] != cache.levels[EDITION], -1, 0
    for place in range(len(limit)):
        item = first + int(order[place])
        changed = belief.examined[item] != cache.examined[item] or belief.clicked[item] != cache.clicked[item]
        if not changed and not moved:
            continue
        if last >= 0 and belief.examined[item] == cache.examined[last] and belief.clicked[item] == cache.clicked[last]:
            cache.examined[item], cache.clicked[item] = cache.examined[last], cache.clicked[last]
            cache.start[item], cache.rate[item] = cache.start[last], cache.rate[last]
            cache.mass[item], limit[place] = cache.mass[last], from_last
        else:
            if changed:
                find_tail(belief, cache, item)
            limit[place] = limit_at(belief, cache, item, cache.levels[LEVEL])
            last, from_last = item, limit[place]  # its neighbours often have equal counts
    sort_places(limit, order)
    name_hot_items(cache, labels, block, first, len(limit))
    blocks.known[block], blocks.edition[block] = belief.touched[block], cache.levels[EDITION]


@routine
def sort_places(limit: Ints, order: Bytes) -> None:
    """Sort the places of a block by their limits, the largest first; mostly all but one are sorted."""
    for place in range(1, len(limit)):
        own, item, to = limit[place], order[place], place
        while to > 0 and limit[to - 1] < own:
            limit[to], order[to] = limit[to - 1], order[to - 1]
            to -= 1
        limit[to], order[to] = own, item


@routine
def name_hot_items(cache: LazyDraws, labels: Ints, block: int, first: int, count: int) -> None:
    """Decide whether the first items of a block are hot, and find the limits of its own number."""
    blocks = cache.blocks
    often = chance_of_opening(cache.limit[first])
    rarely = chance_of_opening(cache.limit[first + HOT]) if count > HOT else often
    has_hot = often - rarely > WORTH
    blocks.limit[block], blocks.limit_of_hot[block] = as_limit(rarely if has_hot else often), as_limit(often)
    blocks.hot[block] = 0 if has_hot else NOT_HOT
    for i in range(HOT):
        at, place = block * HOT + i, first + i
        blocks.hot_limit[at] = cache.limit[place] if has_hot else 0
        if has_hot:
            blocks.hot_label[at] = labels[first + int(blocks.order[place])]
            blocks.hot[block] += int(blocks.order[place]) << 8 * i


@helper
def chance_of_opening(limit: int) -> float:
    """The probability that the least number of a block is below a limit."""
    return -math.expm1(BLOCK * math.log1p(-min(limit * TO_UNIT, BELOW_1)))


# Lists ----------------------------------------------------------------------------------------------------------------


@routine
def find_in_blocks(belief: Counts, cache: LazyDraws, request: Request, key: int) -> int:
    """Draw for all candidates whose draw may reach the level; their number."""
    candidates, blocks = request.candidates, cache.blocks
    first, end = candidates[0] // BLOCK, candidates[len(candidates) - 1] // BLOCK + 1
    absent = min(end * BLOCK, len(cache.limit)) - first * BLOCK - len(candidates)
    leaders, found = branch(key, LEADERS), 0
    for begin in range(first, end, TOGETHER):
        stop = min(begin + TOGETHER, end)
        find_outdated_limits(belief, cache, request.labels, begin, stop)
        hot, opened, numbers = 0, 0, blocks.hot[begin:stop]
        limit, limit_of_hot = blocks.limit[begin:stop], blocks.limit_of_hot[begin:stop]
        for i in range(len(numbers)):  # vectorised
            drawn, own = branch(leaders, begin + i), numbers[i]
            bits, leads = top_bits(drawn), is_hot(own, leader_of(drawn))
            opens = (bits < limit[i]) | (leads & (bits < limit_of_hot[i]))
            opened |= 1 << i if opens else 0
            hot += 1 if own != NOT_HOT else 0
        if hot > 0:
            found = note_hot(cache, request, key, leaders, begin, stop, absent, found)
        for i in range(stop - begin if opened > 0 else 0):
            if opened >> i & 1 == 1:
                drawn = branch(leaders, begin + i)
                found = note_in_block(cache, request, key, begin + i, drawn, absent, found)
    draw_noted(belief, cache, request, key, found)
    return found


@helper
def is_hot(hot: int, inside: int) -> bool:
    """Whether an item of a block is one of its hot items, by their numbers; vectorised."""
    found = (hot & EACH == inside) | (hot >> 8 & EACH == inside)
    found = found | (hot >> 16 & EACH == inside) | (hot >> 24 & EACH == inside)
    found = found | (hot >> 32 & EACH == inside) | (hot >> 40 & EACH == inside)
    return found | (hot >> 48 & EACH == inside) | (hot >> 56 & EACH == inside)


@helper
def find_outdated_limits(belief: Counts, cache: LazyDraws, labels: Ints, begin: int, stop: int) -> None:
    """Update the limits of some blocks where counts or the level have changed."""
    blocks, edition, outdated = cache.blocks, cache.levels[EDITION], 0
    known, touched, editions = blocks.known[begin:stop], belief.touched[begin:stop], blocks.edition[begin:stop]
    for i in range(len(known)):  # vectorised
        outdated += 1 if (known[i] != touched[i]) | (editions[i] != edition) else 0
    for block in range(begin, stop if outdated > 0 else begin):
        if blocks.known[block] != belief.touched[block] or blocks.edition[block] != edition:
            find_block_limits(belief, cache, labels, block)


@routine
def note_hot(
    cache: LazyDraws, request: Request, key: int, leaders: int, begin: int, stop: int, absent: int,
    found: int,
) -> int:  # fmt: skip
    """Note the hot items of some blocks whose numbers are below their limits, but no leaders."""
    blocks = cache.blocks
    for first in range(begin, stop, ONE_WORD):
        here = slice(first * HOT, min(first + ONE_WORD, stop) * HOT)
        labels, limits, below = blocks.hot_label[here], blocks.hot_limit[here], 0
        for i in range(len(labels)):  # vectorised
            below |= 1 << i if top_bits(branch(key, labels[i])) < limits[i] else 0
        for i in range(len(labels) if below != 0 else 0):
            if below >> i & 1 == 1:
                block, own, limit = first + i // HOT, top_bits(branch(key, labels[i])), limits[i] * TO_UNIT
                drawn, inside = branch(leaders, block), blocks.hot[block] >> 8 * (i % HOT) & EACH
                about = number_above(no_more_than_least(drawn), own)
                if inside != leader_of(drawn) and about < limit * (1.0 + ROUNDING):
                    number, item = number_above(least_number(drawn), own), block * BLOCK + inside
                    found = note_if_below(cache, request, item, number, limit, absent, found)
    return found


@routine
def note_in_block(cache: LazyDraws, request: Request, key: int, block: int, drawn: int, absent: int, found: int) -> int:
    """Note the items of a block whose numbers are below their limits; of the hot ones, the leader alone."""
    blocks, first, leader = cache.blocks, block * BLOCK, leader_of(drawn)
    hot, about = blocks.hot[block], no_more_than_least(drawn)
    for i in range(HOT if hot != NOT_HOT else 0):
        if hot >> 8 * i & EACH == leader:
            limit = blocks.hot_limit[block * HOT + i] * TO_UNIT
            if about < limit * (1.0 + ROUNDING):
                number, item = least_number(drawn), first + leader
                found = note_if_below(cache, request, item, number, limit, absent, found)
    if top_bits(drawn) >= blocks.limit[block]:
        return found
    least = least_number(drawn)
    for place in range(first if hot == NOT_HOT else first + HOT, min(first + BLOCK, len(cache.limit))):
        limit = cache.limit[place] * TO_UNIT
        if limit <= least:
            break
        inside = int(blocks.order[place])
        own = top_bits(branch(key, request.labels[first + inside]))
        number = least if inside == leader else number_above(least, own)
        found = note_if_below(cache, request, first + inside, number, limit, absent, found)
    return found


@helper
def note_if_below(
    cache: LazyDraws, request: Request, item: int, number: float, limit: float, absent: int, found: int
) -> int:
    """Note an item and its number if that is below its limit and the item is eligible; how many are noted so far."""
    if number >= limit or not is_eligible(request, item, absent):
        return found
    cache.items[found], cache.value[found] = item, number
    return found + 1


@routine
def draw_noted(belief: Counts, cache: LazyDraws, request: Request, key: int, found: int) -> None:
    """Put the draws of all noted items in place of their numbers."""
    noted, keys = cache.blocks.noted, cache.blocks.keys
    for begin in range(0, found, TOGETHER):
        items, value = cache.items[begin : min(begin + TOGETHER, found)], cache.value[begin : begin + TOGETHER]
        for i in range(len(items)):  # a loop of its own, so that these loads, from all over the memory, overlap
            item = items[i]
            keys[i] = branch(key, request.labels[item])
            noted[0, i], noted[1, i] = outcomes(belief, item)
            noted[2, i], noted[3, i], noted[4, i] = cache.start[item], cache.rate[item], cache.mass[item]
        for i in range(len(items)):
            tail = Tail(noted[2, i], noted[3, i], noted[4, i])
            if not is_constant(cache):
                tail = beta_tail(noted[0, i], noted[1, i])
            value[i] = draw_to_level(noted[0, i], noted[1, i], tail, value[i], keys[i], cache.levels[LEVEL])
    cache.drawn[0] += found
