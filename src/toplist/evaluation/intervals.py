"""Confidence intervals of estimates: normal, bootstrap and empirical Bernstein, over lists or visitors."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from toplist.core.problem import nearest, refuse, whole
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.resampling import resampled_means
from toplist.evaluation.units import IndependentUnits

INTERVALS = ("normal", "bootstrap", "bernstein")


class IntervalSettings(NamedTuple):
    """How to make intervals.

    Parameters
    ----------
    kind : str, default "normal"
        "normal", "bootstrap" or "bernstein".
    level : float, default 0.95
        Confidence level.
    resamples : int, default 1000
        Of a bootstrap.
    seed : int, default 0
        Of a bootstrap.
    """

    kind: str = "normal"
    level: float = 0.95
    resamples: int = 1000
    seed: int = 0

    def checked(self) -> IntervalSettings:
        """The settings, if they can be used."""
        if self.kind not in INTERVALS:
            advice = nearest(str(self.kind), INTERVALS, "choose one")
            raise refuse("The sort of interval", self.kind, f"one of {', '.join(INTERVALS)}", advice)
        if not isinstance(self.level, int | float) or not 0.0 < self.level < 1.0:
            raise refuse("The confidence level", self.level, "above 0 and below 1", "give a share, as 0.95")
        whole("The number of resamples", self.resamples, 2, "give more")
        return self

    @property
    def quantile(self) -> float:
        """Standard errors on each side of a normal interval."""
        return NormalDist().inv_cdf(0.5 + self.level / 2.0)


class Interval(NamedTuple):
    """The ends of a confidence interval.

    Parameters
    ----------
    low, high : float
        The ends.
    """

    low: float
    high: float


def interval_of(
    estimate: MeanEstimate, units: IndependentUnits, settings: IntervalSettings, more_error: float = 0.0
) -> Interval:
    """The interval of an estimate.

    Parameters
    ----------
    estimate : MeanEstimate
        The estimate.
    units : IndependentUnits
        What is independent.
    settings : IntervalSettings
        Which interval.
    more_error : float, default 0.0
        Standard error from another source, such as a policy whose probabilities were sampled; it widens the interval.

    Returns
    -------
    Interval
        Its ends.

    Raises
    ------
    CannotEstimate
        If the estimate has no such interval.
    """
    if settings.kind == "bootstrap":
        found = bootstrap_interval(estimate, units, settings)
    elif settings.kind == "bernstein":
        found = bernstein_interval(estimate, units, settings.level)
    else:
        half = settings.quantile * units.standard_error(estimate.per_list)
        found = Interval(estimate.value - half, estimate.value + half)
    if more_error == 0.0:
        return found
    extra = settings.quantile * more_error
    return Interval(
        estimate.value - math.hypot(estimate.value - found.low, extra),
        estimate.value + math.hypot(found.high - estimate.value, extra),
    )


def bootstrap_interval(estimate: MeanEstimate, units: IndependentUnits, settings: IntervalSettings) -> Interval:
    """The percentiles of the estimate over resampled lists, or visitors."""
    means = resampled_means(estimate.columns, units, settings.resamples, settings.seed)
    tail = (1.0 - settings.level) / 2.0
    low, high = np.quantile(estimate.combine(means), [tail, 1.0 - tail])
    return Interval(float(low), float(high))


def bernstein_interval(estimate: MeanEstimate, units: IndependentUnits, level: float) -> Interval:
    """An interval that holds for any number of lists, if contributions are bounded.

    Maurer and Pontil, Empirical Bernstein Bounds and Sample Variance Penalization, COLT 2009, theorem 4, for both
    sides. Visitors count with the sums of their lists; how many lists each has is taken as given.
    """
    if estimate.bounds is None:
        raise CannotEstimate(
            "an empirical Bernstein interval needs a mean of bounded contributions, and this estimate is none; use a "
            "normal or a bootstrap interval"
        )
    low, high = estimate.bounds
    if units.unit is None:
        count, width = units.lists, high - low
        spread = units.standard_error(estimate.per_list) ** 2 * count
    else:
        sizes = np.bincount(units.unit, weights=units.weight, minlength=units.independent)
        count, per_unit = float(units.independent), units.lists / units.independent
        sums = units.sums(estimate.per_list[:, None])[:, 0] / per_unit
        width, spread = (high - low) * float(sizes.max()) / per_unit, float(sums.var(ddof=1)) if count > 1 else np.nan
    doubt = math.log(4.0 / (1.0 - level))
    half = math.sqrt(2.0 * spread * doubt / count) + 7.0 * width * doubt / (3.0 * max(count - 1.0, 1.0))
    return Interval(max(estimate.value - half, low), min(estimate.value + half, high))
