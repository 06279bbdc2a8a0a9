"""A draw from a Beta posterior whose first uniform number alone shows, for most items, that the draw is small.

The posterior of S clicks and F refusals is Beta(1 + S, 1 + F). On the scale of w = -log(1 - x), the logarithm of its
density is concave, so that above a `start`, somewhat to the right of the mode, the density lies below an exponential
function. Let E be the mass under that function. A uniform number u below E proposes the point of the tail beyond which
the mass is u, and a second number accepts it with the ratio of the densities. So every point of the tail is drawn with
its own density, without knowing the probability of the tail; otherwise the draw is from the rest of the posterior,
below the start.

Hence a draw of at least t, for t above the start, needs a u below the mass beyond t: one comparison settles almost all
items, and only the others are drawn. Without clicks the density is the exponential function itself, with start 0 and
mass 1, and without refusals the draw is the quantile of u.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from toplist.core.compiling import helper, routine
from toplist.core.randomness import beta, branch, uniform

NOTHING = 1e-9  # fewer clicks or refusals count as none: the distribution differs by less than that
NEAR, FAR = 1.5, 2.5  # standard deviations from the mode to the start of the tail, as one chooses ...
SHARE = 0.6  # ... but at most this share of the way to 1
LARGE = 8.0  # from here on, Stirling's series is accurate to 1e-13
ONLY_CLICKED = -1.0  # a start that marks a posterior without refusals
EVERYTHING = -1.0  # a level that every draw reaches
CERTAIN = 1 << 53  # a limit that every number is below
SLACK, MARGIN = 1e-6, 1e-12  # relative margin of a limit, and how far below its level it is computed


class Tail(NamedTuple):
    """The function mass ((1 - x) / (1 - start))^rate: no less than the probability of a draw above any x > start."""

    start: float
    rate: float
    mass: float


@helper
def stirling_series(n: float) -> float:
    """log n! - log(sqrt(2 pi n) (n / e)^n) for n of at least LARGE."""
    inverse = 1.0 / n
    square = inverse * inverse
    return inverse * (
        1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)))
    )


@helper
def log_factorial_rest(n: float) -> float:
    """log n! - log((n / e)^n) for any n above 0."""
    upper, product = n, 1.0
    while upper < LARGE:
        upper += 1.0
        product *= upper
    rest = stirling_series(upper) + 0.5 * math.log(2.0 * math.pi * upper)
    if upper == n:
        return rest
    return rest + (upper * math.log(upper) - upper) - (n * math.log(n) - n) - math.log(product)


@helper
def way_to_start(clicks: float, refusals: float, reach: float) -> float:
    """The way from the mode to the start of the tail, if there are clicks and refusals."""
    total = clicks + refusals
    deviation = math.sqrt((clicks + 1.0) * (refusals + 1.0) / (total + 3.0)) / (total + 2.0)
    return min(reach * deviation, SHARE * refusals / total)


@helper
def start_of_tail(clicks: float, refusals: float, reach: float) -> float:
    """Where the tail of Beta(1 + clicks, 1 + refusals) starts."""
    if refusals < NOTHING:
        return ONLY_CLICKED
    return clicks / (clicks + refusals) + way_to_start(clicks, refusals, reach) if clicks >= NOTHING else 0.0


@routine
def beta_tail(clicks: float, refusals: float, reach: float = NEAR) -> Tail:
    """The tail of Beta(1 + clicks, 1 + refusals): a pure function of both, and of how far from the mode it starts."""
    if refusals < NOTHING:
        return Tail(ONLY_CLICKED, 1.0 + (clicks if clicks >= NOTHING else 0.0), 1.0)
    if clicks < NOTHING:
        return Tail(0.0, 1.0 + refusals, 1.0)
    total = clicks + refusals
    mode, other = clicks / total, refusals / total
    beyond = way_to_start(clicks, refusals, reach)
    start, left = mode + beyond, other - beyond
    rate = 1.0 + total * beyond / start
    # The density at the mode by Stirling's formula, in which nothing large cancels, times its decrease from there on.
    decrease = clicks * math.log1p(beyond / mode) + refusals * math.log1p(-beyond / other)
    if clicks >= LARGE and refusals >= LARGE:
        series = stirling_series(total) - stirling_series(clicks) - stirling_series(refusals)
        height = math.sqrt(total / (2.0 * math.pi * clicks * refusals)) * math.exp(series + decrease)
    else:
        rest = log_factorial_rest(total) - log_factorial_rest(clicks) - log_factorial_rest(refusals)
        height = math.exp(rest + decrease)
    return Tail(start, rate, (total + 1.0) * height * left / rate)


@helper
def as_limit(chance: float) -> int:
    """A probability as a number of 53 bits, rounded up by more than any rounding before."""
    return int(min(chance * (1.0 + SLACK), 1.0) * CERTAIN) + 2


@routine
def beta_limit(tail: Tail, level: float) -> int:
    """A number of 53 bits such that all draws made from it or a larger one are below a level."""
    least = level - MARGIN
    if least <= 0.0:
        return CERTAIN
    if tail.start == ONLY_CLICKED:
        return as_limit(-math.expm1(tail.rate * math.log(least)))
    if least <= tail.start:
        return CERTAIN
    return as_limit(tail.mass * math.exp(tail.rate * math.log((1.0 - least) / (1.0 - tail.start))))


@routine
def shrinking_limit(clicks: float, refusals: float, level: float, shrink: float) -> int:
    """The same for all counts that are s times these, s from `shrink` to 1: those of a discounted memory, for a while.

    On the scale of w, let h(s) be the logarithm of the decrease of the exponential function from the mode of x, where
    the density of x is C(s), to the level. The mass beyond the level is C(s) exp(-h(s)) / rate(s), where the logarithm
    of the density of w is -w minus s times a function that is convex there. C grows with s. If s shrinks, the start
    moves to the right, so the tangent to that function gets steeper and, at the level, higher. Therefore with
    slope = rate(1) - 1, rate(s) >= 1 + s slope, and h(s) is at least the way w to the level plus s times the rest of
    h(1), which is at most slope times that way.
    """
    tail, least = beta_tail(clicks, refusals), level - MARGIN
    if least <= 0.0:
        return CERTAIN
    if tail.start == ONLY_CLICKED:
        return beta_limit(tail, level)
    if tail.start == 0.0:
        return beta_limit(Tail(0.0, 1.0 + shrink * (tail.rate - 1.0), 1.0), level)
    if shrink * min(clicks, refusals) < NOTHING or least <= beta_tail(shrink * clicks, shrink * refusals).start:
        return CERTAIN
    far = math.log((1.0 - clicks / (clicks + refusals)) / (1.0 - least))
    near = math.log((1.0 - tail.start) / (1.0 - least))
    gained = (1.0 - shrink) * (tail.rate - 1.0) * far
    return as_limit(tail.mass / shrink * math.exp(gained - tail.rate * near))


@routine
def draw_beta(clicks: float, refusals: float, tail: Tail, u: float, key: int) -> float:
    """The draw from Beta(1 + clicks, 1 + refusals) that belongs to a uniform number u, above 0, and a key."""
    return draw_to_level(clicks, refusals, tail, u, key, EVERYTHING)


@routine
def draw_to_level(clicks: float, refusals: float, tail: Tail, u: float, key: int, level: float) -> float:
    """The same draw if it reaches a level; otherwise some number below the level, which is often quicker to find."""
    if tail.start == ONLY_CLICKED:
        return math.exp(math.log1p(-u) / tail.rate) if u < 1.0 else 0.0
    if u <= tail.mass:
        way = -math.log(u / tail.mass) / tail.rate
        beyond = -(1.0 - tail.start) * math.expm1(-way)
        if tail.start == 0.0:
            return beyond
        ratio = clicks * math.log1p(beyond / tail.start) - (1.0 + refusals - tail.rate) * way
        if math.log(1.0 - uniform(key, 0)) <= ratio:
            return tail.start + beyond
    if tail.start < level:
        return tail.start  # the draw is below it
    attempt = 1
    while True:
        drawn = beta(branch(key, attempt), 1.0 + clicks, 1.0 + refusals)
        if drawn < tail.start:
            return drawn
        attempt += 1
