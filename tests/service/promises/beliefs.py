"""What learners know, in the process that serves them and out of the log: the same to the last bit."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from toplist.service.bodies import decode_ranking
from toplist.service.rankings import Setting
from toplist.service.replay import beginning, first_event, from_snapshot, in_order, items_at
from toplist.service.store.protocol import LearnerRow, RankingRow
from toplist.service.store.sqlite import SQLiteStore

from .server import Broken, Server, serving


def states(store: SQLiteStore, ranking: RankingRow, row: LearnerRow) -> list[bytes]:
    """What a learner knows after its last event: rebuilt from the log alone, and from its snapshot where it has one.

    Where it has, the snapshot itself is compared with a rebuild up to its event: it was written by the process that
    served, from what it had in memory.
    """
    body = decode_ranking(ranking.spec)
    setting = Setting(ranking.name, body.spec, ranking.policy, body.trained)
    start = first_event(setting, row.id)

    def lead(replay: Any, after: int, until: float) -> None:
        events = in_order(store.learner_events(row.id, after), store.item_events(ranking.id, after))
        replay.run(event for event in events if event.seq <= until)

    rebuilt = beginning(setting, row, items_at(store, ranking.id, start), store.event)
    kept = store.snapshot(row.id, setting.policy)
    if kept is None:
        lead(rebuilt, start, float("inf"))
        return [rebuilt.ranker.to_bytes()]
    lead(rebuilt, start, kept.seq)
    if rebuilt.ranker.to_bytes() != kept.body:
        raise Broken(f"the snapshot of {ranking.name}/{row.key} is not what the log says")
    lead(rebuilt, kept.seq, float("inf"))
    loaded = from_snapshot(setting, row, kept, store.event)
    lead(loaded, kept.seq, float("inf"))
    return [rebuilt.ranker.to_bytes(), loaded.ranker.to_bytes()]


def rebuilt(path: Path) -> dict[tuple[str, str | None], bytes]:
    """What every learner of a store knows, by ranking and key, rebuilt from the log; `Broken` where snapshots differ."""
    store = SQLiteStore(path, read_only=True)
    try:
        known = {}
        for ranking in store.rankings():
            for row in store.learners(ranking.id, 0, 1 << 60):
                first, *others = states(store, ranking, row)
                if any(other != first for other in others):
                    raise Broken(f"{ranking.name}/{row.key} is another learner from its snapshot than from the log")
                known[ranking.name, row.key] = first
        return known
    finally:
        store.close()


def compare_beliefs(server: Server, ranking: str) -> int:
    """Compare a server's learners with those of another that has nothing but the log; how many there are.

    First by all their estimates, while they are in memory. Then by their bytes: the server is ended, which writes what
    it has in memory as snapshots, and these are compared with a rebuild.
    """
    live = estimates(server, ranking)
    server.end()
    known = rebuilt(server.store)
    if {key for name, key in known if name == ranking} != set(live):
        raise Broken(f"the log has the learners {sorted(known, key=str)}, but the server {sorted(live, key=str)}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "log-alone.db"
        with closing(sqlite3.connect(server.store)) as opened, closing(sqlite3.connect(copy)) as target:
            opened.backup(target)
            target.execute("DELETE FROM snapshots")
            target.commit()
        with serving(copy) as other:
            again = estimates(other, ranking)
    for key in live:
        if live[key] != again[key]:
            raise Broken(f"the estimates of {ranking}/{key} are others after a rebuild from the log")
    return len(known)


def estimates(server: Server, ranking: str) -> dict[str | None, Any]:
    """All that a server thinks of the items, by key."""
    path = f"/v1/rankings/{ranking}/estimates?limit=10000"
    keys: list[str | None] = list(server.must("GET", f"/v1/rankings/{ranking}/keys?limit=10000")["keys"])
    status, unkeyed = server.ask("GET", path)
    told: dict[str | None, Any] = {None: unkeyed} if status == 200 else {}
    for key in keys:
        told[key] = server.must("GET", f"{path}&key={quote(str(key))}")
    return {key: json.dumps(each) for key, each in told.items()}
