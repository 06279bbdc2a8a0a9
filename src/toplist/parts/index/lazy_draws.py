"""Limits that the first number of an item's draw must be below for the draw to matter, kept until its counts change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints
from toplist.parts.index.beta_draw import Tail, beta_limit, beta_tail, draw_to_level, shrinking_limit
from toplist.parts.index.draw_level import LEVEL, first_levels
from toplist.parts.index.draw_race import CHUNKS, Weights
from toplist.parts.memory.counts import Counts

TOGETHER = 16  # blocks or items looked at in a vectorised loop
RANGE = 0.05  # growth of a discounted memory's unit until all limits are computed again


class BlockLimits(NamedTuple):
    """Of very many items: their weights in the races of blocks; and per block when it must be opened."""

    known: Ints  # its touch count when this was computed; -1 if outdated
    edition: Floats  # the level's edition then
    limit: Ints  # for the first bits of its hash; below it, items may matter
    reach: Floats  # the time in its race until which they may
    sums: Ints  # (blocks * CHUNKS): the sums of its items' weights up to the end of each chunk
    level: Ints  # as in `draw_race`
    item_level: Weights  # (items)
    weight: Weights  # (blocks * BLOCK); 0 for items that are not present
    opened: Ints  # scratch: blocks to open
    noted: Floats  # (5, TOGETHER): scratch for clicks, refusals and tails of items to draw for ...
    keys: Ints  # (TOGETHER): ... and for the keys of their draws


class LazyDraws(NamedTuple):
    """Per item the tail of its posterior and the limit of its number; and scratch space."""

    examined: Floats  # the counts of the tail; -1 for none
    clicked: Floats
    start: Floats
    rate: Floats
    mass: Floats
    limit: Ints
    levels: Floats  # as in `draw_level`
    edition: Floats  # one element: the level's edition for which the limits were computed, unless there are blocks
    units: Floats  # two elements: the range of the memory's unit in which the limits hold
    items: Ints  # scratch: items to draw for ...
    value: Floats  # ... and their draws
    drawn: Ints  # one element: number of draws, to monitor the cost
    blocks: BlockLimits  # empty below MANY items


def no_draws(problem: Problem) -> LazyDraws:
    """Nothing is computed yet."""
    items, blocks = problem.items, block_count(problem)
    return LazyDraws(
        examined=np.full(items, -1.0),
        clicked=np.zeros(items),
        start=np.zeros(items),
        rate=np.zeros(items),
        mass=np.zeros(items),
        limit=np.zeros(items, dtype=np.int64),
        levels=first_levels(),
        edition=np.full(1, -1.0),
        units=np.array([0.0, -1.0]),
        items=np.zeros(items, dtype=np.int64),
        value=np.zeros(items),
        drawn=np.zeros(1, dtype=np.int64),
        blocks=BlockLimits(
            known=np.full(blocks, -1),
            edition=np.full(blocks, -1.0),
            limit=np.zeros(blocks, dtype=np.int64),
            reach=np.zeros(blocks),
            sums=np.zeros(blocks * CHUNKS, dtype=np.int64),
            level=np.zeros(blocks, dtype=np.int64),
            item_level=np.zeros(items if blocks > 0 else 0, dtype=np.int16),
            weight=np.zeros(blocks * BLOCK, dtype=np.int16),
            opened=np.zeros(blocks, dtype=np.int64),
            noted=np.zeros((5, TOGETHER if blocks > 0 else 0)),
            keys=np.zeros(TOGETHER if blocks > 0 else 0, dtype=np.int64),
        ),
    )


@helper
def outcomes(belief: Counts, item: int) -> tuple[float, float]:
    """Clicks and refusals of an item, in units of a new observation."""
    per_unit = 1.0 / belief.unit[0]
    clicks = belief.clicked[item] * per_unit
    return max(clicks, 0.0), max(belief.examined[item] * per_unit - clicks, 0.0)


@helper
def is_constant(cache: LazyDraws) -> bool:
    """Whether counts change only by observations: the unit of a memory that does not discount is always 1."""
    return bool(cache.units[0] == cache.units[1])


@routine
def follow_unit(belief: Counts, cache: LazyDraws) -> None:
    """Outdate all limits if the memory's unit has left the range in which they hold."""
    unit, units = belief.unit[0], cache.units
    if units[0] <= unit <= units[1] and (unit != 1.0 or is_constant(cache)):
        return
    units[0], units[1] = unit, unit if unit == 1.0 else unit * (1.0 + RANGE)
    for item in range(len(cache.examined)):
        cache.examined[item] = -1.0
    for block in range(len(cache.blocks.known)):
        cache.blocks.known[block] = -1


@routine
def find_limit(belief: Counts, cache: LazyDraws, item: int) -> None:
    """Compute the tail and the limit of an item for its present counts."""
    cache.examined[item], cache.clicked[item] = belief.examined[item], belief.clicked[item]
    if is_constant(cache):
        keep_tail(cache, item, beta_tail(*outcomes(belief, item)))
    cache.limit[item] = limit_at(belief, cache, item, cache.levels[LEVEL])


@helper
def keep_tail(cache: LazyDraws, item: int, tail: Tail) -> None:
    """Keep the tail of an item."""
    cache.start[item], cache.rate[item], cache.mass[item] = tail.start, tail.rate, tail.mass


@helper
def tail_of(belief: Counts, cache: LazyDraws, item: int) -> Tail:
    """The tail of an item for its present counts, after it was kept, or if counts change without observations."""
    if is_constant(cache):
        return Tail(cache.start[item], cache.rate[item], cache.mass[item])
    return beta_tail(*outcomes(belief, item))


@helper
def limit_at(belief: Counts, cache: LazyDraws, item: int, level: float) -> int:
    """The limit for any level of an item whose tail is up to date."""
    if is_constant(cache):
        return beta_limit(tail_of(belief, cache, item), level)
    clicks, refusals = outcomes(belief, item)
    return shrinking_limit(clicks, refusals, level, belief.unit[0] / cache.units[1])


@routine
def follow_level(belief: Counts, cache: LazyDraws) -> None:
    """Compute the limits of all items for the present level; tails that were never computed are left alone."""
    constant, last = is_constant(cache), -1
    for item in range(len(cache.limit)):
        if not constant:
            cache.examined[item] = -1.0
        elif cache.examined[item] >= 0.0:
            if last < 0 or cache.examined[item] != cache.examined[last] or cache.clicked[item] != cache.clicked[last]:
                cache.limit[item] = limit_at(belief, cache, item, cache.levels[LEVEL])
                last = item  # its neighbours often have equal counts
            else:
                cache.limit[item] = cache.limit[last]


@routine
def draw_item(belief: Counts, cache: LazyDraws, item: int, number: float, key: int, level: float) -> float:
    """The draw of an item with an up-to-date tail, from its first number and its key, as far as it reaches a level."""
    cache.drawn[0] += 1
    clicks, refusals = outcomes(belief, item)
    return draw_to_level(clicks, refusals, tail_of(belief, cache, item), number, key, level)
