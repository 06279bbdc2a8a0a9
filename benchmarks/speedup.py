"""Rows and columns of the tables that show how many times faster toplist is than a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.contenders import Contender
from benchmarks.measure import Effort, ratio, rough, rounds_of, steps_for
from benchmarks.report import Show, Target, nanoseconds, times, verdict_cells

COLUMNS: dict[str, Show] = {
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


def speedup_rows(
    algorithm: str, size: Any, ours: Contender, others: Mapping[str, Contender], effort: Effort,
    target: Target | None = None, steps: int | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """One row per baseline, over `steps` steps, or as many as time allows.

    The slowest contender sets the number of steps; the others play more runs.
    """
    contenders = {"toplist": ours} | dict(others)
    roughly = {name: rough(contender, effort.seconds) for name, contender in contenders.items()}
    played = steps_for(max(roughly.values()), effort.seconds) if steps is None else steps
    measured = rounds_of(contenders, dict.fromkeys(contenders, played), roughly, effort)
    return [
        {"algorithm": algorithm, "size": str(size), "baseline": name, "n": played,
         "toplist": median(measured["toplist"]), "baseline step": median(measured[name])}
        | speedup_cells(measured["toplist"], measured[name], target)
        for name in others
    ]  # fmt: skip


def speedup_cells(ours: Sequence[float], theirs: Sequence[float], target: Target | None) -> dict[str, Any]:
    """The ratio of the baseline's cost to ours, from the seconds of both in each round, and the verdict."""
    gain = ratio(theirs, ours)
    quartiles = f"{gain.low:.3g} to {gain.high:.3g}"
    return {"ratio": gain.middle, "quartiles": quartiles} | verdict_cells(gain.middle, target)
