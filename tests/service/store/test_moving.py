"""Stores that people have used: moved from a file to PostgreSQL and back, and checked beside servers that write."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from benchmarks.server import UNLIMITED, Server, free_port
from forking import ForkedProcess
from postgres_server import database
from running import POLICIES, at_work, front, run, shown, told

from toplist.cli import main
from toplist.cli.exit_codes import Exit
from toplist.service.log.verify import rebuild_learners
from toplist.service.store.address import open_parts
from toplist.service.store.postgres import PostgresStore
from toplist.service.store.sqlite import SQLiteStore

LISTS = 30
LONGEST = 60.0  # seconds


async def use(path: Path, policy: str) -> None:
    """Learn in two segments; some lists stay open."""
    async with at_work(path) as service:
        await front(service, policy)
        for number in range(LISTS):
            made = await shown(service, segment=f"segment-{number % 2}", request_id=f"request-{number}")
            if number % 5:
                await told(service, made, 1 + number % 3, final=number % 3 > 0)


def beliefs(store: Path | str) -> dict[str | None, bytes]:
    """What is known in each segment, rebuilt from the log and equal to what is kept."""
    found = {}
    for part in open_parts(store):
        with closing(part):
            for one in rebuild_learners(part):
                assert not one.differs_from, one.difference
                found[one.segment] = one.belief
    return found


async def next_list(path: Path, **more: Any) -> tuple[Any, ...]:
    """What a service makes of a moved store: an old list again, and a new one."""
    async with at_work(path, **more) as service:
        old = await shown(service, segment="segment-1", request_id="request-1")
        new = await shown(service, segment="segment-1")
        return old, new.items


@pytest.mark.parametrize("policy", POLICIES)
def test_beliefs_are_equal_after_a_move_and_back(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, back = tmp_path / "file.db", tmp_path / "back.db"
    run(use(file, policy))
    target = database(tmp_path / "moved")
    assert main(["store", "copy", target, "--store", str(file)]) == Exit.FINE
    assert main(["store", "copy", str(back), "--store", target]) == Exit.FINE
    known = beliefs(file)
    assert set(known) == {"segment-0", "segment-1"}
    assert beliefs(target) == beliefs(back) == known
    for store in (target, str(back)):
        assert main(["store", "check", "--store", store]) == Exit.FINE
    assert capsys.readouterr().out.count("what is kept differs in 0") == 2
    made = run(next_list(tmp_path / "served", open_store=lambda _: PostgresStore(target)))
    assert made == run(next_list(file, open_store=SQLiteStore)) == run(next_list(back, open_store=SQLiteStore))


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[Server]]]:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    address = database(tmp_path / "shared")
    shared = {**UNLIMITED, "cluster.secret": "the secret of both servers of a test", "cluster.partitions": "2"}
    made = [
        Server(tmp_path / f"{n}.db", settings={**shared, "cluster.port": str(free_port())}, database=address)
        for n in range(2)
    ]
    try:
        for server in made:
            server.start()
        yield address, made
    finally:
        for server in made:
            if server.process is not None and server.process.poll() is None:
                server.kill()


@pytest.mark.slow
def test_a_check_beside_servers_that_write(
    servers: tuple[str, list[Server]], capsys: pytest.CaptureFixture[str]
) -> None:
    address, both = servers
    for number in range(3):
        both[0].create(f"ranking-{number}", 8, 3, click_window=0.5)
    over, until = Event(), time.monotonic() + LONGEST

    def come(server: Server) -> int:
        lists = 0
        while not over.is_set() and time.monotonic() < until:
            made = server.must("POST", f"/v1/rankings/ranking-{lists % 3}/lists", {"segment": f"s{lists % 4}"})
            server.must("PUT", f"/v1/impressions/{made['impression']}/clicks", {"clicks": [1], "final": lists % 2 == 0})
            lists += 1
        return lists

    with ThreadPoolExecutor(2) as callers:
        loads = [callers.submit(come, server) for server in both]
        try:
            codes = [main(["store", "check", "--store", address]) for _ in range(3)]
        finally:
            over.set()
    assert codes == [Exit.FINE] * 3, capsys.readouterr().out
    assert min(load.result() for load in loads) > 0
    assert capsys.readouterr().out.count("The file is not damaged.") == 3
