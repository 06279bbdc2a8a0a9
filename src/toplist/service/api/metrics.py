"""Counts and durations for Prometheus, in a registry of the service's own."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from toplist.service.desk import Desk

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class _OfDesk(Collector):
    """What the desk counts itself, looked up when somebody asks."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def collect(self) -> Iterable[Metric]:
        """The numbers of now."""
        yield GaugeMetricFamily("toplist_hot_learners", "Learners in memory.", self._desk.hot_learners)
        yield CounterMetricFamily("toplist_commits", "Commits to the store.", self._desk.commits)

    def describe(self) -> Iterable[Metric]:
        """Nothing needs to be looked up for names."""
        return ()


class Metrics:
    """What is counted. Looking up a label is most of the price of counting, so each is looked up once."""

    def __init__(self, desk: Desk) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_OfDesk(desk))
        self._requests = Counter(
            "toplist_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "toplist_request_seconds",
            "From the first line of a request to the last of its answer.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.lists = Counter(
            "toplist_lists", "Lists made, or given again for the same request id.", registry=self.registry
        )
        self._reports = Counter(
            "toplist_reports", "Reports by what came of them.", ("outcome",), registry=self.registry
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        child = self._children.get((method, route, status))
        if child is None:
            child = (self._requests.labels(method, route, str(status)), self._seconds.labels(method, route))
            self._children[method, route, status] = child
        child[0].inc()
        child[1].observe(seconds)

    def report(self, outcome: str) -> None:
        """A report was classified."""
        self._reports.labels(outcome).inc()

    def written(self) -> tuple[bytes, str]:
        """Everything, as Prometheus reads it, and the name of that form."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST
