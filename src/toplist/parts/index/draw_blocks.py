"""Thompson sampling for very many items: looks only at those whose numbers may lead to a draw that matters.

Items form blocks, by where they are stored, and the numbers of a block are a race (`draw_race`). A list hashes one
number per block, opens the few whose winner may matter, and looks beyond the second of a race only if that one may
matter too.
"""

from __future__ import annotations

import math

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper, routine
from toplist.core.randomness import branch
from toplist.core.slate import Bools, Ints, Request
from toplist.parts.index.beta_draw import FAR, NEAR, Tail, as_limit, beta_tail, draw_to_level, start_of_tail
from toplist.parts.index.draw_level import EDITION, LEVEL
from toplist.parts.index.draw_numbers import LEADERS, TO_UNIT, as_number, top_bits
from toplist.parts.index.draw_race import (
    CHUNKS,
    Race,
    add_up,
    block_race,
    exponential,
    is_over,
    item_level,
    item_weight,
    level_start,
    number_at,
    number_in_race,
    winner,
)
from toplist.parts.index.gaps import is_eligible, is_present
from toplist.parts.index.lazy_draws import (
    TOGETHER,
    LazyDraws,
    is_constant,
    keep_tail,
    limit_at,
    outcomes,
    tail_of,
)
from toplist.parts.memory.counts import Counts

FEW, MOST = 16, 4  # the candidates must be at least 16 times the list, and a quarter of all items
ONE_WORD = 32  # blocks that have a bit each in one number
OUTDATED = -1  # in place of a weight
SMALLEST = 1e-300  # instead of a probability of 0 to divide by


@helper
def suits_blocks(candidates: Ints, wanted: int, slots: int) -> bool:
    """Whether the candidates are dense and most of what is stored, so that blocks stay closed and share one level."""
    count = len(candidates)
    if MOST * count < slots or FEW * wanted > count:
        return False
    return bool(2 * count > candidates[count - 1] - candidates[0])


# Limits ---------------------------------------------------------------------------------------------------------------


@routine
def find_block_limits(belief: Counts, cache: LazyDraws, present: Bools, block: int) -> None:
    """Update the weights and limits of a block's items, and when the block must be opened."""
    blocks, first = cache.blocks, block * BLOCK
    end = min(first + BLOCK, len(cache.limit))
    find_item_levels(belief, cache, first, end)
    level, weighed = 0, is_constant(cache)
    for item in range(first, end):
        level = max(level, int(blocks.item_level[item])) if is_present(present, item) else level
    moved, all_change = blocks.edition[block] != cache.levels[EDITION], level != blocks.level[block]
    blocks.level[block], last = level, -1
    for item in range(first, end):
        weight = blocks.weight[item]
        if moved or all_change or weight == OUTDATED or (weight == 0 and is_present(present, item)):
            if last < 0 or cache.examined[item] != cache.examined[last] or cache.clicked[item] != cache.clicked[last]:
                if find_block_tail(belief, cache, item, level) or moved:
                    cache.limit[item] = limit_at(belief, cache, item, cache.levels[LEVEL])
                own = item_weight(tail_of(belief, cache, item), level) if weighed else 1
                last = item  # its neighbours often have equal counts
            else:
                cache.start[item], cache.rate[item] = cache.start[last], cache.rate[last]
                cache.mass[item], cache.limit[item] = cache.mass[last], cache.limit[last]
            blocks.weight[item] = own
        if not is_present(present, item):
            blocks.weight[item] = 0
    find_reach(cache, block, first, end)
    blocks.known[block], blocks.edition[block] = belief.touched[block], cache.levels[EDITION]


@helper
def find_block_tail(belief: Counts, cache: LazyDraws, item: int, level: int) -> bool:
    """Find the tail of an item in a block of some level; whether it is another than before.

    It is a far one, of a closer bound, if that starts below the level of the block. It is kept, unless counts change
    without observations.
    """
    if not is_constant(cache):
        return bool(cache.blocks.weight[item] == OUTDATED)
    clicks, refusals = outcomes(belief, item)
    reach = FAR if start_of_tail(clicks, refusals, FAR) <= level_start(level) else NEAR
    if cache.blocks.weight[item] != OUTDATED and cache.start[item] == start_of_tail(clicks, refusals, reach):
        return False
    keep_tail(cache, item, beta_tail(clicks, refusals, reach))
    return True


@helper
def find_item_levels(belief: Counts, cache: LazyDraws, first: int, end: int) -> None:
    """Update the levels of the items of a block whose counts have changed; their weights are outdated."""
    levels, last, weighed = cache.blocks.item_level, -1, is_constant(cache)
    for item in range(first, end):
        examined, clicked = belief.examined[item], belief.clicked[item]
        if examined == cache.examined[item] and clicked == cache.clicked[item]:
            continue
        if last < 0 or examined != cache.examined[last] or clicked != cache.clicked[last]:
            levels[item] = item_level(beta_tail(*outcomes(belief, item))) if weighed else 0
            last = item
        else:
            levels[item] = levels[last]
        cache.examined[item], cache.clicked[item], cache.blocks.weight[item] = examined, clicked, OUTDATED


@helper
def find_reach(cache: LazyDraws, block: int, first: int, end: int) -> None:
    """Find out until when in its race the items of a block may matter, and from which hashes on it is not opened."""
    blocks, limit, reach = cache.blocks, cache.limit[first:end], 0.0
    weights, sums = blocks.weight[first : first + BLOCK], blocks.sums[block * CHUNKS : (block + 1) * CHUNKS]
    for i in range(len(limit)):  # vectorised
        number = limit[i] * TO_UNIT
        own = number / (max(1.0 - number, SMALLEST) * max(int(weights[i]), 1))  # at least -log(1 - number) / weight
        reach = max(reach, own if weights[i] > 0 else 0.0)
    total = add_up(weights, sums)
    blocks.reach[block], blocks.limit[block] = reach, as_limit(-math.expm1(-total * reach)) if total > 0 else 0


