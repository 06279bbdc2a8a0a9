"""Draws from the posterior of users who examine positions with known probabilities, most of them settled by one number.

The logarithm of the posterior f of an item is concave, so tangents on both sides of its mode lie above it, and chords
below. Draws from below the tangents are accepted if they are below f too. That needs no knowledge of the integral Z of
f, but of no single number does it show that the draw will be small. So the upper tail, above a `start`, is drawn by
itself. Let z < Z be the integral of the chords, and t(x) that of the right tangent beyond x. A uniform number u below
t(start) / z proposes the x with t(x) = u z. It is accepted with the ratio of f and the tangent at x, times z / Z: the
ratio of the chords and f at another draw from f has this mean. So every point of the tail is drawn with density f / Z;
otherwise the draw is from the rest of the posterior, below the start.

Hence a draw of at least x, for x above the start, needs a u below t(x) / z: one comparison settles almost all items.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints
from toplist.parts.index.beta_draw import CERTAIN, MARGIN, as_limit
from toplist.parts.index.draw_level import LEVEL, first_levels
from toplist.parts.memory.exposure import Exposed

FAR = 2.5  # the outer points of the chords, in units of the distance of the inner ones from the mode
MOST = 0.5  # of the numbers, at most this share may propose a point of the tail
POINTS = 5  # of the chords: two on each side of the mode, and the mode
UNSEEN, NO_TAIL = -1.0, -2.0  # in place of a scale: an item without observations, whose draw is 1 - u; no upper tail


class ExposureDraws(NamedTuple):
    """Per item the tangents and chords of its posterior and the limit of its number; and scratch space."""

    clicked: Floats  # the counts for which these were made; -1 for none
    missed: Floats
    peak: Floats  # the logarithm of the posterior at its mode
    left: Floats  # where the tangents reach the height of the mode
    right: Floats
    rise: Floats  # slopes of the tangents
    fall: Floats
    points: Floats  # (items * POINTS): ends of the chords ...
    heights: Floats  # ... and the logarithm of the posterior there, minus the peak
    start: Floats  # of the upper tail
    scale: Floats  # z times the slope of its tangent
    limit: Ints
    levels: Floats  # as in `draw_level`
    edition: Floats  # one element: the level's edition for which the limits were computed
    items: Ints  # scratch: items to draw for ...
    value: Floats  # ... and their draws
    drawn: Ints  # one element: number of draws, to monitor the cost


def no_exposure_draws(problem: Problem) -> ExposureDraws:
    """Nothing is computed yet."""
    items = problem.items
    return ExposureDraws(
        clicked=np.full(items, -1.0),
        missed=np.zeros(items * problem.positions),
        peak=np.zeros(items),
        left=np.zeros(items),
        right=np.zeros(items),
        rise=np.zeros(items),
        fall=np.zeros(items),
        points=np.zeros(items * POINTS),
        heights=np.zeros(items * POINTS),
        start=np.zeros(items),
        scale=np.zeros(items),
        limit=np.zeros(items, dtype=np.int64),
        levels=first_levels(),
        edition=np.full(1, -1.0),
        items=np.zeros(items, dtype=np.int64),
        value=np.zeros(items),
        drawn=np.zeros(1, dtype=np.int64),
    )


@routine
def log_posterior(belief: Exposed, item: int, theta: float) -> float:
    """S log(theta) + sum_l F_l log(1 - kappa_l theta)."""
    positions = len(belief.examination)
    total = belief.clicked[item] * math.log(theta) if belief.clicked[item] > 0.0 else 0.0
    for position in range(positions):
        missed = belief.missed[item * positions + position]
        if missed > 0.0:
            total += missed * math.log1p(-belief.examination[position] * theta)
    return total


@routine
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


@routine
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
def fill_envelope(belief: Exposed, cache: ExposureDraws, item: int) -> None:
    """Make the tangents and chords of an item's posterior, and the limit of its number."""
    positions = len(belief.examination)
    cache.clicked[item] = belief.clicked[item]
    observed = belief.clicked[item] > 0.0
    for slot in range(item * positions, (item + 1) * positions):
        cache.missed[slot] = belief.missed[slot]
        observed = observed or belief.missed[slot] > 0.0
    mode = posterior_mode(belief, item)
    slope, bend = derivatives(belief, item, mode)
    peak = log_posterior(belief, item, mode)
    # If the mode is an end of [0, 1], the slope there gives the width of the posterior.
    reach = 1.0 / max(abs(slope), math.sqrt(bend), 1e-9)
    points = cache.points[item * POINTS : (item + 1) * POINTS]
    heights = cache.heights[item * POINTS : (item + 1) * POINTS]
    points[0], points[1] = max(mode - FAR * reach, 0.05 * mode), max(mode - reach, 0.1 * mode)
    points[2] = mode
    points[3], points[4] = min(mode + reach, 0.9 + 0.1 * mode), min(mode + FAR * reach, 0.95 + 0.05 * mode)
    for i in range(POINTS):
        heights[i] = min(log_posterior(belief, item, points[i]) - peak, 0.0) if points[i] != mode else 0.0
    cache.peak[item] = peak
    cache.left[item], cache.rise[item], cache.right[item], cache.fall[item] = 0.0, 0.0, 1.0, 0.0
    if mode > 0.0:
        rise = derivatives(belief, item, points[1])[0]
        if rise > 0.0:
            cache.left[item] = max(points[1] - heights[1] / rise, 0.0)
            cache.rise[item] = rise
    if mode < 1.0:
        fall = -derivatives(belief, item, points[3])[0]
        if fall > 0.0:
            cache.right[item] = min(points[3] + heights[3] / fall, 1.0)
            cache.fall[item] = fall
    cache.scale[item] = NO_TAIL if observed else UNSEEN
    if cache.fall[item] > 0.0:
        cache.scale[item] = cache.fall[item] * chord_integral(points, heights)
        cache.start[item] = max(points[3], tail_point(cache, item, MOST))
    cache.limit[item] = exposure_limit(cache, item, cache.levels[LEVEL])


