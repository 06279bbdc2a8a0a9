"""Does a request cost more than before the service was hardened against attackers?"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.contenders import Size
from benchmarks.load import Visitor
from benchmarks.measure import Effort, ratio
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells
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

FORMER = "5d49a4d4"
AS_BEFORE = Target(1.03, at_most=True)  # CPU of a request, against the former one
MEMORY = Path("/dev/shm")


class Scale(NamedTuple):
    """Size of the measurement."""

    sizes: Sequence[Size]
    connections: int
    seconds: float  # of one load
    rounds: int


FULL_SCALE = Scale(list(SHARES), 64, 1.0, 15)
QUICK_SCALE = Scale([Size(16, 4)], 4, 0.1, 2)


class Measured:
    """One load on one service, round by round."""

    def __init__(self, server: Server, is_service: bool) -> None:
        self.server, self._is_service = server, is_service
        self.cpu: list[float] = []  # seconds of a request
        self.time: list[float] = []  # seconds of a request, at this load

    def load(self, turn: int, scale: Scale) -> None:
        """Ask for a second."""
        visitors: Sequence[Visitor] = [
            lists_and_reports(lambda: None, seed=turn * scale.connections + n) if self._is_service else nothing()
            for n in range(scale.connections)
        ]
        before = self.server.cpu()
        report = run_load(self.server, visitors, scale.seconds)
        if turn > 0:  # the first warms up
            self.cpu.append((self.server.cpu() - before) / report.answers)
            self.time.append(1.0 / report.per_second)


def measure(effort: Effort) -> Sequence[Table]:
    """Both services in turn, each from its own source, with the empty route of each."""
    scale = QUICK_SCALE if effort.quick else FULL_SCALE
    columns: dict[str, Show] = {
        "what": str, "size": str, "store": str, "former": nanoseconds, "now": nanoseconds, "ratio": times,
        "quartiles": str, "target": str, "verdict": str,
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="toplist-former-") as name:
        former = checkout(Path(name) / "former")
        if former is None:
            notes = [f"Not measured: the history of this checkout lacks the commit {FORMER}."]
        else:
            notes = [
                f"The commit {FORMER} is the last before the service was hardened. Seconds of a request, of CPU or of",
                f"the load; both have an empty route. Medians of {scale.rounds} rounds of {scale.seconds:g} s of each.",
            ]
            places = [Path(name), *([MEMORY] if MEMORY.is_dir() else [])]
            rows = [
                row for size in scale.sizes for place in places for row in beside_former(former, size, place, scale)
            ]
    return [Table("The service compared with its former self", columns, rows, notes)]


def checkout(folder: Path) -> Path | None:
    """The source of the former commit in a folder; None where git or the commit is missing."""
    try:
        packed = subprocess.run(["git", "archive", FORMER], cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def beside_former(former: Path, size: Size, place: Path, scale: Scale) -> list[dict[str, Any]]:
    """Rows of a size, with stores in a folder."""
    with tempfile.TemporaryDirectory(dir=place) as name, two_cores() as core, ExitStack() as running:
        every: dict[tuple[str, str], Measured] = {}
        for age, source in (("former", former), ("now", ROOT)):
            store = Path(name) / age / "server.db"
            store.parent.mkdir()
            server = running.enter_context(serving(store, PROGRAM, core, checkout=source))
            server.create(RANKING, size.items, size.positions, policy=POLICY, click_window=WINDOW, prior_strength=1.0)
            every |= {(age, what): Measured(server, what == "request") for what in ("empty route", "request")}
        for turn in range(scale.rounds + 1):
            for one in list(every.values())[:: 1 if turn % 2 == 0 else -1]:
                one.load(turn, scale)
    rows: list[dict[str, Any]] = []
    for what in ("request", "empty route"):
        now, then = every["now", what], every["former", what]
        rows.append(compared(f"CPU of a {what}" if what == "request" else f"CPU of the {what}", then.cpu, now.cpu))
        rows[-1] |= verdict_cells(rows[-1]["ratio"], AS_BEFORE)
    empty = every["former", "empty route"]
    rows.append(compared("throughput, of the former empty route's", empty.time, every["now", "request"].time, True))
    rows[-1] |= verdict_cells(rows[-1]["ratio"], SHARES.get(size))
    where = "memory" if place == MEMORY else "disk"
    return [row | {"size": str(size), "store": where} for row in rows]


def compared(what: str, former: Sequence[float], now: Sequence[float], is_share: bool = False) -> dict[str, Any]:
    """A row: seconds of both, and how many times as much it is now; or, of a share, the former seconds by those now."""
    found = ratio(former, now) if is_share else ratio(now, former)
    return {
        "what": what, "former": median(former), "now": median(now), "ratio": found.middle,
        "quartiles": f"{found.low:.3g} to {found.high:.3g}",
    }  # fmt: skip
