"""Whether a KL-UCB index can reach a level: two logarithms in single precision instead of a solve.

An item reaches a level q, above its mean, if T KL(mean || q) is at most the budget.
"""

from __future__ import annotations

import math

import numpy as np

from toplist.core.compiling import helper
from toplist.parts.index.block_ceilings import lower_bound

LOWEST, HIGHEST = 1e-9, 1.0 - 1e-6  # levels that single precision can tell apart from 0 and 1
MOST = np.float32(1e30)  # counts
ZERO, ONE, LEAST = np.float32(0.0), np.float32(1.0), np.float32(1e-30)
# In `may_reach_level`, with e = 2^-24: the argument of a logarithm has a relative error below 7e, and the logarithm
# itself one below 2e; products and sums add less than 4e of each term.
ROUNDED = np.float32(8.0 * 2.0**-24)
SLACK = 1e-6  # relative and absolute, of the budget

# An index, its reciprocal, that of its complement, the largest T KL, and whole observations per unit of the counts.
Level = tuple[float, float, float, float, float]


@helper
def level_of(least: float, budget: float, unit: float) -> Level:
    """The level to reach for an index of `least`."""
    limit = budget / unit
    level = min(lower_bound(least), HIGHEST)
    if level < LOWEST:
        level, limit = 0.5, np.inf
    return level, 1.0 / level, 1.0 / (1.0 - level), limit + SLACK * (1.0 + limit), 1.0 / unit


@helper
def may_reach_level(examined: float, clicked: float, level: Level) -> bool:
    """Whether the index of counts can reach a level: rounded, but False only if it cannot."""
    least, per_least, per_rest = np.float32(level[0]), np.float32(level[1]), np.float32(level[2])
    scale = level[4]
    tries, hits = min(np.float32(scale * examined), MOST), min(np.float32(scale * clicked), MOST)
    misses = min(max(np.float32(scale * (examined - clicked)), ZERO), MOST)
    per_try = ONE / max(tries, LEAST)
    above = hits * math.log(max(hits * per_try * per_least, LEAST))
    below = misses * math.log(max(misses * per_try * per_rest, LEAST))
    rounding = ROUNDED * (tries + abs(above) + abs(below))
    return bool((hits >= least * tries) | (not above + below > np.float32(level[3]) + rounding))
