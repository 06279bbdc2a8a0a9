"""How fast are click logs read, and click models fitted to them? CPU time, so all of it counts as one core's."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.generated_log import in_memory, parts_of
from benchmarks.measure import Effort, exponent
from benchmarks.report import Show, Table, Target, nanoseconds, per_second, times, verdict_cells
from benchmarks.session_em import Session, fit_dbn, fit_ubm
from toplist.logs import ClickLog, FitSettings, fit_model, prepare_log, prepare_parts, read_log
from toplist.logs.fitting.fit_data import LocalData
from toplist.logs.generated import GeneratedLog
from toplist.logs.patterns import compress

LISTS, QUICK_LISTS = 1_000_000, 60
QUERIES = 1000
CLOSED = ("global-ctr", "position-ctr", "item-ctr", "item-position-ctr", "cascade", "dcm-counts", "sdbn-counts")
ITERATED = ("pbm", "ubm", "ccm", "dbn", "dcm", "sdbn")
JUDGED = ("pbm", "ubm", "ccm", "dbn")
FIFTY = FitSettings(iterations=50, newton=False)
QUICK_MODELS = ("item-ctr", "ubm")
SESSIONS, QUICK_SESSIONS = 10_000, 40
GROWTH, QUICK_GROWTH = (100_000, 1_000_000, 10_000_000), (20, 40)
LARGE, QUICK_LARGE = 20_000_000, 50
LARGE_ITERATIONS = 10


def measure(effort: Effort) -> Sequence[Table]:
    """Reading, fitting, baselines in Python, growth, and a log larger than memory."""
    lists = QUICK_LISTS if effort.quick else LISTS
    rounds = 1 if effort.quick else 3
    log = in_memory(lists, QUERIES)
    return [
        reading(lists, rounds),
        fitting(log, rounds, effort.quick),
        sessions(effort.quick),
        merging(lists, rounds),
        growing(QUICK_GROWTH if effort.quick else GROWTH, effort.quick),
        larger_than_memory(QUICK_LARGE if effort.quick else LARGE, effort.quick),
    ]


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Median CPU seconds of a piece of work."""
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return median(found)


def reading(lists: int, rounds: int) -> Table:
    """Parquet into arrays, and arrays into what a fit needs."""
    rows: list[dict[str, Any]] = []
    for what, texts, target in (("integer ids", False, Target(1.0)), ("texts as ids", True, None)):
        with tempfile.TemporaryDirectory() as folder:
            GeneratedLog(lists, QUERIES, text_ids=texts).write_parts(Path(folder) / "log")
            spent = seconds(lambda: read_log(Path(folder) / "log", only=()), rounds)
        rows.append(
            {"what": f"Parquet, {what}", "time": spent, "lists": lists / spent}
            | verdict_cells(lists / spent / 1e6, target, " M/s")
        )
    log = in_memory(lists, QUERIES)
    spent = seconds(lambda: compress(log), rounds)
    rows.append({"what": "sorted by query, pairs numbered, equal lists merged", "time": spent, "lists": lists / spent})
    columns: dict[str, Show] = {"what": str, "time": nanoseconds, "lists": per_second, "target": str, "verdict": str}
    return Table(f"Click logs: reading {lists:,} lists of 10 of {QUERIES:,} queries", columns, rows)


def fitting(log: ClickLog, rounds: int, quick: bool) -> Table:
    """Every model: 50 iterations of EM or the closed form, the whole fit, and its errors."""
    data = prepare_log(log)
    rows: list[dict[str, Any]] = []
    for name in QUICK_MODELS if quick else (*CLOSED, *ITERATED):
        fit_model(log.take(np.arange(min(len(log), 1000))), name)  # compiles
        target = Target(1.0, at_most=True) if name in CLOSED else Target(15.0, at_most=True) if name in JUDGED else None
        fifty = seconds(lambda: fit_model(data, name, errors="none", settings=FIFTY), rounds)  # noqa: B023
        row: dict[str, Any] = {"algorithm": name, "50 EM": fifty}
        if name in ITERATED:
            begun = time.process_time()
            found = fit_model(data, name, errors="none")
            row |= {"to the maximum": time.process_time() - begun, "iterations": len(found.history)}
        begun = time.process_time()
        fit_model(data, name, settings=FitSettings() if name in ITERATED else FIFTY)
        whole = time.process_time() - begun
        row["errors"] = max(whole - row.get("to the maximum", fifty), 0.0)
        rows.append(row | verdict_cells(fifty, None if quick else target, " s"))
    columns: dict[str, Show] = {
        "algorithm": str, "50 EM": nanoseconds, "to the maximum": nanoseconds, "iterations": str, "errors": nanoseconds,
        "target": str, "verdict": str,
    }  # fmt: skip
    notes = [
        "50 EM: 50 iterations of EM, or the closed form where there is one; the log is in memory and prepared.",
        "to the maximum: EM and Newton's method until the largest derivative per list is below 1e-7.",
        "errors: additional time of standard errors from the full observed information.",
    ]
    return Table(f"Click logs: fits to {len(log):,} lists", columns, rows, notes)


