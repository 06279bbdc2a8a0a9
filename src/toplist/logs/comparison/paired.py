"""Differences between two models on the same lists, with confidence intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.support.intervals import NORMAL_95

ROUNDING = 1e-12  # log-likelihoods nearer than this, absolute or relative, are equal: models may contain each other


class PairedDifference(NamedTuple):
    """Difference of the log-likelihood per list of two models on the same lists.

    Parameters
    ----------
    mean : float
        First minus second model; minus infinity if the first gives a list probability 0.
    low, high : float
        95% confidence limits, from the differences list by list, or visitor by visitor; NaN without them.
    """

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.high < 0.0 or self.low > 0.0 or self.mean == -np.inf


def paired_difference(one: Floats, other: Floats, weight: Floats, visitor: Any = None) -> PairedDifference:
    """The mean difference of two models, with its 95% confidence interval.

    Parameters
    ----------
    one, other : ndarray of float
        Log-likelihood of each list; lists that are NaN for one of them are left out.
    weight : ndarray of float
        How many independent lists each stands for.
    visitor : ndarray of int, optional
        Visitor of each list; lists of one visitor may depend on each other.

    Returns
    -------
    PairedDifference
        The difference per list.

    Examples
    --------
    >>> one, other = np.array([-1.0, -2.0, -3.0, -2.0]), np.array([-1.5, -2.0, -3.5, -3.0])
    >>> paired_difference(one, other, np.ones(4))
    PairedDifference(mean=0.5, low=0.0999..., high=0.9000...)
    """
    kept = ~(np.isnan(one) | np.isnan(other)) & (weight > 0)
    one, other, weight = one[kept], other[kept], weight[kept]
    lists = float(weight.sum())
    if not lists or np.isneginf(other).any():
        return PairedDifference(float("nan"), float("nan"), float("nan"))
    if np.isneginf(one).any():
        return PairedDifference(float("-inf"), float("nan"), float("nan"))
    difference = np.where(np.isclose(one, other, rtol=ROUNDING, atol=ROUNDING), 0.0, one - other)
    mean = float(difference @ weight / lists)
    distance = difference - mean
    if visitor is None:
        squares, count = float(distance**2 @ weight), lists
    else:
        _, code = np.unique(np.asarray(visitor)[kept], return_inverse=True)
        sums = np.bincount(code, weights=weight * distance)
        squares, count = float((sums**2).sum()), float(len(sums))
    return difference_from_sums(mean, squares, count, lists)


def difference_from_sums(mean: float, squares: float, count: float, lists: float) -> PairedDifference:
    """The interval of a mean over lists, from the sum of squares of its independent terms and their number."""
    if count <= 1:
        return PairedDifference(mean, float("nan"), float("nan"))
    half = NORMAL_95 * float(np.sqrt(squares * count / (count - 1.0))) / lists
    return PairedDifference(mean, mean - half, mean + half)
