"""What does Thompson sampling cost, compared with drawing for every item and with KL-UCB?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.contenders import Size, engine
from benchmarks.every_draw import dcm_ts_of_every_draw
from benchmarks.measure import Effort
from benchmarks.report import Table, Target
from benchmarks.speedup import COLUMNS, speedup_rows

EVERY, OPTIMISTIC = "a draw for every item", "dcm-kl-ucb"
# Size, steps, baseline, and the least ratio of its time to ours, if one is wanted.
ROWS: tuple[tuple[Size, int, str, float | None], ...] = (
    (Size(16, 4), 50_000, EVERY, 1.0),
    (Size(1000, 10), 50_000, EVERY, 8.0),
    (Size(100_000, 10), 1000, EVERY, 8.0),
    (Size(16, 4), 50_000, OPTIMISTIC, None),
    (Size(1000, 10), 50_000, OPTIMISTIC, None),
    (Size(100_000, 10), 10_000, OPTIMISTIC, 1.0 / 3.0),
)
QUICK_ROWS = ((Size(16, 4), 50, EVERY, 1.0), (Size(60, 3), 50, OPTIMISTIC, 1.0 / 3.0))
ROUNDS = 3


def measure(effort: Effort) -> Sequence[Table]:
    """One row per size and baseline; `edges_ranker` measures it in a ranker."""
    few = effort._replace(rounds=min(effort.rounds, ROUNDS))
    rows: list[dict[str, Any]] = []
    for size, steps, baseline, wanted in QUICK_ROWS if effort.quick else ROWS:
        other: Any = dcm_ts_of_every_draw() if baseline == EVERY else baseline
        target = None if effort.quick or wanted is None else Target(round(wanted, 3))
        ours, others = engine("dcm-ts", size), {baseline: engine(other, size)}
        rows += speedup_rows("dcm-ts", size, ours, others, few, target, steps)
    notes = ["CPU time per list of whole runs, after one sample of every item; ratio: speed-up over the baseline."]
    return [Table("Thompson sampling beside drawing for every item, and beside KL-UCB", COLUMNS, rows, notes)]
