"""What is the overhead of using a policy list by list from Python?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.contenders import Size
from benchmarks.measure import Effort
from benchmarks.report import Show, Table, Target, nanoseconds, verdict_cells
from toplist import Ranker
from toplist.core.beliefs import array_bytes, copy_arrays
from toplist.core.compiling import compiled
from toplist.core.problem import Problem
from toplist.core.randomness import CHOICES, branch
from toplist.core.slate import NONE, Page, Request, Slate, empty_page
from toplist.ranker.labels import label

SIZES = {Size(1000, 10): Target(60.0, at_most=True), Size(100_000, 10): None}
QUICK_SIZES = {Size(16, 4): Target(60.0, at_most=True)}
POLICIES = ("cascade-ucb1", "cascade-kl-ucb", "dcm-kl-ucb", "dcm-ts")
QUICK_POLICIES = ("dcm-ts",)  # compiling the others takes longer than a test may
LISTS, QUICK_LISTS = 1000, 20


def measure(effort: Effort) -> Sequence[Table]:
    """One row per policy and size."""
    lists = QUICK_LISTS if effort.quick else LISTS
    rows = [
        {"algorithm": policy, "size": str(size)} | costs(policy, size, lists, effort.rounds, target)
        for size, target in (QUICK_SIZES if effort.quick else SIZES).items()
        for policy in (QUICK_POLICIES if effort.quick else POLICIES)
    ]
    columns: dict[str, Show] = {
        "algorithm": str,
        "size": str,
        "rank": nanoseconds,
        "learn": nanoseconds,
        "compiled": nanoseconds,
        "overhead": nanoseconds,
        "target": str,
        "verdict": str,
    }
    notes = [
        f"rank, learn: median latency of {lists} calls each, median of the rounds.",
        "compiled: CPU time of the same lists and clicks in one compiled loop.",
        "overhead: additional CPU time of rank + learn from Python, median of the rounds.",
        "Every item has one observation beforehand.",
    ]
    return [Table("Ranker: one list at a time from Python", columns, rows, notes)]


def costs(policy: str, size: Size, lists: int, rounds: int, target: Target | None) -> dict[str, Any]:
    """Both ways on the same lists, in every round."""
    latencies: list[tuple[float, float]] = []
    work, overhead = [], []
    for turn in range(rounds + 1):  # the first compiles
        ranker = Ranker([f"item {n}" for n in range(size.items)], size.positions, policy, seed=turn, prior_strength=1.0)
        ranker.rank()  # whose cache comes with the first call
        belief = ranker.belief
        begun = time.process_time()
        latencies.append(one_by_one(ranker, lists))
        from_python = (time.process_time() - begun) / lists
        alone = in_one_loop(ranker, belief, lists)
        if array_bytes(belief) != array_bytes(ranker.belief):
            raise AssertionError("the ranker and the compiled loop learned different things")
        work.append(alone)
        overhead.append(from_python - alone)
    rank, learn = (median(each) for each in zip(*latencies[1:], strict=True))
    extra = median(overhead[1:])
    cells = {"rank": rank, "learn": learn, "compiled": median(work[1:]), "overhead": extra}
    return cells | verdict_cells(extra * 1e6, target, " us")


def one_by_one(ranker: Ranker, lists: int) -> tuple[float, float]:
    """Median seconds of `rank` and of `learn`."""
    made, learned = [], []
    for number in range(lists):
        begun = time.perf_counter()
        shown = ranker.rank()
        between = time.perf_counter()
        ranker.learn(shown, clicks=[number % ranker.positions + 1])
        made.append(between - begun)
        learned.append(time.perf_counter() - between)
    return median(made), median(learned)


def in_one_loop(ranker: Ranker, belief: Any, lists: int) -> float:
    """CPU seconds per list of the compiled work alone."""
    problem = Problem(len(ranker), ranker.positions)
    policy = ranker.policy.prepare(problem)
    cache, slate, page = policy.scratch(problem), policy.slate(problem), empty_page(ranker.positions)
    labels = np.array([label(item) for item in ranker.items])
    no_features = np.zeros((problem.items, 0))
    request = Request(np.arange(problem.items), problem.positions, NONE, NONE, no_features, 0, labels, 0)
    key = branch(branch(branch(ranker.options.seed, 0), 0), CHOICES)  # that of the ranker
    work_compiled(policy, copy_arrays(belief), cache, request, slate, page, key, 1)
    cache = policy.scratch(problem)
    begun = time.process_time()
    work_compiled(policy, belief, cache, request, slate, page, key, lists)
    return (time.process_time() - begun) / lists


def work(
    policy: Any, belief: Any, cache: Any, request: Request, slate: Slate, page: Page, key: int, lists: int
) -> None:
    """The compiled work of a ranker's calls; list 0 was made beforehand."""
    for number in range(lists):
        asked = Request(
            request.candidates, request.positions, request.pins, request.order, request.features, request.edition,
            request.labels, branch(key, number + 1), request.present, request.exceptions,
        )  # fmt: skip
        policy.rank(belief, cache, asked, slate)
        for position in range(len(page.clicks)):
            page.clicks[position] = 1 if position == number % len(page.clicks) else 0
        policy.learn(belief, slate, page)


work_compiled = compiled(work)
