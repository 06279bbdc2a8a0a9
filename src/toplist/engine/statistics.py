"""Standard errors, paired confidence intervals of differences and ratios, and the number of decimals to print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import refuse, whole
from toplist.core.slate import Floats

MANY = 10_000  # degrees of freedom from which an expansion around the normal quantile is exact to 1e-11


class Difference(NamedTuple):
    """Paired difference of two policies, with its confidence interval.

    Parameters
    ----------
    mean : float
        Mean of (a - b) over the runs.
    low, high : float
        Ends of Student's confidence interval of that mean, paired by run; infinite with one run.
    ratio : float
        Mean of a over mean of b.
    """

    mean: float
    low: float
    high: float
    ratio: float


class Ratio(NamedTuple):
    """Ratio of the regret of two policies, with its confidence interval.

    Parameters
    ----------
    value : float
        Mean of a over mean of b; nan where the mean of b is not above 0.
    low, high : float
        Ends of the confidence interval by the delta method, paired by run; infinite with one run.
    """

    value: float
    low: float
    high: float


def _central_probability(angle: float, freedom: int) -> float:
    """P(|T| <= sqrt(freedom) tan(angle)) for Student's T: the finite sums for odd and even degrees of freedom."""
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    if freedom == 1:
        return 2 * angle / math.pi
    term = cosine if odd else 1.0
    total = term
    for j in range(1, (freedom - odd) // 2):
        term *= cosine * cosine * (2 * j - 1 + odd) / (2 * j + odd)
        total += term
        if term < 1e-20 * total:  # later terms are smaller still
            break
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


@lru_cache(maxsize=256)
def _quantile(freedom: int, confidence: float) -> float:
    """`t_quantile` of checked arguments."""
    if freedom > MANY:
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        return z + first / freedom + second / freedom**2
    # The angle is bounded, so bisection needs no search for a bracket.
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _central_probability(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(middle)


def t_quantile(freedom: int, confidence: float) -> float:
    """The t with P(-t <= T <= t) = `confidence` for Student's T with a whole number of degrees of freedom.

    >>> round(t_quantile(9, 0.95), 6)
    2.262157
    """
    freedom = whole("degrees of freedom", freedom, 1, "give the number of runs less one")
    return _quantile(freedom, checked_confidence(confidence))


def checked_confidence(confidence: Any) -> float:
    """`confidence` as a float strictly between 0 and 1, or the error that says why not."""
    try:
        share = float(confidence)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 < share < 1:
        advice = "give 0.95 for the usual interval"
        raise refuse("confidence", confidence, "a number strictly between 0 and 1", advice)
    return share


def standard_error(values: Floats) -> Floats:
    """The standard error of the mean over the first axis; nan where there is only one value.

    >>> float(standard_error(np.array([1.0, 2.0, 3.0, 4.0])).round(6))
    0.645497
    """
    count = len(values)
    if count == 1:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(count), dtype=np.float64)


def paired_difference(a: Floats, b: Floats, confidence: float = 0.95) -> Difference:
    """Student's interval of the mean of (a - b), where a[r] and b[r] come from the same run r.

    >>> round(paired_difference(np.array([5.0, 7.0, 9.0]), np.array([4.0, 5.0, 6.0])).low, 6)
    -0.484138
    """
    confidence = checked_confidence(confidence)
    differences = a - b
    mean = float(differences.mean())
    half = math.inf
    if len(differences) > 1:
        half = float(standard_error(differences)) * t_quantile(len(differences) - 1, confidence)
    return Difference(mean, mean - half, mean + half, ratio(float(a.mean()), float(b.mean())))


def paired_ratio(a: Floats, b: Floats, confidence: float = 0.95) -> Ratio:
    """Mean a over mean b, where a[r] and b[r] come from the same run r, with an interval by the delta method.

    The standard error of the ratio R is that of the mean of (a - R b), divided by the mean of b; the quantile is
    Student's, as for differences. If the mean of b is not above 0, the ratio is meaningless and nan.

    >>> tuple(round(number, 6) for number in paired_ratio(np.array([5.0, 7.0, 9.0]), np.array([4.0, 5.0, 6.0])))
    (1.4, 1.101903, 1.698097)
    """
    confidence = checked_confidence(confidence)
    below = float(b.mean())
    if not below > 0:
        return Ratio(math.nan, math.nan, math.nan)
    value, half = ratio(float(a.mean()), below), math.inf
    if len(a) > 1:
        half = float(standard_error(a - value * b)) / below * t_quantile(len(a) - 1, confidence)
    return Ratio(value, value - half, value + half)


def ratio(a: float, b: float) -> float:
    """`a` over `b`; infinite if only `b` is zero, and nan if both are.

    >>> ratio(3.0, 2.0), ratio(1.0, 0.0)
    (1.5, inf)
    """
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, a)
    return a / b


def finite_or_none(value: float) -> float | None:
    """A number as JSON can hold it: None for nan and infinity.

    >>> finite_or_none(2.5), finite_or_none(math.inf)
    (2.5, None)
    """
    return value if math.isfinite(value) else None


def decimals(means: Sequence[float], errors: Sequence[float]) -> int:
    """Number of decimals to print: two digits of a typical standard error, else of 1% of the largest mean."""
    known = [error for error in errors if error > 0]  # nan is not
    size = float(np.median(known)) if known else max(map(abs, means)) / 100
    return min(max(1 - math.floor(math.log10(size)), 0), 4) if size > 0 else 1


def number_texts(values: Sequence[float], digits: int, sign: str = "") -> list[str]:
    """Numbers as texts of equal width and with the same number of decimals.

    >>> number_texts([3.14159, 2718.28], 1, "+")
    ['    +3.1', '+2,718.3']
    """
    texts = []
    for value in values:
        kind = f"z,.{digits}f" if abs(value) < 1e12 else ".4g"  # z: no minus before a rounded zero
        texts.append("n/a" if math.isnan(value) else format(value, sign + kind))
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]
