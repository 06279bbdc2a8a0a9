"""An estimate as a function of means over lists, from which every sort of interval is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats


class MeanEstimate(NamedTuple):
    """A value that is a function of the means of some columns over the lists of a log.

    Parameters
    ----------
    value : float
        The estimate.
    per_list : ndarray of float
        What each list contributes: its mean is the value, and its spread gives the error. For a ratio or a fitted model
        it is linear in the list, so that the error holds for many lists.
    columns : ndarray of float, shape (lists, columns)
        What each list adds to the means.
    combine : callable
        The value of means of the columns, along the last axis.
    bounds : tuple of float or None
        Least and largest possible contribution of a list; None if unknown, or if the value is no plain mean.
    """

    value: float
    per_list: Floats
    columns: Floats
    combine: Callable[[Floats], Floats]
    bounds: tuple[float, float] | None = None

    @classmethod
    def plain(cls, per_list: Floats, weight: Floats, bounds: tuple[float, float] | None = None) -> MeanEstimate:
        """A plain mean of contributions.

        Parameters
        ----------
        per_list : ndarray of float
            Contributions.
        weight : ndarray of float
            Number of equal lists that each stands for.
        bounds : tuple of float, optional
            Least and largest possible contribution.

        Returns
        -------
        MeanEstimate
            The estimate.
        """
        return cls(float(weight @ per_list / weight.sum()), per_list, per_list[:, None], first_column, bounds)


def first_column(means: Floats) -> Floats:
    """The only mean."""
    found: Floats = means[..., 0]
    return found


def ratio_sum(means: Floats) -> Floats:
    """Sum over positions of share x (mean of weighted clicks / mean weight); the three follow each other.

    >>> float(ratio_sum(np.array([0.2, 0.1, 0.5, 0.5, 1.0, 1.0])))
    0.6...
    """
    clicks, weights, share = np.split(means, 3, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.where(weights > 0, share * clicks / weights, 0.0)
    return np.asarray(terms.sum(axis=-1))
