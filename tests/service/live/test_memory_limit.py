"""The limits of memory: of learners, and of the requests that load and copy them."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import at_work, check, events, front, ranking_of, read, run, shown, state_of, told

from toplist.ranker import LoggedRanker
from toplist.service.errors import Refused
from toplist.service.live import change_policy, learner_load, learners, queries, state
from toplist.service.live.learners import WORTH_A_SNAPSHOT
from toplist.service.live.service import Service
from toplist.service.live.work_memory import WorkMemory
from toplist.service.log import export
from toplist.service.wire import Item, RankingChange, RankingSpec

FEATURES = 300  # a learner takes 3 MB


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("use", ["nothing", "list", "report"])
def test_a_ranker_that_is_dropped_is_freed_at_once(use: str) -> None:
    with no_garbage_collection():
        ranker = LoggedRanker(["a", "b"], 1, "cascade-kl-ucb")
        if use != "nothing":
            _, record = ranker.make()
            if use == "report":
                ranker.settle(record, [1])
        copy = LoggedRanker.of(ranker.state(), "cascade-kl-ucb", "copy")
        dropped = [weakref.ref(ranker), weakref.ref(copy)]
        del ranker, copy
        assert [ref() for ref in dropped] == [None, None]


async def wide(service: Service, features: int = FEATURES, items: int = 10) -> None:
    spec = RankingSpec(name="front", positions=3, policy="cascade-lin-ucb", features=features)
    await service.rankings.create(spec)
    rows = np.random.default_rng(1).random((items, features)).tolist()
    await service.items.put("front", [Item(id=f"item-{n}", features=row) for n, row in enumerate(rows)])


def test_learners_in_use_at_the_same_time_wait_for_room(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=20 << 20) as service:
            await wide(service)
            most = 0

            async def visit(number: int) -> None:
                nonlocal most
                await shown(service, segment=str(number % 15))
                most = max(most, service.loaded_learners)

            for _ in range(2):
                await asyncio.gather(*(visit(number) for number in range(30)))
            size = state_of(service).ranking("front").learner_size
            assert 2 <= most <= (20 << 20) // min(size, 3 << 20)
            assert len({event.segment for event in await events(service) if event.kind == "learner"}) == 15

    run(play())


def test_questions_at_the_same_time_wait_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", work_bytes=50 << 20) as service:
            await wide(service)
            await shown(service)
            at_once = most = 0
            state, of = LoggedRanker.state, LoggedRanker.of

            def counted(ranker: LoggedRanker) -> object:
                nonlocal at_once, most
                at_once += 1
                most = max(most, at_once)
                return state(ranker)

            def made(*given: object, **more: object) -> object:
                nonlocal at_once
                ranker = of(*given, **more)  # type: ignore[arg-type]
                at_once -= 1
                return ranker

            monkeypatch.setattr(LoggedRanker, "state", counted)
            monkeypatch.setattr(LoggedRanker, "of", made)
            answers = await asyncio.gather(*(service.queries.estimates("front") for _ in range(20)))
            assert len(answers) == 20
            assert 1 <= most <= 6
            assert service.transactions.work.taken == 0

    run(play())


def test_the_budget_goes_in_turn_and_urgent_work_first() -> None:
    async def play() -> None:
        work = WorkMemory(10 << 20)
        done: list[str] = []

        @asynccontextmanager
        async def at(name: str, megabytes: int, urgent: bool = False) -> AsyncIterator[None]:
            async with work.reserve(megabytes << 20, urgent):
                done.append(name)
                yield

        async def use(name: str, megabytes: int, urgent: bool = False) -> None:
            async with at(name, megabytes, urgent):
                await asyncio.sleep(0)

        async with at("first", 8):
            tasks = [asyncio.create_task(use(*given)) for given in (("large", 30), ("small", 1), ("urgent", 9, True))]
            leaving = asyncio.create_task(use("leaving", 9, True))
            await asyncio.sleep(0)
            assert done == ["first"]
            leaving.cancel()
        await asyncio.gather(*tasks)
        assert done == ["first", "urgent", "large", "small"]
        assert work.taken == 0

    run(play())


def test_what_could_not_be_loaded_is_refused_before_it_is_made(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", work_bytes=30 << 20) as service:
            await front(service, "top-rank(delta=0.1)")  # it keeps a number per pair of items
            with pytest.raises(Refused, match=r"would take \d+ MB, but 10 MB are the most") as refused:
                await service.items.put("front", [Item(id=f"more-{n}") for n in range(5000)])
            assert refused.value.field == "/items"
            assert len(await service.queries.items("front")) == 8
            spec = RankingSpec(name="wide", positions=3, policy="cascade-lin-ucb", features=1500)
            with pytest.raises(Refused, match="MB are the most"):
                await service.rankings.create(spec)

    run(play())


def test_a_page_of_the_log_ends_where_it_gets_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "BYTES_PER_PAGE", 1000)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(20):
                await told(service, await shown(service), 1, final=True)
            pages = [page.events async for page in await service.queries.event_pages("front")]
            assert len(pages) > 3
            assert all(sum(len(bytes(event.body)) for event in page[:-1]) <= 1000 for page in pages)
            assert [event.seq for page in pages for event in page] == list(range(1, 44))

    run(play())


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """By how much each attack of hostile.py makes a service grow, and by how much it may."""
    path = Path(__file__).parents[1] / "hostile.py"
    command = [sys.executable, str(path), str(tmp_path_factory.mktemp("attacked")), *ATTACKS]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line["attack"]: line for line in map(json.loads, found.stdout.splitlines())}


ATTACKS = ("items", "exports", "bodies", "changes", "lists", "training", "evictions", "questions")


@pytest.mark.parametrize("attack", ATTACKS)
def test_resident_memory_stays_within_its_limits(grown: dict[str, dict[str, int]], attack: str) -> None:
    found, allowed = grown[attack]["grown"], grown[attack]["allowed"]
    assert found <= allowed, f"{found >> 20} MB, but {allowed >> 20} MB are allowed"


def test_a_new_policy_trains_as_many_learners_as_find_room_and_the_others_when_they_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_policy, "TRAINED_PART", 1 << 30)  # room for one
    monkeypatch.setattr(learner_load, "MANY_EVENTS", 10)  # then they are trained in another thread

    async def play() -> dict[tuple[str, str | None], bytes]:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for n in range(4 * WORTH_A_SNAPSHOT):
                await told(service, await shown(service, segment=str(n % 4)), 1 + n % 3, final=True)
            await service.rankings.change("front", RankingChange(seed=5))
            trained = await read(service, lambda reader: reader.learners_with_snapshots(ranking_of(service).id))
            assert [row.segment for row in trained] == ["0"]
            for segment in range(4):
                await shown(service, segment=str(segment))
            return await service.beliefs()

    live = run(play())
    assert len(live) == 4
    assert check(tmp_path / "db", live) == []


def test_a_page_of_items_ends_where_their_features_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PAGE_NUMBERS", 4 * FEATURES)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await wide(service)
            found: list[object] = []
            page = await service.queries.items_page("front", None, 10_000)
            while page.next is not None:
                assert len(page.items) == 4
                found += [item.id for item in page.items]
                page = await service.queries.items_page("front", page.next, 10_000)
            assert found + [item.id for item in page.items] == [f"item-{n}" for n in range(10)]
            assert [item.id for item in (await service.queries.items_page("front", None, 2)).items] == [
                "item-0",
                "item-1",
            ]

    run(play())


def test_long_lists_are_remembered_for_a_shorter_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "REMEMBERED_POSITIONS", 100)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)  # three positions
            made = [await shown(service) for _ in range(50)]
            assert len(state_of(service).impressions) <= 34
            for one in made:  # those that were forgotten are read again
                assert (await told(service, one, 1, final=True)).counted
            assert len(state_of(service).impressions) <= 34

    run(play())


def test_deleted_learners_are_forgotten_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learners, "REMEMBERED_DELETIONS", 2)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for n in range(5):
                await shown(service, segment=str(n))
                await service.segments.delete("front", str(n))
            while await service.retention.purge_deleted():
                pass
            assert len(state_of(service).learners.deleted) == 2
            assert ranking_of(service).segments == 0

    run(play())


def test_rankings_segments_and_items_have_limits(tmp_path: Path) -> None:
    async def play() -> None:
        limits: dict[str, Any] = {"most_rankings": 2, "most_segments": 3, "item_bytes": 9000}
        async with at_work(tmp_path / "db", **limits) as service:
            await front(service)
            for n in range(3):
                await shown(service, segment=str(n))
            await shown(service)  # without a segment
            with pytest.raises(Refused, match=r"has 3 segments, and 3 are the most; .*limits\.segments") as refused:
                await shown(service, segment="more")
            assert refused.value.field == "/segment"
            await shown(service, segment="2")
            await service.segments.delete("front", "2")
            await shown(service, segment="more")
            await service.items.put("front", [Item(id=f"more-{n}") for n in range(10)])
            with pytest.raises(Refused, match=r"limits\.items_memory") as refused:
                await service.items.put("front", [Item(id="one more")])
            assert refused.value.field == "/items"
            await service.items.put("front", [Item(id="more-1", hidden=True)])  # a change is no addition
            await service.rankings.create(RankingSpec(name="second", positions=2))
            with pytest.raises(Refused, match=r"There are 2 rankings, and 2 are the most; .*limits\.rankings"):
                await service.rankings.create(RankingSpec(name="third", positions=2))
        async with at_work(tmp_path / "db", **limits) as service:  # they are counted again after a restart
            with pytest.raises(Refused, match="has 3 segments"):
                await shown(service, segment="another")

    run(play())
