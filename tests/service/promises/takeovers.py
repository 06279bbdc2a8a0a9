"""Promise 10: several servers on one PostgreSQL database, killed, stopped and woken, and the database itself killed."""

from __future__ import annotations

import asyncio
import http.client
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks.server import UNLIMITED, Server
from postgres_server import PostgresServer

from toplist.service.store.address import open_reader
from toplist.service.store.copy import Target, copy_store
from toplist.service.store.sqlite import SQLiteReader, SQLiteStore

from .beliefs import states
from .broken import Broken, NoAnswer
from .callers import Caller, Visitor
from .journal import Journal, Log, audit

RANKING, ITEMS, POSITIONS, SEGMENTS = "killed", 30, 5, 6
SERVERS, CONNECTIONS = 2, 6
WINDOW = 3.0  # seconds
LEASE = 1.0
AT_WORK = 0.4  # seconds after another list in which something happens
PATIENCE = 60.0


def check(folder: Path, episodes: int, seed: int = 9, last: float = 1.0) -> str:
    """So many episodes under load, and `last` seconds of load after them; what was found."""
    database = PostgresServer()
    try:
        database.run("CREATE DATABASE shop")
        address = database.address("shop")
        with ExitStack() as ending:
            servers = []
            for number in range(SERVERS):
                settings = {**UNLIMITED, "lease": str(LEASE)}
                servers.append(Server(folder / f"server-{number}.db", settings=settings, database=address))
                ending.callback(end_in_order, servers[-1])
                servers[-1].launch()
                if number == 0:
                    servers[0].wait_until_ready()
                    servers[0].create(RANKING, ITEMS, POSITIONS, click_window=WINDOW)
            journal = Journal()
            drama = Drama(servers, database, random.Random(seed))
            unanswered = asyncio.run(_under_load(drama, journal, episodes, seed, last))
            _wait_until_closed(address)
        copy = folder / "copy.db"
        with closing(open_reader(address)) as source, closing(SQLiteStore(copy)) as target:
            with closing(SQLiteReader(copy)) as written:
                copy_store([source], [Target(target, written)], lambda _: None)
            damage = [found.text for found in source.find_damage()]
        if damage:
            raise Broken(f"the database is damaged: {damage[0]}")
        log = Log.of(copy)
        audit(journal, log)
        learners = len(states(copy))
    finally:
        database.remove()
    clicks = sum(map(len, journal.counted.values()))
    seen = ", ".join(f"{count} x {what}" for what, count in sorted(drama.seen.items()))
    return (
        f"{episodes} episodes under load ({seen}): {len(journal.lists)} acknowledged impressions and {clicks} clicks, "
        f"none lost; {log.closed} learned, none twice; {unanswered} requests without an answer, all resolved on retry; "
        f"snapshots of {learners} learners equal to a rebuild from {log.events} events"
    )


class Drama:
    """What happens to the servers and to their database."""

    def __init__(self, servers: list[Server], database: PostgresServer, chance: random.Random) -> None:
        self.servers, self._database, self._chance = servers, database, chance
        self.seen: Counter[str] = Counter()

    async def episode(self) -> None:
        """One of the things that happen; each as often as the next, so that a few episodes have all of them."""
        kinds: list[Callable[[Server], Awaitable[None]]] = [self._kill, self._stop_and_wake, self._restart, self._crash]
        kind = kinds[sum(self.seen.values()) % len(kinds)]
        self.seen[kind.__name__.strip("_").replace("_", " ")] += 1
        await kind(self._chance.choice(self.servers))

    async def _kill(self, server: Server) -> None:
        server.running.kill()
        await asyncio.to_thread(server.running.wait)
        server.launch()

    async def _stop_and_wake(self, server: Server) -> None:
        """For longer than the lease: another server takes over, and what this one was writing is fenced."""
        server.running.send_signal(signal.SIGSTOP)
        await asyncio.sleep(LEASE * self._chance.uniform(1.2, 2.0))
        server.running.send_signal(signal.SIGCONT)

    async def _restart(self, server: Server) -> None:
        """In order: the lease is given back."""
        if await asyncio.to_thread(server.is_ready):
            await asyncio.to_thread(server.end)
        else:
            server.running.send_signal(signal.SIGTERM)
            await asyncio.to_thread(server.running.wait)
        server.launch()

    async def _crash(self, _: Server) -> None:
        """The database ends at once, with all its connections, and starts again."""
        await asyncio.to_thread(self._database.stop, self._chance.choice([signal.SIGQUIT, signal.SIGKILL]))
        await asyncio.sleep(self._chance.uniform(0.0, 0.5))
        await asyncio.to_thread(self._database.start)


async def _under_load(drama: Drama, journal: Journal, episodes: int, seed: int, last: float) -> int:
    """Visitors come while things happen; how many requests had no answer."""
    ports = [server.port for server in drama.servers]
    chance, over = random.Random(seed + 1), asyncio.Event()
    visitors = [Visitor(Caller(*ports), journal, RANKING, f"visitor-{n}", seed, SEGMENTS) for n in range(CONNECTIONS)]

    async def come_again(visitor: Visitor) -> None:
        while not over.is_set():
            await visitor.visit()

    async def another_list() -> None:
        before = len(journal.lists)
        while len(journal.lists) == before and not load.done():
            await asyncio.sleep(0.005)

    load = asyncio.gather(*(come_again(visitor) for visitor in visitors))
    for _ in range(episodes):
        await another_list()
        await asyncio.wait([load], timeout=chance.uniform(0.0, AT_WORK))
        if load.done():  # somebody found something
            break
        await drama.episode()
    if not load.done():
        await another_list()
        await asyncio.wait([load], timeout=last)
    over.set()
    await load
    for visitor in visitors:
        visitor.caller.close()
    return sum(visitor.caller.unanswered for visitor in visitors)


def _wait_until_closed(address: str) -> None:
    """Until every impression was learned or dropped."""
    until = time.monotonic() + PATIENCE
    with closing(open_reader(address)) as reader:
        while left := reader.open_impressions():
            if time.monotonic() > until:
                raise Broken(f"{left} impressions are still open after {PATIENCE:.0f} s")
            time.sleep(0.1)


def end_in_order(server: Server) -> None:
    """In order, so that what a server has in memory is written as snapshots; else at once."""
    if server.process is None:
        return
    server.running.send_signal(signal.SIGCONT)
    until = time.monotonic() + PATIENCE
    while server.running.poll() is None and not _answers(server):  # while it imports, SIGTERM ends it at once
        if time.monotonic() > until:
            raise NoAnswer(f"the server did not answer within {PATIENCE:.0f} s:\n{server.last_words()}")
        time.sleep(0.1)
    if server.running.poll() is None:
        server.running.send_signal(signal.SIGTERM)
        server.wait_for_the_end()


def _answers(server: Server) -> bool:
    try:
        server.ask("GET", "/healthz")
    except (OSError, http.client.HTTPException):
        return False
    return True
