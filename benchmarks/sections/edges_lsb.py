"""What does CascadeLSB cost with many dense features, compared with NumPy?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.contenders import LSB, Topics, engine
from benchmarks.measure import Effort, exponent
from benchmarks.report import Table, Target
from benchmarks.speedup import COLUMNS, speedup_rows

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
        steps = QUICK_STEPS if effort.quick else STEPS[size.dimension]
        ours, others = engine(LSB.policy, size), {"NumPy": LSB.numpy(size)}
        rows += speedup_rows(LSB.title, size, ours, others, few, None if effort.quick else FASTER, steps)
    sizes = QUICK_SIZES if effort.quick else SIZES[-len(DIMENSIONS) :]
    costs = [row["toplist"] for row in rows[-len(sizes) :]]
    power = exponent([size.dimension for size in sizes], costs)
    notes = [
        "CPU time per step: to make a list, to draw its clicks and to learn from them; ratio: median over rounds.",
        f"At L={sizes[-1].items} the cost grows as d^{power:.2f}. With OPENBLAS_NUM_THREADS=1 NumPy stays on one core.",
    ]
    return [Table("Edges: CascadeLSB with dense features", COLUMNS, rows, notes)]
