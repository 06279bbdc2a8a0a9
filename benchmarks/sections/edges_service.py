"""What does a list with exceptions cost over HTTP, compared with a plain one?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.contenders import Size
from benchmarks.load import Answer, Ask, Visitor, request
from benchmarks.measure import Effort, ratio
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells
from benchmarks.sections.service import POLICY, PROGRAM, RANKING, WINDOW, run_load, two_cores
from benchmarks.server import UNLIMITED, Server, item_names, serving

SIZES, QUICK_SIZES = (Size(1000, 10), Size(100_000, 10), Size(1_000_000, 10)), (Size(16, 4),)
HIDING, HIDDEN = "with-hidden-items", 50  # a ranking of the same items, and how many of them are never shown
LISTS, QUICK_LISTS = 200, 5  # of one kind, in a round
ROUNDS = 5
AT_MOST = Target(1.5, at_most=True)
SETTINGS = {**UNLIMITED, "limits.items_memory": "4096", "limits.request_memory": "4096", "memory": "4096"}


def measure(effort: Effort) -> Sequence[Table]:
    """Rows for each size."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="toplist-bench-") as folder, two_cores() as core:
        for size in QUICK_SIZES if effort.quick else SIZES:
            with serving(Path(folder) / f"{size.items}.db", PROGRAM, core, SETTINGS) as server:
                rows += exceptions(server, size, effort)
    columns: dict[str, Show] = {
        "what": str,
        "size": str,
        "baseline": str,
        "plain": nanoseconds,
        "cost": nanoseconds,
        "ratio": times,
        "quartiles": str,
        "target": str,
        "verdict": str,
    }
    notes = [
        f"CPU time of the server's process for a list of {POLICY}, reported as final; medians over rounds of",
        f"{LISTS} lists of each kind on one connection, in turn. Items hidden: in another ranking of the same size.",
    ]
    return [Table("Service: lists with exceptions", columns, rows, notes)]


def exceptions(server: Server, size: Size, effort: Effort) -> list[dict[str, Any]]:
    """The rows of one size."""
    names, lists = item_names(size.items), QUICK_LISTS if effort.quick else LISTS
    for ranking in (RANKING, HIDING):
        server.create(ranking, size.items, size.positions, policy=POLICY, click_window=WINDOW)
    for name in names[1 :: max(2, size.items // HIDDEN)][:HIDDEN]:
        server.must("PUT", f"/v1/rankings/{HIDING}/items/{name}", {"hidden": True})
    kinds: dict[str, tuple[str, Mapping[str, Any]]] = {
        "plain": (RANKING, {}),
        "one item excluded": (RANKING, {"exclude": names[5:6]}),
        "100 items excluded": (RANKING, {"exclude": names[:: max(1, size.items // 100)][: min(100, size.items // 2)]}),
        "one item pinned": (RANKING, {"pins": {"3": names[7]}}),
        f"{HIDDEN} items hidden": (HIDING, {}),
    }
    cpu: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(min(effort.rounds, ROUNDS) + 1):  # the first warms up
        for name in list(kinds)[:: 1 if turn % 2 == 0 else -1]:
            before = server.cpu()
            run_load(server, [visitor(*kinds[name], lists)])
            cpu[name].append((server.cpu() - before) / lists)
    plain = sorted(cpu["plain"][1:])
    rows = []
    for name in list(kinds)[1:]:
        more = ratio(cpu[name][1:], cpu["plain"][1:])
        cells = {"what": name, "size": str(size), "baseline": "plain list", "plain": plain[len(plain) // 2]}
        cells |= {"cost": sorted(cpu[name][1:])[len(plain) // 2], "ratio": more.middle}
        cells |= {"quartiles": f"{more.low:.3g} to {more.high:.3g}"}
        rows.append(cells | verdict_cells(more.middle, None if effort.quick else AT_MOST, " x"))
    return rows


def visitor(ranking: str, body: Mapping[str, Any], lists: int) -> Visitor:
    """A visitor who asks for lists of one kind, and reports each as seen without a click."""
    ask = request("POST", f"/v1/rankings/{ranking}/lists", json.dumps(body).encode(), "list")
    report, left = json.dumps({"clicks": [], "final": True}).encode(), lists

    def following(answer: Answer | None) -> Ask | None:
        nonlocal left
        if answer is not None and answer.body.startswith(b'{"impression":"') and b'"items"' in answer.body:
            impression = answer.body[15:51].decode()
            return request("PUT", f"/v1/impressions/{impression}/clicks", report, "report")
        left -= 1
        return ask if left >= 0 else None

    return following
