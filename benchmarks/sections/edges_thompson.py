"""What does Thompson sampling cost, compared with drawing for every item and with KL-UCB?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.contenders import Size, engine
from benchmarks.every_draw import dcm_ts_of_every_draw
from benchmarks.measure import Effort, ratio, rough, rounds_of
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells
from toplist import Ranker

EVERY, OPTIMISTIC = "a draw for every item", "dcm-kl-ucb"
# Size, steps, baseline, and the least ratio of its time to ours.
ROWS: tuple[tuple[Size, int, str, float], ...] = (
    (Size(16, 4), 50_000, EVERY, 1.0),
    (Size(1000, 10), 50_000, EVERY, 8.0),
    (Size(100_000, 10), 1000, EVERY, 8.0),
    (Size(16, 4), 50_000, OPTIMISTIC, 1.0 / 3.0),
    (Size(1000, 10), 50_000, OPTIMISTIC, 1.0 / 3.0),
    (Size(100_000, 10), 10_000, OPTIMISTIC, 1.0 / 3.0),
)
QUICK_ROWS = ((Size(16, 4), 50, EVERY, 1.0), (Size(60, 3), 50, OPTIMISTIC, 1.0 / 3.0))
ROUNDS = 3
LIVE, QUICK_LIVE, LISTS = (1000, 100_000, 1_000_000), (5000,), 2000
MEDIAN, NEARLY_ALL = Target(150.0, at_most=True), Target(1000.0, at_most=True)


def measure(effort: Effort) -> Sequence[Table]:
    """Simulated lists beside the baselines, and lists of a ranker."""
    return [simulated(effort), live(effort)]


def simulated(effort: Effort) -> Table:
    """One row per size and baseline."""
    few = effort._replace(rounds=min(effort.rounds, ROUNDS))
    rows: list[dict[str, Any]] = []
    for size, steps, baseline, wanted in QUICK_ROWS if effort.quick else ROWS:
        other: Any = dcm_ts_of_every_draw() if baseline == EVERY else baseline
        contenders = {"toplist": engine("dcm-ts", size), "baseline": engine(other, size)}
        roughly = {name: rough(contender, effort.seconds / 5) for name, contender in contenders.items()}
        seconds = rounds_of(contenders, dict.fromkeys(contenders, steps), roughly, few)
        faster = ratio(seconds["baseline"], seconds["toplist"])
        rows.append(
            {
                "algorithm": "dcm-ts",
                "size": str(size),
                "baseline": baseline,
                "n": steps,
                "toplist": median(seconds["toplist"]),
                "baseline step": median(seconds["baseline"]),
                "ratio": faster.middle,
                "quartiles": f"{faster.low:.3g} to {faster.high:.3g}",
                **verdict_cells(faster.middle, None if effort.quick else Target(round(wanted, 3))),
            }
        )
    columns: dict[str, Show] = {
        "algorithm": str,
        "size": str,
        "baseline": str,
        "n": str,
        "toplist": nanoseconds,
        "baseline step": nanoseconds,
        "ratio": times,
        "quartiles": str,
        "target": str,
        "verdict": str,
    }
    notes = ["CPU time per list of whole runs, after one sample of every item; ratio: speed-up over the baseline."]
    return Table("Thompson sampling beside drawing for every item, and beside KL-UCB", columns, rows, notes)


def live(effort: Effort) -> Table:
    """One row per number of items of a ranker."""
    rows: list[dict[str, Any]] = []
    for items in QUICK_LIVE if effort.quick else LIVE:
        taken = live_seconds(items, 20 if effort.quick else LISTS)
        middle, most = float(np.median(taken)), float(np.quantile(taken, 0.99))
        for what, seconds, target in (("median", middle, MEDIAN), ("p99", most, NEARLY_ALL)):
            cells = verdict_cells(seconds * 1e6, None if effort.quick else target, " us")
            rows.append(
                {"algorithm": "dcm-ts", "what": what, "size": str(Size(items, 10)), "rank and learn": seconds} | cells
            )
    columns: dict[str, Show] = {
        "algorithm": str,
        "what": str,
        "size": str,
        "rank and learn": nanoseconds,
        "target": str,
        "verdict": str,
    }
    notes = [
        f"CPU time of rank and learn together, of {LISTS} lists from the second on; visitors click one in four items."
    ]
    return Table("Thompson sampling in a ranker", columns, rows, notes)


def live_seconds(items: int, lists: int) -> list[float]:
    """CPU seconds of each list of a ranker that learns."""
    names = [f"item-{number}" for number in range(items)]  # a number could be taken for a position
    ranker, random = Ranker(names, 10, seed=1), np.random.default_rng(1)
    taken: list[float] = []
    for _ in range(lists + 1):
        clicked = (1 + np.flatnonzero(random.random(10) < 0.25)).tolist()
        begun = time.thread_time()
        shown = ranker.rank()
        ranker.learn(shown, clicked)
        taken.append(time.thread_time() - begun)
    return taken[1:]
