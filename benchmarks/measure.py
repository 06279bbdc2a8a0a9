"""Timing that is robust to a busy machine: CPU time, rounds in which every contender plays, medians of ratios."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.contenders import Contender, Played

MOST_REPEATS = 50
MOST_STEPS = 100_000  # of one run: the horizon of the papers; a faster contender plays more runs


class Effort(NamedTuple):
    """Size of a measurement."""

    seconds: float  # of CPU time of one measurement
    rounds: int
    quick: bool  # small problems only, to check that everything works


FULL = Effort(seconds=0.4, rounds=7, quick=False)
QUICK = Effort(seconds=0.005, rounds=2, quick=True)


def timed(contender: Contender, steps: int, repeats: int, run: int) -> tuple[float, Played]:
    """CPU seconds per step over `repeats` runs of `steps` steps, and the outcome of the last run."""
    fresh = [contender(steps, run * MOST_REPEATS + repeat) for repeat in range(repeats)]
    begun = time.process_time()
    for play in fresh:
        played = play()
    return (time.process_time() - begun) / (repeats * steps), played


def rough(contender: Contender, seconds: float) -> float:
    """Rough number of seconds per step; compiles first."""
    timed(contender, 2, 1, 0)
    steps = 2
    while True:
        each, _ = timed(contender, steps, 1, 0)
        if each * steps >= seconds / 10:
            return each
        steps *= 4


def steps_for(each: float, seconds: float) -> int:
    """Number of steps that take about `seconds`, at `each` seconds per step; 1, 2 or 5 times a power of ten.

    Early steps cost more than late ones, so a number that varied with the load would make tables of two days
    incomparable.
    """
    wanted = min(float(MOST_STEPS), seconds / each)
    if wanted < 2.0:
        return 2
    zeros: int = 10 ** math.floor(math.log10(wanted))
    return max(first * zeros for first in (1, 2, 5) if first == 1 or first * zeros <= wanted)


def repeats_for(each: float, steps: int, seconds: float) -> int:
    """Number of runs that make one measurement of about `seconds`."""
    return max(1, min(MOST_REPEATS, round(seconds / (each * steps))))


def rounds_of(
    contenders: Mapping[str, Contender], steps: Mapping[str, int], roughly: Mapping[str, float], effort: Effort
) -> dict[str, list[float]]:
    """Seconds per step of each contender in each round; every other round goes in reverse order."""
    repeats = {name: repeats_for(roughly[name], steps[name], effort.seconds) for name in contenders}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(effort.rounds):
        for name in list(contenders)[:: 1 if turn % 2 == 0 else -1]:
            each, _ = timed(contenders[name], steps[name], repeats[name], turn)
            seconds[name].append(each)
    return seconds


class Ratio(NamedTuple):
    """Speed-up of one contender over another."""

    middle: float
    low: float  # quartiles over the rounds
    high: float


def ratio(slower: Sequence[float], faster: Sequence[float]) -> Ratio:
    """Speed-up from the seconds of both, round by round."""
    each = [first / second for first, second in zip(slower, faster, strict=True)]
    low, high = np.quantile(each, [0.25, 0.75])
    return Ratio(median(each), float(low), float(high))


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The least-squares slope of log cost over log size."""
    slope = np.polyfit([math.log(size) for size in sizes], [math.log(cost) for cost in costs], 1)[0]
    return float(slope)
