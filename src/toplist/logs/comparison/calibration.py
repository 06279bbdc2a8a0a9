"""Predicted against observed click-through: by predicted probability, and by position."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.support.intervals import wilson_interval

# Narrow where most predictions are: click-through rates are small.
EDGES = np.array([0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


class Rates(NamedTuple):
    """Predicted and observed click-through rates of several groups of positions shown.

    Parameters
    ----------
    shown : ndarray of float
        Number of positions shown in each group, weighted.
    predictions : ndarray of float
        Sum of the predicted probabilities, weighted.
    clicks : ndarray of float
        Number of clicks, weighted.
    """

    shown: Floats
    predictions: Floats
    clicks: Floats

    @property
    def predicted(self) -> Floats:
        """Mean prediction of each group; NaN for an empty one."""
        return ratios(self.predictions, self.shown)

    @property
    def observed(self) -> Floats:
        """Observed click-through rate of each group; NaN for an empty one."""
        return ratios(self.clicks, self.shown)

    def interval(self) -> tuple[Floats, Floats]:
        """95% confidence limits of the observed rates (Wilson); 0 and 1 for an empty group."""
        return wilson_interval(self.shown, self.observed)

    def error(self) -> float:
        """Mean difference between predicted and observed rate, without sign, weighted by the size of the groups."""
        total = float(self.shown.sum())
        return float(np.abs(self.predictions - self.clicks).sum() / total) if total else float("nan")

    def plus(self, other: Rates) -> Rates:
        """The rates of two logs together."""
        return Rates(*(one + another for one, another in zip(self, other, strict=True)))


def sums(group: Any, values: Floats, groups: int) -> Floats:
    """The sum of the values of each group 0, 1, 2, ..."""
    return np.bincount(group, weights=values, minlength=groups).astype(np.float64)


def grouped_rates(group: Any, groups: int, weight: Floats, prediction: Floats, click: Any) -> Rates:
    """The rates of groups 0, 1, 2, ... of positions."""
    return Rates(
        sums(group, weight, groups),
        sums(group, weight * prediction, groups),
        sums(group, weight * click, groups),
    )


def calibration(weight: Floats, prediction: Floats, click: Any) -> Rates:
    """The rates of bins of predicted probabilities, whose limits are `EDGES`."""
    bins = len(EDGES) - 1
    return grouped_rates(np.searchsorted(EDGES[1:-1], prediction, side="right"), bins, weight, prediction, click)


def ratios(part: Floats, whole: Floats) -> Floats:
    """Ratios, NaN where there is nothing to divide by."""
    found: Floats = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return found
