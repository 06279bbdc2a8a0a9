"""Learners out of the log: killed at any moment, evicted, restored, they are to the last bit what they were."""

import asyncio
import random
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from running import (
    BY_FEATURES,
    ITEM_WISE,
    POLICIES,
    WINDOW,
    Clock,
    at_work,
    check,
    events,
    front,
    items,
    killed,
    learned,
    ranking_of,
    reader_of,
    rebuilt,
    run,
    service_of,
    shown,
    state_of,
)
from running import told as tell

from toplist.service.live import learner_load
from toplist.service.live import learners as learners_module
from toplist.service.live.service import Service
from toplist.service.log import replay as replay_module
from toplist.service.wire import Item, ListReply


class Visitors:
    """People of some segments who ask for lists, click late or never, and items that come and go, by the same seed."""

    def __init__(self, policy: str, seed: int, segments: tuple[str | None, ...] = (None, "a", "b")) -> None:
        self.draw = random.Random(seed)
        self.policy, self.segments = policy, segments
        self.open: list[ListReply] = []
        self.items = 8

    async def visit(self, service: Service, clock: Clock) -> None:
        draw = self.draw
        clock.pass_(draw.random())
        chance = draw.random()
        if chance < 0.5 or not self.open:
            reply = await shown(service, segment=draw.choice(self.segments), deferred=draw.random() < 0.1)
            self.open.append(reply)
        elif chance < 0.85:
            reply = self.open.pop(draw.randrange(len(self.open)))
            final = draw.random() < 0.7
            await tell(service, reply, *draw.sample([1, 2, 3], draw.randint(0, 2)), final=final)
        elif chance < 0.93:
            await service.impressions.close_due()
        elif self.policy != POLICIES[2]:
            await self.change(service)

    async def change(self, service: Service) -> None:
        there = [item.id for item in await service.queries.items("front")]
        chance = self.draw.random()
        if chance < 0.4 and len(there) > 4:
            await service.items.remove("front", [self.draw.choice(there)])
        elif chance < 0.7:
            await service.items.put("front", items(1, self.policy, self.items))
            self.items += 1
        else:
            item = await service.queries.item("front", self.draw.choice(there))
            features = None if item.features is None else [self.draw.random() for _ in item.features]
            await service.items.put("front", [Item(id=item.id, features=features, hidden=not item.hidden)])


async def all_states(service: Service, segments: tuple[str | None, ...] = (None, "a", "b")) -> dict[Any, bytes]:
    for segment in segments:
        await service.queries.estimates("front", segment)
    return await service.beliefs()


@pytest.mark.parametrize("policy", POLICIES)
def test_killed_again_and_again_it_goes_on_as_if_nothing_had_happened(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learners_module, "SNAPSHOT_EVERY", 20)

    async def play() -> None:
        clock, visitors = Clock(), Visitors(policy, 3)
        service = service_of(tmp_path / "db", clock)
        await service.start()
        await front(service, policy)
        for segment in (None, "a", "b"):
            await shown(service, segment=segment)
        for number in range(200):
            await visitors.visit(service, clock)
            if number % 37 == 5:
                alive = await all_states(service)
                assert check(tmp_path / "db", alive) == []
                await killed(service)
                service = service_of(tmp_path / "db", clock)
                await service.start()
                assert await all_states(service) == alive
        clock.pass_(2 * WINDOW)
        while await service.impressions.close_due():
            pass
        made = sum(event.kind == "list" for event in await events(service))
        closed = sum(event.kind in ("learned", "dropped") for event in await events(service))
        assert made == closed
        assert check(tmp_path / "db", await all_states(service)) == []
        assert len(list(rebuilt(tmp_path / "db"))) == 3
        await service.stop()
        assert check(tmp_path / "db") == []

    run(play())


@pytest.mark.parametrize("policy", POLICIES)
def test_a_learner_that_goes_to_the_store_after_every_list_is_no_other(policy: str, tmp_path: Path) -> None:
    async def play(path: Path, **more: Any) -> dict[Any, bytes]:
        clock, visitors = Clock(), Visitors(policy, 11)
        async with at_work(path, clock, **more) as service:
            await front(service, policy)
            for segment in (None, "a", "b"):
                await shown(service, segment=segment)
            for _ in range(120):
                await visitors.visit(service, clock)
            if more:
                assert service.loaded_learners == 1
            states: dict[Any, bytes] = {}
            for segment in (None, "a", "b"):
                states |= await all_states(service, (segment,))
            return states

    assert run(play(tmp_path / "hot")) == run(play(tmp_path / "cold", learner_bytes=0))


