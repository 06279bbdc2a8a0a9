"""Sections of the benchmark: one module per question, each with a function `measure`, in the order printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from benchmarks.measure import Effort
from benchmarks.report import Table
from benchmarks.sections import (
    anybody,
    baselines,
    changing,
    edges,
    evaluation,
    features,
    former_service,
    growth,
    logistic,
    logs,
    many,
    modes,
    policies,
    ranker,
    service,
    since2019,
    startup,
    threads,
    training,
)


def with_former_service(effort: Effort) -> Iterator[Table]:
    """The service, and then beside its former self."""
    yield from service.measure(effort)
    yield from former_service.measure(effort)


SECTIONS: dict[str, Callable[[Effort], Iterable[Table]]] = {
    "policies": policies.measure,
    "baselines": baselines.measure,
    "growth": growth.measure,
    "features": features.measure,
    "changing": changing.measure,
    "anybody": anybody.measure,
    "logistic": logistic.measure,
    "since2019": since2019.measure,
    "threads": threads.measure,
    "ranker": ranker.measure,
    "many": many.measure,
    "edges": edges.measure,
    "modes": modes.measure,
    "logs": logs.measure,
    "evaluation": evaluation.measure,
    "training": training.measure,
    "service": with_former_service,
    "startup": startup.measure,
}
