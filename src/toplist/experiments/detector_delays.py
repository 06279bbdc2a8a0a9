"""False alarms and delays of the change detectors: `python -m toplist.experiments.detector_delays`."""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any, NamedTuple

import numpy as np

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.compiling import compiled
from toplist.core.problem import Problem, whole
from toplist.core.randomness import branch, toss
from toplist.core.slate import Floats, Ints
from toplist.parts.detectors import CUSUM, GLR
from toplist.support.script import run_script
from toplist.support.tables import aligned_lines

JUMPS = ((0.2, 0.3), (0.2, 0.5), (0.2, 0.9))  # by 0.1, 0.3 and 0.7
MEANS = (0.05, 0.2, 0.5)
BEFORE = 2000  # observations before a jump


def watch_stream(
    detector: Any, row: Floats, key: int, before: float, after: float, change: int, length: int, alarms: Ints
) -> int:
    """Watch one stream whose mean changes after `change` observations; return the number of alarms, and fill in when.

    The detector restarts after an alarm.
    """
    found = 0
    row[:] = 0.0
    for t in range(length):
        value = 1.0 if toss(key, t, before if t < change else after) else 0.0
        if detector.watch(row, 1.0, value):
            if found < len(alarms):
                alarms[found] = t + 1
            found += 1
            row[:] = 0.0
    return found


watch_compiled = compiled(watch_stream)


class Delays(NamedTuple):
    """Alarms on many streams with one jump each."""

    early: float  # share with an alarm before the jump
    found: float  # share of the others with an alarm after it
    median: float  # observations from the jump to the alarm, if any
    late: float  # the same for the slowest tenth


def alarms_of(detector: Any, before: float, after: float, change: int, length: int, seed: int) -> Ints:
    """The observations with an alarm, counted from 1; 1000 at most."""
    ready = detector.prepare(Problem(1, 1))
    alarms = np.zeros(1000, dtype=np.int64)
    count = watch_compiled(ready, np.zeros(ready.room()), branch(1, seed), before, after, change, length, alarms)
    return alarms[:count]


def false_alarms(detector: Any, mean: float, streams: int, length: int) -> tuple[int, float]:
    """On streams without a change: the number of alarms, and the share of streams with one."""
    counts = [len(alarms_of(detector, mean, mean, length, length, seed)) for seed in range(streams)]
    return sum(counts), sum(count > 0 for count in counts) / streams


def delays(detector: Any, before: float, after: float, streams: int, patience: int) -> Delays:
    """Delays on streams that jump once and continue for `patience` observations."""
    early, waits = 0, []
    for seed in range(streams):
        alarms = alarms_of(detector, before, after, BEFORE, BEFORE + patience, seed)
        if len(alarms) > 0 and alarms[0] <= BEFORE:
            early += 1
        elif len(alarms) > 0:
            waits.append(int(alarms[0]) - BEFORE)
    middle, late = (np.quantile(waits, [0.5, 0.9]).tolist()) if waits else (math.inf, math.inf)
    return Delays(early / streams, len(waits) / max(1, streams - early), middle, late)


def report(streams: int, observations: int = 10_000_000) -> str:
    """Tables of both detectors; each row on false alarms has about this number of observations."""
    length = observations // streams
    quiet = [["detector", "mean", "alarms", "per million", "streams with one"]]
    jumping = [["detector", "jump", "found", "median delay", "90% within", "alarm before"]]
    for detector in (GLR(), CUSUM()):
        name = (
            f"{type(detector).__name__}({', '.join(f'{key}={value:g}' for key, value in detector._asdict().items())})"
        )
        for mean in MEANS:
            count, share = false_alarms(detector, mean, streams, length)
            per_million = count / (streams * length) * 1e6
            quiet.append([name, f"{mean:g}", f"{count}", f"{per_million:.2f}", f"{share:.4f}"])
        for before, after in JUMPS:
            seen = delays(detector, before, after, streams, patience=20_000)
            numbers = [f"{seen.found:.3f}", f"{seen.median:g}", f"{seen.late:g}", f"{seen.early:.4f}"]
            jumping.append([name, f"{before:g} to {after:g}", *numbers])
    return "\n".join(
        [
            f"Streams that never change: {streams} of {length} observations each.",
            *aligned_lines(list(zip(*quiet, strict=True))),
            "",
            f"Streams that jump after {BEFORE} observations: {streams} each.",
            *aligned_lines(list(zip(*jumping, strict=True))),
        ]
    )


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description="False alarms and delays of the change detectors.")
    parser.add_argument("--streams", type=int, default=1000, help="streams per row (default 1000)")
    streams = parser.parse_args().streams
    print(report(whole("The number of streams", streams, 1, "give the streams per row")))
    return 0


if __name__ == "__main__":
    sys.exit(run_script(main))
