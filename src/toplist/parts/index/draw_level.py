"""The level that draws must reach to be among the best: estimated from earlier lists, so that few items need a draw.

Any level gives the same lists, because a list whose draws do not suffice lowers it and looks again. A level that is too
low costs draws; one that is too high costs a second look.
"""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import helper
from toplist.core.slate import Floats

LEVEL, EDITION, WINDOW, LISTS, TOTAL, LEAST, SPREAD = range(7)  # elements of `levels`
LONGEST = 64  # lists after which the level is considered again
EVERYTHING = -1.0  # a level that every draw reaches


def first_levels() -> Floats:
    """Nothing is known: the first list draws everything."""
    return np.array([EVERYTHING, 0.0, 1.0, 0.0, 0.0, np.inf, 0.0])


@helper
def set_level(levels: Floats, level: float) -> None:
    """Change the level; its edition shows that limits computed for it are outdated."""
    levels[LEVEL] = level if level > 0.0 else EVERYTHING
    levels[EDITION] += 1.0


@helper
def lower_level(levels: Floats) -> None:
    """Too few draws reached the level: lower it, farther each time."""
    levels[SPREAD] = 2.0 * levels[SPREAD] + 1e-6
    set_level(levels, levels[LEVEL] - levels[SPREAD])


@helper
def note_draws(levels: Floats, best: float, last: float) -> None:
    """Note the best and the last draw of a list; after some lists, move the level below the least of the last draws.

    It goes as far below as their mean is above, and stays where it is while it is about there.
    """
    levels[LISTS] += 1.0
    levels[TOTAL] += last
    levels[LEAST] = min(levels[LEAST], last)
    if levels[LISTS] < levels[WINDOW]:
        return
    least = levels[LEAST]
    spread = levels[TOTAL] / levels[LISTS] - least
    if levels[WINDOW] == 1.0:
        spread = best - last if best > last else 1.0 - last
    if not least - 4.0 * spread <= levels[LEVEL] <= least - 0.5 * spread:
        set_level(levels, least - spread)
    levels[WINDOW] = min(4.0 * levels[WINDOW], float(LONGEST))
    levels[LISTS], levels[TOTAL], levels[LEAST], levels[SPREAD] = 0.0, 0.0, np.inf, spread
