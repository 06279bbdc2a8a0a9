"""Stores that people have used: moved from a file to PostgreSQL and back, and checked beside servers that write."""

import time
from collections import Counter
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
from running import BY_FEATURES, POLICIES, Clock, at_work, front, items, run, shown, told

from toplist.cli import main
from toplist.cli.exit_codes import Exit
from toplist.service.live.service import Service
from toplist.service.log.verify import rebuild_learners
from toplist.service.store.address import open_parts
from toplist.service.store.postgres import PostgresStore
from toplist.service.store.row_kinds import EventRow
from toplist.service.store.sqlite import SQLiteStore
from toplist.service.wire import ListRequest, RankingChange, RankingSpec

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


RANKINGS = ("front", "sale", "news", "deals")
PARTITIONS = 4
DIVIDED = ["--set", f"cluster.partitions={PARTITIONS}"]


async def ranking(service: Service, name: str, policy: str = POLICIES[0], **more: Any) -> None:
    """A ranking with some items."""
    features = 4 if policy == BY_FEATURES else 0
    await service.rankings.create(RankingSpec(name=name, policy=policy, positions=3, features=features, **more))
    await service.items.put(name, items(6, policy))


async def use_several(path: Path, policy: str) -> dict[str, Any]:
    """Rankings with all that names events: a holdout, segments and rankings that were deleted, another policy."""
    clock, made = Clock(), {}
    async with at_work(path, clock) as service:
        for name in (*RANKINGS, "gone", "going"):
            await ranking(service, name, policy, **({"holdout": 0.3} if name == "sale" else {}))
        for number in range(8 * LISTS):
            name = (*RANKINGS, "gone", "going")[number % 6]
            clock.pass_(0.5)
            segment = f"segment-{number // 6 % 4}"
            asked: dict[str, Any] = {"segment": segment, "request_id": f"request-{number}", "visitor": f"{number % 9}"}
            one = await service.lists.make(name, ListRequest(**asked))
            if name == "front" or number % 7:
                made[name] = (asked, one)
            if number % 7:
                await told(service, one, 1 + number % 3, final=number % 3 > 0)
        await service.segments.delete("news", "segment-2")
        await service.rankings.delete("gone")
        while await service.retention.purge_deleted():
            pass
        await service.segments.delete("front", "segment-0")  # these two are not purged yet
        await service.rankings.delete("going")
        await service.rankings.change("deals", RankingChange(click_window=50.0))
    return made


def beliefs_of_rankings(store: Path | str) -> dict[tuple[str, str | None], bytes]:
    found = {}
    for part in open_parts(store):
        with closing(part):
            for one in rebuild_learners(part):
                assert not one.differs_from, one.difference
                found[one.ranking, one.segment] = one.belief
    return found


def kinds_of_events(store: Path | str) -> list[Counter[str]]:
    """Of each part."""
    counted = []
    for part in open_parts(store):
        with closing(part):
            counted.append(Counter(row.kind for _, _, row in part.all_rows(EventRow)))
    return counted


@pytest.mark.parametrize("policy", POLICIES)
def test_a_store_is_divided_by_a_move_and_put_together_again(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, back = tmp_path / "file.db", tmp_path / "back.db"
    made = run(use_several(file, policy))
    target, again = database(tmp_path / "moved"), database(tmp_path / "again")
    assert main(["store", "copy", target, "--store", str(file), *DIVIDED]) == Exit.FINE
    assert main(["store", "copy", again, "--store", target, "--set", "cluster.partitions=2"]) == Exit.FINE
    assert main(["store", "copy", str(back), "--store", again]) == Exit.FINE
    known = beliefs_of_rankings(file)
    assert len(known) == 4 * len(RANKINGS) - 2
    for store in (target, again, str(back)):
        assert beliefs_of_rankings(store) == known
        assert sum(kinds_of_events(store), Counter()) == kinds_of_events(file)[0]
        assert main(["store", "check", "--store", store]) == Exit.FINE
    assert capsys.readouterr().out.count("what is kept differs in 0") == 3
    assert list(map(bool, kinds_of_events(target))).count(True) > 1

    async def go_on(path: Path, **more: Any) -> list[Any]:
        """Old lists again, what is known of the uplift, and new lists; what was deleted is purged."""
        clock = Clock()
        clock.pass_(5 * LISTS)
        async with at_work(path, clock, **more) as service:
            told_of: list[Any] = []
            for name in RANKINGS:
                asked, one = made[name]
                assert await service.lists.make(name, ListRequest(**asked)) == one
                told_of.append((await service.lists.make(name, ListRequest(segment="segment-1", visitor="new"))).items)
            told_of.append(await service.uplift.uplift("sale", "segment"))
            while await service.retention.purge_deleted():
                pass
            clock.pass_(1000.0)
            await service.impressions.close_all_due()
            return told_of

    assert run(go_on(back, open_store=SQLiteStore)) == run(go_on(file, open_store=SQLiteStore))
    assert beliefs_of_rankings(back) == beliefs_of_rankings(file) != known


@pytest.mark.slow
def test_a_list_from_before_a_move_is_reported_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    file, target, clock = tmp_path / "file.db", database(tmp_path / "moved"), Clock()
    clock.now = round(time.time() * 1000)

    async def begin() -> list[str]:
        async with at_work(file, clock, open_store=SQLiteStore) as service:
            for name in RANKINGS:
                await ranking(service, name)
            return [(await service.lists.make(name, ListRequest())).impression for name in RANKINGS]

    before = run(begin())
    assert main(["store", "copy", target, "--store", str(file), *DIVIDED]) == Exit.FINE
    settings = {**UNLIMITED, "cluster.secret": "the secret of all servers of a test", "cluster.port": str(free_port())}
    server = Server(tmp_path / "server.db", settings=settings, database=target)
    try:
        server.start()
        new = [server.must("POST", f"/v1/rankings/{name}/lists", {})["impression"] for name in RANKINGS]
        for impression in (*before, *new):
            told = server.must("PUT", f"/v1/impressions/{impression}/clicks", {"clicks": [1], "final": True})
            assert told["counted"]
        assert server.ask("PUT", f"/v1/impressions/{before[0][:-12]}000000000000/clicks", {"clicks": [1]})[0] == 404
    finally:
        server.kill()


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
