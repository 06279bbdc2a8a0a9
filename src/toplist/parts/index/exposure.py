"""Indices for users who examine a position with a known probability: an upper bound, and a draw from the posterior."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk, routine
from toplist.core.problem import Problem, number, whole
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.select import select
from toplist.parts.index.thompson import times_log
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


class Envelopes(NamedTuple):
    """Scratch space for the draws, and per item an envelope of its posterior: flat around the mode, then falling."""

    score: Floats
    clicked: Floats  # the counts for which the envelope was made
    missed: Floats
    peak: Floats  # the logarithm of the posterior at its mode
    left: Floats  # where it is flat
    right: Floats
    rise: Floats  # how fast it falls to both sides
    fall: Floats


class ExposurePosterior(NamedTuple):
    """A draw per item and list from its posterior, theta^S prod_l (1 - kappa_l theta)^F_l.

    There were S clicks, and F_l displays without a click at position l, which is examined with probability kappa_l. The
    prior is uniform. The logarithm of the posterior is concave, so tangents on both sides of its mode bound it, and
    draws from below them are accepted in five of six cases.

    Parameters
    ----------
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.
    """

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the stream."""
        return self._replace(stream=whole("ExposurePosterior's stream", self.stream, 0, "number the streams from 0"))

    def scratch(self, problem: Problem) -> Envelopes:
        """Scratch space for the draws; -1 clicks mark envelopes not yet made."""
        items = problem.items
        peak, left, right, rise, fall = (np.zeros(items) for _ in range(5))
        missed = np.zeros(items * problem.positions)
        return Envelopes(np.zeros(items), np.full(items, -1.0), missed, peak, left, right, rise, fall)

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

    def top(self, belief: Exposed, cache: Envelopes, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw for every candidate, take the best."""
        candidates = request.candidates
        key = branch(request.key, -1 - self.stream)  # apart from the key that breaks ties
        for i in range(len(candidates)):
            item = candidates[i]
            if is_outdated(belief, cache, item):
                fill_envelope(belief, cache, item)
            cache.score[i] = draw_from_posterior(belief, cache, item, branch(key, request.labels[item]))
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


@helper
def is_outdated(belief: Exposed, cache: Envelopes, item: int) -> bool:
    """Whether the envelope of an item was made for other counts."""
    positions = len(belief.examination)
    same = cache.clicked[item] == belief.clicked[item]
    for slot in range(item * positions, (item + 1) * positions):
        same = same and cache.missed[slot] == belief.missed[slot]
    return not same


@helper
def log_posterior(belief: Exposed, item: int, theta: float) -> float:
    """S log(theta) + sum_l F_l log(1 - kappa_l theta)."""
    positions = len(belief.examination)
    total = belief.clicked[item] * math.log(theta) if belief.clicked[item] > 0.0 else 0.0
    for position in range(positions):
        missed = belief.missed[item * positions + position]
        if missed > 0.0:
            total += missed * math.log1p(-belief.examination[position] * theta)
    return total


@helper
def derivatives(belief: Exposed, item: int, theta: float) -> tuple[float, float]:
    """First derivative of the log posterior, and minus the second one, which is never negative."""
    positions = len(belief.examination)
    ratio = belief.clicked[item] / theta if belief.clicked[item] > 0.0 else 0.0
    first, second = ratio, ratio / theta if ratio > 0.0 else 0.0
    for position in range(positions):
        missed, looked = belief.missed[item * positions + position], belief.examination[position]
        if missed > 0.0:
            rest = 1.0 - looked * theta
            odds = looked / rest if rest > 0.0 else np.inf
            first -= missed * odds
            second += missed * odds * odds
    return first, second


@helper
def posterior_mode(belief: Exposed, item: int) -> float:
    """The mode of the posterior.

    theta times the first derivative is concave, so Newton's iteration approaches its root from above.
    """
    if belief.clicked[item] <= 0.0:
        return 0.0
    if derivatives(belief, item, 1.0)[0] >= 0.0:
        return 1.0
    theta = 1.0
    positions = len(belief.examination)
    for position in range(positions):  # with examination 1 the root is below 1; start where everything is finite
        if belief.missed[item * positions + position] > 0.0 and belief.examination[position] == 1.0:
            theta = belief.clicked[item] / (belief.clicked[item] + belief.missed[item * positions + position])
    for _ in range(100):
        first, second = derivatives(belief, item, theta)
        step = theta * first / (theta * second - first)
        theta += step
        if abs(step) <= 1e-9 * theta:
            break
    return min(theta, 1.0)


@routine
def fill_envelope(belief: Exposed, cache: Envelopes, item: int) -> None:
    """Make the envelope of an item: flat at the height of the mode, until the tangents on both sides reach it."""
    positions = len(belief.examination)
    cache.clicked[item] = belief.clicked[item]
    for slot in range(item * positions, (item + 1) * positions):
        cache.missed[slot] = belief.missed[slot]
    mode = posterior_mode(belief, item)
    slope, bend = derivatives(belief, item, mode)
    peak = log_posterior(belief, item, mode)
    # If the mode is an end of [0, 1], the slope there gives the width of the posterior.
    reach = 1.0 / max(abs(slope), math.sqrt(bend), 1e-9)
    cache.peak[item] = peak
    cache.left[item], cache.rise[item], cache.right[item], cache.fall[item] = 0.0, 0.0, 1.0, 0.0
    if mode > 0.0:
        touch = max(mode - reach, 0.1 * mode)
        rise = derivatives(belief, item, touch)[0]
        if rise > 0.0:
            cache.left[item] = max(touch + (peak - log_posterior(belief, item, touch)) / rise, 0.0)
            cache.rise[item] = rise
    if mode < 1.0:
        touch = min(mode + reach, 0.9 + 0.1 * mode)
        fall = -derivatives(belief, item, touch)[0]
        if fall > 0.0:
            cache.right[item] = min(touch - (peak - log_posterior(belief, item, touch)) / fall, 1.0)
            cache.fall[item] = fall


@helper
def draw_from_posterior(belief: Exposed, cache: Envelopes, item: int, key: int) -> float:
    """A draw from an item's posterior: draw from below its envelope until it is below the posterior too."""
    left, right, rise, fall = cache.left[item], cache.right[item], cache.rise[item], cache.fall[item]
    below = -math.expm1(-rise * left) / rise if rise > 0.0 else 0.0
    above = -math.expm1(-fall * (1.0 - right)) / fall if fall > 0.0 else 0.0
    number = 0
    while True:
        where = uniform(key, number) * (below + (right - left) + above)
        height = math.log(1.0 - uniform(key, number + 1))
        number += 2
        if where < below:
            theta = left + math.log1p(-rise * where) / rise
            height -= rise * (left - theta)
        elif where < below + (right - left):
            theta = left + (where - below)
        else:
            theta = right - math.log1p(-fall * (where - below - (right - left))) / fall
            height -= fall * (theta - right)
        if 0.0 < theta < 1.0 and cache.peak[item] + height <= log_posterior(belief, item, theta):
            return float(theta)