def sessions(quick: bool) -> Table:
    """UBM and DBN session by session in Python, per list and iteration."""
    count = QUICK_SESSIONS if quick else SESSIONS
    log = in_memory(count, QUERIES // 10)
    shown, clicks = log.item.reshape(count, -1).tolist(), log.click.reshape(count, -1).tolist()
    plain = [Session(*each) for each in zip(log.query.tolist(), shown, clicks, strict=True)]
    rows = []
    ways: dict[str, Callable[[int], object]] = {"ubm": lambda n: fit_ubm(plain, n), "dbn": lambda n: fit_dbn(plain, n)}
    data = LocalData(log.queries, log.items, [compress(log, merge=False)])
    for name, way in ways.items():
        fit_model(log, name, errors="none")  # compiles
        slow = per_iteration(way, 1, 3) / count
        fast = per_iteration(
            lambda n: fit_model(data, name, errors="none", settings=FitSettings(n, newton=False)),  # noqa: B023
            *((5, 10) if quick else (20, 120)),
        ) / count  # fmt: skip
        rows.append({"algorithm": name, "Python": slow, "toplist": fast, "ratio": slow / fast}
                    | verdict_cells(slow / fast, None if quick else Target(100.0), " x"))  # fmt: skip
    columns: dict[str, Show] = {
        "algorithm": str, "Python": nanoseconds, "toplist": nanoseconds, "ratio": times, "target": str, "verdict": str,
    }  # fmt: skip
    notes = ["Per list and iteration; equal lists are not merged."]
    return Table(f"Click logs: beside a loop over sessions in Python, {count:,} lists", columns, rows, notes)


def per_iteration(work: Callable[[int], object], few: int, many: int) -> float:
    """CPU seconds of one more iteration."""
    both = [seconds(lambda: work(few), 3), seconds(lambda: work(many), 3)]
    return max((both[1] - both[0]) / (many - few), 1e-9)


def merging(lists: int, rounds: int) -> Table:
    """A log with many equal lists: the gain of one weighted row for all of them."""
    log = in_memory(lists, QUERIES, disorder=0.5)
    rows: list[dict[str, Any]] = []
    for merge in (False, True):
        patterns = compress(log, merge=merge)
        data = LocalData(log.queries, log.items, [patterns])
        spent = seconds(lambda: fit_model(data, "ubm", errors="none", settings=FIFTY), rounds)  # noqa: B023
        rows.append({"what": "equal lists merged" if merge else "every list a row", "rows": len(patterns.weight),
                     "50 EM": spent})  # fmt: skip
    rows.append(
        {"what": "gain", "rows": rows[0]["rows"] / rows[1]["rows"], "50 EM": rows[0]["50 EM"] / rows[1]["50 EM"]}
    )
    columns: dict[str, Show] = {
        "what": str,
        "rows": lambda value: times(value) if isinstance(value, float) else f"{value:,}",
        "50 EM": lambda value: f"{value:.3g}",
    }
    return Table(f"Click logs: {lists:,} lists of which many are equal, UBM, seconds", columns, rows)


def growing(sizes: Sequence[int], quick: bool) -> Table:
    """Time and memory over the number of lists, with the log on disk."""
    rows: list[dict[str, Any]] = [{"what": f"{size:,} lists"} | in_a_process(size, 5, quick) for size in sizes]
    power = {name: exponent(sizes, [row[name] for row in rows]) for name in ("prepare", "iteration", "memory")}
    rows.append({"what": "exponent"} | power)
    show: Show = lambda value: f"{value:.3g}"  # noqa: E731
    columns: dict[str, Show] = {"what": str, "prepare": show, "iteration": show, "memory": show}
    notes = [f"UBM out of core, {30 * QUERIES:,} pairs: seconds of CPU, and peak memory in MB of the whole process."]
    return Table("Click logs: growth with the number of lists", columns, rows, notes)


def larger_than_memory(size: int, quick: bool) -> Table:
    """Out of core, with the peak of memory."""
    found = in_a_process(size, LARGE_ITERATIONS, quick)
    target = Target(2000.0, at_most=True)
    row: dict[str, Any] = {"what": f"{size:,} lists"} | found | verdict_cells(found["memory"], target, " MB")
    columns: dict[str, Show] = {
        "what": str, "prepare": lambda value: f"{value:.3g} s", "iteration": lambda value: f"{value:.3g} s",
        "memory": lambda value: f"{value:.0f} MB", "target": str, "verdict": str,
    }  # fmt: skip
    return Table("Click logs: out of core, UBM", columns, [row])


def in_a_process(size: int, iterations: int, quick: bool) -> dict[str, float]:
    """Prepare and fit in a process of its own, whose peak of memory is known; in this one for a quick run."""
    if quick:
        return out_of_core(size, iterations)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sections.logs", str(size), str(iterations)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def out_of_core(size: int, iterations: int) -> dict[str, float]:
    """A generated log, part by part: CPU seconds of preparing and of an iteration, and the peak of memory in MB."""
    made = 0.0

    def parts() -> Iterator[ClickLog]:
        nonlocal made
        source = parts_of(GeneratedLog(size, QUERIES))
        while True:
            begun = time.process_time()
            part = next(source, None)
            made += time.process_time() - begun
            if part is None:
                return
            yield part

    begun = time.process_time()
    with prepare_parts(parts()) as data:
        prepared = time.process_time() - begun - made
        fit_model(data, "ubm", errors="none", settings=FitSettings(1, newton=False))  # compiles
        begun = time.process_time()
        fit_model(data, "ubm", errors="none", settings=FitSettings(iterations, newton=False))
        spent = (time.process_time() - begun) / (iterations + 1)  # and one E-step at the end
    return {"prepare": prepared, "iteration": spent, "memory": peak_memory()}


def peak_memory() -> float:
    """The largest resident memory of this process in MB."""
    if sys.platform == "linux":  # getrusage counts what the parent had before exec
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    print(json.dumps(out_of_core(int(sys.argv[1]), int(sys.argv[2]))))
