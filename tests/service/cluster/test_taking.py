"""The partitions of a server, and the server that goes on asking for them."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_server import database
from running import at_work, front, run

from toplist.core.problem import InvalidInput
from toplist.service.cluster.observers import MOST, Observers
from toplist.service.cluster.owners import DatabaseClock, Owners
from toplist.service.cluster.partitions import Partitions
from toplist.service.errors import StoreUnavailable
from toplist.service.live.service import Service
from toplist.service.live.transaction import OpenStore
from toplist.service.store.digests import TABLES
from toplist.service.store.postgres import PostgresReader, PostgresStore
from toplist.service.store.postgres.committed import CommittedStore
from toplist.service.store.postgres.database import READERS, Database
from toplist.service.store.postgres.members import ClusterRows, be_seen, divide
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.protocol import LogMark

PATIENCE = 20.0  # seconds
ADDRESS, OTHER_ADDRESS = "127.0.0.1:1", "127.0.0.1:2"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return database(tmp_path / "db")


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.01)


def test_a_partition_that_cannot_be_served_is_given_back_and_tried_later(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_service(_: int, open_store: OpenStore) -> Service:
        service = Service("db", open_store=open_store)

        async def refuse() -> None:
            raise InvalidInput("There is no policy of this name.")

        monkeypatch.setattr(service.transactions, "state", refuse)
        return service

    async def work() -> None:
        moved: list[None] = []
        said: list[dict[str, Any]] = []
        with closing(Database(address)) as shared:
            divide(shared, 1)
            owners = Owners(shared, ADDRESS, DatabaseClock(), lambda _: None, lambda _: None)
            partitions = Partitions(shared, 1 << 20, make_service, lambda _: [], lambda _, **more: said.append(more))

            async def follow() -> None:
                await owners.ask()
                partitions.follow(owners, owners.rows, lambda: moved.append(None))

            await follow()
            await until(lambda: len(said) == 1)
            await until(lambda: be_seen(shared, ADDRESS, False).parts[0].is_free)
            epoch = be_seen(shared, ADDRESS, False).parts[0].epoch
            for _ in range(3):
                await follow()
                assert not partitions.is_moving(0)
            assert be_seen(shared, ADDRESS, False).parts[0].epoch == epoch == 1
            assert moved == []
            partitions.paused_until[0] = 0.0  # the pause is over
            await follow()
            await until(lambda: len(said) == 2)
            assert [each["again"] for each in said] == [1.0, 2.0]
            await owners.stop()

    run(work())


def test_windows_are_closed_and_events_deleted_by_the_owner_alone(address: str) -> None:
    """The work that no request asks for begins once a partition is owned, and ends when it is lost."""

    async def work() -> None:
        begun: list[asyncio.Task[None]] = []

        def start_work(_: Service) -> list[asyncio.Task[None]]:
            begun.append(asyncio.create_task(asyncio.sleep(PATIENCE)))
            return begun[-1:]

        with closing(Database(address)) as shared, closing(Database(address)) as other:
            divide(shared, 1)
            owners = Owners(shared, ADDRESS, DatabaseClock(), lambda _: None, lambda _: None)
            partitions = Partitions(
                shared, 1 << 20, lambda _, open_store: Service("db", open_store=open_store), start_work,
                lambda *_, **__: None,
            )  # fmt: skip

            async def follow() -> None:
                partitions.follow(owners, owners.rows, lambda: None)
                await until(lambda: not partitions.is_moving(0))

            await owners.ask()
            taken = other.take(0)  # faster than this one, which thinks that it is free
            assert taken is not None
            await follow()
            assert (begun, partitions.owned) == ([], {})
            other.release(0, taken.epoch)
            await owners.ask()
            await follow()
            assert [task.done() for task in begun] == [False]
            shared.run([Statement("UPDATE parts SET lease_until = clock_timestamp()")])
            assert other.take(0) is not None
            await owners.ask()
            await follow()
            assert [task.cancelled() for task in begun] == [True]
            assert partitions.moves == {"taken": 1, "lost": 1}
            await owners.stop()

    run(work())


def test_reads_do_not_wait_behind_takeovers_that_wait_for_a_lock(address: str) -> None:
    """An owner that was stopped within a commit keeps the rows of all its partitions locked for a while."""
    many = 3 * READERS

    async def work() -> None:
        with closing(Database(address)) as shared, psycopg.connect(address) as stopped:
            divide(shared, many)
            owners = Owners(shared, ADDRESS, DatabaseClock(), lambda _: None, lambda _: None)
            partitions = Partitions(
                shared, 1 << 20, lambda _, open_store: Service("db", open_store=open_store), lambda _: [],
                lambda *_, **__: None,
            )  # fmt: skip
            await owners.ask()
            stopped.execute("SELECT 1 FROM toplist.parts FOR UPDATE")
            partitions.follow(owners, owners.rows, lambda: None)
            await asyncio.sleep(0.1)
            assert await CommittedStore(shared, 0).read(lambda reader: reader.last_seq()) == 0
            assert all(map(partitions.is_moving, range(many)))
            stopped.rollback()
            await partitions.give_back_all(lambda: None)
            assert partitions.moves["taken"] == partitions.moves["handed over"] == many
            await owners.stop()

    run(work())


def test_a_stream_keeps_the_service_that_it_reads_from(address: str) -> None:
    async def work() -> None:
        with closing(Database(address)) as shared:
            divide(shared, 2 * MOST)
            observers = Observers(shared, 1 << 20, lambda _, open_store: Service("db", open_store=open_store))

            async def ask_others() -> None:
                for partition in range(1, MOST + 2):
                    async with observers.question(partition):
                        pass

            async with observers.question(0) as service:
                pages = service.queries.log_pages(0, [])
                let_go = observers.keep(0)
            await ask_others()
            assert await anext(pages, None) is None  # there is no event
            let_go()
            await ask_others()
            with pytest.raises(StoreUnavailable):
                await anext(pages, None)
            await observers.stop()

    run(work())


def test_a_question_after_a_restore_is_answered_from_the_restored_database(address: str, tmp_path: Path) -> None:
    """It has an owner of the same epoch and as many events as before, but not the same ones."""
    marks: list[LogMark] = []

    async def made(positions: int) -> None:
        async with at_work(tmp_path / "db", open_store=lambda _: PostgresStore(address)) as service:
            await front(service, count=positions + 2, positions=positions)  # the time stands still
        with closing(PostgresReader(address)) as reader:
            marks.append(reader.mark())

    async def work() -> None:
        with closing(Database(address)) as shared:
            observers = Observers(shared, 1 << 20, lambda _, open_store: Service("db", open_store=open_store))

            async def positions() -> list[int]:
                async with observers.question(0) as service:
                    return [ranking.positions for ranking in await service.queries.rankings()]

            await made(3)
            assert await positions() == [3]
            tables = ", ".join(f"toplist.{table.name}" for table in TABLES.values())
            shared.run([Statement(f"TRUNCATE {tables}, toplist.totals, toplist.parts")])
            await made(4)
            assert marks[0][:2] == marks[1][:2]
            assert marks[0].digest != marks[1].digest
            assert await positions() == [4]
            await observers.stop()

    run(work())


def test_an_error_that_nobody_foresaw_does_not_end_the_asking(address: str) -> None:
    async def work() -> None:
        asked: list[ClusterRows] = []
        problems: list[Exception] = []

        def change(rows: ClusterRows) -> None:
            asked.append(rows)
            if len(asked) == 2:
                raise RuntimeError("unforeseen")

        with closing(Database(address, lease=0.5)) as shared:
            divide(shared, 1)
            owners = Owners(shared, ADDRESS, DatabaseClock(), change, problems.append)
            await owners.start()
            await until(lambda: len(asked) == 4)
            await owners.stop()
        assert [str(problem) for problem in problems] == ["unforeseen"]

    run(work())


def test_servers_that_could_not_be_seen_while_the_database_was_away_keep_their_partitions(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        with closing(Database(address, lease=0.3)) as shared, closing(Database(address, lease=0.3)) as other:
            divide(shared, 8)
            owners = Owners(shared, ADDRESS, DatabaseClock(), lambda _: None, lambda _: None)
            be_seen(other, OTHER_ADDRESS, False)
            await owners.ask()
            own = [owners.is_own(number) for number in range(8)]
            assert True in own
            assert False in own
            await asyncio.sleep(0.4)  # neither could ask
            await owners.ask()
            assert [owners.is_own(number) for number in range(8)] == own
            await owners.ask()
            assert [owners.is_own(number) for number in range(8)] == own
            monkeypatch.setattr("toplist.service.cluster.owners.GRACE_SECONDS", 0.0)
            await asyncio.sleep(0.4)
            await owners.ask()  # the other one had its time
            assert all(owners.is_own(number) for number in range(8))
            await owners.stop()

    run(work())
