"""Lists while a real PostgreSQL is stopped, read-only, cut off or slow, and soon after it is back."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest
from postgres_server import PostgresServer, database
from postgres_server import server as shared_server
from promises.proxy import CUT, OPEN, SLOW
from proxied import proxied
from running import at_work, front, run, shown, told
from store_clock import WallClock

from toplist.service.errors import StoreUnavailable
from toplist.service.live.service import Service
from toplist.service.store.postgres import PostgresStore, check_address
from toplist.service.wire import RankingSpec

PATIENCE = 30.0  # seconds; the service is back much sooner, and the machine may be busy


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that may be stopped."""
    made = PostgresServer()
    yield made
    made.remove()


@asynccontextmanager
async def served(address: str, path: Path) -> AsyncIterator[Service]:
    opened = await asyncio.to_thread(PostgresStore, address, 0, 2.0)
    async with at_work(path, WallClock(), open_store=lambda _: opened) as service:
        await front(service, when_unavailable="serve")
        await service.rankings.create(RankingSpec(name="strict", positions=2))
        for _ in range(3):
            await told(service, await shown(service), 1, final=True)
        yield service


async def goes_on_from_memory(service: Service) -> None:
    """Lists are made without being recorded, for longer than the lease, and nothing else is acknowledged."""
    until = monotonic() + 2.5
    while monotonic() < until:
        async with asyncio.timeout(PATIENCE):
            made = await shown(service, request_id="away")
        assert (made.recorded, made.impression) == (False, "")
        await asyncio.sleep(0.05)
    assert service.is_ready
    with pytest.raises(StoreUnavailable):
        async with asyncio.timeout(PATIENCE):
            await service.rankings.create(RankingSpec(name="late", positions=2))


async def is_back(service: Service) -> None:
    """Lists are recorded again."""
    async with asyncio.timeout(PATIENCE):
        while (await shown(service)).recorded is False:
            await asyncio.sleep(0.05)
    first = await shown(service, request_id="away")
    assert first.impression
    assert (await service.queries.estimates("front")).learned == 3
    assert {ranking.name for ranking in await service.queries.rankings()} == {"front", "strict"}


def test_the_database_is_stopped_and_then_can_only_be_read(server: PostgresServer, tmp_path: Path) -> None:
    async def work() -> None:
        async with served(server.address("postgres"), tmp_path / "db") as service:
            await asyncio.to_thread(server.stop)
            await goes_on_from_memory(service)
            await asyncio.to_thread(server.start)
            await is_back(service)
            for is_on in ("on", "off"):
                await asyncio.to_thread(server.run, f"ALTER SYSTEM SET default_transaction_read_only = {is_on}")
                await asyncio.to_thread(server.run, "SELECT pg_reload_conf()")
                if is_on == "on":
                    async with asyncio.timeout(PATIENCE):
                        while (await shown(service)).recorded is not False:
                            await asyncio.sleep(0.05)
            await is_back(service)

    run(work())


@pytest.mark.parametrize("mode", [CUT, SLOW])
def test_the_way_to_the_database_is_cut_or_slow(mode: str, tmp_path: Path) -> None:
    name = check_address(database(tmp_path / "db"))["dbname"]

    async def work(address: str, set_mode: Callable[[str], None]) -> None:
        async with served(address, tmp_path / "db") as service:
            set_mode(mode)
            try:
                if mode == CUT:
                    await goes_on_from_memory(service)
                else:
                    async with asyncio.timeout(PATIENCE):
                        assert [(await shown(service)).recorded for _ in range(5)] == [False] * 5
            finally:
                set_mode(OPEN)
            async with asyncio.timeout(PATIENCE):
                while (await shown(service)).recorded is False:
                    await asyncio.sleep(0.05)
            assert (await service.queries.estimates("front")).learned == 3

    with (
        tempfile.TemporaryDirectory(prefix="toplist-proxy-") as folder,
        proxied(Path(folder), lambda: shared_server().folder) as set_mode,
    ):
        run(work(f"postgresql://toplist@/{name}?host={folder}", set_mode))
