"""How far several experiments are together, and how long they will still take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from toplist.experiments.experiment import Experiment, Size
from toplist.experiments.run_experiment import Standing

LEAST = 1.0  # seconds: judging and drawing take their time even where nothing is played
KNOWN = 0.01  # the share of everything that must have been played before its pace is told


class Ahead(NamedTuple):
    """What is behind and what is ahead."""

    share: float  # of everything, that is done
    left: float  # seconds; infinite as long as nobody knows


class Outlook:
    """Weighs experiments by the seconds that they are expected to take, and corrects these by what was seen.

    What earlier calls had played is done, but says nothing about the pace.
    """

    def __init__(self, expected: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._expected, self._clock = expected, clock
        self._begun = clock()
        self._finished = self._fresh = 0.0  # seconds expected of what is done, and of what this call did of it

    def at(self, name: str, now: Standing) -> Ahead:
        """How far everything is while one of them is here."""
        seconds, total = self._expected[name], sum(self._expected.values())
        done = self._finished + seconds * now.share
        fresh = self._fresh + seconds * (now.share - now.earlier)
        known = fresh >= KNOWN * total
        return Ahead(done / total, (self._clock() - self._begun) * (total - done) / fresh if known else float("inf"))

    def finish(self, name: str, last: Standing) -> None:
        """One of them is at its end."""
        self._finished += self._expected[name]
        self._fresh += self._expected[name] * (1.0 - last.earlier)


def expected(experiment: Experiment, size: Size, played: bool) -> float:
    """About how many seconds an experiment takes at a size; next to nothing if it is there, or cannot be played."""
    lists = experiment.full.steps * experiment.full.runs
    return LEAST if played else max(LEAST, experiment.seconds * size.steps * size.runs / lists)
