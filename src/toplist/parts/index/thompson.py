"""Thompson sampling over counts, exact and lazy: a draw from the posterior of each item, made only where it matters.

Each draw begins with a uniform number, and a number above an item's limit cannot lead to a draw that reaches the level
of the best (`beta_draw`, `draw_level`). A limit changes only with the counts of its item and with the level. So a list
hashes and compares one number per item, draws for the few below their limit, and takes the best; of very many items,
most blocks are not even opened (`draw_blocks`). The lists are the same as those of drawing for every item.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.beliefs import block_count
from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, whole
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.beta_draw import EVERYTHING
from toplist.parts.index.draw_level import LEVEL, lower_level, note_draws
from toplist.parts.index.draw_search import SearchBlocks, SearchItems
from toplist.parts.index.gaps import leave_out
from toplist.parts.index.lazy_draws import LazyDraws, follow_unit, no_draws
from toplist.parts.index.select import select
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
        blocks = block_count(problem)
        deviations = np.full(1, RARELY if blocks > 0 else OFTEN)
        search = SearchBlocks(deviations) if problem.grows or blocks > 0 else SearchItems(deviations)
        return no_draws(problem, search)

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
        wanted = min(len(chosen), count)
        if 2 * wanted >= count or not cache.search.suits_search(cache, request.candidates, wanted):
            found = draw_everything(belief, cache, request, key)
            select(cache.value, request.candidates, found, request.labels, request.key, chosen, scores)
            return
        follow_unit(belief, cache)
        level, look = cache.levels[LEVEL], 0
        found = cache.search.find_draws(belief, cache, request, key)
        while level != EVERYTHING and not is_enough(cache, found, level, wanted):
            level = lower_level(cache.levels, look)
            found = cache.search.find_again(belief, cache, request, key, level)
            look += 1
        select(cache.value, cache.items, found, request.labels, request.key, chosen, scores)
        note_draws(cache.levels, scores[0], scores[wanted - 1], look, cache.search.deviations[0])


@routine
def draw_everything(belief: Counts, cache: LazyDraws, request: Request, key: int) -> int:
    """Draw for every candidate, and leave out those that are not eligible; the number of candidates."""
    follow_unit(belief, cache)
    cache.search.draw_all(belief, cache, request, key)
    leave_out(request, cache.value, BELOW_ALL)
    return len(request.candidates)


@helper
def is_enough(cache: Any, found: int, level: float, wanted: int) -> bool:
    """Whether at least `wanted` of the draws reach a level."""
    reached = 0
    for i in range(found):
        reached += 1 if cache.value[i] >= level else 0
    return reached >= wanted


def times_log(factor: Floats, values: Floats) -> Floats:
    """factor log(values), and 0 where the factor is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        product: Floats = np.where(factor > 0.0, factor * np.log(values), 0.0)
    return product
