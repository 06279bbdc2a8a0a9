"""Promise 3: a rebuild from the log, a backup and what is restored from it are the live beliefs, byte for byte."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.load import Answer, Ask, load, request
from benchmarks.server import Broken, Server, item_names, serving

from toplist.service.live.learners import WORTH_A_SNAPSHOT

from .beliefs import states
from .callers import CLICKS, LISTS, Caller
from .journal import wait_until_closed

POLICIES = {"item-wise": "dcm-kl-ucb", "feature-based": "cascade-lin-ucb", "elimination": "top-rank"}
ITEMS, POSITIONS, FEATURES, SEGMENTS = 30, 5, 4, 3
CONNECTIONS = 16  # for each policy
WINDOW = 2.0  # seconds
FINAL = 0.8  # the share of lists with a final report; of the others, half have none and half one that is not final


def check(folder: Path, impressions: int, seed: int = 8) -> str:
    """So many impressions of each policy; what was found."""
    chance = random.Random(seed)
    store, early, late = (folder / f"{name}.db" for name in ("rebuilt", "early", "late"))
    with serving(store) as server:
        for kind, policy in POLICIES.items():
            rows = [[chance.random() for _ in range(FEATURES)] for _ in range(ITEMS)]
            known = rows if kind == "feature-based" else None
            server.create(kind, ITEMS, POSITIONS, known, policy=policy, click_window=WINDOW, steps=100_000)
        asyncio.run(_load(server, impressions, chance, early))
        wait_until_closed(store)
        _backup(store, late)
        server.end()
    live = states(store)
    _check_prefix(early, store)
    states(early)
    if states(late) != live:
        raise Broken("the backup has other beliefs than what it is a backup of")
    with serving(late) as restored:
        for kind, segment in live:
            restored.must("POST", LISTS.format(ranking=kind), {} if segment is None else {"segment": segment})
        restored.end()
    _check_prefix(store, late)
    events = _check_live(store)
    return (
        f"{impressions} impressions each of {', '.join(map(' '.join, POLICIES.items()))}: the beliefs of {len(live)} "
        f"learners are equal to the last byte as they were live, rebuilt from {events} events, backed up and restored"
    )


async def _load(server: Server, impressions: int, chance: random.Random, early: Path) -> None:
    """The impressions of all policies at the same time, with changes of the items and a backup on the way."""
    left = dict.fromkeys(POLICIES, impressions)
    visitors = [_Visitor(kind, left, random.Random(chance.random())) for kind in POLICIES for _ in range(CONNECTIONS)]
    loading = asyncio.create_task(load(server.port, visitors))
    changing = [
        _change_items(server, kind, loading, random.Random(chance.random()))
        for kind in POLICIES
        if kind != "elimination"  # which takes no changes while it serves
    ]
    await asyncio.gather(_backup_halfway(server, left, early), *changing)
    told = await loading
    if told.refused:
        raise Broken(f"{told.refused} requests were refused:\n{server.last_words()}")


class _Visitor:
    """Asks for lists and reports, as long as there are impressions left."""

    def __init__(self, ranking: str, left: dict[str, int], chance: random.Random) -> None:
        self._ranking, self._left, self._chance = ranking, left, chance
        segments: Sequence[str | None] = [None, *(f"segment-{n}" for n in range(SEGMENTS))]
        path = LISTS.format(ranking=ranking)
        self._lists = [request("POST", path, json.dumps({"segment": segment}).encode(), "list") for segment in segments]

    def __call__(self, answer: Answer | None) -> Ask | None:
        told: dict[str, Any] = {} if answer is None else json.loads(answer.body)
        if "items" in told and (drawn := self._chance.random()) < (1.0 + FINAL) / 2.0:
            clicks = [place for place in range(1, POSITIONS + 1) if self._chance.random() < 0.3]
            body = json.dumps({"clicks": clicks, "final": drawn < FINAL}).encode()
            return request("PUT", CLICKS.format(impression=told["impression"]), body, "report")
        if self._left[self._ranking] <= 0:
            return None
        self._left[self._ranking] -= 1
        return self._chance.choice(self._lists)


async def _change_items(server: Server, ranking: str, loading: asyncio.Task[Any], chance: random.Random) -> None:
    """Items come, are hidden and shown, get other features and go, as long as lists are made."""
    caller, path = Caller(server.port), f"/v1/rankings/{ranking}/items"
    by_features = ranking == "feature-based"
    number = 0
    while not loading.done():
        number += 1
        row: dict[str, Any] = {"features": [chance.random() for _ in range(FEATURES)]} if by_features else {}
        await caller.ask("PUT", path, {"items": [{"id": f"guest-{number}", **row}]})
        await caller.ask("PUT", path, {"items": [{"id": chance.choice(item_names(ITEMS)), **row}]})
        await caller.ask("PUT", path, {"items": [{"id": item_names(ITEMS)[0], "hidden": number % 2 == 0}]})
        await asyncio.sleep(0.1)
        await caller.ask("POST", f"{path}/remove", {"ids": [f"guest-{number}"]})
    caller.close()


async def _backup_halfway(server: Server, left: dict[str, int], target: Path) -> None:
    half = sum(left.values()) // 2
    while sum(left.values()) > half:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(_backup, server.store, target)


def _backup(store: Path, target: Path) -> None:
    """A copy of a store that is in use."""
    command = [sys.executable, "-m", "toplist", "store", "backup", str(target), "--store", str(store)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Broken(f"toplist store backup failed: {made.stdout}{made.stderr}")


def _check_prefix(earlier: Path, later: Path) -> None:
    """One log goes on where the other ends."""
    with closing(sqlite3.connect(later)) as opened:
        opened.execute("ATTACH ? AS earlier", (str(earlier),))
        last = opened.execute("SELECT max(seq) FROM earlier.events").fetchone()[0]
        both = "SELECT * FROM main.events WHERE seq <= ? EXCEPT SELECT * FROM earlier.events"
        if last is None or opened.execute(f"SELECT count(*) FROM ({both})", (last,)).fetchone()[0]:
            raise Broken(f"{later.name} does not go on where {earlier.name} ends")


def _check_live(store: Path) -> int:
    """Look whether snapshots have what was in memory at the end, or nearly; how many events there are."""
    later = """
        SELECT count(*) FROM events WHERE learner > 0 AND seq > coalesce(
            (SELECT max(snapshots.seq) FROM snapshots WHERE snapshots.learner = events.learner), 0
        ) GROUP BY learner
    """
    with closing(sqlite3.connect(store)) as opened:
        unkept = max((events for (events,) in opened.execute(later)), default=0)
        if unkept >= WORTH_A_SNAPSHOT:
            raise Broken(f"{unkept} events of a learner are later than its snapshot, so its live beliefs are unknown")
        events: int = opened.execute("SELECT count(*) FROM events").fetchone()[0]
    return events
