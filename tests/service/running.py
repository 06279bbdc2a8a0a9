"""What tests of the live service share: a clock that is set by hand, services on real files, rankings with items."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, closing
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from postgres_server import database

from toplist.core.item_id import ItemId
from toplist.service.live.compile_apart import CompilerProcess
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.service import Service
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import OpenStore
from toplist.service.log.tallies import differing_uplifts
from toplist.service.log.verify import LiveBeliefs, RebuiltLearner, differences, rebuild_learners
from toplist.service.store.postgres import PostgresReader, PostgresStore
from toplist.service.store.postgres.session import SCHEMA
from toplist.service.store.protocol import LogReader, Store
from toplist.service.store.sqlite import SQLiteReader, SQLiteStore, connect
from toplist.service.wire import Event, Item, ListEntry, ListReply, ListRequest, RankingSpec, Report, ReportReply

T = TypeVar("T")
BEGIN = 1_700_000_000_000
WINDOW = 60.0  # seconds
LONGEST_TEST = 200.0  # seconds; compiling takes some of it
ITEM_WISE, BY_FEATURES, ELIMINATION = "cascade-kl-ucb", "cascade-lin-ucb", "top-rank(delta=0.1)"
POLICIES = (ITEM_WISE, BY_FEATURES, ELIMINATION)


class Clock:
    """The time in milliseconds, which stands still unless it is told to go on."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> int:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += round(seconds * 1000)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a test to its end; one that waits for what never comes fails."""
    return asyncio.run(asyncio.wait_for(work, LONGEST_TEST))


class SuspendingStore(SQLiteStore):
    """A store whose reads take a while, in which other requests are served, as over a network."""

    async def read(self, work: Callable[[LogReader], T]) -> T:
        await asyncio.sleep(0)
        result = await super().read(work)
        await asyncio.sleep(0)
        return result


def postgres_store(path: Path) -> PostgresStore:
    """A store in a real PostgreSQL, in a database that stands for the file."""
    return PostgresStore(database(path))


STORES: dict[str, OpenStore] = {"sqlite": SQLiteStore, "postgres": postgres_store}
open_store: ContextVar[OpenStore] = ContextVar("open_store", default=SQLiteStore)  # for tests that say nothing


class LeavesNothing(CompilerProcess):
    """A process that leaves no machine code on the disk, so that the service compiles itself."""

    def run(self, event: bytes) -> None:
        """Start nothing."""


def service_of(path: Path, clock: Clock | None = None, **more: Any) -> Service:
    """A service that is not started yet.

    It compiles policies itself: another process would begin by importing the compiler, and share no code with policies
    that were compiled before. `test_compile_apart` is about that process.
    """
    service = Service(path, clock or Clock(), **({"open_store": open_store.get()} | more))
    service.compiler.process = LeavesNothing()
    return service


@asynccontextmanager
async def at_work(path: Path, clock: Clock | None = None, **more: Any) -> AsyncIterator[Service]:
    service = service_of(path, clock, **more)
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def killed(service: Service) -> None:
    """Leave the file as kill -9 does, unlocked."""
    await service.transactions.abort()


async def events(service: Service, name: str = "front", after: int = 0) -> list[Event]:
    return [event async for page in await service.queries.event_pages(name, after) for event in page.events]


def reader_of(path: Path) -> SQLiteReader | PostgresReader:
    """A reader of the store that `at_work` opens at a path."""
    return PostgresReader(database(path)) if open_store.get() is postgres_store else SQLiteReader(path)


def store_name(path: Path) -> str:
    """The store that `at_work` opens at a path, as commands have it."""
    return database(path) if open_store.get() is postgres_store else str(path)


def execute(path: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Read or damage rows of the store that `at_work` opens at a path, unseen by triggers; `?` stands for a value."""
    if open_store.get() is not postgres_store:
        with closing(connect(path, read_only=False)) as file:
            return file.execute(query, values).fetchall()
    with psycopg.connect(
        database(path), options=f"-c search_path={SCHEMA} -c session_replication_role=replica"
    ) as connection:
        found = connection.execute(query.replace("?", "%s"), values or None)
        return found.fetchall() if found.description else []


def lose_commit(store: Store) -> None:
    """Do what a store does when a commit fails: nothing of it is written."""
    if isinstance(store, SQLiteStore):
        store.roll_back()
    elif isinstance(store, PostgresStore):
        store.epoch = None  # it cannot know what became of the commit


def check(path: Path, live: LiveBeliefs | None = None) -> list[str]:
    """What differs between a store and its log: learners, and sums of the uplift."""
    with closing(reader_of(path)) as reader:
        return [*differences(reader, live), *differing_uplifts(reader)]


def rebuilt(path: Path) -> Iterator[RebuiltLearner]:
    """The learners of a store, rebuilt from its log."""
    with closing(reader_of(path)) as reader:
        yield from rebuild_learners(reader)


async def read(service: Service, work: Callable[[LogReader], T]) -> T:
    """Read from the store of a service."""
    return await service.transactions.store.read(work)


def ranking_of(service: Service, name: str = "front") -> LiveRanking:
    """A ranking in memory."""
    return state_of(service).ranking(name)


def state_of(service: Service) -> LiveState:
    """The state in memory, which must be loaded."""
    state = service.transactions.loaded_state
    assert state is not None
    return state


def row(n: int) -> list[float]:
    return [1.0 if n % 4 == column else 0.1 for column in range(4)]


def text_id(n: int) -> ItemId:
    return f"item-{n}"


def alike_id(n: int) -> ItemId:
    """1, "1", 2, "2" and so on: ids that look like each other, and like positions."""
    return n // 2 + 1 if n % 2 == 0 else str(n // 2 + 1)


def items(count: int, policy: str = ITEM_WISE, first: int = 0, named: Callable[[int], ItemId] = text_id) -> list[Item]:
    features = policy == BY_FEATURES
    return [Item(id=named(n), features=row(n) if features else None) for n in range(first, first + count)]


async def front(
    service: Service, policy: str = ITEM_WISE, count: int = 8, named: Callable[[int], ItemId] = text_id, **more: Any
) -> None:
    """A ranking called front."""
    features = 4 if policy == BY_FEATURES else 0
    given: dict[str, Any] = {"positions": 3, "click_window": WINDOW, "seed": 7, "features": features} | more
    await service.rankings.create(RankingSpec(name="front", policy=policy, **given))
    await service.items.put("front", items(count, policy, named=named))


async def shown(service: Service, **request: Any) -> ListReply:
    return await service.lists.make("front", ListRequest(**request))


async def told(service: Service, reply: ListReply, *clicks: ItemId | ListEntry, **more: Any) -> ReportReply:
    return await service.impressions.report(reply.impression, Report(clicks=list(clicks), **more))


async def learned(service: Service, segment: str | None = None) -> int:
    return (await service.queries.estimates("front", segment)).learned
