"""How much faster are two threads than one?"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.contenders import KL_UCB, SEED, Size, engine, world_of
from benchmarks.measure import Effort, ratio, rough
from benchmarks.report import Show, Table, Target, judged, times
from toplist.clicks import Cascade
from toplist.engine.runs import simulate

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
    others: list[float] = []
    for turn in range(min(effort.rounds, ROUNDS)):
        for threads in (1, 2) if turn % 2 == 0 else (2, 1):
            before, own = busy_seconds(), time.process_time()
            seconds[threads].append(wall_clock(steps, threads))
            after, own = busy_seconds(), time.process_time() - own
            if threads == 2 and before is not None and after is not None:
                others.append((after - before - own) / seconds[threads][-1])
    gain = ratio(seconds[1], seconds[2])
    row = {
        "simulation": f"{KL_UCB.policy}, {SIZE}, {RUNS} runs of {steps} steps",
        "one thread": median(seconds[1]),
        "two threads": median(seconds[2]),
        "ratio": gain.middle,
        "quartiles": f"{gain.low:.3g} to {gain.high:.3g}",
        "taken by others": max(0.0, median(others)) if others else None,
        **judged(gain.middle, TARGET),
    }
    columns: dict[str, Show] = {
        "simulation": str,
        "one thread": lambda value: f"{value:.2f} s",
        "two threads": lambda value: f"{value:.2f} s",
        "ratio": times,
        "quartiles": str,
        "taken by others": lambda value: f"{value:.1f} cores",
        "target": str,
        "verdict": str,
    }
    notes = [
        "Wall-clock, since threads save no CPU time; so it can show two cores' worth only while nobody else takes any.",
    ]
    return [Table("Two threads beside one", columns, [row], notes)]


def wall_clock(steps: int, threads: int) -> float:
    """Seconds of one simulation."""
    begun = time.perf_counter()
    simulate(KL_UCB.policy, world_of(SIZE), Cascade(), steps, runs=RUNS, seed=SEED, threads=threads)
    return time.perf_counter() - begun


def busy_seconds() -> float | None:
    """Seconds for which the machine's cores were busy, or kept from us, since it started; None where nobody tells."""
    status = Path("/proc/stat")
    if not status.exists():
        return None
    user, nice, system, _idle, _waiting, hardware, software, stolen, *_ = map(
        int, status.read_text().splitlines()[0].split()[1:]
    )
    return (user + nice + system + hardware + software + stolen) / os.sysconf("SC_CLK_TCK")
