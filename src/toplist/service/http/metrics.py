"""Prometheus metrics of the service, in their own registry."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from time import time_ns
from typing import TYPE_CHECKING

from msgspec import Struct
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from toplist.service.clock import MILLISECOND
from toplist.service.http.connection_limits import ConnectionLimits
from toplist.service.http.logs import Log
from toplist.service.live.service import Service

if TYPE_CHECKING:
    from toplist.service.cluster.cluster import ClusterCounts  # which needs the driver of PostgreSQL

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
LAST_REPORTS, OF_RANKINGS = 40, 500  # that are kept with their outcome, of the rankings that got the latest


class Durations:
    """Histogram of request durations."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.total = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts, as Prometheus defines buckets."""
        names = [*map(str, SECONDS), "+Inf"]
        return [(name, float(count)) for name, count in zip(names, accumulate(self.counts), strict=True)]


class CountedReport(Struct, frozen=True, gc=False):
    """A report, and what became of it."""

    at: int  # milliseconds since the epoch
    impression: str
    clicks: int
    outcome: str


class Metrics(Collector):
    """Counters of the service.

    They are plain numbers owned by the event loop, and converted when Prometheus scrapes: prometheus_client's own
    counters take a lock at every update, which every request would pay for.
    """

    def __init__(self, service: Service, connections: ConnectionLimits, log: Log) -> None:
        self._service, self.connections, self._log = service, connections, log
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[tuple[str, str], Durations] = {}
        self.reports: Counter[str] = Counter()  # by outcome
        self._last_reports: OrderedDict[str, deque[CountedReport]] = OrderedDict()  # by ranking
        self.requests_by_key: Counter[str] = Counter()
        self.lists = self.unrecorded = 0
        self._open_impressions = 0
        self.in_flight = 0
        self.working = 0  # requests to limited routes that have arrived, and whose response is not made yet
        self.cluster_counts: Callable[[], ClusterCounts] | None = None  # where it is a server among others
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests[method, route, status] += 1
        durations = self._durations.get((method, route))
        if durations is None:
            durations = self._durations[method, route] = Durations()
        durations.counts[bisect_left(SECONDS, seconds)] += 1
        durations.total += seconds

    def count_report(self, outcome: str, impression: str, clicks: int, ranking: str | None) -> None:
        """Count a report by its outcome; a ranking, if it is known, keeps its last ones."""
        self.reports[outcome] += 1
        if ranking is None:
            return
        last = self._last_reports.get(ranking)
        if last is None:
            last = self._last_reports[ranking] = deque(maxlen=LAST_REPORTS)
            if len(self._last_reports) > OF_RANKINGS:
                self._last_reports.popitem(last=False)
        last.append(CountedReport(time_ns() // MILLISECOND, impression, clicks, outcome))
        self._last_reports.move_to_end(ranking)

    def reports_of(self, ranking: str) -> list[CountedReport]:
        """The last reports to a ranking, in order."""
        return list(self._last_reports.get(ranking, ()))

    def describe(self) -> Iterable[Metric]:
        """No metrics: the registry then does not call `collect` to find their names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The current values."""
        requests = CounterMetricFamily("toplist_requests", "Requests answered.", labels=("method", "route", "status"))
        for (method, route, status), count in self._requests.items():
            requests.add_metric((method, route, str(status)), count)
        yield requests
        yield GaugeMetricFamily("toplist_requests_in_flight", "Requests in flight, including this one.", self.in_flight)
        yield GaugeMetricFamily("toplist_connections", "Open connections.", len(self.connections))
        refused = CounterMetricFamily(
            "toplist_connections_refused", "Connections refused, by the limit that they broke.", labels=("limit",)
        )
        for limit, count in self.connections.refused.items():
            refused.add_metric((limit,), count)
        yield refused
        yield CounterMetricFamily(
            "toplist_connections_gave_way",
            "Connections closed for new ones, at the limit of their total.",
            self.connections.gave_way,
        )
        yield CounterMetricFamily("toplist_log_lines_dropped", "Lines of the log that nobody took.", self._log.dropped)
        help_text = "From the head of a request to the end of its response."
        seconds = HistogramMetricFamily("toplist_request_seconds", help_text, labels=("method", "route"))
        for labels, durations in self._durations.items():
            seconds.add_metric(labels, durations.buckets(), durations.total)
        yield seconds
        yield CounterMetricFamily("toplist_lists", "Lists made, or repeated for the same request id.", self.lists)
        yield CounterMetricFamily(
            "toplist_lists_unrecorded", "Lists made from memory while nothing could be recorded.", self.unrecorded
        )
        reports = CounterMetricFamily("toplist_reports", "Reports by outcome.", labels=("outcome",))
        for outcome, count in self.reports.items():
            reports.add_metric((outcome,), count)
        yield reports
        yield GaugeMetricFamily("toplist_hot_learners", "Learners in memory.", self._service.loaded_learners)
        yield GaugeMetricFamily(
            "toplist_open_impressions",
            "Lists that are not closed yet, including deferred ones.",
            self._open_impressions,
        )
        learned = CounterMetricFamily(
            "toplist_learned", "Lists learned, by the reason for closing them.", labels=("reason",)
        )
        for reason, count in self._service.learned.items():
            learned.add_metric((reason,), count)
        yield learned
        yield GaugeMetricFamily(
            "toplist_clock_believed",
            "1, or 0 for some minutes after the clock was set, when nothing is closed or deleted by time.",
            float(self._service.is_time_believed),
        )
        quarantined = CounterMetricFamily(
            "toplist_quarantined", "Impressions and learners set aside, since they cannot be used.", labels=("what",)
        )
        for what in ("impression", "learner"):
            quarantined.add_metric((what,), self._service.quarantined[what])
        yield quarantined
        commits = self._service.commit_counts
        yield CounterMetricFamily("toplist_commits", "Commits to the store.", commits.commits)
        yield CounterMetricFamily("toplist_committed", "Changes committed, several per commit.", commits.changes)
        yield CounterMetricFamily(
            "toplist_commit_seconds", "Time spent on commits, mostly by the disk.", commits.seconds
        )

        if self.cluster_counts is not None:
            yield from cluster_metrics(self.cluster_counts())

    async def exposition(self) -> tuple[bytes, str]:
        """All metrics in the Prometheus text format, and its media type."""
        self._open_impressions = await self._service.open_impressions()  # the others are in memory
        collected = _Collected(list(self.registry.collect()))
        text = await asyncio.to_thread(generate_latest, collected)  # hundreds of lines take milliseconds
        return text, CONTENT_TYPE_LATEST


class _Collected(CollectorRegistry):
    """Metrics that were collected before."""

    def __init__(self, metrics: list[Metric]) -> None:
        super().__init__()
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return iter(self._metrics)


def cluster_metrics(counts: ClusterCounts) -> Iterator[Metric]:
    """Metrics of a server among others."""
    yield GaugeMetricFamily("toplist_partitions", "Partitions that this server owns.", counts.owned)
    lease = GaugeMetricFamily("toplist_lease_seconds", "Seconds left of the lease that ends first, where there is one.")
    if counts.shortest_lease is not None:  # else an alarm at 0 would go off
        lease.add_metric((), max(0.0, counts.shortest_lease))
    yield lease
    yield CounterMetricFamily(
        "toplist_commits_fenced",
        "Commits of partitions that another server had taken over; nothing of them was written.",
        counts.fenced,
    )
    moves = CounterMetricFamily("toplist_partition_moves", "Partitions taken, handed over and lost.", labels=("how",))
    for how in ("taken", "handed over", "lost"):
        moves.add_metric((how,), counts.moves.get(how, 0))
    yield moves
    help_text = "Requests about rankings, by what became of them here; fenced and crossed ones were tried again."
    requests = CounterMetricFamily("toplist_cluster_requests", help_text, labels=("how",))
    for how in ("owned", "forwarded", "read", "answered for others", "fenced", "crossed", "not taken", "unknown"):
        requests.add_metric((how,), counts.requests.get(how, 0))
    yield requests