@helper
def chord_integral(points: Floats, heights: Floats) -> float:
    """The integral of the chords, relative to the peak: of exp(a line) over each."""
    total = 0.0
    for i in range(POINTS - 1):
        width, change = points[i + 1] - points[i], heights[i + 1] - heights[i]
        steep = -abs(change)
        mean = math.expm1(steep) / steep if steep < -1e-9 else 1.0 + 0.5 * steep
        total += width * math.exp(max(heights[i], heights[i + 1])) * mean
    return total


@helper
def chord_height(points: Floats, heights: Floats, theta: float) -> float:
    """The logarithm of the chord at a point, relative to the peak; minus infinity outside."""
    if theta < points[0] or theta >= points[POINTS - 1]:
        return -np.inf
    i = 0
    while theta >= points[i + 1]:
        i += 1
    share = (theta - points[i]) / (points[i + 1] - points[i])
    return float(heights[i] + share * (heights[i + 1] - heights[i]))


@helper
def tail_point(cache: ExposureDraws, item: int, u: float) -> float:
    """The point x with t(x) = u z."""
    return float(cache.right[item] - math.log(u * cache.scale[item]) / cache.fall[item])


@routine
def exposure_limit(cache: ExposureDraws, item: int, level: float) -> int:
    """A number of 53 bits such that all draws made from it or a larger one are below a level."""
    least = level - MARGIN
    if least <= 0.0 or cache.scale[item] == NO_TAIL:
        return CERTAIN
    if cache.scale[item] == UNSEEN:
        return as_limit(1.0 - least)
    if least <= cache.start[item]:
        return CERTAIN
    return as_limit(math.exp(-cache.fall[item] * (least - cache.right[item])) / cache.scale[item])


@routine
def draw_exposed(belief: Exposed, cache: ExposureDraws, item: int, u: float, key: int) -> float:
    """The draw from an item's posterior that belongs to a uniform number u, above 0, and a key."""
    cache.drawn[0] += 1
    if cache.scale[item] == UNSEEN:
        return 1.0 - u
    if cache.scale[item] == NO_TAIL:
        return draw_from_posterior(belief, cache, item, branch(key, 2))
    theta = tail_point(cache, item, u)
    if theta > cache.start[item] and is_accepted(belief, cache, item, theta, key):
        return theta
    attempt = 3
    while True:
        theta = draw_from_posterior(belief, cache, item, branch(key, attempt))
        if theta <= cache.start[item]:
            return theta
        attempt += 1


@helper
def is_accepted(belief: Exposed, cache: ExposureDraws, item: int, theta: float, key: int) -> bool:
    """Whether a proposed point of the tail is drawn."""
    if theta >= 1.0:
        return False
    tangent = -cache.fall[item] * (theta - cache.right[item])
    if math.log(1.0 - uniform(key, 0)) > log_posterior(belief, item, theta) - cache.peak[item] - tangent:
        return False
    here = slice(item * POINTS, (item + 1) * POINTS)
    other = draw_from_posterior(belief, cache, item, branch(key, 2))
    chord = chord_height(cache.points[here], cache.heights[here], other)
    return bool(math.log(1.0 - uniform(key, 1)) <= chord - (log_posterior(belief, item, other) - cache.peak[item]))


@routine
def draw_from_posterior(belief: Exposed, cache: ExposureDraws, item: int, key: int) -> float:
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
