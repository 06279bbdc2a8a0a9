"""What other requests do during a read that takes a while: nothing is made, learned or replayed twice."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from running import (
    BY_FEATURES,
    WINDOW,
    Clock,
    SuspendingStore,
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

from toplist.service.errors import NotFound, Refused, StoreUnavailable
from toplist.service.live import learners, state
from toplist.service.live.learner_load import LearnerLoad
from toplist.service.live.quarantine import Contained
from toplist.service.live.service import Service
from toplist.service.log import replay, training
from toplist.service.store.protocol import LogReader
from toplist.service.store.sqlite import SQLiteStore
from toplist.service.wire import Item, RankingChange

T = TypeVar("T")


class GatedStore(SQLiteStore):
    """A store of which one read waits, before it reads or once it has its result, until it may go on."""

    gate: asyncio.Event | None = None  # that of the next read which is chosen
    reached: asyncio.Event
    before: bool
    chosen: Callable[[Any], bool] = staticmethod(lambda _: True)

    async def read(self, work: Callable[[LogReader], T]) -> T:
        gate = self.gate
        if gate is None or not type(self).chosen(work):
            return await super().read(work)
        self.gate = None
        if self.before:
            self.reached.set()
            await gate.wait()
            return await super().read(work)
        result = await super().read(work)
        self.reached.set()
        await gate.wait()
        return result

    def hold(self, chosen: Callable[[Any], bool] = lambda _: True, *, before: bool = False) -> asyncio.Event:
        """Let the next such read wait; it goes on when the event is set."""
        type(self).chosen = staticmethod(chosen)
        self.gate, self.reached, self.before = asyncio.Event(), asyncio.Event(), before
        return self.gate


def gated(service: Service) -> GatedStore:
    store = service.transactions.store
    assert isinstance(store, GatedStore)
    return store


def loads_a_learner(work: Any) -> bool:
    return isinstance(work, LearnerLoad)


def test_two_requests_with_one_id_get_one_list(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", open_store=SuspendingStore) as service:
            await front(service)
            await shown(service)
            replies = await asyncio.gather(*(shown(service, request_id="r") for _ in range(5)))
            assert len({reply.impression for reply in replies}) == 1

    run(play())


@pytest.mark.parametrize("room", [1 << 30, 0])
def test_a_list_that_is_closed_and_evicted_while_due_ones_are_read_is_learned_once(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "REMEMBERED", 2)
    monkeypatch.setattr(state, "EVICTED_AT_ONCE", 1)
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, learner_bytes=room, open_store=GatedStore) as service:
            await front(service)
            first = await shown(service, segment="a")
            await shown(service, segment="b")
            clock.pass_(WINDOW + 1)
            gate = gated(service).hold()
            closing = asyncio.create_task(service.impressions.close_due())
            await gated(service).reached.wait()
            assert (await told(service, first, 1, final=True)).why == "late"  # closed here, by its window
            for _ in range(4):
                await shown(service, segment="b")
            gate.set()
            await closing
            log = [event for event in await events(service) if event.impression == first.impression]
            assert [event.kind for event in log] == ["list", "learned"]
            assert await learned(service, "a") == 1
        assert check(tmp_path / "db") == []

    run(play())


def test_events_that_a_snapshot_has_are_not_replayed_again(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=0, open_store=GatedStore) as service:
            await front(service)
            for segment in "abb":  # the second list of b evicts a
                await shown(service, segment=segment)
            gate = gated(service).hold(loads_a_learner, before=True)
            listing = asyncio.create_task(shown(service, segment="a"))
            await gated(service).reached.wait()
            for _ in range(learners.WORTH_A_SNAPSHOT):  # another request loads the learner, and it learns
                await told(service, await shown(service, segment="a"), 1, final=True)
            for segment in "bb":  # it is evicted with a snapshot
                await shown(service, segment=segment)
            gate.set()
            assert len((await listing).items) == 3
            assert await learned(service, "a") == learners.WORTH_A_SNAPSHOT
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_learner_that_is_created_and_evicted_during_a_look_for_it_is_not_created_again(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=0, open_store=GatedStore) as service:
            await front(service)
            await shown(service, segment="b")
            gate = gated(service).hold()
            listing = asyncio.create_task(shown(service, segment="a"))
            await gated(service).reached.wait()
            await shown(service, segment="a")
            await shown(service, segment="b")
            await shown(service, segment="b")
            assert [learner.segment for learner in state_of(service).learners] == ["b"]
            before = state_of(service)
            gate.set()
            assert len((await listing).items) == 3
            assert state_of(service) is before
            assert await service.queries.segments("front") == ["a", "b"]
        assert check(tmp_path / "db") == []

    run(play())


def test_a_learner_of_a_ranking_that_is_deleted_during_its_load_is_not_kept(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=0, open_store=GatedStore) as service:
            await front(service)
            for segment in "abb":
                await shown(service, segment=segment)
            gate = gated(service).hold(loads_a_learner)
            listing = asyncio.create_task(shown(service, segment="a"))
            await gated(service).reached.wait()
            await service.rankings.delete("front")
            gate.set()
            with pytest.raises(NotFound):
                await listing
            assert service.loaded_learners == 0

    run(play())


def test_nothing_is_forgotten_once_retention_is_switched_off(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, open_store=GatedStore) as service:
            await front(service, retention=3600.0)
            for _ in range(5):
                await told(service, await shown(service), 1, final=True)
            clock.pass_(7200)
            await shown(service)
            gate = gated(service).hold()
            forgetting = asyncio.create_task(service.retention.forget_old())
            await gated(service).reached.wait()
            await service.rankings.change("front", RankingChange(retention=None))
            gate.set()
            assert await forgetting == 0
            assert sum(event.kind == "list" for event in await events(service)) == 6

    run(play())


def test_an_answer_does_not_show_what_failed_to_commit_meanwhile(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, open_store=GatedStore) as service:
            await front(service)
            reply = await shown(service)
            store, commit = gated(service), gated(service).commit

            def broken() -> None:
                store.roll_back()
                raise StoreUnavailable("no such disk")

            store.commit = broken  # type: ignore[method-assign]
            report = asyncio.create_task(told(service, reply, 1))
            await asyncio.sleep(0)
            gate = store.hold()
            question = asyncio.create_task(service.queries.impression(reply.impression))
            await store.reached.wait()
            with pytest.raises(StoreUnavailable):
                await report
            store.commit = commit  # type: ignore[method-assign]
            clock.pass_(1)
            gate.set()
            assert (await question).clicks == []

    run(play())


def test_a_service_starts_again_right_after_a_failure_and_after_a_reload_that_was_in_progress(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        service = Service(tmp_path / "db", clock, open_store=GatedStore)
        await service.start()
        await front(service)
        service.transactions.drop_state()  # as a failed commit does
        await service.stop()
        await service.start()
        assert len((await shown(service)).items) == 3
        service.transactions.drop_state()
        clock.pass_(1)
        gate = gated(service).hold()
        listing = asyncio.create_task(shown(service))
        await gated(service).reached.wait()
        stopping = asyncio.create_task(service.stop())
        await asyncio.sleep(0)
        gate.set()
        with pytest.raises(StoreUnavailable):
            await listing
        await stopping
        await service.start()
        assert len((await shown(service, request_id="r")).items) == 3
        await service.stop()

    run(play())


def test_a_state_that_is_dropped_again_at_once_is_given_to_no_other_request(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            service.transactions.drop_state()
            clock.pass_(1)
            current: list[bool] = []

            async def fail() -> None:
                loaded = await service.transactions.state()
                current.append(service.transactions.is_current(loaded))
                service.transactions.drop_state()

            ends = await asyncio.gather(fail(), fail(), return_exceptions=True)
            assert current == [True]
            assert isinstance(ends[1], StoreUnavailable)

    run(play())


def test_a_learner_whose_change_of_items_fails_is_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await told(service, await shown(service), 1, final=True)
            await service.items.put("front", items(1, first=100))
            change_items = replay.change_items

            def half(*given: Any) -> None:
                change_items(*given)
                raise MemoryError("after the change")

            monkeypatch.setattr(learners, "change_items", half)
            with pytest.raises(Contained):
                await service.queries.estimates("front")
            assert service.loaded_learners == 0
            monkeypatch.undo()
            assert await learned(service) == 1
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_policy_that_cannot_have_the_present_items_says_so_rather_than_of_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            await told(service, await shown(service), 1, final=True)
            train, loop = training.train_learners, asyncio.get_running_loop()

            def slowly(*given: Any) -> Any:
                result = train(*given)
                put = service.items.put("front", [Item(id="large", features=[2.0] * 4)])
                asyncio.run_coroutine_threadsafe(put, loop).result()
                return result

            monkeypatch.setattr(training, "train_learners", slowly)
            with pytest.raises(Refused, match="cannot have these items"):
                await service.rankings.change("front", RankingChange(policy="cascade-lsb"))

    run(play())