def test_a_learner_in_the_store_learns_what_is_not_committed_yet(tmp_path: Path) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock, learner_bytes=0) as service:
            await front(service)
            first = await shown(service, segment="a")
            await shown(service, segment="b")  # which sends the learner of a to the store
            assert service.loaded_learners == 1
            report = asyncio.create_task(tell(service, first, 1, final=True))
            change = asyncio.create_task(service.items.remove("front", [first.items[1]]))
            for _ in range(2):
                await asyncio.sleep(0)  # both have written, and nothing is committed
            assert service.transactions.commits is not None
            assert service.transactions.commits.pending
            assert await learned(service, "a") == 1
            assert first.items[1] not in (await shown(service, segment="a")).items
            await asyncio.gather(report, change)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_without_the_log_of_a_list_a_difference_is_seen(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await tell(service, await shown(service), 1, final=True)
            alive = await service.beliefs()
            assert check(tmp_path / "db", alive) == []
            ((name, segment),) = alive
            changed = {(name, segment): alive[name, segment] + b"x"}
            assert check(tmp_path / "db", changed) == [
                "The learner of 'front' and segment None differs from the live one."
            ]

    run(play())


def test_a_start_reads_no_impressions(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            replies = [await shown(service, segment=str(n % 5)) for n in range(20)]
        async with at_work(tmp_path / "db") as service:
            assert service.loaded_learners == 0
            assert (await tell(service, replies[3], 2, final=True)).counted
            assert service.loaded_learners == 0  # not even to learn
            assert await learned(service, "3") == 1
            assert await service.queries.segments("front") == ["0", "1", "2", "3", "4"]
            assert await service.queries.segments("front", after="1", limit=2) == ["2", "3"]

    run(play())


@pytest.mark.file
def test_two_services_cannot_have_one_file(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db"):
            with pytest.raises(ValueError, match="Another process serves"):
                await service_of(tmp_path / "db").start()
        async with at_work(tmp_path / "db") as service:
            await front(service, ITEM_WISE)

    run(play())


def test_a_commit_that_is_done_but_not_yet_told_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=0) as service:
            await front(service)
            first = await shown(service, segment="a")
            await shown(service, segment="b")
            store, begun = service.transactions.store, threading.Event()
            commit = store.commit

            def noted() -> None:
                begun.set()
                commit()

            monkeypatch.setattr(store, "commit", noted)
            report = asyncio.create_task(tell(service, first, 1, final=True))
            while not begun.is_set():
                await asyncio.sleep(0)
            last, before = service.transactions.commits.last_seq, time.monotonic()
            with closing(reader_of(tmp_path / "db")) as reader:
                while reader.event(last) is None and time.monotonic() < before + 30:
                    time.sleep(0.001)  # so that the loop does not notice
            learner = await state_of(service).learners.load(ranking_of(service), "a")
            assert learner is not None
            assert learner.ranker.learned == 1
            assert (await report).counted
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_what_a_snapshot_knows_of_items_is_not_done_again(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(40):
                await tell(service, await shown(service), 1, final=True)
            await service.items.remove("front", ["item-1"])
            await service.items.put("front", items(1, first=90))
            await service.items.remove("front", ["item-90"])
            await learned(service)
            alive = await service.beliefs()
        assert check(tmp_path / "db", alive) == []

    run(play())


def test_items_keep_their_order_through_a_restart(tmp_path: Path) -> None:
    async def play() -> None:
        names = ["z", "a", "m", "b"]
        async with at_work(tmp_path / "db") as service:
            await front(service, count=0)
            await service.items.put("front", [Item(id=name) for name in names])
            await service.items.put("front", [Item(id="z", hidden=True), Item(id="c")])
        async with at_work(tmp_path / "db") as service:
            assert [item.id for item in await service.queries.items("front")] == [*names, "c"]
            await tell(service, await shown(service), 1, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_many_changes_of_items_are_replayed_in_another_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[bool] = set()
    changed = replay_module.change_items

    def noted(*given: Any) -> None:
        threads.add(threading.current_thread() is threading.main_thread())
        changed(*given)

    async def play() -> None:
        service = service_of(tmp_path / "db")
        await service.start()
        await front(service)
        waiting = [await shown(service, segment=segment) for segment in "ab"]
        for number in range(learner_load.MANY_CHANGES):
            await service.items.put("front", [Item(id=f"item-{number % 4}", hidden=number // 4 % 2 == 0)])
        await service.items.remove("front", ["item-7"])
        await killed(service)
        monkeypatch.setattr(replay_module, "change_items", noted)
        async with at_work(tmp_path / "db") as service:
            loading = [asyncio.create_task(shown(service, segment=segment)) for segment in "aba"]
            await tell(service, waiting[0], 1, final=True)  # while its learner is loaded
            replies = await asyncio.gather(*loading)
            assert all("item-7" not in reply.items for reply in replies)
            assert threads == {False}
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())
