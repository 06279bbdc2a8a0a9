"""Finds the candidates whose draws matter to a list: item by item, or among very many items by blocks."""

from __future__ import annotations

from typing import NamedTuple

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper, routine
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.beta_draw import beta_tail, draw_beta
from toplist.parts.index.draw_blocks import find_in_blocks, race_of, suits_blocks
from toplist.parts.index.draw_level import EDITION, LEVEL, move_level
from toplist.parts.index.draw_numbers import as_number, top_bits
from toplist.parts.index.draw_race import NO_RACE, NOBODY, number_in_race
from toplist.parts.index.gaps import is_eligible
from toplist.parts.index.lazy_draws import (
    TOGETHER,
    LazyDraws,
    draw_item,
    find_limit,
    follow_level,
    limit_at,
    outcomes,
    tail_of,
)
from toplist.parts.index.select import is_contiguous
from toplist.parts.memory.counts import Counts


class SearchItems(NamedTuple):
    """Looks at every candidate's number; the code for blocks, which takes long to compile, is left out."""

    deviations: Floats  # one element: standard deviations from the level to the last draws of lists

    def suits_search(self, cache: LazyDraws, candidates: Ints, wanted: int) -> bool:
        """Always."""
        return True

    def find_draws(self, belief: Counts, cache: LazyDraws, request: Request, key: int) -> int:
        """Draw for those whose draw may reach the level."""
        return find_lucky(belief, cache, request, key)

    def find_again(self, belief: Counts, cache: LazyDraws, request: Request, key: int, level: float) -> int:
        """Draw for those whose draw may reach a lower level."""
        return look_again(belief, cache, request, key, level)

    def draw_all(self, belief: Counts, cache: LazyDraws, request: Request, key: int) -> None:
        """Draw for every candidate."""
        draw_each(belief, cache, request, key)


class SearchBlocks(NamedTuple):
    """Opens the blocks whose draws may matter, once there are very many items."""

    deviations: Floats

    def suits_search(self, cache: LazyDraws, candidates: Ints, wanted: int) -> bool:
        """Whether the candidates are most of the items, if these are in blocks."""
        return len(cache.blocks.known) == 0 or suits_blocks(candidates, wanted, len(cache.limit))

    def find_draws(self, belief: Counts, cache: LazyDraws, request: Request, key: int) -> int:
        """Draw for those whose draw may reach the level."""
        if len(cache.blocks.known) == 0:
            return find_lucky(belief, cache, request, key)
        return find_in_blocks(belief, cache, request, key)

    def find_again(self, belief: Counts, cache: LazyDraws, request: Request, key: int, level: float) -> int:
        """Draw for those whose draw may reach a lower level, which blocks then keep to."""
        if len(cache.blocks.known) == 0:
            return look_again(belief, cache, request, key, level)
        move_level(cache.levels, level)
        return find_in_blocks(belief, cache, request, key)

    def draw_all(self, belief: Counts, cache: LazyDraws, request: Request, key: int) -> None:
        """Draw for every candidate."""
        if len(cache.blocks.known) == 0:
            draw_each(belief, cache, request, key)
        else:
            draw_each_in_race(belief, cache, request, key)


@routine
def draw_each(belief: Counts, cache: LazyDraws, request: Request, key: int) -> None:
    """Draw for every candidate, whose number is its own."""
    for i in range(len(request.candidates)):
        item = request.candidates[i]
        own = branch(key, request.labels[item])
        clicks, refusals = outcomes(belief, item)
        number = as_number(top_bits(own))
        cache.value[i] = draw_beta(clicks, refusals, beta_tail(clicks, refusals), number, own)


@routine
def draw_each_in_race(belief: Counts, cache: LazyDraws, request: Request, key: int) -> None:
    """Draw for every candidate, whose number is that of the race of its block."""
    block, race = NOBODY, NO_RACE
    for i in range(len(request.candidates)):
        item = request.candidates[i]
        own = branch(key, request.labels[item])
        clicks, refusals = outcomes(belief, item)
        if item // BLOCK != block:
            block = item // BLOCK
            race = race_of(belief, cache, request, key, block)
        number = number_in_race(race, item % BLOCK, int(cache.blocks.weight[item]), top_bits(own))
        cache.value[i] = draw_beta(clicks, refusals, tail_of(belief, cache, item), number, own)


@routine
def look_again(belief: Counts, cache: LazyDraws, request: Request, key: int, level: float) -> int:
    """Draw for all candidates whose draw may reach another level than usual; their number."""
    found = 0
    for i in range(len(request.candidates)):
        item = request.candidates[i]
        own = branch(key, request.labels[item])
        if top_bits(own) < limit_at(belief, cache, item, level) and is_eligible(request, item, 0):
            cache.items[found] = item
            cache.value[found] = draw_item(belief, cache, item, as_number(top_bits(own)), own, level)
            found += 1
    return found


@routine
def find_lucky(belief: Counts, cache: LazyDraws, request: Request, key: int) -> int:
    """Draw for all candidates whose draw may reach the level; their number."""
    candidates, found = request.candidates, 0
    if cache.edition[0] != cache.levels[EDITION]:
        follow_level(belief, cache)
        cache.edition[0] = cache.levels[EDITION]
    for begin in range(0, len(candidates), TOGETHER):
        some = candidates[begin : begin + TOGETHER]
        if not is_contiguous(some) or has_lucky(belief, cache, request, key, some[0], len(some)):
            for i in range(len(some)):
                found = draw_if_lucky(belief, cache, request, key, some[i], found)
    return found


@helper
def has_lucky(belief: Counts, cache: LazyDraws, request: Request, key: int, first: int, count: int) -> bool:
    """Whether one of a few items has a number below its limit, or an outdated limit."""
    here = slice(first, first + count)
    labels, limit = request.labels[here], cache.limit[here]
    examined, clicked = belief.examined[here], belief.clicked[here]
    known_examined, known_clicked = cache.examined[here], cache.clicked[here]
    lucky = 0
    for i in range(len(labels)):  # vectorised
        below = top_bits(branch(key, labels[i])) < limit[i]
        same = (examined[i] == known_examined[i]) & (clicked[i] == known_clicked[i])
        lucky += 1 if below | (not same) else 0
    return lucky > 0


@helper
def draw_if_lucky(belief: Counts, cache: LazyDraws, request: Request, key: int, item: int, found: int) -> int:
    """Draw for a candidate if its number is below its limit and it is eligible; the number of draws so far."""
    if belief.examined[item] != cache.examined[item] or belief.clicked[item] != cache.clicked[item]:
        find_limit(belief, cache, item)
    own = branch(key, request.labels[item])
    if top_bits(own) >= cache.limit[item] or not is_eligible(request, item, 0):
        return found
    cache.items[found] = item
    cache.value[found] = draw_item(belief, cache, item, as_number(top_bits(own)), own, cache.levels[LEVEL])
    return found + 1
