"""What does a durable list or report cost compared with an empty route, and what do many segments and a long log?"""

from __future__ import annotations

import asyncio
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import uvloop

from benchmarks.contenders import Size
from benchmarks.load import Answer, Ask, LoadReport, Visitor, load, request
from benchmarks.long_log import write_long_log
from benchmarks.measure import Effort, ratio
from benchmarks.report import Show, Table, Target, nanoseconds, per_second, times, verdict_cells
from benchmarks.server import Broken, Server, serving
from benchmarks.with_nothing import PATH

RANKING, POLICY = "page", "dcm-kl-ucb"
WINDOW = 3600.0
PROGRAM = ("benchmarks.with_nothing",)

SHARES = {Size(1000, 10): Target(0.5), Size(100_000, 10): Target(0.25)}
P99 = {Size(1000, 10): Target(3.0, at_most=True), Size(100_000, 10): None}
MEMORY = Target(2048.0, at_most=True)
COLD = Target(20.0, at_most=True)
RESTART = Target(2.0, at_most=True)


class Scale(NamedTuple):
    """Size of the measurement."""

    sizes: Sequence[Size]
    connections: int
    seconds: float  # of one load
    rounds: int
    segments: int  # segments, with a learner each
    keys_size: Size
    cold: int  # segments of each kind whose first list is measured
    impressions: int  # in the log of the restart
    restarts: int


FULL_SCALE = Scale(list(SHARES), 64, 1.0, 30, 100_000, Size(1000, 10), 200, 1_000_000, 5)
QUICK_SCALE = Scale([Size(16, 4)], 4, 0.1, 2, 40, Size(16, 4), 5, 200, 1)
HISTORIES = (1, 20, 100)  # lists of a cold segment before: the last has more events than are replayed


def measure(effort: Effort) -> Sequence[Table]:
    """Throughput and latency against the empty route; then many segments, and a long log."""
    scale = QUICK_SCALE if effort.quick else FULL_SCALE
    with tempfile.TemporaryDirectory(prefix="toplist-bench-") as name, two_cores() as core:
        folder = Path(name)
        rows = [row for size in scale.sizes for row in beside_nothing(folder, size, scale, core)]
        others = [*many_keys(folder, scale, core), *restarted(folder, scale, core)]
    columns: dict[str, Show] = {
        "what": str,
        "size": str,
        "nothing": per_second,
        "lists and reports": per_second,
        "ratio": times,
        "quartiles": str,
        "cpu of nothing": nanoseconds,
        "cpu of a request": nanoseconds,
        "p50 of nothing": nanoseconds,
        "p50 of a list": nanoseconds,
        "p99 of nothing": nanoseconds,
        "p99 of a list": nanoseconds,
        "p99 of a report": nanoseconds,
        "target": str,
        "verdict": str,
    }
    notes = [
        f"One server process on one core, {scale.connections} connections from this process on another; {POLICY}. Each",
        "list gets a final report, and all is committed with full sync before the reply. Nothing: a route of the",
        f"same server that sends back a small JSON. Medians of {scale.rounds} rounds of {scale.seconds:g} s of both.",
    ]
    first = Table("The service compared with a route that does nothing", columns, rows, notes)
    columns = {"what": str, "measured": str, "target": str, "verdict": str}
    notes = [
        f"Segments: {scale.keys_size}, {POLICY}, each with its own learner; cold ones are in the store only.",
        f"Restart: from the start of the process to /readyz, median of {scale.restarts}.",
    ]
    return [first, Table("Many segments, and a long log", columns, others, notes)]


@contextmanager
def two_cores() -> Iterator[int | None]:
    """Bind this process to one core and return the other for the server; a single core is shared."""
    if not hasattr(os, "sched_getaffinity"):
        yield None
        return
    before = os.sched_getaffinity(0)
    first, second = min(before), max(before)
    os.sched_setaffinity(0, {second})
    try:
        yield first
    finally:
        os.sched_setaffinity(0, before)


