"""The policies of the catalogue that were the slowest, compared with looking at every item or arm for every list."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.contenders import Size, engine
from benchmarks.every_arm import of_every_arm
from benchmarks.every_item import of_every_item
from benchmarks.measure import Effort, ratio, rough, rounds_of
from benchmarks.report import Show, Table, Target, nanoseconds, per_second, times, verdict_cells

SIZE, QUICK_SIZE = Size(1000, 10), Size(40, 3)
# Steps, and the least ratio of the baseline's time to ours.
POLICIES: dict[str, tuple[int, float]] = {
    "random": (50_000, 3.0),
    "ranked-exp3": (10_000, 3.0),
    "ranked-ucb1": (10_000, 3.0),
    "ranked-kl-ucb": (10_000, 3.0),
    "pbm-ts": (10_000, 3.0),
    "cascade-lin-ts": (20_000, 3.0),
}
QUICK_STEPS = 30
ROUNDS = 5


def measure(effort: Effort) -> Sequence[Table]:
    """One row per policy."""
    few = effort._replace(rounds=min(effort.rounds, ROUNDS))
    size = QUICK_SIZE if effort.quick else SIZE
    rows: list[dict[str, Any]] = []
    for name, (steps, wanted) in POLICIES.items():
        baseline: Any = of_every_arm(name) if name.startswith("ranked") else of_every_item(name)
        contenders = {
            "toplist": engine(name, size, compiled=not effort.quick),
            "baseline": engine(baseline, size, compiled=not effort.quick),
        }
        lists = QUICK_STEPS if effort.quick else steps
        roughly = {each: rough(contender, effort.seconds / 5) for each, contender in contenders.items()}
        seconds = rounds_of(contenders, dict.fromkeys(contenders, lists), roughly, few)
        faster = ratio(seconds["baseline"], seconds["toplist"])
        rows.append(
            {
                "policy": name,
                "size": str(size),
                "n": lists,
                "toplist": median(seconds["toplist"]),
                "lists per second": 1.0 / median(seconds["toplist"]),
                "baseline": median(seconds["baseline"]),
                "ratio": faster.middle,
                "quartiles": f"{faster.low:.3g} to {faster.high:.3g}",
                **verdict_cells(faster.middle, None if effort.quick else Target(wanted)),
            }
        )
    columns: dict[str, Show] = {
        "policy": str,
        "size": str,
        "n": str,
        "toplist": nanoseconds,
        "lists per second": per_second,
        "baseline": nanoseconds,
        "ratio": times,
        "quartiles": str,
        "target": str,
        "verdict": str,
    }
    notes = [
        "CPU time per list of whole runs on cascade users, medians over rounds in which both play in turn.",
        "Baseline: the same policy with a number, a draw, a clock or a score for every item, at every position if it "
        "has a bandit for each.",
    ]
    return [Table("Policies that used to look at every item", columns, rows, notes)]
