"""What do the algorithms for any users, and for known position bias, cost per step, and how does that grow with L?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks import numpy_toprank
from benchmarks.contenders import Contender, Size, engine, in_numpy
from benchmarks.measure import Effort, exponent, ratio, rough, rounds_of, steps_for
from benchmarks.report import Show, Table, Target, decimals, nanoseconds, times, verdict_cells

SMALL, LARGE = Size(16, 4), Size(100, 10)
QUICK_SIZES = (SMALL, Size(30, 3))
POLICIES = ("top-rank", "batch-rank", "bubble-rank", "pbm-ucb", "pbm-ts")
BASELINE = "cascade-kl-ucb"
ROUNDS = 5
# Longest time of a step, in seconds.
WANTED = {("top-rank", LARGE): 20e-6, ("batch-rank", SMALL): 1e-6, ("bubble-rank", SMALL): 1e-6}
GROWING = (Size(50, 5), Size(100, 5), Size(200, 5), Size(400, 5))
STEEPEST = 1.6  # exponent of TopRank's cost over the number of items: far below 2

COLUMNS: dict[str, Show] = {
    "policy": str,
    "what": str,
    "n": str,
    "step": nanoseconds,
    "baseline step": nanoseconds,
    "ratio": times,
    "target": str,
    "verdict": str,
}


def measure(effort: Effort) -> Sequence[Table]:
    """One row per policy and size, TopRank also against NumPy, and the growth of its cost."""
    effort = effort._replace(rounds=min(effort.rounds, ROUNDS))
    rows = []
    for size in QUICK_SIZES if effort.quick else (SMALL, LARGE):
        for policy in POLICIES:
            rows.append(
                compare(
                    policy,
                    engine(BASELINE, size, compiled=not effort.quick),
                    f"{size}, baseline {BASELINE}",
                    size,
                    effort,
                )
            )
            wanted = WANTED.get((policy, size))
            target = None if wanted is None else Target(1e6 * wanted, at_most=True)
            rows[-1] |= verdict_cells(1e6 * rows[-1]["step"], target, " us")
        rows.append(
            compare("top-rank", in_numpy(numpy_toprank.top_rank, size), f"{size}, baseline NumPy", size, effort)
        )
    notes = ["CPU time per step on cascade users, from the first step on; ratio: speed-up over the baseline."]
    return [Table("Algorithms for any users", COLUMNS, rows, notes), growth(effort)]


def compare(policy: str, other: Contender, what: str, size: Size, effort: Effort) -> dict[str, Any]:
    """One row."""
    contenders = {policy: engine(policy, size, compiled=not effort.quick), "other": other}
    roughly = {name: rough(contender, effort.seconds) for name, contender in contenders.items()}
    steps = steps_for(max(roughly.values()), effort.seconds)
    measured = rounds_of(contenders, dict.fromkeys(contenders, steps), roughly, effort)
    return {
        "policy": policy,
        "what": what,
        "n": steps,
        "step": median(measured[policy]),
        "baseline step": median(measured["other"]),
        "ratio": ratio(measured["other"], measured[policy]).middle,
    }


def growth(effort: Effort) -> Table:
    """Growth of TopRank's cost per step with the number of items, all else equal."""
    sizes = QUICK_SIZES if effort.quick else GROWING
    contenders = {str(size): engine("top-rank", size, compiled=not effort.quick) for size in sizes}
    roughly = {name: rough(contender, effort.seconds) for name, contender in contenders.items()}
    steps = steps_for(max(roughly.values()), effort.seconds)
    measured = rounds_of(contenders, dict.fromkeys(contenders, steps), roughly, effort)
    costs = [median(measured[str(size)]) for size in sizes]
    steep = exponent([size.items for size in sizes], costs)
    row = {"what": f"top-rank, L from {sizes[0].items} to {sizes[-1].items}", "n": steps, "exponent": steep}
    columns: dict[str, Show] = {"what": str, "n": str, "exponent": decimals(2), "target": str, "verdict": str}
    row |= verdict_cells(steep, Target(STEEPEST, at_most=True))
    return Table("TopRank: exponent of L in the cost per step", columns, [row])