def run_load(server: Server, visitors: Sequence[Visitor], seconds: float = float("inf")) -> LoadReport:
    """Run a load, none of which may be refused."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        report = runner.run(load(server.port, visitors, seconds))
    if report.refused:
        raise Broken(f"{report.refused} of {report.answers} requests were refused:\n{server.last_words()}")
    return report


def nothing() -> Visitor:
    """A visitor who sends small requests to the empty route."""
    ask = request("POST", PATH, json.dumps({"segment": "some", "number": 1}).encode(), "nothing")
    return lambda _: ask


def lists_and_reports(next_segment: Callable[[], str | None], lists: float = float("inf"), seed: int = 0) -> Visitor:
    """A visitor who asks for a list, reports a click as final, and asks for the next."""
    path, chance, left = f"/v1/rankings/{RANKING}/lists", random.Random(seed), lists
    reports = [json.dumps({"clicks": [position], "final": True}).encode() for position in range(1, 5)]

    def visitor(answer: Answer | None) -> Ask | None:
        nonlocal left
        if answer is not None and answer.body.startswith(b'{"impression":"') and b'"items"' in answer.body:
            impression = answer.body[15:51].decode()
            return request("PUT", f"/v1/impressions/{impression}/clicks", chance.choice(reports), "report")
        if left <= 0:
            return None
        left -= 1
        segment = next_segment()
        return request("POST", path, b"{}" if segment is None else json.dumps({"segment": segment}).encode(), "list")

    return visitor


def beside_nothing(folder: Path, size: Size, scale: Scale, core: int | None) -> list[dict[str, Any]]:
    """Both loads in turn on one server, in each round."""
    with serving(folder / f"{size.items}.db", PROGRAM, core) as server:
        server.create(RANKING, size.items, size.positions, policy=POLICY, click_window=WINDOW, prior_strength=1.0)
        loads: dict[str, Callable[[int], list[Visitor]]] = {
            "nothing": lambda _: [nothing() for _ in range(scale.connections)],
            "service": lambda turn: [
                lists_and_reports(lambda: None, seed=turn * scale.connections + n) for n in range(scale.connections)
            ],
        }
        reports: dict[str, list[LoadReport]] = {name: [] for name in loads}
        cpu: dict[str, list[float]] = {name: [] for name in loads}
        for turn in range(scale.rounds + 1):  # the first warms up
            for name in list(loads)[:: 1 if turn % 2 == 0 else -1]:
                before = server.cpu()
                reports[name].append(run_load(server, loads[name](turn), scale.seconds))
                cpu[name].append((server.cpu() - before) / reports[name][-1].answers)
    free, full = reports["nothing"][1:], reports["service"][1:]
    share = ratio([1.0 / one.per_second for one in free], [1.0 / one.per_second for one in full])
    slower = median(
        one.quantile("list", 0.99) / other.quantile("nothing", 0.99) for one, other in zip(full, free, strict=True)
    )
    return [
        {
            "what": "requests per second",
            "size": str(size),
            "nothing": median(one.per_second for one in free),
            "lists and reports": median(one.per_second for one in full),
            "ratio": share.middle,
            "quartiles": f"{share.low:.3g} to {share.high:.3g}",
            "cpu of nothing": median(cpu["nothing"][1:]),
            "cpu of a request": median(cpu["service"][1:]),
            **verdict_cells(share.middle, SHARES.get(size)),
        },
        {
            "what": "latency",
            "size": str(size),
            "ratio": slower,
            "p50 of nothing": median(one.quantile("nothing", 0.5) for one in free),
            "p50 of a list": median(one.quantile("list", 0.5) for one in full),
            "p99 of nothing": median(one.quantile("nothing", 0.99) for one in free),
            "p99 of a list": median(one.quantile("list", 0.99) for one in full),
            "p99 of a report": median(one.quantile("report", 0.99) for one in full),
            **verdict_cells(slower, P99.get(size)),
        },
    ]


def many_keys(folder: Path, scale: Scale, core: int | None) -> list[dict[str, Any]]:
    """A learner for each segment: their memory, and the time of the first list of a cold one."""
    rows: list[dict[str, Any]] = []
    with serving(folder / "segments.db", PROGRAM, core) as server:
        server.create(RANKING, *scale.keys_size, policy=POLICY, click_window=WINDOW)
        chosen = {lists: [f"cold-{lists}-{n}" for n in range(scale.cold)] for lists in HISTORIES}
        for lists, segments in chosen.items():
            ask_each(server, [segment for segment in segments for _ in range(lists)], scale.connections)
        begun = time.perf_counter()
        others = scale.segments - len(HISTORIES) * scale.cold
        ask_each(server, [f"segment-{n}" for n in range(max(0, others))], scale.connections)
        per_segment = (time.perf_counter() - begun) / max(1, others)
        memory = {name: size / 2**20 for name, size in server.memory().items()}
        rows.append(
            {"what": f"memory of {scale.segments} segments", "measured": f"{memory['VmRSS']:.0f} MB"}
            | verdict_cells(memory["VmHWM"], MEMORY, " MB")
        )
        rows.append({"what": "peak memory", "measured": f"{memory['VmHWM']:.0f} MB"})
        rows.append(
            {"what": "a new segment with a list and a report, of many at once", "measured": nanoseconds(per_segment)}
        )
        for lists, segments in chosen.items():
            order = iter(random.Random(lists).sample(segments, len(segments)))
            visitor = lists_and_reports(lambda order=order: next(order), len(segments))  # type: ignore[misc]
            latencies = run_load(server, [visitor]).latencies["list"]
            high = float(np.quantile(latencies, 0.99))
            what = f"first list of a cold segment with {lists} lists before"
            rows.append({"what": what, "measured": spread(latencies), **verdict_cells(high * 1000.0, COLD, " ms")})
            rows.append(
                {"what": "a sync of the disk alone at that time", "measured": spread(syncs(folder, len(segments)))}
            )
    return rows


def spread(seconds: Sequence[float]) -> str:
    """Median, p99 and maximum, as text."""
    middle, high = np.quantile(seconds, [0.5, 0.99])
    return f"{nanoseconds(middle)}, p99 {nanoseconds(high)}, at most {nanoseconds(max(seconds))}"


def syncs(folder: Path, count: int) -> list[float]:
    """Duration of a small durable write, for which every list waits."""
    seconds = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(count):
            os.write(file.fileno(), bytes(8192))
            begun = time.perf_counter()
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - begun)
    return seconds


def ask_each(server: Server, segments: Sequence[str], connections: int) -> None:
    """A list and a report for each segment, over all connections."""
    waiting = iter(segments)
    shares = [len(segments) // connections + (n < len(segments) % connections) for n in range(connections)]
    run_load(server, [lists_and_reports(lambda: next(waiting), share, n) for n, share in enumerate(shares)])


def restarted(folder: Path, scale: Scale, core: int | None) -> list[dict[str, Any]]:
    """Time from the start of the process until it accepts requests, with a long log."""
    store = folder / "long.db"
    write_long_log(store, RANKING, scale.keys_size, scale.impressions)
    server = Server(store, PROGRAM, core)
    seconds, lists = [], []
    for turn in range(scale.restarts):
        begun = time.perf_counter()
        try:
            server.start()
            seconds.append(time.perf_counter() - begun)
            server.must("POST", f"/v1/rankings/{RANKING}/lists", {"segment": f"new-{turn}"})
            lists.append(time.perf_counter() - begun)
        finally:
            server.kill()
    what = f"restart to ready with {scale.impressions} impressions in the log"
    return [
        {"what": what, "measured": nanoseconds(median(seconds)), **verdict_cells(median(seconds), RESTART, " s")},
        {"what": "and to the first list", "measured": nanoseconds(median(lists))},
    ]
