"""Change detectors: has the stream of clicks and non-clicks of an item changed?

The state of a stream is a row of numbers, all 0 before the first observation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, number, refuse, whole
from toplist.core.slate import Floats

COUNT, TOTAL, SPLITS, FIRST_SPLIT = range(4)  # of a GLR's row: observations, their sum, number of splits, splits
MOST_SPLITS = 128
SPLIT_SPACING = 0.25  # largest distance of splits, as a share of the observations before or after, whichever are fewer
UNKNOWN_STEPS = 1e-3  # the level of a GLR for an unknown number of steps


class GLR(NamedTuple):
    """The generalised likelihood ratio test for Bernoulli streams.

    Parameters
    ----------
    level : float or "theory", default 1e-3
        Bound on the probability that a stream which never changes ever raises an alarm. "theory" is 1 / n for n steps,
        and 0.001 where the number of steps is unknown.

    Notes
    -----
    Raises an alarm once, for some split of the n observations into s and n - s, `s kl(first, all) + (n - s) kl(second,
    all) >= log(3 n^1.5 / level)`, where first, second and all are means. Only a bounded number of splits is tested,
    denser towards both ends, so that the nearest tested split misses the true one by at most a quarter of the
    observations before or after it, whichever are fewer; that only makes alarms rarer.

    Besson and Kaufmann, The Generalized Likelihood Ratio Test meets klUCB: an Improved Algorithm for Piece-Wise
    Non-Stationary Bandits, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> detector, row = GLR(level=0.01), np.zeros(GLR().room())
    >>> [detector.watch(row, 1.0, float(i >= 50)) for i in range(70)].index(True)
    53
    """

    level: Any = 1e-3

    def prepare(self, problem: Problem) -> Self:
        """Check the level."""
        level = self.level
        if isinstance(level, str) and level == "theory":
            level = UNKNOWN_STEPS if problem.steps is None else 1.0 / max(problem.steps, 2)
        return self._replace(level=_checked_level("GLR", level))

    def room(self) -> int:
        """Elements of a row."""
        return FIRST_SPLIT + 2 * MOST_SPLITS

    def watch(self, row: Floats, weight: float, value: float) -> bool:
        """Process an observation; whether the stream has changed."""
        row[COUNT] += weight
        row[TOTAL] += weight * value
        changed = exceeds_threshold(row, math.log(3.0 * row[COUNT] * math.sqrt(row[COUNT]) / self.level))
        add_split(row)
        return changed


@routine
def exceeds_threshold(row: Floats, threshold: float) -> bool:
    """Whether the likelihood ratio reaches the threshold at one of the splits.

    kl(p, q) <= (p - q)^2 / (q (1 - q)) bounds it without a logarithm, which settles almost every case.
    """
    n, total, splits = row[COUNT], row[TOTAL], int(row[SPLITS])
    before, clicked = row[FIRST_SPLIT : FIRST_SPLIT + splits], row[FIRST_SPLIT + MOST_SPLITS :]
    spread = total * (n - total) * threshold / n
    reached = 0
    for i in range(splits):
        apart = clicked[i] * n - total * before[i]
        reached += 1 if apart * apart >= spread * before[i] * (n - before[i]) else 0
    if reached == 0 or spread <= 0.0:
        return False
    for i in range(splits):
        s, rest = before[i], n - before[i]
        ratio = s * bernoulli_kl(clicked[i] / s, total / n) + rest * bernoulli_kl(
            (total - clicked[i]) / rest, total / n
        )
        if ratio >= threshold:
            return True
    return False


@helper
def bernoulli_kl(p: float, q: float) -> float:
    """KL divergence of Bernoulli distributions with means p and q, for 0 < q < 1."""
    ones = p * math.log(p / q) if p > 0.0 else 0.0
    return ones + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)


@routine
def add_split(row: Floats) -> None:
    """Add a split after the observations so far; if there is no room, thin out the old ones."""
    splits = int(row[SPLITS])
    before, clicked = row[FIRST_SPLIT : FIRST_SPLIT + MOST_SPLITS], row[FIRST_SPLIT + MOST_SPLITS :]
    apart = SPLIT_SPACING
    while splits == MOST_SPLITS:  # once is enough, except for streams of astronomical length
        kept = MOST_SPLITS - 1  # from the end; the last split stays
        for i in range(MOST_SPLITS - 2, -1, -1):
            nearer_end = min(before[kept], row[COUNT] - before[i - 1]) if i > 0 else 0.0
            if i == 0 or before[kept] - before[i - 1] > apart * nearer_end:
                kept -= 1
                before[kept], clicked[kept] = before[i], clicked[i]
        splits = MOST_SPLITS - kept
        for i in range(splits):
            before[i], clicked[i] = before[kept + i], clicked[kept + i]
        apart *= 2.0
    before[splits], clicked[splits] = row[COUNT], row[TOTAL]
    row[SPLITS] = splits + 1


class CUSUM(NamedTuple):
    """Two cumulative sums that drift down as long as nothing changes.

    Parameters
    ----------
    level : float, default 1e-4
        Rate of false alarms: at most one in 1 / level observations on average.
    slack : float, default 0.1
        Smallest change of the mean to look for.
    samples : int, default 100
        Number of observations from which the reference mean is computed.

    Notes
    -----
    After `samples` observations with mean u, the sums g+ of y - u - slack and g- of u - y - slack, never below 0, raise
    an alarm once one exceeds log(1 / level) / (8 slack). If u were the true mean, that would happen at most once in 1 /
    level observations on average, for any mean.

    Liu, Lee and Shroff, A Change-Detection Based Framework for Piecewise-Stationary Multi-Armed Bandit Problem, AAAI
    2018.

    Examples
    --------
    >>> import numpy as np
    >>> detector, row = CUSUM(samples=10), np.zeros(CUSUM().room())
    >>> [detector.watch(row, 1.0, float(i >= 10)) for i in range(30)].index(True)
    22
    """

    level: float = 1e-4
    slack: float = 0.1
    samples: int = 100

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        slack = number("CUSUM's slack", self.slack, 0.0, 1.0, "give the smallest change to look for")
        if slack == 0.0:
            raise refuse("CUSUM's slack", self.slack, "above 0", "give the smallest change to look for")
        samples = whole("CUSUM's samples", self.samples, 1, "give the number of observations of the first mean")
        return self._replace(level=_checked_level("CUSUM", self.level), slack=slack, samples=samples)

    def room(self) -> int:
        """Observations, their sum, and the two sums."""
        return 4

    def watch(self, row: Floats, weight: float, value: float) -> bool:
        """Process an observation; whether the stream has changed."""
        if row[0] < self.samples:
            row[0] += weight
            row[1] += weight * value
            return False
        above = weight * (value - row[1] / row[0])
        row[2] = max(0.0, row[2] + above - weight * self.slack)
        row[3] = max(0.0, row[3] - above - weight * self.slack)
        return bool(max(row[2], row[3]) > -math.log(self.level) / (8.0 * self.slack))


def _checked_level(part: str, given: float) -> float:
    level = number(f"{part}'s level", given, 0.0, 1.0, "give the rate of false alarms, as 0.001")
    if level in (0.0, 1.0):
        raise refuse(f"{part}'s level", given, "above 0 and below 1", "give the rate of false alarms, as 0.001")
    return level


__all__ = ["CUSUM", "GLR"]
