"""How much faster are two threads than one?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

import toplist
from benchmarks.contenders import KL_UCB, SEED, Size, engine, world_of
from benchmarks.measure import Effort, ratio, rough
from benchmarks.report import Show, Table, Target, judged, times

SIZE = Size(16, 4)
RUNS = 8
ROUNDS = 5
SECONDS = 2.5  # of one thread
QUICK_SECONDS = 0.05
TARGET = Target(1.7)


def measure(effort: Effort) -> Sequence[Table]:
    """One row."""
    step = rough(engine(KL_UCB.policy, SIZE), 1.0 if not effort.quick else QUICK_SECONDS)
    steps = max(2, round((QUICK_SECONDS if effort.quick else SECONDS) / (RUNS * step)))
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(min(effort.rounds, ROUNDS)):
        for threads in (1, 2) if turn % 2 == 0 else (2, 1):
            seconds[threads].append(wall_clock(steps, threads))
    gain = ratio(seconds[1], seconds[2])
    row = {
        "simulation": f"{KL_UCB.policy}, {SIZE}, {RUNS} runs of {steps} steps",
        "one thread": median(seconds[1]),
        "two threads": median(seconds[2]),
        "ratio": gain.middle,
        "quartiles": f"{gain.low:.3g} to {gain.high:.3g}",
        **judged(gain.middle, TARGET),
    }
    columns: dict[str, Show] = {
        "simulation": str,
        "one thread": lambda value: f"{value:.2f} s",
        "two threads": lambda value: f"{value:.2f} s",
        "ratio": times,
        "quartiles": str,
        "target": str,
        "verdict": str,
    }
    notes = ["Wall-clock, since threads save no CPU time; whoever else uses the cores disturbs it."]
    return [Table("Two threads beside one", columns, [row], notes)]


def wall_clock(steps: int, threads: int) -> float:
    """Seconds of one simulation."""
    begun = time.perf_counter()
    toplist.simulate(
        KL_UCB.policy, world_of(SIZE), toplist.clicks.Cascade(), steps, runs=RUNS, seed=SEED, threads=threads
    )
    return time.perf_counter() - begun
