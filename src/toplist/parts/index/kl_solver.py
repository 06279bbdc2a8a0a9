"""The KL-UCB index of one item, as a function of its counts and the budget; and the budget."""

from __future__ import annotations

import math

import numpy as np

from toplist.core.compiling import helper, in_bulk, routine
from toplist.core.slate import Floats, Ints
from toplist.parts.memory.counts import Counts

BELOW_1 = 1.0 - 2.0**-53
ROUNDING = 1e-12  # more than that of an index or a sum of few terms
ACCURATE, NEAR = 0.04, 16.0  # squares of `normal` up to which the series gives an index to 1e-8, or a start
STEPS = 3  # from there, at most
CLOSE = 4e-6  # errors of estimates that leave the order of few items open
HALF, ONE = np.float32(0.5), np.float32(1.0)


@routine
def kl_upper(examined: float, clicked: float, budget: float) -> float:
    """The largest q in [p, 1] with `T KL(p || q) <= budget`, where p = clicked / T; infinity for T = 0.

    A third-order iteration between brackets, from a start that depends on the arguments alone.
    """
    if examined <= 0.0:
        return np.inf
    mean = clicked / examined
    radius = budget / examined
    if mean >= 1.0:
        return 1.0
    if radius <= 0.0:
        return mean
    if mean <= 0.0:
        return -math.expm1(-radius)
    # In terms of d = q - p the terms of KL cancel without loss. Start from the inverse of its power series.
    other = 1.0 - mean
    variance = mean * other
    normal = math.sqrt(2.0 * radius / variance)
    d = kl_series(mean, variance, normal)
    low, high = 0.0, min(math.sqrt(0.5 * radius), other)  # Pinsker's inequality
    if normal > 2.5 or d >= 0.9 * high:
        # Far out, start from a bound that is tight near 1: KL without the contribution of q itself.
        entropy = mean * math.log(mean) + other * math.log(other)
        high = min(high, other - math.exp((entropy - radius) / other))
        d = high
    if d <= 0.0:  # too small for a number
        if high <= 1e-16:
            return mean
        d = 0.5 * high
    per_mean, per_other = 1.0 / mean, 1.0 / other
    for _ in range(60):
        rest = other - d
        if rest <= 0.0:
            return 1.0
        q = mean + d
        excess = -mean * math.log1p(d * per_mean) - other * math.log1p(-min(d * per_other, BELOW_1)) - radius
        if excess > 0.0:
            high = d
        else:
            low = d
        # Householder's third-order step: the error goes with its fourth power.
        inverse = 1.0 / (q * rest)
        per_q, per_rest = inverse * rest, inverse * q
        per_slope = q * rest / d
        from_q, from_rest = mean * per_q * per_q, other * per_rest * per_rest
        bend = 0.5 * (from_q + from_rest) * per_slope
        twist = (from_rest * per_rest - from_q * per_q) * per_slope / 3.0
        newton = excess * per_slope
        bottom = 1.0 - 2.0 * bend * newton + twist * newton * newton
        step = newton * (1.0 - bend * newton) / bottom if bottom != 0.0 else np.inf
        following = d - step
        if low < following < high:
            d = following
            if abs(step) <= 1e-3 * min(d, rest):
                break
        elif high - low <= 1e-16 or step == 0.0:
            break
        else:
            d = 0.5 * (low + high)
    return mean + d


@helper
def kl_series(mean: float, variance: float, normal: float) -> float:
    """The first terms of the distance of `kl_upper` from the mean, as a series in `normal`, sqrt(2 radius / variance).

    The error is at most 5e-4 variance normal^6 for `normal` up to 2.
    """
    skew = (1.0 - mean) - mean
    fifth = (1.0 - variance * (26.0 - 313.0 * variance)) / 4320.0
    fourth = -skew * (1.0 + 23.0 * variance) / 270.0 + normal * fifth
    third = (1.0 - 13.0 * variance) / 36.0 + normal * fourth
    return variance * normal * (1.0 + normal * (skew / 3.0 + normal * third))


@helper
def kl_estimate(examined: float, clicked: float, budget: float) -> tuple[float, float]:
    """An estimate of `kl_upper` without its logarithms, and a bound of the error; where there is none, `kl_upper`.

    The series; and, unless it is accurate, steps of Halley's method in single precision.
    """
    if clicked > 0.0 and clicked < examined:
        per_try = 1.0 / examined
        mean = clicked * per_try
        other = 1.0 - mean
        variance, radius = mean * other, budget * per_try
        square = 2.0 * radius / variance
        if square <= NEAR:
            d = kl_series(mean, variance, math.sqrt(square))
            if square <= ACCURATE:
                return mean + d, ROUNDING + 5e-4 * variance * square * square * square
            for _ in range(STEPS):
                if not 0.0 < d < 0.9 * other:
                    break
                step = kl_step(np.float32(mean), np.float32(other), np.float32(d), np.float32(radius))
                small = min(d, other - d)
                error = 2e-6 * (mean + d) * other + 10.0 * abs(step * step * step) / (small * small)
                d -= step
                if error <= CLOSE:
                    return mean + d, error
    return kl_upper(examined, clicked, budget), 0.0


@helper
def kl_step(mean: np.float32, other: np.float32, d: np.float32, radius: np.float32) -> float:
    """Halley's step from a distance to that of `kl_upper`, in single precision."""
    q, rest = mean + d, other - d
    excess = -mean * math.log1p(d / mean) - other * math.log1p(-(d / other)) - radius
    per_slope = q * rest / d
    newton = excess * per_slope
    bend = HALF * (mean / (q * q) + other / (rest * rest)) * per_slope
    return float(newton / (ONE - bend * newton))


@helper
def fill_kl_upper(belief: Counts, items: Ints, budget: float, upper: Floats) -> None:
    """Fill `kl_upper` for some items."""
    for i in range(len(items)):
        upper[i] = kl_upper(belief.examined[items[i]], belief.clicked[items[i]], budget)


fill_kl_upper_in_bulk = in_bulk(fill_kl_upper)


@helper
def kl_slope(examined: float, clicked: float, upper: float) -> float:
    """Derivative of `kl_upper` with respect to the budget, where it is `upper`."""
    mean = clicked / examined
    return upper * (1.0 - upper) / (examined * (upper - mean)) if upper > mean else 0.0


@helper
def kl_bend(examined: float, clicked: float, upper: float) -> float:
    """Half of the negative second derivative: the index stays above upper + slope d - bend d^2."""
    mean = clicked / examined
    above = upper - mean
    if above <= 0.0:
        return 0.0
    return 0.5 * kl_slope(examined, clicked, upper) * (mean * (1.0 - mean) / (above * above) + 1.0) / examined


@routine
def kl_tangent(examined: float, clicked: float, budget: float) -> tuple[float, float]:
    """`kl_upper`, and its derivative."""
    upper = kl_upper(examined, clicked, budget)
    return upper, kl_slope(examined, clicked, upper) if clicked < examined else 0.0


@helper
def kl_budget(belief: Counts, loglog: float) -> float:
    """The budget of the next list, in the units of the counts."""
    return float(exploration_budget(belief.clock[0] + 1.0, loglog) * belief.unit[0])


@helper
def exploration_budget(t: float, loglog: float) -> float:
    """log t + loglog log log t, where log log t is 0 until log t exceeds 1."""
    log = math.log(t)
    return log + loglog * math.log(log) if log > 1.0 else log
