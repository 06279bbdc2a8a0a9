"""How much faster are two threads than one?"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from benchmarks.contenders import KL_UCB, SEED, Size, engine, world_of
from benchmarks.measure import Effort, ratio, rough
from benchmarks.report import Show, Table, Target, times, verdict_cells
from toplist.clicks import Cascade
from toplist.engine.simulate import simulate

SIZE = Size(16, 4)
RUNS = 8
ROUNDS = 7
SECONDS = 2.0  # of one thread
QUICK_SECONDS = 0.05
TARGET = Target(1.7)

COLUMNS: dict[str, Show] = {
    "what": str,
    "one thread": lambda value: f"{value:.2f} s",
    "two threads": lambda value: f"{value:.2f} s",
    "ratio": times,
    "quartiles": str,
    "target": str,
    "verdict": str,
}


def measure(effort: Effort) -> Sequence[Table]:
    """One row for a simulation, and one for independent work, which shows what the machine can give."""
    seconds = QUICK_SECONDS if effort.quick else SECONDS
    steps = max(2, round(seconds / (RUNS * rough(engine(KL_UCB.policy, SIZE), seconds))))
    hashes = hashes_for(seconds / RUNS / 4)

    def simulation(threads: int) -> None:
        simulate(KL_UCB.policy, world_of(SIZE), Cascade(), steps, runs=RUNS, seed=SEED, threads=threads)

    def hashing(threads: int) -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(hash_repeatedly, [hashes] * RUNS))

    work: dict[str, Callable[[int], None]] = {
        f"{KL_UCB.policy}, {SIZE}, {RUNS} runs of {steps} steps": simulation,
        "hashing": hashing,
    }
    clocks: dict[str, dict[int, list[float]]] = {what: {1: [], 2: []} for what in work}
    for turn in range(min(effort.rounds, ROUNDS)):
        for what, job in work.items():
            for threads in (1, 2) if turn % 2 == 0 else (2, 1):
                begun = time.perf_counter()
                job(threads)
                clocks[what][threads].append(time.perf_counter() - begun)
    rows = [row(what, clocks[what], TARGET if job is simulation else None) for what, job in work.items()]
    notes = [
        "Wall-clock time, since threads save no CPU time. Hashing shares nothing and holds no lock: if its ratio is",
        "low too, other processes use the cores, and the ratio of the simulation means nothing.",
    ]
    return [Table("Two threads compared with one", COLUMNS, rows, notes)]


def row(what: str, clocks: dict[int, list[float]], target: Target | None) -> dict[str, Any]:
    """One comparison."""
    gain = ratio(clocks[1], clocks[2])
    return {
        "what": what,
        "one thread": median(clocks[1]),
        "two threads": median(clocks[2]),
        "ratio": gain.middle,
        "quartiles": f"{gain.low:.3g} to {gain.high:.3g}",
        **verdict_cells(gain.middle, target),
    }


def hash_repeatedly(hashes: int) -> bytes:
    """Work for one core and its nearest cache, outside the interpreter's lock."""
    return hashlib.pbkdf2_hmac("sha256", b"toplist", b"benchmark", hashes)


def hashes_for(seconds: float) -> int:
    """Number of hashes that take about `seconds`."""
    sample = 10_000
    begun = time.process_time()
    hash_repeatedly(sample)
    return max(1, round(sample * seconds / (time.process_time() - begun)))
