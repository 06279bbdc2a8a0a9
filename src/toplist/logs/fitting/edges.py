"""Coins at the edges: which probabilities are 0 or 1 at the maximum.

On the logit scale a coin never arrives at 0 or 1. So one that is near and moves outwards is tried at EDGE from it: if
the likelihood still grows outwards there, the coin is set to 0 or 1. An E-step cannot move it any more, so the
derivative is tested again at the end of the fit, a little inside, and a coin that wants back is released.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.slate import Bools, Floats

EDGE = 1e-9  # where a coin that moves outwards is tried
NEAR = 1e-2  # from 0 or 1: within it, a coin that moves outwards may be on its way there
NUDGE = 1e-6  # where the derivative at 0 or 1 is tested; nearer, rounding of 1 - p would hide it


class Trial(NamedTuple):
    """Coins that are tried at other values.

    Parameters
    ----------
    low, high : ndarray of bool
        Coins near 0, and near 1.
    before : ndarray of float
        All coins before.
    """

    low: Bools
    high: Bools
    before: Floats

    def any(self) -> bool:
        """Whether there are such coins."""
        return bool(self.low.any() or self.high.any())


def lean(theta: Floats, gradient: Floats, free: Bools) -> Trial:
    """Try the coins that are near 0 or 1 and move outwards right at it."""
    trial = Trial(free & (theta < NEAR) & (gradient <= 0), free & (theta > 1.0 - NEAR) & (gradient >= 0), theta.copy())
    theta[trial.low] = np.minimum(theta[trial.low], EDGE)
    theta[trial.high] = np.maximum(theta[trial.high], 1.0 - EDGE)
    return trial


def settle(theta: Floats, gradient: Floats, trial: Trial) -> None:
    """Set coins that still move outwards to 0 or 1, and take the others back."""
    low, high = trial.low & (gradient <= 0), trial.high & (gradient >= 0)
    tried = trial.low | trial.high
    theta[tried] = trial.before[tried]
    theta[low], theta[high] = 0.0, 1.0


def nudge(theta: Floats, can_move: Bools) -> Trial:
    """Move the coins at 0 and 1 a little inside."""
    trial = Trial(can_move & (theta <= 0), can_move & (theta >= 1), theta.copy())
    theta[trial.low], theta[trial.high] = NUDGE, 1.0 - NUDGE
    return trial


def release(theta: Floats, gradient: Floats, trial: Trial, least: float) -> int:
    """Leave coins inside whose derivative by the probability points there and is at least `least`; others go back."""
    slope = gradient / (NUDGE * (1.0 - NUDGE))
    low, high = trial.low & (slope > least), trial.high & (slope < -least)
    back = (trial.low & ~low) | (trial.high & ~high)
    theta[back] = trial.before[back]
    return int(low.sum() + high.sum())
