"""Confidence intervals of proportions."""

from __future__ import annotations

import numpy as np

from toplist.core.slate import Floats

NORMAL_95 = 1.959963984540054  # 97.5% quantile of the standard normal distribution


def wilson_interval(tries: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Wilson's score interval for a proportion, at 95%; 0 to 1 without any tries.

    >>> low, high = wilson_interval(np.array([10.0]), np.array([0.2]))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.057, 0.51)
    """
    never = ~(tries > 0.0)
    count, mean = np.where(never, 1.0, tries), np.where(never, 0.0, mean)
    square = NORMAL_95**2
    middle = (mean + square / (2.0 * count)) / (1.0 + square / count)
    half = NORMAL_95 / (1.0 + square / count) * np.sqrt(mean * (1.0 - mean) / count + square / (4.0 * count**2))
    return np.where(never, 0.0, np.maximum(middle - half, 0.0)), np.where(never, 1.0, np.minimum(middle + half, 1.0))