@helper
def find_outdated_limits(belief: Counts, cache: LazyDraws, present: Bools, begin: int, stop: int) -> None:
    """Update the limits of some blocks where counts or the level have changed."""
    blocks, edition, outdated = cache.blocks, cache.levels[EDITION], 0
    known, touched, editions = blocks.known[begin:stop], belief.touched[begin:stop], blocks.edition[begin:stop]
    for i in range(len(known)):  # vectorised
        outdated += 1 if (known[i] != touched[i]) | (editions[i] != edition) else 0
    for block in range(begin, stop if outdated > 0 else begin):
        if blocks.known[block] != belief.touched[block] or blocks.edition[block] != edition:
            find_block_limits(belief, cache, present, block)


@routine
def race_of(belief: Counts, cache: LazyDraws, request: Request, key: int, block: int) -> Race:
    """The race of a block for a list, given the list's drawing key."""
    find_outdated_limits(belief, cache, request.present, block, block + 1)
    weights = cache.blocks.weight[block * BLOCK : (block + 1) * BLOCK]
    sums = cache.blocks.sums[block * CHUNKS : (block + 1) * CHUNKS]
    return block_race(weights, sums, branch(branch(key, LEADERS), block))


# Lists ----------------------------------------------------------------------------------------------------------------


@routine
def find_in_blocks(belief: Counts, cache: LazyDraws, request: Request, key: int) -> int:
    """Draw for all candidates whose draw may reach the level; their number."""
    candidates, blocks = request.candidates, cache.blocks
    first, end = candidates[0] // BLOCK, candidates[len(candidates) - 1] // BLOCK + 1
    absent = min(end * BLOCK, len(cache.limit)) - first * BLOCK - len(candidates)
    leaders, count, found = branch(key, LEADERS), 0, 0
    for begin in range(first, end, ONE_WORD):
        stop = min(begin + ONE_WORD, end)
        find_outdated_limits(belief, cache, request.present, begin, stop)
        limit, bits = blocks.limit[begin:stop], 0
        for i in range(len(limit)):  # vectorised
            bits |= 1 << i if top_bits(branch(leaders, begin + i)) < limit[i] else 0
        for i in range(stop - begin if bits > 0 else 0):
            if bits >> i & 1 == 1:
                blocks.opened[count] = begin + i
                count += 1
    for begin in range(0, count, TOGETHER):
        opened = blocks.opened[begin : min(begin + TOGETHER, count)]
        found = note_in_blocks(cache, request, key, leaders, opened, absent, found)
    for item in request.exceptions:
        if not is_present(request.present, item):  # so it is eligible, but in no race
            number = as_number(top_bits(branch(key, request.labels[item])))
            found = note_if_below(cache, request, item, number, absent, found)
    draw_noted(belief, cache, request, key, found)
    return found


@routine
def note_in_blocks(
    cache: LazyDraws, request: Request, key: int, leaders: int, opened: Ints, absent: int, found: int
) -> int:
    """Note the items of a few blocks whose numbers are below their limits: winners, and others if they may be."""
    blocks, items, time = cache.blocks, cache.blocks.keys, cache.blocks.noted[0]
    for i in range(len(opened)):  # a loop of its own, so that these loads, from all over the memory, overlap
        drawn = branch(leaders, opened[i])
        weights = blocks.weight[opened[i] * BLOCK : (opened[i] + 1) * BLOCK]
        sums = blocks.sums[opened[i] * CHUNKS : (opened[i] + 1) * CHUNKS]
        items[i] = opened[i] * BLOCK + winner(weights, sums, drawn)
        time[i] = exponential(drawn) / sums[CHUNKS - 1]
    for i in range(len(opened)):
        block, item, drawn = opened[i], items[i], branch(leaders, opened[i])
        weights = blocks.weight[block * BLOCK : (block + 1) * BLOCK]
        sums = blocks.sums[block * CHUNKS : (block + 1) * CHUNKS]
        weight = int(blocks.weight[item])
        found = note_if_below(cache, request, item, number_at(weight, time[i]), absent, found)
        if not is_over(time[i], sums[CHUNKS - 1] - weight, drawn, blocks.reach[block]):
            found = note_others(cache, request, key, block_race(weights, sums, drawn), block * BLOCK, absent, found)
    return found


@routine
def note_others(cache: LazyDraws, request: Request, key: int, race: Race, begin: int, absent: int, found: int) -> int:
    """Note all items of a block but the winner whose numbers are below their limits."""
    for item in range(begin, min(begin + BLOCK, len(cache.limit))):
        weight, bits = int(cache.blocks.weight[item]), top_bits(branch(key, request.labels[item]))
        if weight == 0 or item - begin == race.first or (bits >= cache.limit[item] and item - begin != race.second):
            continue
        number = number_in_race(race, item - begin, weight, bits)
        found = note_if_below(cache, request, item, number, absent, found)
    return found


@helper
def note_if_below(cache: LazyDraws, request: Request, item: int, number: float, absent: int, found: int) -> int:
    """Note an item and its number if that is below its limit and the item is eligible; how many are noted so far."""
    if number >= cache.limit[item] * TO_UNIT or not is_eligible(request, item, absent):
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
