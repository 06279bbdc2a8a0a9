"""What does composition cost, and lazy evaluation gain, compared with hand-written loops?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.contenders import (
    KL_UCB,
    UCB1,
    Algorithm,
    Contender,
    ContextAlgorithm,
    Contexts,
    FeatureAlgorithm,
    Size,
    Topics,
    by_hand,
    engine,
    in_numpy,
)
from benchmarks.measure import Effort
from benchmarks.report import Table, Target
from benchmarks.speedup import COLUMNS, speedup_rows

LARGE = Size(1000, 10)
LARGEST = Size(100_000, 10)
LARGEST_STEPS = 200  # of a run at that size for all contenders; by NumPy's speed it would be the very first steps
SIZES = (Size(16, 4), Size(32, 8), LARGE, LARGEST)
QUICK_SIZES = (Size(16, 4),)
NUMPY_SECONDS = 3  # times the usual measurement, so that NumPy gets beyond the first steps
NUMPY_ROUNDS = 5
UNJUDGED_ROUNDS = 3  # without a target
LARGE_STEPS = 100_000  # the papers' n, with a target; the early phase, in which almost all items are ties, is shown too
LARGE_EARLY_STEPS = 10_000
LARGE_ROUNDS = 3  # a round takes ten seconds

FUSED_TARGETS = {
    (UCB1.title, 16): 0.8,
    (UCB1.title, 32): 0.8,
    (UCB1.title, 1000): 0.8,
    (UCB1.title, LARGEST.items): 0.8,
    (KL_UCB.title, 16): 1.3,
    (KL_UCB.title, 32): 1.2,
    (KL_UCB.title, 1000): 4.0,
}
NUMPY_TARGETS = {(UCB1.title, 16): 15.0, (KL_UCB.title, 16): 100.0}


def measure(effort: Effort) -> Sequence[Table]:
    """One table against the fused loops, one against NumPy."""
    sizes = QUICK_SIZES if effort.quick else SIZES
    with_fused: list[dict[str, Any]] = []
    with_numpy: list[dict[str, Any]] = []
    long = effort._replace(seconds=NUMPY_SECONDS * effort.seconds, rounds=min(effort.rounds, NUMPY_ROUNDS))
    for algorithm in (UCB1, KL_UCB):
        for size in sizes:
            experts = {
                "fused": by_hand(algorithm.expert, size),
                f"fused, {algorithm.trick}": by_hand(algorithm.sharper, size),
            }
            if size == LARGE:
                few = effort._replace(rounds=min(effort.rounds, LARGE_ROUNDS))
                with_fused += compare(algorithm, size, experts, FUSED_TARGETS, few, LARGE_STEPS)
                with_fused += compare(algorithm, size, experts, {}, effort, LARGE_EARLY_STEPS)
            else:
                with_fused += compare(algorithm, size, experts, FUSED_TARGETS, effort)
            vectorised = {"NumPy": in_numpy(algorithm.vectorised, size)}
            with_numpy += compare(algorithm, size, vectorised, NUMPY_TARGETS, long)
    notes = [
        "CPU time per step, from the first step on; ratio: speed-up of toplist, median over rounds.",
        f"All contenders of a row play the same number of steps n, in {UNJUDGED_ROUNDS} rounds if there is no target.",
    ]
    tricks = [
        "The second fused loop of each algorithm has one more trick: UCB1 divides once per item instead of twice, and",
        "KL-UCB stops Newton's method when the error is below 1e-9, one step before the step size is. Same targets.",
    ]
    return [
        Table(
            "toplist compared with hand-fused compiled loops that score every item", COLUMNS, with_fused, notes + tricks
        ),
        Table("toplist compared with vectorised NumPy loops", COLUMNS, with_numpy, notes),
    ]


def compare(
    algorithm: Algorithm | FeatureAlgorithm | ContextAlgorithm,
    size: Size | Topics | Contexts,
    others: dict[str, Contender],
    targets: dict[tuple[str, int], float],
    effort: Effort,
    steps: int | None = None,
) -> list[dict[str, Any]]:
    """One row per baseline, over `steps` steps, or as many as time allows."""
    wanted = targets.get((algorithm.title, size.items))
    if wanted is None:
        effort = effort._replace(rounds=min(effort.rounds, UNJUDGED_ROUNDS))
    if size == LARGEST:
        steps = LARGEST_STEPS
    target = None if wanted is None else Target(wanted)
    return speedup_rows(algorithm.title, size, engine(algorithm.policy, size), others, effort, target, steps)
