"""How long does the first simulation of a policy wait for the compiler, compared with numba's own way?"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.measure import Effort
from benchmarks.report import Show, Table, Target, times, verdict_cells
from benchmarks.sections.startup import child
from toplist.core.compiling import numba_backend

POLICIES = ("cascade-lsb", "cascade-kl-ucb", "dcm-ts", "top-rank")
QUICK_POLICIES = ("cascade-ucb1",)
HALF = Target(0.5, at_most=True)
WORK = """
import numpy, toplist
rows = numpy.random.default_rng(1).random((60, 18))
topics = toplist.worlds.TopicCoverage(rows, numpy.full(18, 1 / 18), 5)
world = topics if {features} else toplist.worlds.b_top_k(16, 4, 0.2, 0.15)
toplist.simulate({policy!r}, world, toplist.clicks.Cascade(), 100, 1, compiled={compiled})
"""


def measure(effort: Effort) -> Sequence[Table]:
    """One row per policy, each in processes of their own with an empty cache."""
    rows: list[dict[str, Any]] = []
    for policy in QUICK_POLICIES if effort.quick else POLICIES:
        ours = seconds(policy, "private", compiled=not effort.quick)
        # A quick run checks that a process works; compiling takes longer than everything else in it.
        theirs = ours if effort.quick else seconds(policy, "public", compiled=True)
        cells = {"algorithm": policy, "baseline": "numba's own way", "toplist": ours, "baseline cost": theirs}
        rows.append(cells | {"ratio": ours / theirs} | verdict_cells(ours / theirs, None if effort.quick else HALF))
    columns: dict[str, Show] = {
        "algorithm": str,
        "baseline": str,
        "toplist": lambda value: f"{value:.1f} s",
        "baseline cost": lambda value: f"{value:.1f} s",
        "ratio": times,
        "target": str,
        "verdict": str,
    }
    notes = [
        "CPU time of a first simulation, of 100 lists, in a fresh process with an empty cache; with the imports.",
        "numba's own way: the same source with numba's public functions alone (TOPLIST_NUMBA=public).",
    ]
    return [Table("Edges: compiling", columns, rows, notes)]


def seconds(policy: str, backend: str, compiled: bool) -> float:
    """CPU seconds of a process that simulates a policy."""
    work = WORK.format(features="lsb" in policy, policy=policy, compiled=compiled)
    with tempfile.TemporaryDirectory() as folder:
        return child(work, folder, **{numba_backend.VARIABLE: backend})["cpu"]
