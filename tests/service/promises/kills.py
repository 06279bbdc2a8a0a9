"""Promise 1: kill -9 at random instants under load loses nothing that was acknowledged and learns nothing twice."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from benchmarks.server import PATIENCE, Broken, Server, serving

from .beliefs import compare_beliefs
from .callers import Caller, Visitor
from .journal import Journal, Log, audit, wait_until_closed

RANKING, ITEMS, POSITIONS, SEGMENTS = "killed", 30, 5, 6
CONNECTIONS = 8
WINDOW = 3.0  # seconds: some windows close while the server is down
AT_WORK = 0.4  # seconds after its first list in which a server is killed
EARLY, STARTING = 0.2, 1.5  # how often one is killed while it starts, and within how many seconds


def check(folder: Path, kills: int, seed: int = 8, last: float = 1.0) -> str:
    """So many kills, and `last` seconds of load after them; what was found."""
    with serving(folder / "killed.db") as server:
        server.create(RANKING, ITEMS, POSITIONS, click_window=WINDOW)
        journal = Journal()
        unanswered, early = asyncio.run(_under_load(server, journal, kills, random.Random(seed), seed, last))
        wait_until_closed(server.store)
        log = Log.of(server.store)
        audit(journal, log)
        learners = compare_beliefs(server, RANKING)
    clicks = sum(map(len, journal.counted.values()))
    return (
        f"{kills} kills under load, {early} of them during the start: {len(journal.lists)} acknowledged impressions "
        f"and {clicks} clicks, none lost; {log.closed} learned, none twice; {unanswered} requests without an answer, "
        f"all resolved on retry; beliefs of {learners} learners equal to a rebuild from {log.events} events"
    )


async def _under_load(
    server: Server, journal: Journal, kills: int, chance: random.Random, seed: int, last: float
) -> tuple[int, int]:
    """Kill and start the server again while visitors come; how many requests had no answer, and kills no load."""
    over = asyncio.Event()
    visitors = [
        Visitor(Caller(server.port), journal, RANKING, f"visitor-{n}", seed, SEGMENTS) for n in range(CONNECTIONS)
    ]

    async def come_again(visitor: Visitor) -> None:
        while not over.is_set():
            await visitor.visit()

    async def churn() -> None:
        """Items come and go as well; what an acknowledged removal took away is in no later list."""
        caller, number = Caller(server.port), 0
        while not over.is_set():
            number += 1
            item = f"guest-{number}"
            await caller.ask("PUT", f"/v1/rankings/{RANKING}/items", {"items": [{"id": item}]})
            await asyncio.sleep(0.05)
            await caller.ask("POST", f"/v1/rankings/{RANKING}/items/remove", {"ids": [item]})
            shown = await caller.ask("POST", f"/v1/rankings/{RANKING}/lists", {"among": None, "deferred": True})
            journal.listed(shown, None)
            if item in shown["items"]:
                raise Broken(f"{item} was removed, but is on a later list")
        caller.close()

    async def another_list() -> None:
        """Until the server is at work."""
        before = len(journal.lists)
        while len(journal.lists) == before and not load.done():
            await asyncio.sleep(0.005)

    load = asyncio.gather(*(come_again(visitor) for visitor in visitors), churn())
    early = 0
    for _ in range(kills):
        if chance.random() < EARLY:
            early += 1
            await asyncio.wait([load], timeout=chance.uniform(0.0, STARTING))
        else:
            await another_list()
            await asyncio.wait([load], timeout=chance.uniform(0.0, AT_WORK))
        if load.done():  # somebody found something
            break
        server.running.kill()
        await asyncio.to_thread(server.running.wait, PATIENCE)
        server.launch()
    if not load.done():
        await another_list()
        await asyncio.wait([load], timeout=last)  # learned in memory, to be compared with what the log says
    over.set()
    await load
    for visitor in visitors:
        visitor.caller.close()
    return sum(visitor.caller.unanswered for visitor in visitors), early
