"""Thompson sampling over counts, exact and lazy: a draw from the posterior of each item, made only where it matters.

Each draw begins with a uniform number, and a number above an item's limit cannot lead to a draw that reaches the level
of the best (`beta_draw`, `draw_level`). A limit changes only with the counts of its item and with the level. So a list
hashes and compares one number per item, draws for the few below their limit, and takes the best; of very many items,
most blocks are not even opened (`draw_blocks`). The lists are the same as those of drawing for every item.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, whole
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.beta_draw import EVERYTHING, beta_tail, draw_beta
from toplist.parts.index.draw_blocks import find_in_blocks, race_of, suits_blocks
from toplist.parts.index.draw_level import EDITION, LEVEL, lower_level, move_level, note_draws
from toplist.parts.index.draw_numbers import as_number, top_bits
from toplist.parts.index.draw_race import NO_RACE, NOBODY, number_in_race
from toplist.parts.index.gaps import is_eligible, leave_out
from toplist.parts.index.lazy_draws import (
    TOGETHER,
    LazyDraws,
    draw_item,
    find_limit,
    follow_level,
    follow_unit,
    limit_at,
    no_draws,
    outcomes,
    tail_of,
)
from toplist.parts.index.select import is_contiguous, select
from toplist.parts.memory.counts import Counts

# Standard deviations from the level to the last draws of lists: another look at very many items is expensive.
OFTEN, RARELY = 2.0, 4.0
BELOW_ALL = -1.0  # in place of a draw


class BetaPosterior(NamedTuple):
    """A draw per item and list from Beta(1 + S, 1 + T - S), after T examinations and S clicks.

    The prior is uniform, so the draw of an unseen item is uniform in [0, 1].

    Parameters
    ----------
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.
    """

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the stream."""
        return self._replace(stream=whole("BetaPosterior's stream", self.stream, 0, "number the streams from 0"))

    def scratch(self, problem: Problem) -> LazyDraws:
        """Nothing is computed yet."""
        return no_draws(problem)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def draws_each(self) -> bool:
        """Yes: a draw from the posterior of each item."""
        return True

    def takes_gaps(self) -> bool:
        """Yes: nothing is drawn for candidates that are not eligible."""
        return True

    def log_density(self, belief: Counts, items: Ints, values: Floats) -> Floats:
        """S log x + (T - S) log(1 - x)."""
        clicks = belief.clicked[items, None] / belief.unit[0]
        others = np.maximum(belief.examined[items, None] / belief.unit[0] - clicks, 0.0)
        return times_log(clicks, values) + times_log(others, 1.0 - values)

    def top(self, belief: Counts, cache: LazyDraws, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw for the candidates that can be among the best, and take the best."""
        key = branch(request.key, -1 - self.stream)  # apart from the key that breaks ties
        count = len(request.candidates)
        wanted, many = min(len(chosen), count), len(cache.blocks.known) > 0
        if 2 * wanted >= count or (many and not suits_blocks(request.candidates, wanted, len(cache.limit))):
            found = draw_everything(belief, cache, request, key)
            select(cache.value, request.candidates, found, request.labels, request.key, chosen, scores)
            return
        follow_unit(belief, cache)
        level, look = cache.levels[LEVEL], 0
        found = find_in_blocks(belief, cache, request, key) if many else find_lucky(belief, cache, request, key)
        while level != EVERYTHING and not is_enough(cache, found, level, wanted):
            level = lower_level(cache.levels, look)
            if many:
                move_level(cache.levels, level)
                found = find_in_blocks(belief, cache, request, key)
            else:
                found = look_again(belief, cache, request, key, level)
            look += 1
        select(cache.value, cache.items, found, request.labels, request.key, chosen, scores)
        note_draws(cache.levels, scores[0], scores[wanted - 1], look, RARELY if many else OFTEN)


@routine
def draw_everything(belief: Counts, cache: LazyDraws, request: Request, key: int) -> int:
    """Draw for every candidate, and leave out those that are not eligible; the number of candidates."""
    block, race, in_blocks = NOBODY, NO_RACE, len(cache.blocks.known) > 0
    follow_unit(belief, cache)
    for i in range(len(request.candidates)):
        item = request.candidates[i]
        own = branch(key, request.labels[item])
        clicks, refusals = outcomes(belief, item)
        if in_blocks:
            if item // BLOCK != block:
                block = item // BLOCK
                race = race_of(belief, cache, request, key, block)
            number = number_in_race(race, item % BLOCK, int(cache.blocks.weight[item]), top_bits(own))
            cache.value[i] = draw_beta(clicks, refusals, tail_of(belief, cache, item), number, own)
        else:
            number = as_number(top_bits(own))
            cache.value[i] = draw_beta(clicks, refusals, beta_tail(clicks, refusals), number, own)
    leave_out(request, cache.value, BELOW_ALL)
    return len(request.candidates)


@helper
def is_enough(cache: Any, found: int, level: float, wanted: int) -> bool:
    """Whether at least `wanted` of the draws reach a level."""
    reached = 0
    for i in range(found):
        reached += 1 if cache.value[i] >= level else 0
    return reached >= wanted


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


def times_log(factor: Floats, values: Floats) -> Floats:
    """factor log(values), and 0 where the factor is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        product: Floats = np.where(factor > 0.0, factor * np.log(values), 0.0)
    return product
