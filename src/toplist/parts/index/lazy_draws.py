"""Limits that the first number of an item's draw must be below for the draw to matter, kept until its counts change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.beliefs import block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints
from toplist.parts.index.beta_draw import Tail, beta_limit, beta_tail, draw_beta, shrinking_limit
from toplist.parts.index.draw_level import LEVEL, first_levels
from toplist.parts.memory.counts import Counts

RANGE = 0.05  # growth of a discounted memory's unit until all limits are computed again


class BlockLimits(NamedTuple):
    """Per block of very many items: which of its items are likely to matter, and a limit for all the others."""

    known: Ints  # its touch count when this was computed; -1 if outdated
    edition: Floats  # the level's edition then
    limit: Ints  # for the block's own number
    likely: Ints  # how many items are likely to matter ...
    listed: Ints  # ... and which, at the start of the block's part of this array


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
            likely=np.zeros(blocks, dtype=np.int64),
            listed=np.zeros(items if blocks > 0 else 0, dtype=np.int64),
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
    """Whether the memory's unit does not change, so that counts change only by observations."""
    return bool(cache.units[0] == cache.units[1])


@routine
def follow_unit(belief: Counts, cache: LazyDraws) -> None:
    """Outdate all limits if the memory's unit has left the range in which they hold."""
    unit, units = belief.unit[0], cache.units
    if units[0] <= unit <= units[1]:
        return
    first = units[1] < 0.0
    units[0], units[1] = unit, unit if first else unit * (1.0 + RANGE)
    for item in range(len(cache.examined)):
        cache.examined[item] = -1.0
    for block in range(len(cache.blocks.known)):
        cache.blocks.known[block] = -1


@routine
def find_limit(belief: Counts, cache: LazyDraws, item: int) -> None:
    """Compute the tail and the limit of an item for its present counts."""
    cache.examined[item], cache.clicked[item] = belief.examined[item], belief.clicked[item]
    if is_constant(cache):
        tail = beta_tail(*outcomes(belief, item))
        cache.start[item], cache.rate[item], cache.mass[item] = tail.start, tail.rate, tail.mass
    cache.limit[item] = limit_at(belief, cache, item, cache.levels[LEVEL])


@helper
def limit_at(belief: Counts, cache: LazyDraws, item: int, level: float) -> int:
    """The limit for any level of an item whose tail is up to date."""
    if is_constant(cache):
        return beta_limit(Tail(cache.start[item], cache.rate[item], cache.mass[item]), level)
    clicks, refusals = outcomes(belief, item)
    return shrinking_limit(clicks, refusals, level, belief.unit[0] / cache.units[1])


@routine
def follow_level(belief: Counts, cache: LazyDraws, first: int, end: int) -> None:
    """Compute the limits of some items for the present level; tails that were never computed are left alone."""
    constant, last = is_constant(cache), -1
    for item in range(first, end):
        if not constant:
            cache.examined[item] = -1.0
        elif cache.examined[item] >= 0.0:
            if last < 0 or cache.examined[item] != cache.examined[last] or cache.clicked[item] != cache.clicked[last]:
                cache.limit[item] = limit_at(belief, cache, item, cache.levels[LEVEL])
                last = item  # its neighbours often have equal counts
            else:
                cache.limit[item] = cache.limit[last]


@routine
def draw_item(belief: Counts, cache: LazyDraws, item: int, number: float, key: int) -> float:
    """The draw of an item whose limit is up to date, from its first number and its key."""
    cache.drawn[0] += 1
    clicks, refusals = outcomes(belief, item)
    if is_constant(cache):
        tail = Tail(cache.start[item], cache.rate[item], cache.mass[item])
        return draw_beta(clicks, refusals, tail, number, key)
    return draw_beta(clicks, refusals, beta_tail(clicks, refusals), number, key)
