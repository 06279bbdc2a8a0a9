"""Learners out of the log: killed at any moment, evicted, restored, they are to the last bit what they were."""

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import pytest
from desks import BY_FEATURES, ITEM_WISE, POLICIES, WINDOW, Clock, at_work, front, items, killed, learned, run, shown
from desks import told as tell

from toplist.service.live import learners as learners_module
from toplist.service.live.service import Desk
from toplist.service.log.verify import differences, rebuilt
from toplist.service.wire import Item, ListReply


class Visitors:
    """People who ask for lists under some keys, click late or never, and items that come and go, by the same seed."""

    def __init__(self, policy: str, seed: int, keys: tuple[str | None, ...] = (None, "a", "b")) -> None:
        self.draw = random.Random(seed)
        self.policy, self.keys = policy, keys
        self.open: list[ListReply] = []
        self.items = 8

    async def visit(self, desk: Desk, clock: Clock) -> None:
        draw = self.draw
        clock.pass_(draw.random())
        chance = draw.random()
        if chance < 0.5 or not self.open:
            reply = await shown(desk, key=draw.choice(self.keys), deferred=draw.random() < 0.1)
            self.open.append(reply)
        elif chance < 0.85:
            reply = self.open.pop(draw.randrange(len(self.open)))
            final = draw.random() < 0.7
            await tell(desk, reply, *draw.sample([1, 2, 3], draw.randint(0, 2)), final=final)
        elif chance < 0.93:
            await desk.close_due()
        elif self.policy != POLICIES[2]:
            await self.change(desk)

    async def change(self, desk: Desk) -> None:
        there = [item.id for item in await desk.items("front")]
        chance = self.draw.random()
        if chance < 0.4 and len(there) > 4:
            await desk.remove_items("front", [self.draw.choice(there)])
        elif chance < 0.7:
            await desk.put_items("front", items(1, self.policy, self.items))
            self.items += 1
        else:
            item = await desk.item("front", self.draw.choice(there))
            features = None if item.features is None else [self.draw.random() for _ in item.features]
            await desk.put_items("front", [Item(id=item.id, features=features, hidden=not item.hidden)])


async def all_states(desk: Desk, keys: tuple[str | None, ...] = (None, "a", "b")) -> dict[Any, bytes]:
    for key in keys:
        await desk.estimates("front", key)
    return desk.states()


@pytest.mark.parametrize("policy", POLICIES)
def test_killed_again_and_again_it_goes_on_as_if_nothing_had_happened(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learners_module, "SNAPSHOT_EVERY", 20)

    async def play() -> None:
        clock, visitors = Clock(), Visitors(policy, 3)
        desk = Desk(tmp_path / "db", clock)
        await desk.start()
        await front(desk, policy)
        for key in (None, "a", "b"):
            await shown(desk, key=key)
        for number in range(400):
            await visitors.visit(desk, clock)
            if number % 37 == 5:
                alive = await all_states(desk)
                assert differences(tmp_path / "db", alive) == []
                await killed(desk)
                desk = Desk(tmp_path / "db", clock)
                await desk.start()
                assert await all_states(desk) == alive
        clock.pass_(2 * WINDOW)
        while await desk.close_due():
            pass
        made = sum(event.kind == "list" for event in await desk.events("front"))
        closed = sum(event.kind in ("learned", "dropped") for event in await desk.events("front"))
        assert made == closed
        assert differences(tmp_path / "db", await all_states(desk)) == []
        assert len(list(rebuilt(tmp_path / "db"))) == 3
        await desk.stop()
        assert differences(tmp_path / "db") == []

    run(play())


@pytest.mark.parametrize("policy", POLICIES)
def test_a_learner_that_goes_to_the_store_after_every_list_is_no_other(policy: str, tmp_path: Path) -> None:
    async def play(path: Path, **more: Any) -> dict[Any, bytes]:
        clock, visitors = Clock(), Visitors(policy, 11)
        async with at_work(path, clock, **more) as desk:
            await front(desk, policy)
            for key in (None, "a", "b"):
                await shown(desk, key=key)
            for _ in range(200):
                await visitors.visit(desk, clock)
            if more:
                assert desk.hot_learners == 1
            states: dict[Any, bytes] = {}
            for key in (None, "a", "b"):
                states |= await all_states(desk, (key,))
            return states

    assert run(play(tmp_path / "hot")) == run(play(tmp_path / "cold", hot_bytes=0))


