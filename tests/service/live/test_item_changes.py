"""Changes of very many items: learners apply them late, a part at a time, and are what the log says."""

import asyncio
from collections import Counter
from contextlib import closing
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from running import (
    BY_FEATURES,
    ITEM_WISE,
    WINDOW,
    Clock,
    at_work,
    check,
    front,
    items,
    ranking_of,
    reader_of,
    run,
    shown,
    state_of,
)
from running import told as tell
from test_slow_reads import GatedStore, gated, loads_a_learner

from toplist.service.live import learners as learners_module
from toplist.service.live.learners import FEW_CHANGES
from toplist.service.live.service import Service
from toplist.service.log import replay as replay_module
from toplist.service.log.replay import change_items
from toplist.service.wire import Item, ItemPrior

AT_ONCE = 10
MANY = 12 * AT_ONCE
MOST_AT_ONCE = (FEW_CHANGES + 2) * AT_ONCE  # items between two turns of the others: a part, and the last few


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_module, "AT_ONCE", AT_ONCE)


class Turns:
    """Counts the turns of the event loop, and the items that learners change in each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.items: Counter[int] = Counter()
        self._turn = 0

        def counted(ranker: Any, event: Any) -> None:
            self.items[self._turn] += len(event.put) + len(event.removed)
            change_items(ranker, event)

        for module in (learners_module, replay_module):
            monkeypatch.setattr(module, "change_items", counted)
        monkeypatch.setattr(learners_module, "SLICE", 0.0)  # whatever time a part takes

    async def count(self) -> None:
        while True:
            self._turn += 1
            await asyncio.sleep(0)


async def change_many(service: Service, policy: str) -> None:
    """Items that come, are hidden and go; some stay."""
    for times in range(2):
        await service.items.put("front", items(MANY, policy, first=100))
        await service.items.put("front", [Item(id=f"item-{n}", hidden=True) for n in range(100, 100 + MANY)])
        await service.items.remove("front", [f"item-{n}" for n in range(100 + times, 100 + MANY)])


@pytest.mark.parametrize("policy", [ITEM_WISE, BY_FEATURES])
@pytest.mark.parametrize("use", ["list", "estimates", "report", "window", "change"])
def test_a_learner_catches_up_with_many_items_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str, policy: str
) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, policy)
            reply = await shown(service, segment="a")
            await change_many(service, policy)
            turns = Turns(monkeypatch)
            counting = asyncio.create_task(turns.count())
            if use == "list":
                assert "item-101" not in (await shown(service, segment="a")).items
            elif use == "estimates":
                await service.queries.estimates("front", "a")
            elif use == "report":
                await tell(service, reply, 1, final=True)
            elif use == "window":
                clock.pass_(WINDOW + 1)
                assert await service.impressions.close_due() == 1
            else:
                monkeypatch.setattr(learners_module, "MOST_CHANGES", 2)
                await service.items.put("front", [Item(id="item-1", hidden=True)])
                assert len(ranking_of(service).changes) == 1
            counting.cancel()
            assert turns.items.total() > MANY
            assert max(turns.items.values()) <= MOST_AT_ONCE
            await tell(service, await shown(service, segment="a"), 1, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_items_that_change_while_a_learner_is_read_are_applied_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=0, open_store=GatedStore) as service:
            await front(service)
            await tell(service, await shown(service, segment="a"), 1, final=True)
            await shown(service, segment="b")
            await shown(service, segment="b")
            assert state_of(service).learners.find(ranking_of(service), "a") is None
            gate = gated(service).hold(loads_a_learner)
            listing = asyncio.create_task(shown(service, segment="a"))
            await gated(service).reached.wait()
            await change_many(service, ITEM_WISE)
            turns = Turns(monkeypatch)
            counting = asyncio.create_task(turns.count())
            gate.set()
            await service.items.put("front", [Item(id="late")])  # comes meanwhile
            await listing
            counting.cancel()
            assert turns.items.total() > MANY
            assert max(turns.items.values()) <= MOST_AT_ONCE
            await tell(service, await shown(service, segment="a"), 1, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_others_have_several_turns_between_two_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request takes several: with one between two parts, it would wait for a part in each."""

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await shown(service, segment="a")
            await change_many(service, ITEM_WISE)
            turns = Turns(monkeypatch)
            monkeypatch.setattr(learners_module, "SLICE", 1e-3)
            monkeypatch.setattr(learners_module, "perf_counter", count().__next__)  # every part takes a second
            counting = asyncio.create_task(turns.count())
            await shown(service, segment="a")
            counting.cancel()
            assert len(turns.items) > MANY // AT_ONCE
            assert median(after - before for before, after in pairwise(turns.items)) > 3

    run(play())


def test_no_snapshot_is_written_of_a_learner_with_a_part_of_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(parts: int) -> bool:
        """Whether a learner leaves a snapshot when the service ends after it has applied so many parts."""
        path = tmp_path / f"{parts}.db"
        async with at_work(path) as service:
            await front(service)
            await shown(service, segment="a")
            await change_many(service, ITEM_WISE)
            learner = state_of(service).learners.find(ranking_of(service), "a")
            assert learner is not None
            for _ in range(parts):
                learner.apply_changes(0.0)
            id = ranking_of(service).id
        with closing(reader_of(path)) as reader:
            has_snapshot = bool(reader.learners_with_snapshots(id))
        async with at_work(path) as service:
            await tell(service, await shown(service, segment="a"), 1, final=True)
            assert check(path, await service.beliefs()) == []
        return has_snapshot

    monkeypatch.setattr(learners_module, "WORTH_A_SNAPSHOT", 1)
    whole = MANY // AT_ONCE
    assert [run(play(parts)) for parts in (0, whole - 1, whole)] == [True, False, True]


def test_items_with_priors_are_changed_together(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await shown(service, segment="a")
            known = [
                Item(id=f"item-{n}", prior=ItemPrior(mean=n % 7 / 10, strength=50.0)) for n in range(100, 100 + MANY)
            ]
            await service.items.put("front", known)
            await tell(service, await shown(service, segment="a"), 1, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_changes_that_come_while_others_are_applied_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for segment in "abc":
                await shown(service, segment=segment)
            await change_many(service, ITEM_WISE)
            monkeypatch.setattr(learners_module, "SLICE", 0.0)
            monkeypatch.setattr(learners_module, "MOST_CHANGES", 2)
            putting = [service.items.put("front", [Item(id=f"late-{n}")]) for n in range(3)]
            await asyncio.gather(*putting, *(shown(service, segment=segment) for segment in "abc"))
            for segment in "abc":
                await tell(service, await shown(service, segment=segment), 1, final=True)
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())
