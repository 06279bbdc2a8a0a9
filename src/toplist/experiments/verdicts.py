"""When a printed number or a claim counts as met: the one place where closeness is decided."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from toplist.engine.statistics import Difference
from toplist.slate import Floats, Ints

FLAT = 0.04  # a curve is flat where the last tenth of the steps adds less than this share of the regret
LINEAR = 0.45  # and linear where the last half adds more than this
CONVERGED = 0.5  # an epoch converges where its second half adds less than this share of what its first half adds
BEHIND = 1.5  # who does not follow the changes loses at least so many times what is lost by who does


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


def halves(curve: Floats, checkpoints: Ints, epoch: int) -> Floats:
    """What the first and the second half of each epoch add to a cumulative curve, whose checkpoints have all of them.

    >>> halves(np.array([3.0, 4.0, 8.0, 10.0]), np.array([5, 10, 15, 20]), 10).tolist()
    [[3.0, 1.0], [4.0, 2.0]]
    """
    ends = np.arange(epoch // 2, checkpoints[-1] + 1, epoch // 2)
    kept = curve[np.searchsorted(checkpoints, ends)]
    return np.asarray(np.diff(kept, prepend=0.0).reshape(-1, 2), dtype=np.float64)


def converges(added: Floats) -> bool:
    """Whether, in each epoch after the first break, the second half adds less than half of what the first half adds.

    >>> converges(np.array([[1.0, 9.0], [4.0, 1.0]])), converges(np.array([[9.0, 1.0], [4.0, 2.0]]))
    (True, False)
    """
    return bool((added[1:, 1] < CONVERGED * added[1:, 0]).all())


def left_behind(regret: float, follower: float) -> bool:
    """Whether somebody does not follow the changes: their regret at n is at least 1.5 times that of one who does.

    >>> left_behind(150.0, 100.0), left_behind(149.0, 100.0)
    (True, False)
    """
    return regret >= BEHIND * follower


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
