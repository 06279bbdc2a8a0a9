"""Compares two means: the difference and the ratio, with an interval for one look and a sequence for any number.

The fixed-horizon interval holds the truth with the stated confidence at one look that was planned beforehand. The
confidence sequence does at all looks together, so that one may look at any time and stop for any reason.

The sequence is Robbins' normal mixture in the time of the information I = 1 / variance of the estimate: with
r = start / I, the radius is the standard error times sqrt((1 + r) log((1 + r) / (r alpha^2))). It is asymptotic, as in
Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic confidence
sequences" (Annals of Statistics 2024), and begins once both groups have enough visitors (`is_enough`). Visitors
come again, and their lists are alike, so that the error of the estimate is no Brownian motion; but its looks are
then correlated more than those of a Brownian motion with the same variances, and by Slepian's inequality a boundary is
crossed less often.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from toplist.uplift.sums import GroupSums, RatioEstimate

LEAST_VISITORS = 100.0  # effective ones in each group, before which no interval is given
LEAST_RESULTS = 20  # clicks in each group, likewise
START_SHARE = 0.25  # of the first information: makes the sequence narrowest from then to some twenty times as much


class UpliftInterval(NamedTuple):
    """An interval that may hold the truth."""

    low: float
    high: float


class SequenceStart(NamedTuple):
    """The information from which the sequences of a metric are measured; 0 before they begin."""

    difference: float = 0.0
    ratio: float = 0.0


class GroupComparison(NamedTuple):
    """An estimate with its intervals; None where there are too few visitors."""

    estimate: float
    sequence: UpliftInterval | None  # valid however often one looks
    fixed_horizon: UpliftInterval | None  # valid at one look that was planned beforehand


def is_enough(sums: GroupSums, metric: int) -> bool:
    """Whether the mean of a group is close to normal: enough visitors, even where a few have most lists, and clicks."""
    return sums.effective_visitors >= LEAST_VISITORS and sums.total(metric) >= LEAST_RESULTS


def sequence_radius(variance: Any, start: Any, alpha: float = 0.05) -> Any:
    """Radius of the confidence sequence.

    Parameters
    ----------
    variance : float or array
        Variance of the estimate.
    start : float
        Information that the sequence is tuned for.
    alpha : float, default 0.05
        Chance that the truth is ever outside.

    Returns
    -------
    float or array

    Examples
    --------
    One and a half times the radius for one look, where the information is some times the start.

    >>> round(float(sequence_radius(0.01, 10.0)) / (1.96 * 0.1), 2)
    1.55
    """
    grown = start * variance  # r
    return np.sqrt(variance * (1.0 + grown) * np.log((1.0 + grown) / (grown * alpha * alpha)))


@cache
def normal_quantile(alpha: float) -> float:
    """How many standard errors an interval for one look reaches to each side.

    >>> round(normal_quantile(0.05), 2)
    1.96
    """
    return NormalDist().inv_cdf(1.0 - alpha / 2.0)


def difference(policy: RatioEstimate, holdout: RatioEstimate) -> RatioEstimate:
    """The difference of two means, with its variance.

    >>> difference(RatioEstimate(0.3, 0.01), RatioEstimate(0.25, 0.02))
    RatioEstimate(mean=0.04999999999999999, variance=0.03)
    """
    return RatioEstimate(policy.mean - holdout.mean, policy.variance + holdout.variance)


def ratio(policy: RatioEstimate, holdout: RatioEstimate) -> RatioEstimate:
    """The logarithm of the ratio of two positive means, with its variance by the delta method."""
    variance = policy.variance / policy.mean**2 + holdout.variance / holdout.mean**2
    return RatioEstimate(np.log(policy.mean / holdout.mean), variance)


def first_information(found: RatioEstimate) -> float:
    """The start of a sequence that begins now; 0 if it cannot, since the variance is 0."""
    return float(START_SHARE / found.variance) if found.variance > 0.0 else 0.0


def compare(found: RatioEstimate, start: float, alpha: float = 0.05) -> GroupComparison:
    """An estimate with its intervals; without a start, it has none."""
    if start == 0.0 or found.variance <= 0.0:
        return GroupComparison(float(found.mean), None, None)
    wide = float(sequence_radius(found.variance, start, alpha))
    narrow = normal_quantile(alpha) * float(np.sqrt(found.variance))
    mean = float(found.mean)
    return GroupComparison(mean, UpliftInterval(mean - wide, mean + wide), UpliftInterval(mean - narrow, mean + narrow))


def compare_ratio(logarithm: RatioEstimate, start: float, alpha: float = 0.05) -> GroupComparison:
    """A ratio with its intervals, from its logarithm.

    >>> found = compare_ratio(RatioEstimate(0.0, 0.01), 10.0)
    >>> found.estimate, round(found.fixed_horizon.low * found.fixed_horizon.high, 9)
    (1.0, 1.0)
    """
    mean, *intervals = compare(logarithm, start, alpha)
    sequence, fixed = (None if one is None else UpliftInterval(*np.exp(one).tolist()) for one in intervals)
    return GroupComparison(float(np.exp(mean)), sequence, fixed)
