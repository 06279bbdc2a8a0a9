"""When a printed number or a claim counts as met: the one place where closeness is decided."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from toplist.engine.statistics import Difference, paired_difference
from toplist.slate import Floats, Ints

FLAT = 0.04  # a curve is flat where the last tenth of the steps adds less than this share of the regret
LINEAR = 0.45  # and linear where the last half adds more than this
CONVERGED = 0.5  # an epoch converges where its second half adds less than this share of what its first half adds
FEWEST_RUNS = 20  # that tell whether a printed number is met
BEHIND = 1.5  # who does not follow the changes, or is much worse, loses at least so many times as much


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


def below(difference: Difference) -> bool | None:
    """Whether the first of two lies below the other; None where their interval does not tell.

    >>> below(Difference(-2.0, -3.0, -1.0, 0.5)), below(Difference(2.0, 1.0, 3.0, 2.0))
    (True, False)
    """
    return {"below": True, "above": False}.get(side(difference))


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Whether all hold: one that does not decides, and else one of which nobody can tell leaves it open.

    >>> all_of([True, None, False]), all_of([True, None]), all_of([True, True])
    (False, None, True)
    """
    several = list(answers)
    if any(answer is False for answer in several):
        return False
    return True if all(several) else None


def halves(curves: Floats, checkpoints: Ints, epoch: int) -> Floats:
    """What the first and the second half of each whole epoch add, per run, (runs, epochs, 2).

    The curves are cumulative, (runs, checkpoints), and the checkpoints have the ends of all halves.

    >>> halves(np.array([[3.0, 4.0, 8.0, 10.0, 99.0]]), np.array([5, 10, 15, 20, 25]), 10).tolist()
    [[[3.0, 1.0], [4.0, 2.0]]]
    """
    epochs = int(checkpoints[-1]) // epoch
    ends = np.arange(1, 2 * epochs + 1) * (epoch // 2)
    kept = curves[:, np.searchsorted(checkpoints, ends)]
    return np.asarray(np.diff(kept, axis=1, prepend=0.0).reshape(len(curves), epochs, 2), dtype=np.float64)


def converges(added: Floats) -> bool | None:
    """Whether, in each epoch after the first break, the second half adds less than half of what the first half adds.

    Judged by the 95% interval over runs; None where it does not tell, or there was no break.

    >>> converges(np.array([[[1.0, 9.0], [4.0, 1.0]]] * 2)), converges(np.array([[[9.0, 1.0], [4.0, 3.0]]] * 2))
    (True, False)
    """
    late = [paired_difference(own[:, 1], CONVERGED * own[:, 0]) for own in np.moveaxis(added[:, 1:], 1, 0)]
    return all_of(map(below, late)) if late else None


def left_behind(regret: Floats, follower: Floats) -> bool | None:
    """Whether somebody's regret, per run, is at least 1.5 times that of one who does better; None if it is open.

    >>> left_behind(np.array([151.0, 160.0]), np.array([100.0, 100.0])), left_behind(np.ones(2), np.ones(2))
    (True, False)
    """
    return below(paired_difference(BEHIND * follower, regret))


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
