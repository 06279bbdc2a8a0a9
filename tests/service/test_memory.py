"""Memory forgets what the store has, and nobody can tell."""

import asyncio
import gc
import weakref
from pathlib import Path

import pytest
from desks import ELIMINATION, WINDOW, Clock, at_work, front, items, learned, run, shown, told

from toplist.service.live import make_list, state
from toplist.service.log.verify import differences


def test_lists_do_not_keep_a_ranker_that_nobody_else_has(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", hot_bytes=1) as desk:
            await front(desk)
            first = await shown(desk, key="a")
            memory = desk._memory
            assert memory is not None
            (learner,) = list(memory.learners)
            gone = weakref.ref(learner.ranker)
            del learner
            for key in "bc":
                await shown(desk, key=key)
            gc.collect()
            assert gone() is None
            assert (await told(desk, first, 1, final=True)).counted
            assert await learned(desk, "a") == 1

    run(play())


def test_with_room_for_two_lists_in_memory_everything_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "REMEMBERED", 2)
    monkeypatch.setattr(state, "LET_GO", 1)

    async def play() -> None:
        async with at_work(tmp_path / "db", Clock()) as desk:
            await front(desk)
            replies = await asyncio.gather(*(shown(desk, request_id=str(n), key="k") for n in range(20)))
            assert desk._memory is not None
            await shown(desk)
            await shown(desk, request_id="x")
            assert len(desk._memory.impressions) <= 3
            assert len(desk._memory.requests) <= 3
            assert [await shown(desk, request_id=str(n), key="k") for n in range(20)] == replies
            for reply in replies:
                await told(desk, reply, 1)
            for reply in replies:
                assert (await told(desk, reply, 2, final=True)).counted
            for reply in replies:
                assert (await desk.impression(reply.impression)).clicks == [1, 2]
                assert not (await told(desk, reply, 3)).counted
            assert await learned(desk, "k") == 20
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_what_is_closed_in_one_go_is_not_forgotten_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "REMEMBERED", 2)
    monkeypatch.setattr(state, "LET_GO", 1)
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk:
            await front(desk)
            replies = [await shown(desk) for _ in range(10)]
            clock.pass_(WINDOW)
            closing = asyncio.create_task(desk.close_due())
            await asyncio.sleep(0)
            late = [await told(desk, reply, 1) for reply in replies]
            assert {answer.why for answer in late} == {"late"}
            assert await closing == 10
            assert await learned(desk) == 10
            assert sum(event.kind == "learned" for event in await desk.events("front")) == 10

    run(play())


def test_large_slates_are_read_again_when_they_are_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(path: Path) -> bytes:
        async with at_work(path, Clock()) as desk:
            await front(desk, ELIMINATION, count=0)
            await desk.put_items("front", items(300))
            for number in range(30):
                await told(desk, await shown(desk), 1 + number % 3, final=True)
            assert differences(path, desk.states()) == []
            return desk.states()["front", None]

    at_hand = run(play(tmp_path / "one"))
    monkeypatch.setattr(make_list, "SMALL_RECORD", 0)
    assert run(play(tmp_path / "two")) == at_hand


def test_looking_at_many_keys_takes_no_more_room_than_serving_them(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", hot_bytes=20_000) as desk:
            await front(desk)
            made = [await shown(desk, key=str(number)) for number in range(60)]
            served = desk.hot_learners
            for number in range(60):
                assert await learned(desk, str(number)) == 0
            assert desk.hot_learners <= served
            for reply in made:
                await desk.explanation(reply.impression)
            assert desk.hot_learners <= served

    run(play())
