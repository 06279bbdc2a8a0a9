"""The state in memory drops what the store has, without a difference that can be seen."""

import asyncio
import gc
import threading
import weakref
from pathlib import Path

import pytest
from running import (
    ELIMINATION,
    WINDOW,
    Clock,
    at_work,
    check,
    events,
    front,
    items,
    learned,
    run,
    shown,
    state_of,
    told,
)

from toplist.service.live import learners, make_list, state
from toplist.service.store.queries import TableReader


def test_lists_do_not_keep_a_ranker_that_nobody_else_has(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=1) as service:
            await front(service)
            first = await shown(service, segment="a")
            memory = service.transactions.loaded_state
            assert memory is not None
            (learner,) = list(memory.learners)
            gone = weakref.ref(learner.ranker)
            del learner
            for segment in "bc":
                await shown(service, segment=segment)
            gc.collect()
            assert gone() is None
            assert (await told(service, first, 1, final=True)).counted
            assert await learned(service, "a") == 1

    run(play())


def test_with_room_for_two_lists_in_memory_everything_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "REMEMBERED", 2)
    monkeypatch.setattr(state, "EVICTED_AT_ONCE", 1)

    async def play() -> None:
        async with at_work(tmp_path / "db", Clock()) as service:
            await front(service)
            replies = await asyncio.gather(*(shown(service, request_id=str(n), segment="k") for n in range(20)))
            assert service.transactions.loaded_state is not None
            await shown(service)
            await shown(service, request_id="x")
            assert len(service.transactions.loaded_state.impressions) <= 3
            assert len(service.transactions.loaded_state.requests) <= 3
            assert [await shown(service, request_id=str(n), segment="k") for n in range(20)] == replies
            for reply in replies:
                await told(service, reply, 1)
            for reply in replies:
                assert (await told(service, reply, 2, final=True)).counted
            for reply in replies:
                assert (await service.queries.impression(reply.impression)).clicks == [1, 2]
                assert not (await told(service, reply, 3)).counted
            assert await learned(service, "k") == 20
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_what_is_closed_in_one_go_is_not_forgotten_before_it_is_written(
    store_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "REMEMBERED", 2)
    monkeypatch.setattr(state, "EVICTED_AT_ONCE", 1)
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            replies = [await shown(service) for _ in range(10)]
            clock.pass_(WINDOW)
            closing = asyncio.create_task(service.impressions.close_due())
            await asyncio.sleep(0)
            late = [await told(service, reply, 1) for reply in replies]
            assert {answer.why for answer in late} == {"late"}
            closed = await closing
            assert closed == 10 if store_kind == "sqlite" else closed <= 10  # reports may close some during its reads
            assert await learned(service) == 10
            assert sum(event.kind == "learned" for event in await events(service)) == 10

    run(play())


def test_large_slates_are_read_again_when_they_are_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(path: Path) -> bytes:
        async with at_work(path, Clock()) as service:
            await front(service, ELIMINATION, count=0)
            await service.items.put("front", items(300))
            for number in range(30):
                await told(service, await shown(service), 1 + number % 3, final=True)
            assert check(path, await service.beliefs()) == []
            return (await service.beliefs())["front", None]

    at_hand = run(play(tmp_path / "one"))
    monkeypatch.setattr(make_list, "SMALL_RECORD", 0)
    assert run(play(tmp_path / "two")) == at_hand


def test_looking_at_many_keys_takes_no_more_room_than_serving_them(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=20_000) as service:
            await front(service)
            made = [await shown(service, segment=str(number)) for number in range(60)]
            served = service.loaded_learners
            for number in range(60):
                assert await learned(service, str(number)) == 0
            assert service.loaded_learners <= served
            for reply in made:
                await service.queries.explanation(reply.impression)
            assert service.loaded_learners <= served

    run(play())


def test_open_lists_are_counted_in_another_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[bool] = []
    count = TableReader.open_impressions

    def noted(reader: TableReader) -> int:
        threads.append(threading.current_thread() is threading.main_thread())
        return count(reader)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(3):
                await shown(service)
            monkeypatch.setattr(TableReader, "open_impressions", noted)
            counts = await asyncio.gather(*(service.queries.open_impressions() for _ in range(10)))
            assert counts == [3] * 10
            assert threads == [False]

    run(play())


@pytest.mark.parametrize("what", ["ranking", "segment"])
def test_what_is_purged_from_memory_is_found_without_new_objects(what: str, tmp_path: Path) -> None:
    """As many new objects as there are requests would be looked at by the garbage collector again and again."""
    collected: list[str] = []

    def noted(phase: str, _: object) -> None:
        collected.append(phase)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await shown(service, segment="a", request_id="its own")
            memory = state_of(service)
            (learner,) = memory.learners
            for number in range(10_000):
                memory.requests[0, str(number)] = state.RememberedRequest(b"", b"", 0)
            before = gc.get_threshold()
            gc.collect()
            gc.set_threshold(1000)
            gc.callbacks.append(noted)
            try:
                if what == "ranking":
                    await memory.purge(learner.ranking.id)
                else:
                    await memory.purge_learner(learner.id)
            finally:
                gc.callbacks.remove(noted)
                gc.set_threshold(*before)
            assert len(collected) <= 2  # one at most
            assert not memory.impressions
            assert len(memory.requests) == 10_000

    run(play())


def test_a_learner_with_many_open_lists_writes_fewer_snapshots(tmp_path: Path) -> None:
    """Each has the numbers of all open lists, so that it takes long."""

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await shown(service)
            (learner,) = list(state_of(service).learners)
            learner.unkept = learners.SNAPSHOT_EVERY
            assert learner.needs_snapshot
            for number in range(1, 50_000):
                learner.ranker.reopen(number)
            state_of(service).learners.measure(learner)
            assert not learner.needs_snapshot
            learner.unkept = 2000
            assert learner.needs_snapshot
            learner.unkept = 0

    run(play())
