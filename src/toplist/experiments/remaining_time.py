"""Estimates how far several experiments are together, and how long they will still take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from toplist.experiments.experiment import Experiment, Size
from toplist.experiments.run_experiment import ExperimentProgress

LEAST = 1.0  # seconds: judging and drawing take time even if nothing is played
KNOWN = 0.01  # share of everything to be played before the remaining time is estimated


class TimeEstimate(NamedTuple):
    """Finished share of all experiments, and the time left."""

    share: float
    seconds_left: float  # infinite while unknown


class TimeEstimator:
    """Weighs experiments by their expected seconds, and corrects these by the time spent so far.

    Work of earlier calls counts as finished, but not for the speed.
    """

    def __init__(self, expected: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._expected, self._clock = expected, clock
        self._begun = clock()
        self._finished = self._fresh = 0.0  # expected seconds of finished work, and of this call's part of it

    def estimate(self, name: str, now: ExperimentProgress) -> TimeEstimate:
        """The estimate while one experiment is at `now`."""
        seconds, total = self._expected[name], sum(self._expected.values())
        done = self._finished + seconds * now.share
        fresh = self._fresh + seconds * (now.share - now.earlier)
        known = fresh >= KNOWN * total
        left = (self._clock() - self._begun) * (total - done) / fresh if known else float("inf")
        return TimeEstimate(done / total, left)

    def finish(self, name: str, last: ExperimentProgress) -> None:
        """Count one experiment as finished; `last` is its last progress."""
        self._finished += self._expected[name]
        self._fresh += self._expected[name] * (1.0 - last.earlier)


def expected_seconds(experiment: Experiment, size: Size, played: bool) -> float:
    """Expected seconds of an experiment at a size; next to none if it is finished, or cannot be played."""
    lists = experiment.full.steps * experiment.full.runs
    return LEAST if played else max(LEAST, experiment.seconds * size.steps * size.runs / lists)
