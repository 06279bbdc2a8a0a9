"""Request ids are looked up together where the store is far, and each means what it would mean alone."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from running import at_work, front, postgres_store, run, shown

from toplist.service.errors import StoreUnavailable
from toplist.service.store.postgres import PostgresReader
from toplist.service.store.row_kinds import RequestRow


class Reads:
    """The look-ups of a store in PostgreSQL, by the number of ids of each; they can be made to fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.failing = 0
        read = PostgresReader.requests

        def requests(reader: PostgresReader, asked: Sequence[tuple[int, str]]) -> list[RequestRow]:
            self.sizes.append(len(asked))
            if self.failing:
                self.failing -= 1
                raise StoreUnavailable("The database is away.")
            return read(reader, asked)

        monkeypatch.setattr(PostgresReader, "requests", requests)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def test_new_ids_that_come_together_are_looked_up_by_one_read(tmp_path: Path, reads: Reads) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", open_store=postgres_store) as service:
            await front(service)
            await shown(service)
            made = await asyncio.gather(*(shown(service, request_id=f"new-{n}") for n in range(40)))
            assert len({each.impression for each in made}) == 40
            assert reads.sizes == [40]
            await asyncio.gather(*(shown(service, request_id=f"new-{n}") for n in range(40)))
            assert reads.sizes == [40]  # they are in memory

    run(play())


def test_ids_that_come_together_get_the_lists_that_were_made_for_them(tmp_path: Path, reads: Reads) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", open_store=postgres_store) as service:
            await front(service)
            before = [await shown(service, request_id=f"r{n}", segment=str(n % 2)) for n in range(10)]
        async with at_work(tmp_path / "db", open_store=postgres_store) as service:  # nothing is in memory
            del reads.sizes[:]
            asked = [*range(20), *range(20)]
            found = await asyncio.gather(*(shown(service, request_id=f"r{n}", segment=str(n % 2)) for n in asked))
            assert len({each.impression for each in found}) == 20
            assert found[:20] == found[20:]
            assert found[:10] == before
            assert sum(reads.sizes) <= 3 * 20  # the segments are loaded meanwhile
            assert len(reads.sizes) <= 6

    run(play())


def test_a_failed_look_up_fails_those_who_wait_for_it_alone(tmp_path: Path, reads: Reads) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", open_store=postgres_store) as service:
            await front(service)
            kept = await shown(service, request_id="kept")
            reads.failing = 1
            failed = await asyncio.gather(
                *(shown(service, request_id=f"a{n}") for n in range(3)), return_exceptions=True
            )
            assert [type(each) for each in failed] == [StoreUnavailable] * 3
            assert (
                len({(await shown(service, request_id=f"a{n}")).impression for n in range(3)} - {kept.impression}) == 3
            )

    run(play())


def test_a_client_that_leaves_takes_nobody_with_it(tmp_path: Path, reads: Reads) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", open_store=postgres_store) as service:
            await front(service)
            await shown(service)
            asking = [asyncio.create_task(shown(service, request_id=f"a{n}")) for n in range(4)]
            await asyncio.sleep(0)
            asking[0].cancel()
            assert len({each.impression for each in await asyncio.gather(*asking[1:])}) == 3
            with suppress(asyncio.CancelledError):
                await asking[0]
            assert asking[0].cancelled()
            assert len(reads.sizes) == 1

    run(play())


def test_ids_that_come_one_after_the_other_are_all_answered(tmp_path: Path, reads: Reads) -> None:
    """Each at another moment of the reads before: nobody is left waiting by a read that has just ended."""

    async def play() -> None:
        async with at_work(tmp_path / "db", open_store=postgres_store) as service:
            await front(service)

            async def ask(number: int) -> str:
                for _ in range(number):
                    await asyncio.sleep(0)
                for n in range(4):
                    made = await shown(service, request_id=f"{number}-{n}")
                return made.impression

            async with asyncio.timeout(60.0):
                assert len(set(await asyncio.gather(*map(ask, range(60))))) == 60
            assert sum(reads.sizes) == 60 * 4

    run(play())
