"""The partitions that this server owns: taken when they are free, and handed over to the server they belong to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any

from toplist.service.cluster.owners import Owners
from toplist.service.errors import StoreUnavailable
from toplist.service.live.service import Service
from toplist.service.live.transaction import OpenStore
from toplist.service.store.group_commit import CommitCounts
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.members import ClusterRows
from toplist.service.store.postgres.store import PostgresStore

MakeService = Callable[[int, OpenStore], Service]
StartWork = Callable[[Service], list[asyncio.Task[None]]]
LONGEST_DRAIN = 10.0  # seconds for requests in flight before a partition is handed over
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds before a move that failed is tried again; twice as long each time


class OwnedPartition:
    """A partition that this server owns."""

    def __init__(self, number: int, service: Service, store: PostgresStore, lease: float) -> None:
        self.number, self.service = number, service
        self._store, self._lease = store, lease
        self.opened = monotonic()
        self.work: list[asyncio.Task[None]] = []
        self.is_closing = False
        self._in_flight = 0
        self._is_idle: asyncio.Event | None = None  # while somebody waits for it

    @property
    def is_serving(self) -> bool:
        """Whether it takes requests: its lease is not over by the clock of this server."""
        return not self.is_closing and monotonic() < self._store.renewed + self._lease

    def takes(self, route: str, path: list[str]) -> bool:
        """Whether it takes a request: while its lease is over, a list that is made from memory."""
        return self.is_serving or (
            not self.is_closing and route == "make_list" and self.service.unrecorded.serves(path[0])
        )

    @property
    def lease_left(self) -> float:
        """Seconds of its lease that are left by the clock of this server."""
        return self._store.renewed + self._lease - monotonic()

    @property
    def last_seq(self) -> int:
        """Number of the last event, as far as this server knows."""
        return self._store.last_seq

    @property
    def epoch(self) -> int | None:
        """The epoch of its owner."""
        return self._store.epoch

    def __enter__(self) -> Service:
        """Context of a request; a generator-based one takes as long as much of what a request needs here."""
        self._in_flight += 1
        return self.service

    def __exit__(self, *_: object) -> None:
        self._in_flight -= 1
        if not self._in_flight and self._is_idle is not None:
            self._is_idle.set()

    async def close(self, *, drain: bool) -> None:
        """Take no more requests, answer those in flight, write snapshots, and give the partition back."""
        self.is_closing = True
        for task in self.work:
            task.cancel()
        await asyncio.gather(*self.work, return_exceptions=True)
        if drain and self._in_flight:
            self._is_idle = asyncio.Event()
            try:
                async with asyncio.timeout(LONGEST_DRAIN):
                    await self._is_idle.wait()
            except TimeoutError:
                pass  # what they change is fenced
        await self.service.stop()
        if self._store.released is not None:
            await asyncio.wrap_future(self._store.released)


class Partitions:
    """Partitions that this server owns.

    Parameters
    ----------
    database : Database
        The database.
    memory : int
        Bytes of learners in memory, of all partitions together.
    make_service : callable
        Makes the service of a partition, given what opens its store.
    start_work : callable
        Starts what a service does without being asked.
    log : callable
        Logs an event.
    """

    def __init__(
        self, database: Database, memory: int, make_service: MakeService, start_work: StartWork,
        log: Callable[..., None],
    ) -> None:  # fmt: skip
        self._database, self._memory, self._log = database, memory, log
        self._make_service, self._start_work = make_service, start_work
        self.owned: dict[int, OwnedPartition] = {}
        self._moving: dict[int, asyncio.Task[bool]] = {}  # partitions that are being taken or given back
        self._pauses: dict[int, float] = {}  # of partitions whose last move failed, in seconds
        self.paused_until: dict[int, float] = {}
        self.moves: Counter[str] = Counter()  # since the start: taken, handed over, lost
        self.is_stopping = False
        # Of partitions that this server has no more:
        self.commits, self.learned, self.quarantined = CommitCounts(), Counter[str](), Counter[str]()

    def is_moving(self, partition: int) -> bool:
        """Whether a partition is being taken or given back."""
        return partition in self._moving

    def follow(self, owners: Owners, rows: ClusterRows, on_moved: Callable[[], None]) -> None:
        """Take partitions that belong to this server and are free; give back those that belong to another one."""
        if self.is_stopping:
            return
        for row in rows.parts:
            number = row.part
            if number in self._moving or monotonic() < self.paused_until.get(number, 0.0):
                continue
            held = self.owned.get(number)
            if held is None:
                if owners.is_own(number) and (row.is_free or row.owner == self._database.name):
                    self._move(number, self._take(number), on_moved)
            elif rows.asked <= held.opened:
                continue  # the database was asked before it was taken
            elif row.owner != self._database.name:
                if not row.is_free:  # else this server takes it again when it is next asked for
                    self._move(number, self._give_back(held, "lost"), on_moved)
            elif not owners.is_own(number):
                self._move(number, self._give_back(held, "handed over"), on_moved)
            elif not held.is_serving or row.last_seq > held.last_seq:
                # Its lease ended while the database was away, or another server has changed a divided ranking.
                held.service.transactions.try_again()

    def _move(self, number: int, work: Coroutine[Any, Any, bool], on_moved: Callable[[], None]) -> None:
        task = asyncio.create_task(work)
        self._moving[number] = task

        def done(moved: asyncio.Task[bool]) -> None:
            self._moving.pop(number, None)
            if moved.cancelled():
                return
            if (problem := moved.exception()) is not None:
                self._pause(number, problem)
            elif moved.result():
                self._pauses.pop(number, None)
                on_moved()

        task.add_done_callback(done)

    def _pause(self, number: int, problem: BaseException) -> None:
        """Try again later, and later each time: a policy that this server lacks is missing the next time too."""
        pause = min(2 * self._pauses.get(number, FIRST_PAUSE / 2), LONGEST_PAUSE)
        self._pauses[number], self.paused_until[number] = pause, monotonic() + pause
        self._log("partition stuck", partition=number, detail=repr(problem), again=pause)

    async def _take(self, number: int) -> bool:
        """Take a partition, and serve it once its state is loaded; whether it was taken."""
        loop = asyncio.get_running_loop()
        try:
            store = await loop.run_in_executor(self._database.moving, PostgresStore, self._database, number)
            service = self._make_service(number, lambda _: store)
            try:
                await service.start()
            except BaseException:
                await service.stop()
                raise
        except StoreUnavailable as problem:
            self._log("partition not taken", partition=number, detail=str(problem))
            return False
        partition = OwnedPartition(number, service, store, self._database.lease)
        if not store.is_owner:  # another server was faster
            await partition.close(drain=False)
            return False
        partition.work = self._start_work(service)
        self.owned[number] = partition
        self.moves["taken"] += 1
        self._divide_memory()
        self._log("partition taken", partition=number, epoch=partition.epoch)
        return True

    async def _give_back(self, partition: OwnedPartition, how: str) -> bool:
        counts = partition.service.commit_counts
        await partition.close(drain=how == "handed over")
        self.owned.pop(partition.number, None)
        self.commits = CommitCounts(
            self.commits.commits + counts.commits,
            self.commits.changes + counts.changes,
            self.commits.seconds + counts.seconds,
        )
        self.learned.update(partition.service.learned)
        self.quarantined.update(partition.service.quarantined)
        self.moves[how] += 1
        self._divide_memory()
        self._log(f"partition {how}", partition=partition.number)
        return True

    def _divide_memory(self) -> None:
        for partition in self.owned.values():
            partition.service.transactions.limit_learners(self._memory // len(self.owned))

    async def give_back_all(self, on_moved: Callable[[], None]) -> None:
        """Hand all partitions over, for whoever takes them."""
        self.is_stopping = True
        while self._moving:
            await asyncio.wait(list(self._moving.values()))
        for number, partition in list(self.owned.items()):
            self._move(number, self._give_back(partition, "handed over"), on_moved)
        while self._moving:
            await asyncio.wait(list(self._moving.values()))
