"""Change detectors: has a stream of clicks and refusals, one item's, become another than it was?

A detector keeps what it knows of a stream in a row of numbers, all 0 before the first observation.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, number, refuse, whole
from toplist.core.slate import Floats

COUNT, TOTAL, SPLITS, FIRST_SPLIT = range(4)  # of a GLR's row: observations, their sum, splits, and then the splits
MOST_SPLITS = 128
SPLIT_SPACING = 0.25  # how far apart splits may be, as a share of what comes before or after them, whichever is less


class GLR(NamedTuple):
    """The generalised likelihood ratio for Bernoulli streams (Besson and Kaufmann, 2019).

    Alarms once, for some split of the n observations into s and n - s, s kl(first, all) + (n - s) kl(second, all) >=
    log(3 n^1.5 / level), where first, second and all are means. On a stream that never changes there is ever an alarm
    with probability at most `level`. Not all splits are looked at but a bounded number, the denser the nearer to
    either end, so that the true one is missed by at most a quarter of what came before or after it, whichever is less;
    that makes alarms only rarer.
    """

    level: float = 1e-3

    def prepare(self, problem: Problem) -> Self:
        """Check the level."""
        return self._replace(level=_checked_level("GLR", self.level))

    def room(self) -> int:
        """Numbers in a row."""
        return FIRST_SPLIT + 2 * MOST_SPLITS

    def watch(self, row: Floats, weight: float, value: float) -> bool:
        """Take in an observation; whether the stream has changed."""
        row[COUNT] += weight
        row[TOTAL] += weight * value
        changed = exceeds_threshold(row, math.log(3.0 * row[COUNT] * math.sqrt(row[COUNT]) / self.level))
        add_split(row)
        return changed


@routine
def exceeds_threshold(row: Floats, threshold: float) -> bool:
    """Whether the ratio reaches the threshold at one of the splits.

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
    """The divergence of one coin from another, for 0 < q < 1."""
    ones = p * math.log(p / q) if p > 0.0 else 0.0
    return ones + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)


@routine
def add_split(row: Floats) -> None:
    """Let a split be possible after what was observed so far; when there is no room, thin the old ones out."""
    splits = int(row[SPLITS])
    before, clicked = row[FIRST_SPLIT : FIRST_SPLIT + MOST_SPLITS], row[FIRST_SPLIT + MOST_SPLITS :]
    apart = SPLIT_SPACING
    while splits == MOST_SPLITS:  # once is enough, but for streams of astronomical length
        kept = MOST_SPLITS - 1  # counted from the end, which stays
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
    """Two sums that drift down while nothing changes (Liu, Lee and Shroff, A Change-Detection Based Framework, 2018).

    After `samples` observations with mean u, the sums g+ of y - u - slack and g- of u - y - slack, never below 0, alarm
    once one exceeds log(1 / level) / (8 slack): if u were the true mean, that happens at most once in 1 / level
    observations on average, whatever the mean. Changes smaller than `slack` are not looked for.
    """

    level: float = 1e-4
    slack: float = 0.1
    samples: int = 100

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        slack = number("CUSUM's slack", self.slack, 0.0, 1.0, "give the smallest change to look for")
        if slack == 0.0:
            raise refuse("CUSUM's slack", self.slack, "above 0", "give the smallest change to look for")
        samples = whole("CUSUM's samples", self.samples, 1, "give how many observations make the first mean")
        return self._replace(level=_checked_level("CUSUM", self.level), slack=slack, samples=samples)

    def room(self) -> int:
        """Observations, their sum, and the two sums."""
        return 4

    def watch(self, row: Floats, weight: float, value: float) -> bool:
        """Take in an observation; whether the stream has changed."""
        if row[0] < self.samples:
            row[0] += weight
            row[1] += weight * value
            return False
        above = weight * (value - row[1] / row[0])
        row[2] = max(0.0, row[2] + above - weight * self.slack)
        row[3] = max(0.0, row[3] - above - weight * self.slack)
        return bool(max(row[2], row[3]) > -math.log(self.level) / (8.0 * self.slack))


def _checked_level(part: str, given: float) -> float:
    level = number(f"{part}'s level", given, 0.0, 1.0, "give how rare false alarms are to be, as 0.001")
    if level in (0.0, 1.0):
        raise refuse(f"{part}'s level", given, "above 0 and below 1", "give how rare false alarms are to be, as 0.001")
    return level


__all__ = ["CUSUM", "GLR"]
