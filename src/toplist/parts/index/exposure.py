"""Indices for users who examine a position with a known probability: an upper bound, and a draw from the posterior."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk, routine
from toplist.core.problem import Problem, number, whole
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.beta_draw import EVERYTHING
from toplist.parts.index.draw_level import EDITION, LEVEL, lower_level, note_draws
from toplist.parts.index.draw_numbers import as_number, top_bits
from toplist.parts.index.exposure_draw import (
    ExposureDraws,
    draw_exposed,
    exposure_limit,
    fill_envelope,
    no_exposure_draws,
)
from toplist.parts.index.lazy_draws import TOGETHER
from toplist.parts.index.select import is_contiguous, select
from toplist.parts.index.thompson import OFTEN, is_enough, times_log
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory.exposure import Exposed


class ExposureBound(NamedTuple):
    """Upper bound S/E + sqrt(N/E) sqrt(scale log t / E) for S clicks in N displays of total examination probability E.

    Parameters
    ----------
    scale : float, default 0.5
        Factor of the exploration budget; 0.5 is the paper's.
    """

    scale: float = 0.5

    def prepare(self, problem: Problem) -> Self:
        """Check the scale."""
        return self._replace(scale=number("ExposureBound's scale", self.scale, 0.0, 1e9, "the paper's is 0.5"))

    def scratch(self, problem: Problem) -> ScoreScratch:
        """Scratch space for the scores."""
        return score_scratch(problem)

    def reads(self) -> str:
        """Exposure."""
        return "exposure"

    def exact(self, belief: Exposed, request: Request) -> Floats:
        """Mean plus radius."""
        score = np.zeros(len(request.candidates))
        exposure_bound_in_bulk(belief, self.scale, request.candidates, score)
        return score

    def top(self, belief: Exposed, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score everything, take the best."""
        candidates = request.candidates
        exposure_bound(belief, self.scale, candidates, cache.score)
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


@helper
def exposure_bound(belief: Exposed, scale: float, candidates: Ints, score: Floats) -> None:
    """Fill (S + sqrt(N scale log t)) / E for each candidate; infinity for items never shown."""
    budget = scale * math.log(belief.clock[0] + 1.0)
    for i in range(len(candidates)):
        item = candidates[i]
        looks = belief.exposure[item]
        score[i] = (belief.clicked[item] + math.sqrt(belief.shown[item] * budget)) / looks if looks > 0.0 else np.inf


exposure_bound_in_bulk = in_bulk(exposure_bound)


class ExposurePosterior(NamedTuple):
    """A draw per item and list from its posterior, theta^S prod_l (1 - kappa_l theta)^F_l, where it matters.

    There were S clicks, and F_l displays without a click at position l, which is examined with probability kappa_l. The
    prior is uniform. As in `BetaPosterior`, the first number of an item's draw mostly shows that it is not among the
    best (`exposure_draw`); the lists are the same as those of drawing for every item.

    Parameters
    ----------
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.
    """

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the stream."""
        return self._replace(stream=whole("ExposurePosterior's stream", self.stream, 0, "number the streams from 0"))

    def scratch(self, problem: Problem) -> ExposureDraws:
        """Nothing is computed yet."""
        return no_exposure_draws(problem)

    def reads(self) -> str:
        """Exposure."""
        return "exposure"

    def draws_each(self) -> bool:
        """Yes: a draw from the posterior of each item."""
        return True

    def log_density(self, belief: Exposed, items: Ints, values: Floats) -> Floats:
        """S log x + sum_l F_l log(1 - kappa_l x)."""
        missed = belief.missed.reshape(-1, len(belief.examination))[items]
        found = times_log(belief.clicked[items, None], values)
        for position, examination in enumerate(belief.examination):
            found += times_log(missed[:, position, None], 1.0 - examination * values)
        return found

    def top(self, belief: Exposed, cache: ExposureDraws, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw for the candidates that can be among the best, and take the best."""
        key = branch(request.key, -1 - self.stream)  # apart from the key that breaks ties
        count = len(request.candidates)
        wanted = min(len(chosen), count)
        if 2 * wanted >= count:
            found = draw_reaching(belief, cache, request, key, EVERYTHING)
            select(cache.value, cache.items, found, request.labels, request.key, chosen, scores)
            return
        level, look = cache.levels[LEVEL], 0
        found = find_exposed(belief, cache, request, key)
        while level != EVERYTHING and not is_enough(cache, found, level, wanted):
            level = lower_level(cache.levels, look)
            found = draw_reaching(belief, cache, request, key, level)
            look += 1
        select(cache.value, cache.items, found, request.labels, request.key, chosen, scores)
        note_draws(cache.levels, scores[0], scores[wanted - 1], look, OFTEN)


@routine
def draw_reaching(belief: Exposed, cache: ExposureDraws, request: Request, key: int, level: float) -> int:
    """Draw for all candidates whose draw may reach a level; their number."""
    found = 0
    for item in request.candidates:
        if is_outdated(belief, cache, item):
            fill_envelope(belief, cache, item)
        own = branch(key, request.labels[item])
        if top_bits(own) < exposure_limit(cache, item, level):
            cache.items[found] = item
            cache.value[found] = draw_exposed(belief, cache, item, as_number(top_bits(own)), own)
            found += 1
    return found


@routine
def find_exposed(belief: Exposed, cache: ExposureDraws, request: Request, key: int) -> int:
    """Draw for all candidates whose draw may reach the usual level, for which limits are kept; their number."""
    candidates, found = request.candidates, 0
    if cache.edition[0] != cache.levels[EDITION]:
        for item in range(len(cache.limit)):
            if cache.clicked[item] >= 0.0:
                cache.limit[item] = exposure_limit(cache, item, cache.levels[LEVEL])
        cache.edition[0] = cache.levels[EDITION]
    for begin in range(0, len(candidates), TOGETHER):
        some = candidates[begin : begin + TOGETHER]
        if is_contiguous(some) and not may_matter(belief, cache, request, key, some[0], len(some)):
            continue
        for item in some:
            if is_outdated(belief, cache, item):
                fill_envelope(belief, cache, item)
            own = branch(key, request.labels[item])
            if top_bits(own) < cache.limit[item]:
                cache.items[found] = item
                cache.value[found] = draw_exposed(belief, cache, item, as_number(top_bits(own)), own)
                found += 1
    return found


@helper
def may_matter(belief: Exposed, cache: ExposureDraws, request: Request, key: int, first: int, count: int) -> bool:
    """Whether one of a few items has a number below its limit, or other counts than its limit was made for."""
    here, positions = slice(first, first + count), len(belief.examination)
    slots = slice(first * positions, (first + count) * positions)
    labels, limit, clicked, known = request.labels[here], cache.limit[here], belief.clicked[here], cache.clicked[here]
    missed, known_missed, found = belief.missed[slots], cache.missed[slots], 0
    for i in range(len(labels)):  # both loops are vectorised
        found += 1 if (top_bits(branch(key, labels[i])) < limit[i]) | (clicked[i] != known[i]) else 0
    for i in range(len(missed)):
        found += 1 if missed[i] != known_missed[i] else 0
    return found > 0


@helper
def is_outdated(belief: Exposed, cache: ExposureDraws, item: int) -> bool:
    """Whether the limit of an item was made for other counts."""
    positions = len(belief.examination)
    same = cache.clicked[item] == belief.clicked[item]
    for slot in range(item * positions, (item + 1) * positions):
        same = same and cache.missed[slot] == belief.missed[slot]
    return not same
