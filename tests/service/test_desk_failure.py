"""A disk that is full or broken: nothing acknowledged is lost, nothing else is promised, and it recovers."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest
from desks import Clock, at_work, front, items, learned, run, shown, told

from toplist.service.errors import StoreUnavailable
from toplist.service.live.service import Desk
from toplist.service.log.verify import differences
from toplist.service.wire import ListReply


def limit(desk: Desk, pages: int) -> None:
    """Let the file have so many pages beyond what it has, as on a full disk."""
    assert desk._store is not None
    now = int(desk._store._writer.pragma("page_count"))
    desk._store._writer.execute(f"PRAGMA max_page_count = {now + pages}")


def test_a_full_disk_refuses_loses_nothing_acknowledged_and_recovers(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk:
            await front(desk)
            made: list[ListReply] = []
            reported: list[ListReply] = []

            async def visitor(number: int) -> None:
                for _ in range(30):
                    reply = await shown(desk, request_id=f"{number} {len(made)} {'x' * 150}")
                    made.append(reply)
                    await told(desk, reply, 1, final=True)
                    reported.append(reply)

            limit(desk, 8)
            ends = await asyncio.gather(*(visitor(n) for n in range(20)), return_exceptions=True)
            assert all(isinstance(end, StoreUnavailable) for end in ends)
            assert made
            assert not desk.ready
            with pytest.raises(StoreUnavailable) as refused:
                await shown(desk)
            assert refused.value.retry_after > 0
            clock.pass_(1)
            assert desk.ready
            for _ in range(3):  # it is tried again, and it is full still
                with pytest.raises(StoreUnavailable):
                    await desk.put_items("front", items(2000, first=100))
                clock.pass_(1)
            limit(desk, 100_000)
            assert all([(await desk.impression(reply.impression)).items == reply.items for reply in made])
            assert all([(await desk.impression(reply.impression)).state == "learned" for reply in reported])
            assert await learned(desk) >= len(reported)
            for reply in made:
                assert (await told(desk, reply, 1, final=True)).counted
            assert await learned(desk) == sum(event.kind == "list" for event in await desk.events("front"))
            assert differences(tmp_path / "db", desk.states()) == []
            assert len(await desk.items("front")) == 8

    run(play())


@pytest.mark.parametrize("when", ["write", "commit"])
def test_an_error_of_the_disk_fails_all_who_wait_and_drops_what_memory_has_made_of_it(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk:
            await front(desk)
            first = await shown(desk)
            await told(desk, first, 1)
            before = desk.states()

            store = desk._store
            assert store is not None
            roll_back = store._roll_back

            def broken(*_: Any) -> None:
                if when == "commit":
                    roll_back()
                raise StoreUnavailable("no such disk") from apsw.IOError("disk I/O error")

            monkeypatch.setattr(store, when, broken)
            work: list[Any] = [
                shown(desk), told(desk, first, 2, final=True), desk.remove_items("front", ["item-1"]),
                shown(desk, key="new"), told(desk, first, 1), desk.close_due(clock.now + 10**9),
            ]  # fmt: skip
            ends = await asyncio.gather(*work, return_exceptions=True)
            assert [type(end) for end in ends] == [StoreUnavailable] * 6
            monkeypatch.undo()
            clock.pass_(1)
            assert (await desk.ranking("front")).items == 8
            assert await learned(desk) == 0
            assert desk.states() == before
            assert await desk.keys("front") == []
            assert (await desk.impression(first.impression)).clicks == [1]
            assert (await told(desk, first, 2, final=True)).counted
            assert await learned(desk) == 1

    run(play())


def test_a_client_that_leaves_takes_nobody_along(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk)
            leaving, staying = asyncio.create_task(shown(desk)), asyncio.create_task(shown(desk))
            await asyncio.sleep(0)
            leaving.cancel()
            reply = await staying
            assert leaving.cancelled() or (await asyncio.wait([leaving]))
            assert (await desk.impression(reply.impression)).state == "open"
            assert sum(event.kind == "list" for event in await desk.events("front")) == 2

    run(play())


def test_stopping_waits_for_replies_in_flight_and_then_nothing_is_promised(tmp_path: Path) -> None:
    async def play() -> None:
        desk = Desk(tmp_path / "db", Clock())
        await desk.start()
        await front(desk)
        flying = [asyncio.create_task(shown(desk)) for _ in range(10)]
        await asyncio.sleep(0)
        await desk.stop()
        replies = await asyncio.gather(*flying)
        with pytest.raises(StoreUnavailable):
            await shown(desk)
        await desk.stop()
        async with at_work(tmp_path / "db") as again:
            assert {(await again.impression(reply.impression)).state for reply in replies} == {"open"}

    run(play())


def test_half_a_change_of_memory_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk:
            await front(desk)
            first, second = await shown(desk), await shown(desk)
            assert desk._memory is not None
            for one in desk._memory.impressions.values():
                one.record = None  # so that it must be read again to be learned

            def broken(*_: Any) -> None:
                raise StoreUnavailable("no such disk")

            under_way = asyncio.create_task(shown(desk))
            await asyncio.sleep(0)
            monkeypatch.setattr("toplist.service.store.sqlite.SQLiteStore.event", broken)
            with pytest.raises(StoreUnavailable):
                await told(desk, first, 1, final=True)
            monkeypatch.undo()
            with pytest.raises(StoreUnavailable, match="a moment ago"):
                await shown(desk)
            assert (await under_way).items  # was whole before
            clock.pass_(1)
            assert (await desk.impression(first.impression)).state == "open"
            for reply in (first, second):
                assert (await told(desk, reply, 1, final=True)).counted
            assert await learned(desk) == 2
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())
