"""Promise 11: several servers at once on one PostgreSQL database, each with its share, whatever happens to them."""

from __future__ import annotations

import asyncio
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

from benchmarks.server import UNLIMITED, Server, free_port
from postgres_server import PostgresServer

from toplist.service.store.copy import copy_store
from toplist.service.store.postgres import PostgresReader
from toplist.service.store.sqlite import SQLiteReader, SQLiteStore

from .beliefs import states
from .broken import Broken
from .callers import Visitor
from .history import History, Recorder
from .journal import Journal, Log, audit
from .proxy import CUT, DEAF, MUTE, OPEN, SLOW, Proxy
from .takeovers import PATIENCE, end_in_order

RANKINGS, ITEMS, POSITIONS, SEGMENTS = 5, 20, 4, 3
SERVERS, PARTITIONS, CONNECTIONS = 3, 8, 6
WINDOW = 3.0  # seconds
LEASE = 1.5
AT_WORK = 0.3  # seconds after another list in which something happens
SECRET = "the secret of all servers of a test"
KINDS = ("kill", "stop", "restart", "crash", "cut")


class Cluster:
    """Servers, each behind a proxy to the database and one for the other servers."""

    def __init__(self, folder: Path, database: PostgresServer, address: str) -> None:
        self.database = database
        self._folder = folder
        self.address = address
        self.sockets = [Path(tempfile.mkdtemp(prefix="toplist-proxy-")) for _ in range(SERVERS)]
        self.inner, self.outer = [free_port() for _ in range(SERVERS)], [free_port() for _ in range(SERVERS)]
        self.servers = [self._server(number) for number in range(SERVERS)]
        self.to_database: list[Proxy] = []
        self.to_others: list[Proxy] = []

    def _server(self, number: int) -> Server:
        settings = {
            **UNLIMITED, "lease": str(LEASE), "cluster.port": str(self.inner[number]), "cluster.secret": SECRET,
            "cluster.address": f"127.0.0.1:{self.outer[number]}", "cluster.partitions": str(PARTITIONS),
        }  # fmt: skip
        address = f"postgresql://toplist@/shop?host={self.sockets[number]}"
        return Server(self._folder / f"server-{number}.db", settings=settings, database=address)

    async def connect(self) -> None:
        """Start the proxies."""
        for number in range(SERVERS):

            async def near(port: int = self.inner[number]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
                return await asyncio.open_connection("127.0.0.1", port)

            async def far() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
                return await asyncio.open_unix_connection(str(self.database.folder / ".s.PGSQL.5432"))

            self.to_database.append(Proxy(far))
            await self.to_database[-1].listen_unix(str(self.sockets[number] / ".s.PGSQL.5432"))
            self.to_others.append(Proxy(near))
            await self.to_others[-1].listen(self.outer[number])

    def disconnect(self) -> None:
        """End the proxies."""
        for proxy in (*self.to_database, *self.to_others):
            proxy.close()


class Drama:
    """What happens to servers, their connections and their database."""

    def __init__(self, cluster: Cluster, chance: random.Random, kinds: tuple[str, ...]) -> None:
        self._cluster, self._chance, self._kinds = cluster, chance, kinds
        self.seen: Counter[str] = Counter()

    async def episode(self) -> str:
        """One of the things that happen, in turn; its name."""
        all_kinds: dict[str, Callable[[Server], Awaitable[None]]] = {
            "kill": self._kill, "stop": self._stop, "restart": self._restart, "crash": self._crash, "cut": self._cut,
        }  # fmt: skip
        kind = self._kinds[self.seen.total() % len(self._kinds)]
        self.seen[kind] += 1
        number = self._chance.randrange(SERVERS) if kind != "restart" else self.seen[kind] % SERVERS
        await all_kinds[kind](self._cluster.servers[number])
        return kind

    async def _kill(self, server: Server) -> None:
        server.running.kill()
        await asyncio.to_thread(server.running.wait)
        server.launch()

    async def _stop(self, server: Server) -> None:
        """For longer than its lease: others take its partitions, and what it was writing is fenced."""
        server.running.send_signal(signal.SIGSTOP)
        await asyncio.sleep(LEASE * self._chance.uniform(1.2, 2.0))
        server.running.send_signal(signal.SIGCONT)

    async def _restart(self, server: Server) -> None:
        """In order, and not before the other servers can take its partitions."""
        await asyncio.to_thread(server.wait_until_ready)
        await asyncio.to_thread(server.end)
        server.launch()
        await asyncio.to_thread(server.wait_until_ready)

    async def _crash(self, _: Server) -> None:
        """The database ends at once, with all its connections, and starts again."""
        database = self._cluster.database
        await asyncio.to_thread(database.stop, self._chance.choice([signal.SIGQUIT, signal.SIGKILL]))
        await asyncio.sleep(self._chance.uniform(0.0, 0.5))
        await asyncio.to_thread(database.start)

    async def _cut(self, server: Server) -> None:
        """A connection is cut, slowed down, or works in one direction only."""
        number = self._cluster.servers.index(server)
        proxies = self._chance.choice([self._cluster.to_database, self._cluster.to_others])
        proxies[number].mode = self._chance.choice([CUT, SLOW, DEAF, MUTE])
        await asyncio.sleep(LEASE * self._chance.uniform(0.5, 2.0))
        proxies[number].mode = CUT  # what was lost on the way does not come later
        proxies[number].mode = OPEN


def check(folder: Path, episodes: int, seed: int = 9, last: float = 1.0, kinds: tuple[str, ...] = KINDS) -> str:
    """So many episodes under load, and `last` seconds of load after them; what was found."""
    database = PostgresServer()
    try:
        database.run("CREATE DATABASE shop")
        cluster = Cluster(folder, database, database.address("shop"))
        journal, history = Journal(), History()
        drama = Drama(cluster, random.Random(seed), kinds)
        unanswered, waits = asyncio.run(_all(cluster, drama, journal, history, episodes, seed, last))
        history.check()
        log, learners = _logs(folder, cluster.address)
        audit(journal, log)
    finally:
        database.remove()
    clicks = sum(map(len, journal.counted.values()))
    seen = ", ".join(f"{count} x {what}" for what, count in sorted(drama.seen.items()))
    longest = ", ".join(f"{what} {median(times):.2f} s" for what, times in sorted(waits.items()))
    return (
        f"{episodes} episodes under load ({seen}): {len(journal.lists)} acknowledged impressions and {clicks} clicks, "
        f"none lost; {log.closed} learned, none twice; {unanswered} requests without an answer, all resolved on retry; "
        f"{len(history.calls)} requests as a sequential model would answer; longest wait of a request per episode, "
        f"median: {longest}; snapshots of {learners} learners equal to a rebuild from {log.events} events"
    )


async def _all(
    cluster: Cluster, drama: Drama, journal: Journal, history: History, episodes: int, seed: int, last: float
) -> tuple[int, dict[str, list[float]]]:
    await cluster.connect()
    with ExitStack() as ending:
        ending.callback(cluster.disconnect)
        try:
            for server in cluster.servers:
                server.launch()
            for server in cluster.servers:
                await asyncio.to_thread(server.wait_until_ready)
            for number in range(RANKINGS):
                create = cluster.servers[number % SERVERS].create
                await asyncio.to_thread(create, f"ranking-{number}", ITEMS, POSITIONS, click_window=WINDOW)
            found = await _under_load(cluster, drama, journal, history, episodes, seed, last)
            await asyncio.to_thread(_wait_until_closed, cluster.address)
            for server in cluster.servers:
                await asyncio.to_thread(server.wait_until_ready)
            await asyncio.gather(*(asyncio.to_thread(end_in_order, server) for server in cluster.servers))
        finally:
            for server in cluster.servers:
                if server.process is not None:
                    server.process.kill()
        return found


async def _under_load(
    cluster: Cluster, drama: Drama, journal: Journal, history: History, episodes: int, seed: int, last: float
) -> tuple[int, dict[str, list[float]]]:
    """Visitors come while things happen; how many requests had no answer, and the longest waits by what happened."""
    ports = [server.port for server in cluster.servers]
    chance, over = random.Random(seed + 1), asyncio.Event()
    callers: list[Recorder] = []

    def caller(number: int) -> Recorder:
        callers.append(Recorder(history, *ports[number % SERVERS :], *ports[: number % SERVERS], patience=PATIENCE))
        return callers[-1]

    async def come_again(number: int) -> None:
        name = f"ranking-{number % RANKINGS}"
        visitor = Visitor(caller(number), journal, name, f"visitor-{number}", seed, SEGMENTS)
        while not over.is_set():
            await visitor.visit()

    async def churn() -> None:
        """Items come and go as well; the history knows which lists may have them."""
        own, number = caller(0), 0
        while not over.is_set():
            number += 1
            path, item = f"/v1/rankings/ranking-{number % RANKINGS}", f"guest-{number}"
            await own.ask("PUT", f"{path}/items", {"items": [{"id": item}]})
            await asyncio.sleep(0.05)
            await own.ask("POST", f"{path}/items/remove", {"ids": [item]})
            journal.listed(await own.ask("POST", f"{path}/lists", {"deferred": True}), None)

    async def another_list() -> None:
        before = len(journal.lists)
        while len(journal.lists) == before and not load.done():
            await asyncio.sleep(0.005)

    load = asyncio.gather(*(come_again(number) for number in range(CONNECTIONS)), churn())
    waits: dict[str, list[float]] = {}
    for _ in range(episodes):
        await another_list()
        await asyncio.wait([load], timeout=chance.uniform(0.0, AT_WORK))
        if load.done():  # somebody found something
            break
        for each in callers:
            each.longest = 0.0
        kind = await drama.episode()
        await another_list()
        waits.setdefault(kind, []).append(max(each.longest for each in callers))
    if not load.done():
        await another_list()
        await asyncio.wait([load], timeout=last)
    over.set()
    await load
    for each in callers:
        each.close()
    return sum(each.unanswered for each in callers), waits


def _wait_until_closed(address: str) -> None:
    """Until every impression was learned or dropped."""
    until = time.monotonic() + PATIENCE
    for part in range(PARTITIONS):
        with closing(PostgresReader(address, part)) as reader:
            while left := reader.open_impressions():
                if time.monotonic() > until:
                    raise Broken(f"{left} impressions of partition {part} are still open after {PATIENCE:.0f} s")
                time.sleep(0.1)


def _logs(folder: Path, address: str) -> tuple[Log, int]:
    """The logs of all partitions, copied to files, and how many learners they lead to."""
    all_logs, learners = Log(), 0
    for part in range(PARTITIONS):
        copy = folder / f"copy-{part}.db"
        with closing(PostgresReader(address, part)) as source, closing(SQLiteStore(copy)) as target:
            with closing(SQLiteReader(copy)) as written:
                copy_store(source, target, written, lambda _: None)
            for found in source.find_damage():
                raise Broken(f"partition {part} is damaged: {found.text}")
        log = Log.of(copy)
        for impression in log.lists.keys() & all_logs.lists.keys():
            raise Broken(f"{impression} is in two partitions")
        all_logs.lists |= log.lists
        all_logs.due |= log.due
        all_logs.learned |= log.learned
        all_logs.dropped |= log.dropped
        all_logs.reported |= log.reported
        all_logs.events += log.events
        learners += len(states(copy))
    return all_logs, learners
