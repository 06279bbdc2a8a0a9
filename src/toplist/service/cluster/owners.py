"""Who owns which partition, as the database said when it was last asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic

from toplist.service.clock import MILLISECOND, BelievedClock, boot_time, wall_time
from toplist.service.cluster.placing import preferred_server
from toplist.service.errors import StoreUnavailable
from toplist.service.store.postgres.database import ASK_AGAIN, Database
from toplist.service.store.postgres.members import ClusterRows, PartRow, ServerRow, be_gone, be_seen

PER_LEASE = 5  # times that the database is asked within a lease
GRACE_SECONDS = 2.0  # for others to be seen again; a server asks every half second while the database is away
SHORTEST = 0.05  # seconds between two times, however many want to know


class DatabaseClock(BelievedClock):
    """The time of the database, as long as it goes steadily: servers whose own clocks differ agree on it.

    A partition that nobody has asked for a while says nothing about this clock, unlike the log of a single server.
    """

    def __init__(self) -> None:
        self._ahead = 0  # nanoseconds of the database's clock ahead of the monotonic one
        super().__init__(lambda: boot_time() + self._ahead)
        self._is_set = False
        self._unsure = 0  # nanoseconds by which it may be wrong because the first answers took long

    def follow(self, now: int, asked: int, answered: int) -> None:
        """The database said what time it is, between two readings of the monotonic clock.

        The time that is known changes no further than it must to agree: an answer that came late, to a server that was
        stopped or over a slow connection, says little about the time.
        """
        if self._is_set:
            before, self._ahead = self._ahead, min(max(self._ahead, now - answered), now - asked)
            if abs(self._ahead - before) <= self._unsure:  # the database's clock made no step: this one was wrong
                self._seen += self._ahead - before
            self._unsure = min(self._unsure, answered - asked)
        else:
            self._is_set, self._unsure = True, (answered - asked + 1) // 2
            self._seen = self._offset = self._ahead = now - (asked + answered) // 2

    def for_expiry(self) -> int:
        """The time, or that of this machine before the database has said one."""
        return self() if self._is_set else wall_time() // MILLISECOND

    def begin(self, last_event: int) -> None:
        """Whatever the last event."""


class Owners:
    """Asks the database for servers and partitions, and says that this server lives.

    Parameters
    ----------
    database : Database
        The database.
    address : str
        Address at which other servers reach this one.
    clock : DatabaseClock
        Is told the time of the database.
    on_change : callable
        Called on the event loop after the database was asked.
    on_problem : callable
        Called with the error if it cannot be asked; once until it can.
    """

    def __init__(
        self, database: Database, address: str, clock: DatabaseClock, on_change: Callable[[ClusterRows], None],
        on_problem: Callable[[Exception], None],
    ) -> None:  # fmt: skip
        self._database, self.address, self._clock = database, address, clock
        self._on_change, self._on_problem = on_change, on_problem
        self._thread = ThreadPoolExecutor(1, "toplist-servers")
        self._wanted = asyncio.Event()
        self._asked_again = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.rows = ClusterRows([], [], 0, 0.0)
        self._grace, self._grace_ends = 0.0, 0.0  # seconds, and when on the monotonic clock
        self._addresses: dict[str, str] = {}  # of servers, by name
        self._is_failing = False
        self.is_leaving = False

    async def start(self) -> None:
        """Ask for the first time, and go on asking."""
        await self.ask()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ask no more, and say that this server has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        loop = asyncio.get_running_loop()
        with suppress(StoreUnavailable):  # it is not seen any more
            await loop.run_in_executor(self._thread, be_gone, self._database)
        self._thread.shutdown()

    async def ask(self) -> None:
        """Ask the database.

        After it was away for longer than a lease, the other servers have a moment to be seen again: the first one that
        asks would else take what belongs to them, and hand it over at once.
        """
        asked = boot_time()
        loop = asyncio.get_running_loop()
        now, was_away = monotonic(), bool(self.rows.parts) and not self.is_known
        if was_away:
            self._grace, self._grace_ends = now - self.rows.asked, now + GRACE_SECONDS
        grace = self._grace if now < self._grace_ends else 0.0
        rows = await loop.run_in_executor(self._thread, be_seen, self._database, self.address, self.is_leaving, grace)
        self._clock.follow(rows.now, asked, boot_time())
        self.rows = rows
        self._addresses = {server.name: server.address for server in rows.servers}
        self._on_change(rows)
        before, self._asked_again = self._asked_again, asyncio.Event()
        before.set()

    async def _run(self) -> None:
        while True:
            try:
                pause = self._database.lease / PER_LEASE
                async with asyncio.timeout(min(ASK_AGAIN, pause) if self._is_failing else pause):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()
            try:
                await self.ask()
                self._is_failing = False
            except Exception as problem:  # any: leases are renewed, so somebody must go on asking
                if not self._is_failing:
                    self._on_problem(problem)
                self._is_failing = True
            await asyncio.sleep(SHORTEST)

    def look_again(self) -> None:
        """Ask the database soon."""
        self._wanted.set()

    async def wait(self, seconds: float) -> None:
        """Ask the database soon, and wait for the answer, at most the given number of seconds."""
        asked_again = self._asked_again
        self._wanted.set()
        try:
            async with asyncio.timeout(seconds):
                await asked_again.wait()
        except TimeoutError:
            pass

    @property
    def is_known(self) -> bool:
        """Whether the database has answered within a lease."""
        return monotonic() - self.rows.asked < self._database.lease

    def row(self, partition: int) -> PartRow | None:
        """A partition as the database said."""
        return self.rows.parts[partition] if partition < len(self.rows.parts) else None

    def address_of(self, partition: int) -> str | None:
        """Address of the owner of a partition; None if it is free, or its owner is not seen any more."""
        row = self.row(partition)
        return None if row is None or row.is_free or row.owner is None else self._addresses.get(row.owner)

    def is_own(self, partition: int) -> bool:
        """Whether a partition belongs to this server, by rendezvous hashing."""
        return preferred_server(partition, _staying(self.rows.servers)) == self.address

    def others(self) -> list[str]:
        """Addresses of other servers."""
        return [server.address for server in self.rows.servers if server.address != self.address]


def _staying(servers: Sequence[ServerRow]) -> list[str]:
    """Addresses of servers that take partitions."""
    return [server.address for server in servers if not server.is_leaving]
