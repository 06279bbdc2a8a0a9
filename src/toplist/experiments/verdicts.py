"""When a printed number counts as met: the one place where closeness is decided."""

from __future__ import annotations

import math
from typing import NamedTuple


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
