"""A database that was restored to an earlier moment while a server runs: its memory is dropped, and the log says so."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from postgres_server import PostgresServer
from running import at_work, front, run, shown, told
from store_clock import WallClock

from toplist.service.errors import StoreUnavailable
from toplist.service.live.service import Service
from toplist.service.store.postgres import PostgresStore

PATIENCE = 30.0  # seconds


async def learned(service: Service) -> int:
    """What the service says once it answers again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return (await service.queries.estimates("front")).learned
            except StoreUnavailable:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("is_idle", [False, True])
def test_a_restored_database_is_noticed(is_idle: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = PostgresServer()
    backup = server.folder / "backup"

    async def work() -> None:
        opened = await asyncio.to_thread(PostgresStore, server.address("postgres"), 0, 1.0)
        async with at_work(tmp_path / "db", WallClock(), open_store=lambda _: opened) as service:
            await front(service)
            await told(service, await shown(service), 1, final=True)
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.copy_data, server.data, backup)
            await asyncio.to_thread(server.start)
            async with asyncio.timeout(PATIENCE):
                while True:
                    try:
                        lost = await shown(service, request_id="lost")
                        await told(service, lost, 1, final=True)
                        break
                    except StoreUnavailable:
                        await asyncio.sleep(0.05)
            assert await learned(service) == 2
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.copy_data, backup, server.data)
            await asyncio.to_thread(server.start)
            async with asyncio.timeout(PATIENCE):
                while await learned(service) == 2:  # from memory, until the lease is renewed or a commit is fenced
                    if not is_idle:
                        with suppress(StoreUnavailable):
                            await told(service, await shown(service), final=True)
                    await asyncio.sleep(0.05)
            assert (await shown(service, request_id="lost")).impression != lost.impression
            async with asyncio.timeout(PATIENCE):
                assert (await told(service, await shown(service), 1, final=True)).counted

    try:
        run(work())
    finally:
        server.remove()
    assert "The database is older than memory" in caplog.text
