"""The service of this checkout beside that of a former one, in one run: `python -m benchmarks.former_service FOLDER`.

FOLDER is a checkout of another commit, made by `git worktree add FOLDER COMMIT`. Each checkout serves its own source;
the loads are those of `python -m benchmarks --only service`, in turn on both, with the route of each that does nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.contenders import Size
from benchmarks.load import LoadReport, Visitor
from benchmarks.measure import ratio
from benchmarks.report import Target, verdict_cells
from benchmarks.sections.service import (
    POLICY,
    PROGRAM,
    RANKING,
    SHARES,
    WINDOW,
    lists_and_reports,
    nothing,
    run_load,
    two_cores,
)  # fmt: skip
from benchmarks.server import ROOT, Server, serving

CONNECTIONS, SECONDS, ROUNDS = 64, 1.0, 15
AS_BEFORE = Target(1.03, at_most=True)  # CPU of a request, against the former one


class Measured:
    """One load on one service, round by round."""

    def __init__(self, server: Server, is_service: bool) -> None:
        self.server, self._is_service = server, is_service
        self.reports: list[LoadReport] = []
        self.cpu: list[float] = []  # seconds of a request

    def load(self, turn: int) -> None:
        """Ask for a second."""
        visitors: Sequence[Visitor] = [
            lists_and_reports(lambda: None, seed=turn * CONNECTIONS + n) if self._is_service else nothing()
            for n in range(CONNECTIONS)
        ]
        before = self.server.cpu()
        report = run_load(self.server, visitors, SECONDS)
        if turn > 0:  # the first warms up
            self.reports.append(report)
            self.cpu.append((self.server.cpu() - before) / report.answers)

    @property
    def rate(self) -> list[float]:
        """Requests per second."""
        return [report.per_second for report in self.reports]


def measure(former: Path, size: Size, in_memory: bool) -> bool:
    """Print both services and empty routes at a size; whether all targets are reached."""
    place = "/dev/shm" if in_memory else None
    with tempfile.TemporaryDirectory(dir=place) as name, two_cores() as core, ExitStack() as running:
        every: dict[tuple[str, str], Measured] = {}
        for age, checkout in (("former", former), ("now", ROOT)):
            store = Path(name) / age / "server.db"
            store.parent.mkdir()
            server = running.enter_context(serving(store, PROGRAM, core, checkout=checkout))
            server.create(RANKING, size.items, size.positions, policy=POLICY, click_window=WINDOW, prior_strength=1.0)
            every |= {(age, what): Measured(server, what == "service") for what in ("nothing", "service")}
        for turn in range(ROUNDS + 1):
            for one in list(every.values())[:: 1 if turn % 2 == 0 else -1]:
                one.load(turn)
    print(f"\n{size}, the store {'in memory' if in_memory else 'on a disk'}; medians of {ROUNDS} rounds")
    for (age, what), one in every.items():
        cpu = 1e6 * median(one.cpu)
        print(f"{age:<7} {what:<8} {median(one.rate):>8,.0f} requests/s  {cpu:6.1f} us of CPU", flush=True)
    now, nothing_now = every["now", "service"], every["now", "nothing"]
    old, nothing_then = every["former", "service"], every["former", "nothing"]
    share = SHARES[size]
    verdicts = [
        told("CPU of a request, now against the former", now.cpu, old.cpu, AS_BEFORE),
        told("rate against the former empty route", now.rate, nothing_then.rate, share),
        told("rate against its own empty route", now.rate, nothing_now.rate, share),
        told("the former's against its own", old.rate, nothing_then.rate, share),
    ]
    return all(verdicts[:2])


def told(what: str, measured: Sequence[float], base: Sequence[float], target: Target) -> bool:
    """Print a ratio, round by round, with its verdict; whether the target is reached."""
    value = ratio(measured, base).middle
    verdict = verdict_cells(value, target)
    print(f"{what:<44} {value:6.3f}  {verdict['target']}  {verdict['verdict']}", flush=True)
    return target.reached(value)


def main() -> None:
    """Measure all sizes; exit with status 1 if a target is missed."""
    former = Path(sys.argv[1]).resolve()
    if not (former / "benchmarks" / "with_nothing.py").is_file():
        sys.exit(f"{former} is no checkout of toplist with its benchmarks; make one: git worktree add FOLDER COMMIT")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    reached = [measure(former, size, in_memory) for size in SHARES for in_memory in (True, False)]
    sys.exit(not all(reached))


if __name__ == "__main__":
    main()
