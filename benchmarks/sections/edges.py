"""What does toplist cost at the edges of its range, compared with baselines in the same run?

The rows come from the modules `edges_*` beside this one. Each has a function `rows(effort)`, which returns rows as
`edge_row` makes them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from statistics import median
from typing import Any

import benchmarks.sections
from benchmarks.measure import Effort, ratio
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells

PREFIX = "edges_"


def measure(effort: Effort) -> Sequence[Table]:
    """The rows of all modules, in the order of their names."""
    rows = [row for name in modules() for row in importlib.import_module(name).rows(effort)]
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
    notes = ["CPU time, medians over rounds in which both play in turn; ratio: of the baseline's cost to toplist's."]
    return [Table("At the edges", columns, rows, notes)]


def modules() -> list[str]:
    """Names of the modules with rows."""
    found = pkgutil.iter_modules(benchmarks.sections.__path__)
    return sorted(f"benchmarks.sections.{each.name}" for each in found if each.name.startswith(PREFIX))


def edge_row(
    what: str,
    size: str,
    baseline: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    at_least: float | None = None,
) -> dict[str, Any]:
    """A row from the CPU seconds of both in each round; `at_least` is the ratio to reach."""
    gain = ratio(theirs, ours)
    return {
        "what": what,
        "size": size,
        "baseline": baseline,
        "toplist": median(ours),
        "baseline cost": median(theirs),
        "ratio": gain.middle,
        "quartiles": f"{gain.low:.3g} to {gain.high:.3g}",
        **verdict_cells(gain.middle, None if at_least is None else Target(at_least)),
    }
