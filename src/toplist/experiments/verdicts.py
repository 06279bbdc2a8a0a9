"""When a printed number or a claim counts as met: the one place where closeness is decided."""

from __future__ import annotations

import math
from typing import NamedTuple

from toplist.engine.statistics import Difference
from toplist.slate import Floats

FLAT = 0.04  # a curve is flat where the last tenth of the steps adds less than this share of the regret
LINEAR = 0.45  # and linear where the last half adds more than this


class Measured(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.error:.1f}"


class Verdict(NamedTuple):
    """Whether a printed number is met, and the two distances that decide it."""

    met: bool
    errors: float  # distance in combined standard errors, ours less the print
    share: float  # distance as a share of the print


def printed_number(ours: Measured, printed: Measured) -> Verdict:
    """Met where the means differ by at most 4 combined standard errors, or by at most 10%; ours needs 20 runs or more.

    >>> printed_number(Measured(350.0, 5.0), Measured(357.9, 5.5)).met
    True
    >>> printed_number(Measured(450.0, 5.0), Measured(357.9, 5.5)).met
    False
    """
    distance = ours.mean - printed.mean
    errors = distance / math.hypot(ours.error, printed.error)
    share = distance / printed.mean
    return Verdict(abs(errors) <= 4.0 or abs(share) <= 0.1, errors, share)


def added(curve: Floats, share: float) -> float:
    """What the last share of the steps adds to a cumulative curve, kept at evenly spaced steps.

    >>> import numpy as np
    >>> added(np.arange(1.0, 101.0), 0.5)
    0.5
    """
    return float(1.0 - curve[round((1.0 - share) * len(curve)) - 1] / curve[-1])


def side(difference: Difference) -> str:
    """Where the first of two lies, if their interval tells.

    >>> side(Difference(-2.0, -3.0, -1.0, 0.5)), side(Difference(-2.0, -5.0, 1.0, 0.5))
    ('below', 'undecided')
    """
    if difference.high < 0:
        return "below"
    return "above" if difference.low > 0 else "undecided"
