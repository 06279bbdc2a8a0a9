"""What happens to servers, their connections and their database."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise

from benchmarks.server import Server

from .cluster_servers import LEASE, SERVERS, Cluster
from .proxy import CUT, HELD, LATE, OPEN, Proxy

KINDS = ("kill", "stop", "restart", "crash", "cut")
READY_EVERY = 0.1  # seconds between two looks whether a server that was killed is ready again
COMMITS = 2.0  # seconds in which a server that has partitions of visitors begins a commit
TAKEN = 15.0  # seconds after which the partitions of a stopped server are taken over, also on a busy machine
NOTICED = 5.0  # seconds after which a server that was woken knows that its commit was fenced
LOOK_EVERY = 0.02  # seconds
FENCE = b"fence("  # in the first statement of each commit


class Kills:
    """When which server was killed, and when it was ready again, on the clock of the event loop."""

    def __init__(self, servers: int) -> None:
        self._servers = servers
        self.away: list[tuple[int, float, float]] = []  # server, from when to when

    def within(self, begun: float, ended: float) -> int:
        """Number of kills between two moments."""
        return sum(begun <= killed <= ended for _, killed, _ in self.away)

    def time_without_server(self, begun: float, ended: float) -> float:
        """Seconds between two moments in which no server was ready."""
        moments = sorted({begun, ended, *(at for _, *both in self.away for at in both if begun < at < ended)})
        return sum(
            until - since
            for since, until in pairwise(moments)
            if len({server for server, gone, back in self.away if gone <= since and until <= back}) == self._servers
        )


class Drama:
    """Episodes, of the given kinds in turn, and troubles of connections at random."""

    def __init__(
        self, cluster: Cluster, chance: random.Random, kinds: tuple[str, ...], troubles: tuple[str, ...]
    ) -> None:
        self._cluster, self._chance, self._kinds, self._troubles = cluster, chance, kinds, troubles
        self.seen: Counter[str] = Counter()
        self.details: Counter[str] = Counter()
        self.kills = Kills(SERVERS)
        self.fenced = 0  # episodes in which a commit of a stopped owner was fenced
        self._watching: set[asyncio.Task[None]] = set()
        self.database_away: list[tuple[float, float]] = []  # from when to when, on the clock of the loop
        self._episodes: dict[str, Callable[[Server], Awaitable[None]]] = {
            "kill": self._kill, "stop": self._stop, "restart": self._restart, "crash": self._crash, "cut": self._cut,
            "upgrade": self._change_release,
        }  # fmt: skip

    async def episode(self) -> str:
        """One of the things that happen; its name."""
        kind = self._kinds[self.seen.total() % len(self._kinds)]
        self.seen[kind] += 1
        await self._episodes[kind](self._chance.choice(self._cluster.servers))
        return kind

    async def _kill(self, server: Server) -> None:
        server.running.kill()
        killed = asyncio.get_running_loop().time()
        await asyncio.to_thread(server.running.wait)
        server.launch()
        watching = asyncio.create_task(self._wait_until_back(server, killed))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)

    async def _wait_until_back(self, server: Server, killed: float) -> None:
        """Note from when to when a server is away: until it is ready, or killed again."""
        process = server.running
        while server.running is process and not await asyncio.to_thread(server.is_ready):
            await asyncio.sleep(READY_EVERY)
        self.kills.away.append((self._cluster.servers.index(server), killed, asyncio.get_running_loop().time()))

    async def _stop(self, server: Server) -> None:
        """For longer than its lease, with a commit on its way: others take its partitions, and the commit is fenced."""
        candidates = [server, *(each for each in self._cluster.servers if each is not server)]
        for chosen in candidates:  # some may own no partition that anybody asks for
            await asyncio.to_thread(chosen.wait_until_ready)
            to_database = self._cluster.to_database[self._cluster.servers.index(chosen)]
            before = await asyncio.to_thread(self._cluster.fenced, chosen)
            to_database.mode = HELD
            if await _until(partial(_holds_commit, to_database), COMMITS):
                break
            to_database.mode = OPEN
        else:
            self.details["stops of a server that commits nothing"] += 1
        await self._stop_holding(chosen, to_database)
        if await _until(lambda: self._cluster.fenced(chosen) > before, NOTICED):
            self.fenced += 1
            self.details["stops with a fenced commit"] += 1

    async def _stop_holding(self, server: Server, to_database: Proxy) -> None:
        """Stop a server until others have its partitions; what it has said to the database arrives afterwards."""
        server.running.send_signal(signal.SIGSTOP)
        await _until(lambda: not self._cluster.has_parts(server), TAKEN)
        await asyncio.sleep(LEASE * self._chance.uniform(0.0, 0.5))
        is_awake_first = self._chance.random() < 0.5
        if is_awake_first:
            server.running.send_signal(signal.SIGCONT)
            await asyncio.sleep(LEASE * self._chance.uniform(0.0, 0.2))
        to_database.mode = OPEN
        if not is_awake_first:
            server.running.send_signal(signal.SIGCONT)

    async def _restart(self, _: Server) -> None:
        """All servers in turn and in order, each when the one before is ready."""
        for server in self._cluster.servers:
            await asyncio.to_thread(server.wait_until_ready)
            await asyncio.to_thread(server.end)
            server.launch()
        for server in self._cluster.servers:
            await asyncio.to_thread(server.wait_until_ready)

    async def _change_release(self, server: Server) -> None:
        """A rolling restart by a later release, whose first server makes its tables, or back by this one."""
        self._cluster.is_later = not self._cluster.is_later
        self.details["to a later release" if self._cluster.is_later else "back"] += 1
        await self._restart(server)

    async def _crash(self, _: Server) -> None:
        """The database ends at once, with all its connections, and starts again."""
        database = self._cluster.database
        how = self._chance.choice([signal.SIGQUIT, signal.SIGKILL])
        self.details["immediate shutdown of the database" if how == signal.SIGQUIT else "kill -9 of the database"] += 1
        gone = asyncio.get_running_loop().time()
        await asyncio.to_thread(database.stop, how)
        await asyncio.sleep(self._chance.uniform(0.0, 0.5))
        await asyncio.to_thread(database.start)
        self.database_away.append((gone, asyncio.get_running_loop().time()))

    async def _cut(self, server: Server) -> None:
        """A connection is cut, slowed down, or works in one direction only."""
        number = self._cluster.servers.index(server)
        is_database = self._chance.random() < 0.5
        proxy = (self._cluster.to_database if is_database else self._cluster.to_others)[number]
        trouble = self._chance.choice(self._troubles)
        self.details[f"{trouble} {'database' if is_database else 'servers'}"] += 1
        proxy.mode = trouble
        await asyncio.sleep(LEASE * self._chance.uniform(0.5, 1.6))
        if trouble != LATE:
            proxy.mode = CUT  # what was lost on the way does not come later
            proxy.mode = OPEN


def _holds_commit(to_database: Proxy) -> bool:
    """Whether a commit was held on its way to the database."""
    return any(FENCE in data for data in to_database.held)


async def _until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Whether something is so within some seconds; asked in another thread."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while not await asyncio.to_thread(is_so):
        if loop.time() > until:
            return False
        await asyncio.sleep(LOOK_EVERY)
    return True
