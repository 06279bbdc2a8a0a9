"""A disk that is full or broken: nothing acknowledged is lost, nothing else is promised, and it recovers."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest
from running import (
    Clock,
    at_work,
    check,
    events,
    front,
    items,
    learned,
    lose_commit,
    run,
    service_of,
    shown,
    state_of,
    told,
)

from toplist.service.errors import StoreUnavailable
from toplist.service.live import impressions
from toplist.service.live.service import Service
from toplist.service.store.queries import TableReader
from toplist.service.store.sqlite import SQLiteStore
from toplist.service.wire import ListReply


def limit(service: Service, pages: int) -> None:
    """Let the file have this number of pages beyond those it has, as on a full disk."""
    store = service.transactions.store
    assert isinstance(store, SQLiteStore)
    store.limit_growth(pages)


@pytest.mark.file
def test_a_full_disk_refuses_loses_nothing_acknowledged_and_recovers(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            made: list[ListReply] = []
            reported: list[ListReply] = []

            async def visitor(number: int) -> None:
                for _ in range(30):
                    reply = await shown(service, request_id=f"{number} {len(made)} {'x' * 150}")
                    made.append(reply)
                    await told(service, reply, 1, final=True)
                    reported.append(reply)

            limit(service, 8)
            ends = await asyncio.gather(*(visitor(n) for n in range(20)), return_exceptions=True)
            assert all(isinstance(end, StoreUnavailable) for end in ends)
            assert made
            assert not service.is_ready
            with pytest.raises(StoreUnavailable) as refused:
                await shown(service)
            assert refused.value.retry_after > 0
            clock.pass_(1)
            assert service.is_ready
            for _ in range(3):  # it is tried again, and it is full still
                with pytest.raises(StoreUnavailable):
                    await service.items.put("front", items(2000, first=100))
                clock.pass_(1)
            limit(service, 100_000)
            assert all([(await service.queries.impression(reply.impression)).items == reply.items for reply in made])
            assert all([(await service.queries.impression(reply.impression)).state == "learned" for reply in reported])
            assert await learned(service) >= len(reported)
            for reply in made:
                assert (await told(service, reply, 1, final=True)).counted
            assert await learned(service) == sum(event.kind == "list" for event in await events(service))
            assert check(tmp_path / "db", await service.beliefs()) == []
            assert len(await service.queries.items("front")) == 8

    run(play())


@pytest.mark.parametrize("when", ["write", "commit"])
def test_an_error_of_the_disk_fails_all_who_wait_and_drops_what_memory_has_made_of_it(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            first = await shown(service)
            await told(service, first, 1)
            before = await service.beliefs()

            store = service.transactions.store

            def broken(*_: Any) -> None:
                if when == "commit":
                    lose_commit(store)
                raise StoreUnavailable("no such disk") from apsw.IOError("disk I/O error")

            monkeypatch.setattr(store, when, broken)
            work: list[Any] = [
                shown(service), told(service, first, 2, final=True), service.items.remove("front", ["item-1"]),
                shown(service, segment="new"), told(service, first, 1),
                service.impressions.close_due(clock.now + 10**9),
            ]  # fmt: skip
            ends = await asyncio.gather(*work, return_exceptions=True)
            assert [type(end) for end in ends] == [StoreUnavailable] * 6
            monkeypatch.undo()
            clock.pass_(1)
            assert (await service.queries.ranking("front")).items == 8
            assert await learned(service) == 0
            assert await service.beliefs() == before
            assert await service.queries.segments("front") == []
            assert (await service.queries.impression(first.impression)).clicks == [1]
            assert (await told(service, first, 2, final=True)).counted
            assert await learned(service) == 1

    run(play())


def test_a_client_that_leaves_takes_nobody_along(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            leaving, staying = asyncio.create_task(shown(service)), asyncio.create_task(shown(service))
            while len(state_of(service).impressions) < 2:
                await asyncio.sleep(0)
            leaving.cancel()
            reply = await staying
            assert leaving.cancelled() or (await asyncio.wait([leaving]))
            assert (await service.queries.impression(reply.impression)).state == "open"
            assert sum(event.kind == "list" for event in await events(service)) == 2

    run(play())


@pytest.mark.parametrize("before", [0, 1])
def test_stopping_waits_for_replies_in_flight_and_then_nothing_is_promised(tmp_path: Path, before: int) -> None:
    async def play() -> None:
        service = service_of(tmp_path / "db")
        await service.start()
        await front(service)
        for _ in range(before):
            await shown(service)
        flying = [asyncio.create_task(shown(service)) for _ in range(10)]
        await asyncio.sleep(0)
        await service.stop()
        replies = await asyncio.gather(*flying)
        with pytest.raises(StoreUnavailable):
            await shown(service)
        await service.stop()
        async with at_work(tmp_path / "db") as again:
            assert {(await again.queries.impression(reply.impression)).state for reply in replies} == {"open"}

    run(play())


def test_a_read_that_fails_changes_nothing_and_fails_one_request_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            reply = await shown(service)
            before = state_of(service)
            for one in before.impressions.values():
                one.record = None  # so that the list is read again to be learned

            def broken(*_: Any) -> None:
                raise StoreUnavailable("no such disk")

            monkeypatch.setattr(TableReader, "event", broken)
            with pytest.raises(StoreUnavailable, match="no such disk"):
                await told(service, reply, 1, final=True)
            assert len((await shown(service)).items) == 3
            monkeypatch.undo()
            assert state_of(service) is before
            assert (await told(service, reply, 1, final=True)).counted
            assert await learned(service) == 1
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_half_a_change_of_memory_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            first, second = await shown(service), await shown(service)
            assert service.transactions.loaded_state is not None
            for one in service.transactions.loaded_state.impressions.values():
                one.record = None  # so that it must be read again to be learned

            def broken(*_: Any) -> None:
                raise MemoryError("in the middle of learning")

            under_way = asyncio.create_task(shown(service))
            while len(state_of(service).impressions) < 3:
                await asyncio.sleep(0)
            monkeypatch.setattr(impressions, "learn_list", broken)
            with pytest.raises(MemoryError):
                await told(service, first, 1, final=True)
            monkeypatch.undo()
            with pytest.raises(StoreUnavailable, match="a moment ago"):
                await shown(service)
            assert (await under_way).items  # was whole before
            clock.pass_(1)
            assert (await service.queries.impression(first.impression)).state == "open"
            for reply in (first, second):
                assert (await told(service, reply, 1, final=True)).counted
            assert await learned(service) == 2
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())
