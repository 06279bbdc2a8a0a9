"""Sections of the benchmark: one module per question, each with a function `measure`, in the order printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.measure import Effort
from benchmarks.report import Table
from benchmarks.sections import (
    anybody,
    baselines,
    changing,
    edges_lsb,
    edges_ranker,
    edges_thompson,
    features,
    growth,
    logistic,
    logs,
    many,
    policies,
    ranker,
    service,
    startup,
    threads,
)


def edges(effort: Effort) -> Sequence[Table]:
    """The rows of all modules about the limits of what is fast."""
    return [table for module in (edges_ranker, edges_lsb, edges_thompson) for table in module.measure(effort)]


SECTIONS: dict[str, Callable[[Effort], Sequence[Table]]] = {
    "policies": policies.measure,
    "baselines": baselines.measure,
    "growth": growth.measure,
    "features": features.measure,
    "changing": changing.measure,
    "anybody": anybody.measure,
    "logistic": logistic.measure,
    "threads": threads.measure,
    "ranker": ranker.measure,
    "many": many.measure,
    "edges": edges,
    "logs": logs.measure,
    "service": service.measure,
    "startup": startup.measure,
}
