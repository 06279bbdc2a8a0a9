"""Short runs, calls that continue from a file, and long lists."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import fused, solve_and_sort
from benchmarks.contenders import KL_UCB, UCB1, Size, by_hand, engine, in_numpy, runs_of, world_of
from benchmarks.measure import MOST_REPEATS, Effort, rough, rounds_of, timed
from benchmarks.report import Show, Table, Target, nanoseconds, times
from benchmarks.speedup import speedup_cells
from toplist import clicks, simulate, worlds
from toplist.core.compiling import plain
from toplist.support.part_json import as_plain

ITEMS, QUICK_ITEMS = 1000, 40
LENGTHS, QUICK_LENGTHS = (4, 10, 16, 32, 100, 300, 600, 999, 1000), (4, 20, 40)
LONG_STEPS, QUICK_STEPS = 2000, 20  # of a run of long lists
RUNS, QUICK_RUNS = 1000, 3
MANY_ITEMS, QUICK_MANY = 1_000_000, 5000
MANY_ROWS, QUICK_ROWS, FEATURES = 100_000, 500, 18
SORTED = "bisection for each item, and a sort"
BY_HAND: dict[str, Callable[..., float]] = {"cascade-ucb1": fused.ucb1_one_division, "cascade-kl-ucb": fused.kl_ucb}
MORE: dict[str, dict[str, bool]] = {"cascade-ucb1": {}, "cascade-kl-ucb": {"early": True}}
ROUNDS = 3


def measure(effort: Effort) -> Sequence[Table]:
    """All rows of the engine."""
    columns: dict[str, Show] = {
        "what": str,
        "size": str,
        "baseline": str,
        "toplist": nanoseconds,
        "baseline cost": nanoseconds,
        "ratio": times,
        "quartiles": str,
        "target": str,
        "verdict": str,
    }
    rows = [*long_lists(effort), *short_runs(effort), *resumed_calls(effort)]
    notes = [
        "CPU time, medians over rounds in which both play in turn; ratio: of the baseline's cost to toplist's.",
        "Early steps cost more than late ones: more items are within reach of the list, and more indices change.",
    ]
    return [Table("Engine: long lists, short runs, and calls that continue from a file", columns, rows, notes)]


def edge_row(
    what: str,
    size: str,
    baseline: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    at_least: float | None = None,
) -> dict[str, Any]:
    """A row from the CPU seconds of both in each round; `at_least` is the ratio to reach."""
    cells = {"what": what, "size": size, "baseline": baseline, "toplist": median(ours), "baseline cost": median(theirs)}
    return cells | speedup_cells(ours, theirs, None if at_least is None else Target(at_least))


def long_lists(effort: Effort) -> list[dict[str, Any]]:
    """Lists of any length beside NumPy, which partitions and sorts, and beside a loop as in PyClickLambdas."""
    items, steps = (QUICK_ITEMS, QUICK_STEPS) if effort.quick else (ITEMS, LONG_STEPS)
    shorter = effort._replace(rounds=min(effort.rounds, ROUNDS))
    found = []
    for algorithm in (UCB1, KL_UCB):
        for length in QUICK_LENGTHS if effort.quick else LENGTHS:
            size = Size(items, length)
            contenders = {
                "toplist": engine(algorithm.policy, size, compiled=not effort.quick),
                "NumPy": in_numpy(algorithm.vectorised, size),
            }
            if algorithm is KL_UCB:
                contenders[SORTED] = by_hand(
                    plain(solve_and_sort.kl_ucb) if effort.quick else solve_and_sort.kl_ucb, size
                )
            roughly = {name: rough(contender, shorter.seconds) for name, contender in contenders.items()}
            measured = rounds_of(contenders, dict.fromkeys(contenders, steps), roughly, shorter)
            for baseline in list(contenders)[1:]:
                what = f"list by {algorithm.title}"
                found.append(edge_row(what, str(size), baseline, measured["toplist"], measured[baseline], 1.0))
    return found


def short_runs(effort: Effort) -> list[dict[str, Any]]:
    """1,000 runs of 1,000 steps beside the same steps alone, beside a loop by hand, and beside one long run.

    Then the fixed cost of a run and of a call.
    """
    runs, few = (QUICK_RUNS if effort.quick else RUNS), Size(16, 4)
    world, users = world_of(few), clicks.Cascade()

    def play(policy: str, steps: int, times: int) -> Callable[[], Any]:
        return lambda: simulate(policy, world, users, steps, times, threads=1, compiled=not effort.quick)

    found = []
    for policy in ("random", "cascade-ucb1", "cascade-kl-ucb"):
        several, one = in_turn(effort, play(policy, runs, runs), play(policy, runs * runs, 1))
        contender = runs_of(policy, world, users, compiled=not effort.quick)
        timed(contender, runs, 1, 0)
        steps_alone = [
            runs * runs * timed(contender, runs, min(runs, MOST_REPEATS), turn)[0] for turn in range(len(several))
        ]
        what, size = f"{runs} runs of {policy}", "L=16 K=4"
        found.append(edge_row(what, size, f"the first {runs} steps alone", several, steps_alone, 1 / 1.5))
        if policy in BY_HAND:
            loop = by_hand(partial(plain(BY_HAND[policy]) if effort.quick else BY_HAND[policy], **MORE[policy]), few)
            timed(loop, runs, 1, 0)
            hand = [runs * runs * timed(loop, runs, min(runs, MOST_REPEATS), turn)[0] for turn in range(len(several))]
            found.append(edge_row(what, size, "the same by hand", several, hand, 1 / 1.5))
            long = [runs * runs * timed(loop, runs * runs, 1, turn)[0] for turn in range(len(several))]
            found.append(edge_row(f"one long run of {policy}", size, "the same by hand", one, long))
        found.append(edge_row(what, size, "one long run", several, one, 1 / 1.5))
    many, single = in_turn(effort, play("cascade-kl-ucb", 1, runs), play("cascade-kl-ucb", 1, 1))
    each = [total / runs for total in many]
    found.append(edge_row("a run of one step", "L=16 K=4", "30 us", each, [30e-6] * len(each), 1.0))
    found.append(edge_row("a call of one run", "L=16 K=4", "2 ms", single, [2e-3] * len(single), 1.0))
    return found


def resumed_calls(effort: Effort) -> list[dict[str, Any]]:
    """Calls that find all runs in their file, beside writing the world to JSON and reading it back."""
    items, rows = (QUICK_MANY, QUICK_ROWS) if effort.quick else (MANY_ITEMS, MANY_ROWS)
    degrees = np.random.default_rng(1).random((rows, FEATURES))
    topics = worlds.TopicCoverage(degrees, np.full(FEATURES, 1.0 / FEATURES), positions=10)
    return [
        resumed_call(effort, worlds.Fixed(np.linspace(0.01, 0.5, items), positions=10), f"L={items} K=10"),
        resumed_call(effort, topics, f"L={rows} K=10 d={FEATURES}", compiled=not effort.quick),
    ]


def resumed_call(effort: Effort, world: Any, size: str, compiled: bool = False) -> dict[str, Any]:
    """The row of one world."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "played.npz"

        def call() -> None:
            simulate("best", world, steps=1, runs=1, threads=1, compiled=compiled, resume=file)

        call()
        ours, theirs = in_turn(effort, call, lambda: json.loads(json.dumps(as_plain(world.checked()))))
    return edge_row("a call that continues from a file", size, "the world as JSON", ours, theirs, 5.0)


def in_turn(effort: Effort, *works: Callable[[], Any]) -> list[list[float]]:
    """CPU seconds of each in every round, after one that is not counted."""
    for work in works:
        work()
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(min(effort.rounds, ROUNDS)):
        for work, taken in zip(works, seconds, strict=True):
            begun = time.process_time()
            work()
            taken.append(time.process_time() - begun)
    return seconds
