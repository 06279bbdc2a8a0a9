"""The level that draws must reach to be among the best: estimated from earlier lists, so that few items need a draw.

Any level gives the same lists: if too few draws reach it, the list looks again with a lower one. So a level that is too
low costs draws, and one that is too high costs a second look. It lies some standard deviations below the mean of the
last draws of recent lists: two, so that one in fifty lists looks again, or more of them if that is expensive.
"""

from __future__ import annotations

import math

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats
from toplist.parts.index.beta_draw import EVERYTHING

LEVEL, EDITION, WINDOW, LISTS, TOTAL, SQUARES, SPREAD, BASE, MISSED = range(9)  # elements of `levels`
LONGEST = 64  # lists after which the level is considered again ...
MOST_MISSED = 2.0  # ... or this number that needed a second look


def first_levels() -> Floats:
    """Nothing is known: the first list draws everything."""
    return np.array([EVERYTHING, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@helper
def move_level(levels: Floats, level: float) -> None:
    """Change the level; its edition shows that limits computed for the old one are outdated."""
    levels[LEVEL] = level if level > 0.0 else EVERYTHING
    levels[EDITION] += 1.0


@helper
def lower_level(levels: Floats, look: int) -> float:
    """A level for another look, lower with each; in the end everything is drawn."""
    level = levels[LEVEL] - 4.0**look * levels[SPREAD]
    return level if level > 0.0 and look < 4 else EVERYTHING


@routine
def note_draws(levels: Floats, best: float, last: float, looks: int, deviations: float) -> None:
    """Note the best and the last draw of a list, and the number of its further looks.

    After some lists, the level is moved if it is not about `deviations` standard deviations below the mean.
    """
    if levels[LISTS] == 0.0:
        levels[BASE] = last  # sums of differences from it lose no digits
    levels[LISTS] += 1.0
    levels[TOTAL] += last - levels[BASE]
    levels[SQUARES] += (last - levels[BASE]) ** 2
    levels[MISSED] += 1.0 if looks > 0 else 0.0
    if levels[LISTS] < levels[WINDOW] and levels[MISSED] < MOST_MISSED:
        return
    mean = levels[TOTAL] / levels[LISTS]
    spread = math.sqrt(max(levels[SQUARES] / levels[LISTS] - mean * mean, 0.0))
    if levels[LISTS] == 1.0:
        spread = 0.5 * (best - last) if best > last else 1.0 - last
    mean += levels[BASE]
    if not mean - 1.25 * deviations * spread <= levels[LEVEL] <= mean - 0.75 * deviations * spread:
        move_level(levels, mean - deviations * spread)
    levels[WINDOW] = min(4.0 * levels[WINDOW], float(LONGEST))
    levels[LISTS], levels[TOTAL], levels[SQUARES], levels[MISSED] = 0.0, 0.0, 0.0, 0.0
    levels[SPREAD] = max(spread, 1e-9)
