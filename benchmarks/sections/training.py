"""How long does a policy take to learn from a log of another system? Beside one call per list."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.generated_log import in_memory
from benchmarks.measure import Effort
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells
from toplist import Ranker, train
from toplist.logs import ClickLog

LISTS, QUICK_LISTS = 1_000_000, 60
ONE_BY_ONE, QUICK_ONE_BY_ONE = 20_000, 20  # lists of the baseline
QUERIES, POLICIES = 1000, ("dcm-ts", "cascade-kl-ucb")
MOST = 10.0  # seconds


def measure(effort: Effort) -> Sequence[Table]:
    """One ranker per query, and one for all."""
    lists = QUICK_LISTS if effort.quick else LISTS
    log, rows = in_memory(lists, QUERIES), []
    few = log.take(np.arange(QUICK_ONE_BY_ONE if effort.quick else ONE_BY_ONE))
    for policy in POLICIES if not effort.quick else POLICIES[:1]:
        singly = one_by_one(few, policy, not effort.quick) * len(log) / len(few)
        for together in (False, True):
            train(few, policy, together=together)  # compiled before the clock runs
            spent = median(seconds(log, policy, together) for _ in range(1 if effort.quick else 3))
            cells: dict[str, Any] = {"policy": policy, "rankers": "one" if together else f"{QUERIES:,}", "time": spent}
            cells |= {"one by one": singly, "ratio": singly / spent}
            rows.append(cells | verdict_cells(spent, Target(MOST, at_most=True), " s"))
    columns: dict[str, Show] = {
        "policy": str, "rankers": str, "time": nanoseconds, "one by one": nanoseconds, "ratio": times, "target": str,
        "verdict": str,
    }  # fmt: skip
    notes = [
        "CPU time from the log in memory to the trained rankers. one by one: Ranker.adopt and learn for each list,",
        f"by one ranker for all; measured on {len(few):,} lists.",
    ]
    return [Table(f"Training on {lists:,} lists of {log.positions}", columns, rows, notes)]


def seconds(log: ClickLog, policy: str, together: bool) -> float:
    """CPU seconds of a training."""
    begun = time.process_time()
    train(log, policy, together=together)
    return time.process_time() - begun


def one_by_one(log: ClickLog, policy: str, compiled: bool) -> float:
    """CPU seconds of learning each list by calls of its own."""
    items: list[Any] = list(log.items)
    ranker = Ranker(items, log.positions, policy, compiled=compiled)
    shown = [[items[code] for code in log.item[log.start[row] : log.start[row + 1]]] for row in range(len(log))]
    clicked = [np.flatnonzero(log.click[log.start[row] : log.start[row + 1]]) + 1 for row in range(len(log))]
    clicks = [[{"position": int(place)} for place in places] for places in clicked]
    ranker.learn(ranker.adopt(shown[0]), clicks[0])
    begun = time.process_time()
    for listed, places in zip(shown, clicks, strict=True):
        ranker.learn(ranker.adopt(listed), places)
    return time.process_time() - begun
