"""What does CascadeLSB cost with many dense features, compared with NumPy?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.contenders import LSB, Topics, engine
from benchmarks.measure import Effort, exponent, ratio, rough, rounds_of
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells

DIMENSIONS = (18, 50, 100, 200, 400)
SIZES = tuple(Topics(items, 10, d, each=0) for items in (100, 1000) for d in DIMENSIONS)
QUICK_SIZES = (Topics(40, 3, 6, each=0), Topics(40, 3, 12, each=0))
FASTER = Target(5.0)
STEPS = {18: 1000, 50: 500, 100: 200, 200: 100, 400: 40}  # of both, so that both meet the same phase of learning
QUICK_STEPS = 5
ROUNDS = 3


def measure(effort: Effort) -> Sequence[Table]:
    """One table over the number of features."""
    few = effort._replace(rounds=min(effort.rounds, ROUNDS))
    rows: list[dict[str, Any]] = []
    for size in QUICK_SIZES if effort.quick else SIZES:
        contenders = {"toplist": engine(LSB.policy, size), "NumPy": LSB.numpy(size)}
        steps = QUICK_STEPS if effort.quick else STEPS[size.dimension]
        roughly = {name: rough(contender, effort.seconds / 5) for name, contender in contenders.items()}
        seconds = rounds_of(contenders, dict.fromkeys(contenders, steps), roughly, few)
        faster = ratio(seconds["NumPy"], seconds["toplist"])
        rows.append(
            {
                "algorithm": LSB.title,
                "size": str(size),
                "baseline": "NumPy",
                "n": steps,
                "toplist": median(seconds["toplist"]),
                "baseline step": median(seconds["NumPy"]),
                "ratio": faster.middle,
                "quartiles": f"{faster.low:.3g} to {faster.high:.3g}",
                **verdict_cells(faster.middle, None if effort.quick else FASTER),
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
    sizes = QUICK_SIZES if effort.quick else SIZES[-len(DIMENSIONS) :]
    costs = [row["toplist"] for row in rows[-len(sizes) :]]
    power = exponent([size.dimension for size in sizes], costs)
    notes = [
        "CPU time per step: to make a list, to draw its clicks and to learn from them; ratio: median over rounds.",
        f"At L={sizes[-1].items} the cost grows as d^{power:.2f}. With OPENBLAS_NUM_THREADS=1 NumPy stays on one core.",
    ]
    return [Table("Edges: CascadeLSB with dense features", columns, rows, notes)]
