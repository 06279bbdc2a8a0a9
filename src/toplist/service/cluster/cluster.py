"""Several servers on one database: each owns some partitions, and hands requests for others to their owners."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from toplist.service.cluster.messages import Ask, ForwardedAnswer
from toplist.service.cluster.observers import Observers
from toplist.service.cluster.owners import DatabaseClock, Owners
from toplist.service.cluster.partitions import MakeService, OwnedPartition, Partitions, StartWork
from toplist.service.cluster.peers import NotSent, OutcomeUnknown, Peers
from toplist.service.cluster.placing import REMEMBERED_NAMES, partition_of
from toplist.service.errors import OtherDivision, StoreUnavailable
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.log.events import decode_ranking
from toplist.service.log.impression_id import id_time, parse_id, partition_of_id
from toplist.service.log.settings import LearnerSettings
from toplist.service.store.divisions import division_of, division_parts
from toplist.service.store.group_commit import CommitCounts
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.members import ClusterRows, copied_until, divide, lags, look_up
from toplist.service.store.postgres.reader import PostgresReader
from toplist.service.wire import ClusterPartition, ClusterServer, ClusterView

PATIENCE = 5.0  # seconds that a request waits for its partition to have an owner
LONGEST_LOOK = 2.0  # seconds that a view of the cluster waits for the database
LONGEST_HOLD = 0.1  # seconds that a change of a divided ranking waits for other owners to let it by
HOLD, GO_ON = "hold", "go on"  # what owners say to each other, beside the names of routes
LOOK_EVERY = 0.25  # seconds between two looks at the owners, while a request waits


class ClusterCounts(NamedTuple):
    """Numbers of this server for metrics."""

    owned: int  # partitions
    shortest_lease: float | None  # seconds; None where none is owned
    fenced: int  # commits since the start
    moves: Mapping[str, int]  # of partitions since the start, by kind
    requests: Mapping[str, int]  # since the start, by where they were answered


class Cluster:
    """This server among others.

    Parameters
    ----------
    database : Database
        The database that all of them serve.
    partitions : int or None
        Into how many partitions a new database is divided; None: as many as it has, or 16.
    address : str
        Address at which other servers reach this one.
    secret : bytes
        What all servers know.
    memory : int
        Bytes of learners in memory.
    clock : DatabaseClock
        The time of the database.
    compiler : PolicyCompiler
        Compiles policies for all partitions.
    log : callable
        Logs an event.
    """

    def __init__(
        self, database: Database, partitions: int | None, address: str, secret: bytes, memory: int,
        clock: DatabaseClock, compiler: PolicyCompiler, log: Callable[..., None],
    ) -> None:  # fmt: skip
        self.database, self._log, self._compiler = database, log, compiler
        self.count = divide(database, partitions)
        self.copied_until = copied_until(database)
        self.clock = clock
        self._memory = memory
        self.owners = Owners(database, address, clock, self._follow, self._complain)
        self.peers = Peers(secret)
        self.partitions: Partitions
        self.observers: Observers
        self.requests: Counter[str] = Counter()  # since the start: answered here, forwarded, and so on
        self._telling: set[asyncio.Task[None]] = set()
        self._divisions: OrderedDict[str, int] = OrderedDict()  # of divided rankings, as owners have said

    def serve_with(self, make_service: MakeService, start_work: StartWork) -> None:
        """Say how partitions are served."""
        self.partitions = Partitions(self.database, self._memory, make_service, start_work, self._log)
        self.observers = Observers(self.database, self._memory, make_service)

    # Life -------------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Compile the policies of all rankings, and then take partitions."""
        self._compiler.start()
        self.database.on_change = partial(asyncio.get_running_loop().call_soon_threadsafe, self._tell_others)
        await self._warm_up()
        await self.owners.start()

    async def _warm_up(self) -> None:
        """Load the machine code of all policies first: requests for a partition that moves here do not wait for it."""

        def read() -> list[LearnerSettings]:
            with self.database.read_session() as session:
                return [
                    LearnerSettings.of(decode_ranking(row.settings), row.policy_seq)
                    for partition in range(self.count)
                    for row in PostgresReader(session, partition).rankings()
                ]

        loop = asyncio.get_running_loop()
        for settings in await loop.run_in_executor(self.database.reading, read):
            with suppress(Exception):  # its lists will say what is wrong
                await self._compiler.wait_for(settings)

    async def leave(self) -> None:
        """Hand all partitions over to other servers; requests are forwarded from now on."""
        self.owners.is_leaving = True
        with suppress(StoreUnavailable):
            await self.owners.ask()
        await self.partitions.give_back_all(self._tell_others)

    async def stop(self) -> None:
        """Give back what is left, and end."""
        self.owners.is_leaving = True
        await self.partitions.give_back_all(lambda: None)
        await self.observers.stop()
        await self.owners.stop()
        self.peers.close()
        for task in self._telling:
            task.cancel()
        self._compiler.stop()
        await asyncio.to_thread(self.database.close)

    def _follow(self, rows: ClusterRows) -> None:
        self.partitions.follow(self.owners, rows, self._tell_others)
        for partition in range(self.count):
            self.peers.give_up(partition, self.owners.address_of(partition))

    def _complain(self, problem: Exception) -> None:
        detail = str(problem) if isinstance(problem, StoreUnavailable) else repr(problem)
        self._log("servers unknown", detail=detail)

    def _tell_others(self) -> None:
        """A partition was taken or given back, or a divided ranking changed: all ask the database again."""
        self.owners.look_again()
        for address in self.owners.others():
            self._begin(self.peers.tell_to_look(address))

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)
        return task

    # Requests ---------------------------------------------------------------------------------------------------------

    def partition_of_ranking(self, name: str) -> int:
        """The partition of a ranking, of division 0 where it is divided."""
        return partition_of(name, self.count)

    def is_divided(self, name: str) -> bool:
        """Whether a ranking is known to be divided."""
        return name in self._divisions

    def partition_of_segment(self, name: str, segment: str | None) -> int:
        """The partition of a segment, as far as the ranking is known to be divided."""
        divisions = self._divisions.get(name, 1)
        number = division_of(segment, divisions)
        return division_parts(self.partition_of_ranking(name), divisions, self.count)[number]

    def note_divisions(self, name: str, divisions: int) -> None:
        """An owner said into how many divisions a ranking is divided; 1: it does not know the ranking."""
        self._divisions.pop(name, None)
        if divisions > 1:
            self._divisions[name] = divisions
            if len(self._divisions) > REMEMBERED_NAMES:
                self._divisions.popitem(last=False)

    def partition_of_impression(self, text: str) -> int | None:
        """The partition of an impression; None if the text is no id."""
        id = parse_id(text)
        if id is None:
            return None
        if self.count == 1:
            return 0
        partition = partition_of_id(id)
        return partition if partition < self.count else None

    async def partition_of_copy(self, text: str) -> int | None:
        """The partition of an impression whose id does not tell it; None of others, and of those that are unknown."""
        id = parse_id(text)
        if id is None or id_time(id) > self.copied_until:
            return None

        def read(id: bytes = id) -> int | None:
            with self.database.read_session() as session:
                return look_up(session, self.count, id)

        return await asyncio.get_running_loop().run_in_executor(self.database.reading, read)

    async def take_forwarded(self, partition: int, route: str, path: list[str]) -> OwnedPartition:
        """The partition that answers a request that was forwarded; `NotSent` if this server does not own it."""
        while True:
            held = self.partitions.owned.get(partition)
            if held is not None and held.takes(route, path):
                return held
            if held is not None or not self.partitions.is_moving(partition):
                raise NotSent
            await self.owners.wait(LOOK_EVERY)  # it is being taken

    async def forward(self, ask: Ask) -> tuple[str, ForwardedAnswer] | None:
        """The answer of the owner of a partition, with its address; None where the request surely had no effect.

        It had no effect where no other server owns the partition, or the owner could not be reached, was not the
        owner, or its commit was fenced.
        """
        address = self.owners.address_of(ask.partition)
        if address is None or address == self.owners.address:
            return None
        try:
            forwarded = await self.peers.ask(address, ask)
        except NotSent as unsent:
            if unsent.divisions:
                raise OtherDivision(unsent.divisions) from None
            self.requests["not taken"] += 1
            return None
        except OutcomeUnknown:
            self.requests["unknown"] += 1
            raise StoreUnavailable(
                "The server that owns this ranking did not answer, and whether it did what was asked is unknown; ask "
                "again, lists with their request_id."
            ) from None
        self.requests["forwarded"] += 1
        return address, forwarded

    async def wait_for_owner(self, begun: float) -> None:
        """Wait until the owners may have changed; raise once a request has waited for long."""
        if monotonic() >= begun + PATIENCE:
            raise StoreUnavailable("No server owns this ranking now; another one takes over soon.")
        await self.owners.wait(LOOK_EVERY)

    def try_anew(self, begun: float) -> None:
        """Count a request that a change of a divided ranking has crossed; raise once it was tried for long."""
        self.requests["crossed"] += 1
        if monotonic() >= begun + PATIENCE:
            raise StoreUnavailable("Rankings of this partition change all the time; ask again.")

    async def hold(self, parts: Sequence[int]) -> None:
        """Ask the owners of partitions to begin no change, and wait a moment until they have committed what they have.

        One that does not answer in time is not waited for: its commit will find out.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_HOLD):
                await asyncio.gather(*(self._say(part, HOLD) for part in parts), return_exceptions=True)

    def go_on(self, parts: Sequence[int]) -> Awaitable[object]:
        """Tell these owners that the change is committed, or failed; done once they have read it."""
        return asyncio.gather(*(self._begin(self._say(part, GO_ON)) for part in parts), return_exceptions=True)

    async def _say(self, part: int, what: str) -> None:
        """Say one of these to the owner of a partition, or do it here."""
        held, address = self.partitions.owned.get(part), self.owners.address_of(part)
        if held is not None:
            await self.take_turn(held, what)
        elif address is not None and address != self.owners.address:
            with suppress(NotSent, OutcomeUnknown):
                await self.peers.ask(address, Ask(self.peers.next_id(), part, what, [], b"", b"", b"-", ""))

    async def take_turn(self, held: OwnedPartition, what: str) -> None:
        """Let a change of another owner by."""
        with held as service:
            await (service.transactions.hold() if what == HOLD else service.transactions.go_on())

    def is_served_here(self, partition: int) -> bool:
        """Whether this server answers for a partition, from its memory."""
        held = self.partitions.owned.get(partition)
        return held is not None and held.is_serving

    def counts(self) -> ClusterCounts:
        """Numbers for metrics."""
        leases = [held.lease_left for held in self.partitions.owned.values()]
        fenced = self.database.writer.fenced
        return ClusterCounts(len(leases), min(leases, default=None), fenced, self.partitions.moves, self.requests)

    async def view(self) -> ClusterView:
        """Servers and partitions, as the database said when it was last asked, and what waits in partitions now."""
        late = await self._lags()
        rows = self.owners.rows
        age = monotonic() - rows.asked
        return ClusterView(
            age=age,
            servers=[
                ClusterServer(
                    name=row.name, address=row.address, seen=row.age + age, leaving=row.is_leaving,
                    here=row.name == self.database.name,
                )
                for row in rows.servers
            ],
            partitions=[
                ClusterPartition(
                    partition=row.part, owner=None if row.is_free else row.owner, epoch=row.epoch, last=row.last_seq,
                    lease=None if row.lease_left is None else row.lease_left - age,
                    lag=late.get(row.part),
                )
                for row in rows.parts
            ],
        )  # fmt: skip

    async def _lags(self) -> dict[int, float]:
        """The lag of each partition; none while the database is away."""

        def read() -> dict[int, float]:
            with self.database.read_session() as session:
                return lags(session)

        if not self.owners.is_known:
            return {}
        try:
            async with asyncio.timeout(LONGEST_LOOK):
                return await asyncio.get_running_loop().run_in_executor(self.database.reading, read)
        except (TimeoutError, StoreUnavailable):
            return {}

    # What all partitions of this server say together ------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Whether requests can be answered, here or by others."""
        if self.owners.is_leaving:
            return False
        from_memory = (held.service.unrecorded.is_serving for held in self.partitions.owned.values())
        return self.owners.is_known or any(from_memory)

    def expiry_time(self) -> float:
        """Seconds since the epoch by which keys and tokens expire, by the database's clock: servers agree on it."""
        return self.clock.for_expiry() / 1000

    @property
    def is_time_believed(self) -> bool:
        """Whether windows are closed and retention deletes."""
        return self.clock.is_believed

    @property
    def is_compiling(self) -> bool:
        """Whether machine code is loaded or compiled here."""
        return self._compiler.is_busy

    @property
    def loaded_learners(self) -> int:
        """Number of learners in memory."""
        return sum(held.service.loaded_learners for held in self.partitions.owned.values())

    @property
    def learned(self) -> Counter[str]:
        """Number of lists learned by this server since its start, by reason."""
        return sum((held.service.learned for held in self.partitions.owned.values()), self.partitions.learned)

    @property
    def quarantined(self) -> Counter[str]:
        """Number of impressions and learners that this server set aside since its start."""
        return sum((held.service.quarantined for held in self.partitions.owned.values()), self.partitions.quarantined)

    @property
    def commit_counts(self) -> CommitCounts:
        """Commits of this server since its start."""
        total = CommitCounts(*_numbers(self.partitions.commits))
        for held in self.partitions.owned.values():
            counts = held.service.commit_counts
            total.commits += counts.commits
            total.changes += counts.changes
            total.seconds += counts.seconds
        return total

    async def open_impressions(self) -> int:
        """Number of impressions of this server's partitions that are neither learned nor dropped."""
        total = 0
        for held in list(self.partitions.owned.values()):
            with suppress(StoreUnavailable), held:
                total += await held.service.open_impressions()
        return total

    async def settle(self) -> None:
        """Nothing is refused before its partition is known, so nothing has to be committed first."""

    def begin_stop(self) -> None:
        """Partitions cancel what they train when they are handed over."""


def _numbers(counts: CommitCounts) -> tuple[int, int, float]:
    return counts.commits, counts.changes, counts.seconds
