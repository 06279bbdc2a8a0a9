"""A draw from a Beta posterior whose first uniform number alone shows, for most items, that the draw is small.

The posterior of S clicks and F refusals is Beta(1 + S, 1 + F). Above its `start`, somewhat to the right of the mode, its
density lies below an exponential function, since its logarithm is concave. Let E be the mass under that function. A
uniform number u below E proposes the point of the tail beyond which the mass is u, and a second number accepts it with
the ratio of the densities. So every point of the tail is drawn with its own density, without knowing the probability
of the tail; otherwise the draw is from the rest of the posterior, below the start.

Hence a draw of at least t, for t above the start, needs a u below the mass beyond t: one comparison settles almost all
items, and only the others are drawn. Where S or F is 0, the draw is the quantile of u itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from toplist.core.compiling import helper, routine
from toplist.core.randomness import beta, branch, uniform

NOTHING = 1e-9  # fewer clicks or refusals count as none: the distribution differs by less than that
REACH = 1.5  # standard deviations from the mode to the start of the tail ...
SHARE = 0.6  # ... but at most this share of the way to 1
LARGE = 8.0  # from here on, Stirling's series is accurate to 1e-13
ONLY_REFUSED, ONLY_CLICKED = -1.0, -2.0  # starts that mark posteriors with a closed form
CERTAIN = 1 << 53  # a limit that every number is below
SLACK, MARGIN = 1e-6, 1e-12  # relative margin of a limit, and how far below its level it is computed


class Tail(NamedTuple):
    """The exponential function above the upper tail of a posterior; for closed forms, `rate` is their exponent."""

    start: float
    rate: float
    mass: float  # from the start to infinity


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


@routine
def beta_tail(clicks: float, refusals: float) -> Tail:
    """The tail of Beta(1 + clicks, 1 + refusals): a pure function of both."""
    if clicks < NOTHING:
        return Tail(ONLY_REFUSED, 1.0 + (refusals if refusals >= NOTHING else 0.0), 0.0)
    if refusals < NOTHING:
        return Tail(ONLY_CLICKED, 1.0 + clicks, 0.0)
    total = clicks + refusals
    mode, other, both = clicks / total, refusals / total, total + 2.0
    deviation = math.sqrt((clicks + 1.0) * (refusals + 1.0) / (total + 3.0)) / both
    beyond = min(REACH * deviation, SHARE * other)
    start, left = mode + beyond, other - beyond
    rate = total * beyond / (start * left)
    # The density at the mode by Stirling's formula, in which nothing large cancels, times its decrease from there on.
    decrease = clicks * math.log1p(beyond / mode) + refusals * math.log1p(-beyond / other)
    if clicks >= LARGE and refusals >= LARGE:
        series = stirling_series(total) - stirling_series(clicks) - stirling_series(refusals)
        height = math.sqrt(total / (2.0 * math.pi * clicks * refusals)) * math.exp(series + decrease)
    else:
        rest = log_factorial_rest(total) - log_factorial_rest(clicks) - log_factorial_rest(refusals)
        height = math.exp(rest + decrease)
    return Tail(start, rate, (total + 1.0) * height / rate)


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
    if tail.start == ONLY_REFUSED:
        return as_limit(math.exp(tail.rate * math.log1p(-least)))
    if tail.start == ONLY_CLICKED:
        return as_limit(-math.expm1(tail.rate * math.log(least)))
    if least <= tail.start:
        return CERTAIN
    return as_limit(tail.mass * math.exp(-tail.rate * (least - tail.start)))


@routine
def shrinking_limit(clicks: float, refusals: float, level: float, shrink: float) -> int:
    """The same for all counts that are s times these, s from `shrink` to 1: those of a discounted memory, for a while.

    Let h(s) be the logarithm of the decrease of the exponential function from the mode, where the density is C(s), to
    the level; the mass beyond is C(s) exp(-h(s)) / rate(s). The deviance is s times a convex function. C grows with s.
    If s shrinks, the start moves to the right, so the tangent there gets steeper relative to s, and higher at the
    level: rate(s) >= s rate(1), and h(s) >= s h(1). And h(1) <= rate(1) (level - mode), as the function is convex.
    """
    tail, least = beta_tail(clicks, refusals), level - MARGIN
    if least <= 0.0:
        return CERTAIN
    if tail.start == ONLY_REFUSED:
        return as_limit(math.exp((1.0 + shrink * (tail.rate - 1.0)) * math.log1p(-least)))
    if tail.start == ONLY_CLICKED:
        return beta_limit(tail, level)
    if shrink * min(clicks, refusals) < NOTHING or least <= beta_tail(shrink * clicks, shrink * refusals).start:
        return CERTAIN
    mode = clicks / (clicks + refusals)
    decrease = tail.rate * ((least - tail.start) - (1.0 - shrink) * (least - mode))
    return as_limit(tail.mass / shrink * math.exp(-decrease))


@routine
def draw_beta(clicks: float, refusals: float, tail: Tail, u: float, key: int) -> float:
    """The draw from Beta(1 + clicks, 1 + refusals) that belongs to a uniform number u, above 0, and a key."""
    if tail.start == ONLY_REFUSED:
        return -math.expm1(math.log(u) / tail.rate)
    if tail.start == ONLY_CLICKED:
        return math.exp(math.log1p(-u) / tail.rate) if u < 1.0 else 0.0
    if u < tail.mass:
        left, share = 1.0 - tail.start, u / tail.mass
        width = tail.rate * left
        # The function ends at 1. If most of it lies there, its logarithm needs differences from 1, else from 0.
        beyond = -math.log(share + math.exp(-width)) if width > 1.0 else -math.log1p(share + math.expm1(-width))
        beyond /= tail.rate
        if 0.0 < beyond < left:
            ratio = clicks * math.log1p(beyond / tail.start) + refusals * math.log1p(-beyond / left)
            if math.log(1.0 - uniform(key, 0)) <= ratio + tail.rate * beyond:
                return tail.start + beyond
    attempt = 1
    while True:
        drawn = beta(branch(key, attempt), 1.0 + clicks, 1.0 + refusals)
        if drawn < tail.start:
            return drawn
        attempt += 1
