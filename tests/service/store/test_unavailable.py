"""Lists while a real PostgreSQL is stopped, read-only, cut off or slow, and soon after it is back."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event as ThreadEvent
from threading import Thread
from time import monotonic

import pytest
from postgres_server import PostgresServer, database
from postgres_server import server as shared_server
from promises.proxy import CUT, OPEN, SLOW, Proxy
from running import at_work, front, run, shown, told
from store_clock import WallClock

from toplist.service.errors import StoreUnavailable
from toplist.service.live.service import Service
from toplist.service.store.postgres import PostgresStore, check_address
from toplist.service.wire import RankingSpec

SOCKET = ".s.PGSQL.5432"
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


@contextmanager
def proxied(folder: Path) -> Iterator[Callable[[str], None]]:
    """A proxy to the server of all tests, in a thread of its own; gives what sets its mode."""
    target = str(shared_server().folder / SOCKET)
    proxy, is_open = Proxy(lambda: asyncio.open_unix_connection(target)), ThreadEvent()
    loops: list[asyncio.AbstractEventLoop] = []
    over = asyncio.Event()

    async def serve() -> None:
        await proxy.listen_unix(str(folder / SOCKET))
        loops.append(asyncio.get_running_loop())
        is_open.set()
        await over.wait()
        proxy.close()
        await asyncio.sleep(0.1)  # its connections end

    def set_mode(mode: str) -> None:
        loops[0].call_soon_threadsafe(setattr, proxy, "mode", mode)

    thread = Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert is_open.wait(PATIENCE)
    try:
        yield set_mode
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join(PATIENCE)


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

    with tempfile.TemporaryDirectory(prefix="toplist-proxy-") as folder, proxied(Path(folder)) as set_mode:
        run(work(f"postgresql://toplist@/{name}?host={folder}", set_mode))