def test_a_learner_in_the_store_learns_what_is_not_committed_yet(tmp_path: Path) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock, hot_bytes=0) as desk:
            await front(desk)
            first = await shown(desk, key="a")
            await shown(desk, key="b")  # which sends the learner of a to the store
            assert desk.hot_learners == 1
            report = asyncio.create_task(tell(desk, first, 1, final=True))
            change = asyncio.create_task(desk.remove_items("front", [first.items[1]]))
            await asyncio.sleep(0)  # both have written, and nothing is committed
            assert desk._writer is not None
            assert desk._writer.pending
            assert await learned(desk, "a") == 1
            assert first.items[1] not in (await shown(desk, key="a")).items
            await asyncio.gather(report, change)
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_without_the_log_of_a_list_a_difference_is_seen(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk)
            await tell(desk, await shown(desk), 1, final=True)
            alive = desk.states()
            assert differences(tmp_path / "db", alive) == []
            ((name, key),) = alive
            changed = {(name, key): alive[name, key] + b"x"}
            assert differences(tmp_path / "db", changed) == [
                "The learner of 'front' and key None differs from the live one."
            ]

    run(play())


def test_a_start_reads_no_impressions(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk, BY_FEATURES)
            replies = [await shown(desk, key=str(n % 5)) for n in range(20)]
        async with at_work(tmp_path / "db") as desk:
            assert desk.hot_learners == 0
            assert (await tell(desk, replies[3], 2, final=True)).counted
            assert desk.hot_learners == 0  # not even to learn
            assert await learned(desk, "3") == 1
            assert await desk.keys("front") == ["0", "1", "2", "3", "4"]
            assert await desk.keys("front", after="1", limit=2) == ["2", "3"]

    run(play())


def test_two_services_cannot_have_one_file(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db"):
            with pytest.raises(ValueError, match="Another process serves"):
                await Desk(tmp_path / "db").start()
        async with at_work(tmp_path / "db") as desk:
            await front(desk, ITEM_WISE)

    run(play())


def test_a_commit_that_is_done_but_not_yet_told_counts_once(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", hot_bytes=0) as desk:
            await front(desk)
            first = await shown(desk, key="a")
            await shown(desk, key="b")
            report = asyncio.create_task(tell(desk, first, 1, final=True))
            while not (desk._writer is not None and desk._writer._under_way):
                await asyncio.sleep(0)
            assert desk._store is not None
            assert desk._memory is not None
            before = time.monotonic()
            while desk._store.event(desk._writer.handed) is None and time.monotonic() < before + 30:
                time.sleep(0.001)  # so that the loop cannot hear of it
            learner = desk._memory.learners.find(desk._memory.rankings["front"], "a")
            assert learner is not None
            assert learner.ranker.learned == 1
            assert (await report).counted
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_what_a_snapshot_knows_of_items_is_not_done_again(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk:
            await front(desk)
            for _ in range(40):
                await tell(desk, await shown(desk), 1, final=True)
            await desk.remove_items("front", ["item-1"])
            await desk.put_items("front", items(1, first=90))
            await desk.remove_items("front", ["item-90"])
            await learned(desk)
            alive = desk.states()
        assert differences(tmp_path / "db", alive) == []

    run(play())


def test_items_keep_their_order_through_a_restart(tmp_path: Path) -> None:
    async def play() -> None:
        names = ["z", "a", "m", "b"]
        async with at_work(tmp_path / "db") as desk:
            await front(desk, count=0)
            await desk.put_items("front", [Item(id=name) for name in names])
            await desk.put_items("front", [Item(id="z", hidden=True), Item(id="c")])
        async with at_work(tmp_path / "db") as desk:
            assert [item.id for item in await desk.items("front")] == [*names, "c"]
            await tell(desk, await shown(desk), 1, final=True)
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())
