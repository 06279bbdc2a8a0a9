"""What learners know, in the process that serves them and out of the log: the same to the last bit."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.server import Broken, Server, serving
from running import rebuilt


def states(store: Path) -> dict[tuple[str, str | None], bytes]:
    """What every learner of a store knows, by ranking and segment, rebuilt from the log.

    Snapshots are written by the process that serves, from what it has in memory, at the latest when it ends. Where one
    is not what the log says, or leads to something else, the promise is broken.
    """
    known = {}
    for one in rebuilt(store):
        if one.differs_from:
            raise Broken(one.difference)
        known[one.ranking, one.segment] = one.belief
    return known


def compare_beliefs(server: Server, ranking: str) -> int:
    """Compare a server's learners with those of another that has nothing but the log; how many there are.

    First by all their estimates, while they are in memory. Then by their bytes: the server is ended, which writes what
    it has in memory as snapshots, and these are compared with a rebuild.
    """
    live = estimates(server, ranking)
    server.end()
    known = states(server.store)
    if {segment for name, segment in known if name == ranking} != set(live):
        raise Broken(f"the log has the learners {sorted(known, key=str)}, but the server {sorted(live, key=str)}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "log-alone.db"
        with closing(sqlite3.connect(server.store)) as opened, closing(sqlite3.connect(copy)) as target:
            opened.backup(target)
            target.execute("DELETE FROM snapshots")
            target.commit()
        with serving(copy) as other:
            again = estimates(other, ranking)
    for segment in live:
        if live[segment] != again[segment]:
            raise Broken(f"the estimates of {ranking}/{segment} are others after a rebuild from the log")
    return len(known)


def estimates(server: Server, ranking: str) -> dict[str | None, Any]:
    """All that a server thinks of the items, by segment."""
    path = f"/v1/rankings/{ranking}/estimates?limit=10000"
    segments: list[str | None] = list(server.must("GET", f"/v1/rankings/{ranking}/segments?limit=10000")["segments"])
    status, whole = server.ask("GET", path)
    told: dict[str | None, Any] = {None: whole} if status == 200 else {}
    for segment in segments:
        told[segment] = server.must("GET", f"{path}&segment={quote(str(segment))}")
    return {segment: json.dumps(each) for segment, each in told.items()}
