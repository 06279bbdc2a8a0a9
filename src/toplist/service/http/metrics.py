"""Counts and durations for Prometheus, in a registry of the service's own."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from toplist.service.live.service import Desk

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Durations:
    """How many requests took how long."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.total = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        """As Prometheus has it: each bucket holds all that are shorter."""
        names = [*map(str, SECONDS), "+Inf"]
        return [(name, float(count)) for name, count in zip(names, accumulate(self.counts), strict=True)]


class Metrics(Collector):
    """What is counted.

    All of it is plain numbers of the event loop, and becomes Prometheus's when somebody asks: its own counters have a
    lock each, which every request would pay for.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[tuple[str, str], Durations] = {}
        self._reports: Counter[str] = Counter()
        self.lists = 0
        self.in_flight = 0  # requests at work now
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests[method, route, status] += 1
        durations = self._durations.get((method, route))
        if durations is None:
            durations = self._durations[method, route] = Durations()
        durations.counts[bisect_left(SECONDS, seconds)] += 1
        durations.total += seconds

    def report(self, outcome: str) -> None:
        """A report was classified."""
        self._reports[outcome] += 1

    def describe(self) -> Iterable[Metric]:
        """Nothing needs to be looked up for names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The numbers of now."""
        requests = CounterMetricFamily("toplist_requests", "Requests answered.", labels=("method", "route", "status"))
        for (method, route, status), count in self._requests.items():
            requests.add_metric((method, route, str(status)), count)
        yield requests
        yield GaugeMetricFamily("toplist_requests_in_flight", "Requests at work, this one among them.", self.in_flight)
        told = "From the first line of a request to the last of its answer."
        seconds = HistogramMetricFamily("toplist_request_seconds", told, labels=("method", "route"))
        for labels, durations in self._durations.items():
            seconds.add_metric(labels, durations.buckets(), durations.total)
        yield seconds
        yield CounterMetricFamily("toplist_lists", "Lists made, or given again for the same request id.", self.lists)
        reports = CounterMetricFamily("toplist_reports", "Reports by what came of them.", labels=("outcome",))
        for outcome, count in self._reports.items():
            reports.add_metric((outcome,), count)
        yield reports
        yield GaugeMetricFamily("toplist_hot_learners", "Learners in memory.", self._desk.hot_learners)
        yield GaugeMetricFamily(
            "toplist_open_impressions", "Lists that wait for their reports.", self._desk.open_impressions
        )
        learned = CounterMetricFamily("toplist_learned", "Lists learned, by what closed them.", labels=("reason",))
        for reason, count in self._desk.learned.items():
            learned.add_metric((reason,), count)
        yield learned
        commits = self._desk.commits
        yield CounterMetricFamily("toplist_commits", "Commits to the store.", commits.count)
        yield CounterMetricFamily("toplist_committed", "Changes committed, several at once.", commits.waited)
        yield CounterMetricFamily("toplist_commit_seconds", "Spent on commits, mostly by the disk.", commits.seconds)

    def written(self) -> tuple[bytes, str]:
        """Everything, as Prometheus reads it, and the name of that form."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST
