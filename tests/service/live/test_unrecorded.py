"""Lists from memory while nothing can be recorded: not recorded, not remembered, and for a while only."""

import asyncio
import threading
from pathlib import Path

import pytest
from running import Clock, at_work, check, events, front, items, lose_commit, read, run, shown, told
from test_slow_reads import GatedStore, gated

from toplist.service.errors import Refused, StoreUnavailable
from toplist.service.live import make_list
from toplist.service.live.service import Service
from toplist.service.log.impression_id import parse_id
from toplist.service.store import group_commit
from toplist.service.store.row_kinds import STATE_NAMES
from toplist.service.wire import Item, ListRequest, RankingChange, RankingSpec

SLOW = 0.2  # seconds: much longer than a commit takes


class Disk:
    """Commits that fail, or wait until they may go on."""

    def __init__(self, service: Service) -> None:
        store = service.transactions.store
        self._store, self._commit = store, store.commit
        self.go = threading.Event()
        self.go.set()
        self.full = False
        store.commit = self.commit  # type: ignore[method-assign]

    def commit(self) -> None:
        self.go.wait(10)
        if self.full:
            lose_commit(self._store)
            raise StoreUnavailable("The disk is full.")
        self._commit()


async def until_recorded(service: Service, clock: Clock) -> None:
    """Ask until lists are recorded again, as visitors do."""
    async with asyncio.timeout(20):
        while (await shown(service)).recorded is False:
            clock.pass_(0.01)
            await asyncio.sleep(0.01)


def test_a_ranking_serves_from_memory_while_commits_fail(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, when_unavailable="serve", baseline=["item-7", "item-6"])
            await service.rankings.create(RankingSpec(name="strict", positions=2))
            await service.items.put("strict", items(4))
            for _ in range(5):
                await told(service, await shown(service), 1, final=True)
            await service.items.remove("front", ["item-3"])
            disk, before = Disk(service), len(await events(service))
            disk.full = True
            for asked in ({}, {"request_id": "a"}, {"exclude": ["item-1"]}, {"deferred": True}, {"request_id": "a"}):
                made = await shown(service, **asked)
                assert (made.recorded, made.impression, made.deferred, len(made.items)) == (False, "", False, 3)
                assert "item-3" not in made.items
                assert ("item-1" in made.items) <= ("exclude" not in asked)
            assert (await shown(service, segment="new")).items == ["item-7", "item-6", "item-0"]
            assert service.is_ready
            with pytest.raises(Refused):
                await shown(service, among=["unknown"])
            with pytest.raises(StoreUnavailable):
                await service.lists.make("strict", ListRequest())
            with pytest.raises(StoreUnavailable):
                await service.items.put("front", [Item(id="late")])
            disk.full = False
            await until_recorded(service, clock)
            first = await shown(service, request_id="a")
            assert first.impression  # what was shown for it before is not remembered
            assert first == await shown(service, request_id="a")
            await service.impressions.close_all_due()
            open_lists = [event for event in await events(service) if event.kind == "list"]
            assert len(await events(service)) - before == 2  # the list of `until_recorded`, and this one
            assert len(open_lists) == 7

    run(work())
    assert check(tmp_path / "db") == []


def test_a_list_of_a_slow_commit_is_answered_from_memory_and_then_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (group_commit, make_list):
        monkeypatch.setattr(module, "SLOW_SECONDS", SLOW)

    async def work() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            await service.rankings.change("front", RankingChange(when_unavailable="serve"))
            kept = await shown(service)
            disk = Disk(service)
            disk.go.clear()
            try:
                slow = await shown(service)  # made, handed to the commit, and not waited for
                assert slow.recorded is False
                removing = asyncio.create_task(service.items.remove("front", slow.items[:1]))
                await asyncio.sleep(SLOW)
                assert slow.items[0] not in (await shown(service)).items  # it is gone from memory already
            finally:
                disk.go.set()
            assert await removing == 1
            await until_recorded(service, clock)
            await service.impressions.close_all_due()
            lists = [event.impression for event in await events(service) if event.kind == "list"]
            ids = [parse_id(text or "") or b"" for text in lists]
            rows = await read(service, lambda reader: [reader.impression(id) for id in ids])
            states = [STATE_NAMES[row.state] for row in rows if row is not None]
            assert lists[0] == kept.impression
            *dropped, recorded = states[1:]  # the last one is that of `until_recorded`, which tries again
            assert (states[0], set(dropped), recorded) == ("open", {"dropped"}, "open")
            assert service.transactions.unshown == []

    run(work())
    assert check(tmp_path / "db") == []


@pytest.mark.parametrize("when", ["before it is dropped", "while it is dropped", "after it was dropped"])
def test_a_request_of_a_slow_commit_gets_a_list_that_counts_when_it_is_tried_again(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (group_commit, make_list):
        monkeypatch.setattr(module, "SLOW_SECONDS", SLOW)

    async def work() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock, open_store=GatedStore) as service:
            await front(service, when_unavailable="serve")
            await shown(service)
            disk = Disk(service)
            disk.go.clear()
            try:
                assert (await shown(service, request_id="q")).recorded is False
            finally:
                disk.go.set()
            await until_recorded(service, clock)
            assert len(service.transactions.unshown) == 1
            if when == "before it is dropped":
                made = await shown(service, request_id="q")
                await service.impressions.close_all_due()
            elif when == "while it is dropped":
                gate = gated(service).hold()  # reads the list
                again = asyncio.create_task(shown(service, request_id="q"))
                await gated(service).reached.wait()
                await service.impressions.close_all_due()
                gate.set()
                made = await again
            else:
                await service.impressions.close_all_due()
                made = await shown(service, request_id="q")
            assert service.transactions.unshown == []
            assert await shown(service, request_id="q") == made
            assert (await told(service, made, 1, final=True)).counted
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(work())
    assert check(tmp_path / "db") == []


def test_lists_that_come_while_unshown_ones_are_dropped_are_dropped_too(tmp_path: Path) -> None:
    async def work() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            first, second = [parse_id((await shown(service)).impression) or b"" for _ in range(2)]
            unshown = service.transactions.unshown
            unshown.append(first)
            disk = Disk(service)
            disk.go.clear()
            try:
                dropping = asyncio.create_task(service.impressions.close_all_due())
                while not service.transactions.commits.pending:
                    await asyncio.sleep(0)
                unshown.append(second)
            finally:
                disk.go.set()
            await dropping
            rows = await read(service, lambda reader: [reader.impression(id) for id in (first, second)])
            assert [STATE_NAMES[row.state] for row in rows if row is not None] == ["dropped", "dropped"]
            assert unshown == []

    run(work())
    assert check(tmp_path / "db") == []


def test_it_ends_after_some_seconds_and_can_be_changed(tmp_path: Path) -> None:
    async def work() -> None:
        async with at_work(tmp_path / "db", unrecorded_seconds=0.0) as service:
            await front(service)
            assert (await service.queries.ranking("front")).when_unavailable == "refuse"
            changed = await service.rankings.change("front", RankingChange(when_unavailable="serve"))
            assert changed.when_unavailable == "serve"
            await shown(service)
            disk = Disk(service)
            disk.full = True
            with pytest.raises(StoreUnavailable):
                await shown(service)
            assert not service.unrecorded.is_serving
            disk.full = False

    run(work())
