"""The limits of memory: of learners, and of the requests that load and copy them."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import numpy as np
import pytest
from running import at_work, events, front, run, shown, state_of, told

from toplist.ranker import LoggedRanker
from toplist.service.errors import Refused
from toplist.service.live.service import Service
from toplist.service.live.work_memory import WorkMemory
from toplist.service.log import export
from toplist.service.wire import Item, RankingSpec

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


ATTACK = """
import asyncio, ctypes, gc, sys
from pathlib import Path
from toplist.service.live.service import Service
from toplist.service.run import GC_THRESHOLD, return_freed_memory
from toplist.service.wire import Item, ListRequest, RankingSpec

MEMORY, WORK, FEATURES = 30 << 20, 60 << 20, 300

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

async def main():
    service = Service(Path(sys.argv[1]), learner_bytes=MEMORY, work_bytes=WORK)
    await service.start()
    await service.rankings.create(RankingSpec(name="a", positions=3, policy="cascade-lin-ucb", features=FEATURES))
    await service.items.put("a", [Item(id=n, features=[1.0 / (n + 1 + m) for m in range(FEATURES)]) for n in range(10)])
    await service.lists.make("a", ListRequest())
    base = most = resident()
    ended = asyncio.Event()

    async def watch():
        nonlocal most
        while not ended.is_set():
            most = max(most, resident())
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(service.lists.make("a", ListRequest(segment=str(n))) for n in range(40)))
    await asyncio.gather(*(service.queries.estimates("a", str(n % 40)) for n in range(60)))
    ended.set()
    await watching
    await service.stop()
    print(most - base, MEMORY * 5 // 4 + WORK)

gc.set_threshold(*GC_THRESHOLD)
return_freed_memory()
asyncio.run(main())
"""


def test_resident_memory_stays_within_its_limits(tmp_path: Path) -> None:
    """40 learners of 3 MB and 60 questions at once, in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-c", ATTACK, str(tmp_path / "db")], capture_output=True, text=True, check=True
    )
    grown, limit = map(int, found.stdout.split())
    assert grown <= limit, f"{grown >> 20} MB, but {limit >> 20} MB are allowed"
