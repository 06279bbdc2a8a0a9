"""What a soak found: latencies by phase and attack, and what the store has of the acknowledged requests."""

from __future__ import annotations

import io
import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from benchmarks.server import Broken, Server
from promises.journal import Journal, Log, audit

from toplist.cli import Exit, main

from .attacker import By, Slice
from .honest import JOURNAL, KINDS, LATENCIES
from .plan import HONEST, Plan

SETTLED = 2.0  # seconds after an attack before the service counts as unattacked
Span = tuple[float, float]


class Latencies(NamedTuple):
    """Latencies of honest requests, and when each was due."""

    kinds: npt.NDArray[np.float64]
    due: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]

    @classmethod
    def read(cls, folder: Path) -> Latencies:
        """Those that the honest callers wrote."""
        raw = array("d", (folder / LATENCIES).read_bytes())
        kinds, due, seconds = np.array(raw).reshape(-1, 3).T
        return cls(kinds, due, seconds)

    def within(self, kind: str, spans: Sequence[Span]) -> npt.NDArray[np.float64]:
        """Latencies of a kind of request that was due in one of the spans, in milliseconds."""
        chosen: npt.NDArray[np.bool_] = np.zeros(len(self.due), dtype=bool)
        for begin, end in spans:
            chosen |= (self.due >= begin) & (self.due < end)
        found: npt.NDArray[np.float64] = self.seconds[chosen & (self.kinds == KINDS.index(kind))] * 1e3
        return found


def quantile(values: npt.NDArray[np.float64], share: float) -> float:
    """A quantile; not a number if there are no values."""
    return float(np.quantile(values, share)) if len(values) else float("nan")


def unattacked(plan: Plan, slices: Sequence[Slice]) -> list[Span]:
    """Spans without an attack: before the first one, and the pauses."""
    spans = [(plan.begin + plan.warm_up, plan.attacks_begin)]
    for before, after in pairwise(slices):
        if after.begun - before.ended > 2 * SETTLED:
            spans.append((before.ended + SETTLED, after.begun))
    if slices and plan.end - slices[-1].ended > 2 * SETTLED:
        spans.append((slices[-1].ended + SETTLED, plan.end))
    return spans


def spans_by(slices: Sequence[Slice], *by: By) -> list[Span]:
    """Spans of attacks by some attackers."""
    return [(one.begun, one.ended) for one in slices if one.by in by]


def by_attack(slices: Sequence[Slice]) -> dict[str, list[Slice]]:
    """The slices of each attack, in the order of the first ones."""
    found: dict[str, list[Slice]] = defaultdict(list)
    for one in slices:
        found[one.attack].append(one)
    return found


def total(slices: Sequence[Slice]) -> Counter[str]:
    """What attacks got."""
    got: Counter[str] = Counter()
    for one in slices:
        got.update(one.got)
    return got


def read_journal(folder: Path) -> Journal:
    """What was acknowledged to honest callers."""
    journal = Journal()
    with (folder / JOURNAL).open("rb") as lines:
        for line in lines:
            entry: dict[str, Any] = json.loads(line)
            if "listed" in entry:
                journal.listed(entry["listed"], entry["request_id"])
            elif "reporting" in entry:
                journal.reporting(entry["reporting"], entry["clicks"])
            else:
                journal.reported(entry["reported"], entry["clicks"])
    return journal


def audit_store(server: Server, folder: Path) -> str:
    """Compare the export of the store with what was acknowledged; raises `Broken`."""
    export = folder / "events.ndjson"
    _toplist("store", "export", str(export), "--store", str(server.store))
    journal, log = read_journal(folder), Log.of_export(export)
    twice = [one for one, learned in log.learned.items() if len(learned) > 1]
    if twice:
        raise Broken(f"{len(twice)} lists were learned twice, as {twice[0]}")
    others = [one for one, listed in log.lists.items() if not (listed.request_id or "").startswith(HONEST)]
    for one in others:  # of attackers, whose answers nobody kept
        del log.lists[one]
    audit(journal, log)
    if len(log.lists) != len(journal.lists):
        raise Broken(f"the store has {len(log.lists)} honest lists, but {len(journal.lists)} were acknowledged")
    clicks = sum(map(len, journal.counted.values()))
    return (
        f"{len(journal.lists):,} honest lists and {clicks:,} clicks were acknowledged, none lost, none doubled; "
        f"{len(others):,} lists of attackers, none learned twice; {log.events:,} events"
    )


def check_store(server: Server) -> str:
    """`toplist store check`; raises `Broken` unless it finds nothing."""
    return _toplist("store", "check", "--store", str(server.store))


def _toplist(*arguments: str) -> str:
    """What a command prints; raises `Broken` if it fails."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = main(list(arguments))
    if code != Exit.FINE:
        raise Broken(f"toplist {' '.join(arguments[:2])} ends with {code}: {said.getvalue()[-2000:]}")
    return said.getvalue().strip()


def unforeseen(server: Server) -> list[str]:
    """Lines of the log about errors that nobody foresaw, or rows set aside."""
    words = ('"event":"unforeseen"', '"event":"response broken off"', "quarantine", "Traceback")
    with server.output.open(errors="replace") as lines:
        return [line.strip()[:1000] for line in lines if any(word in line for word in words)]
