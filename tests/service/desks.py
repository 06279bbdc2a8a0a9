"""What tests of the desk share: a clock that is set by hand, desks on real files, and rankings with items."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from toplist.service.live.service import Desk
from toplist.service.wire import Item, ListReply, ListRequest, RankingSpec, Report, ReportReply

T = TypeVar("T")
BEGIN = 1_700_000_000_000
WINDOW = 60.0  # seconds
ITEM_WISE, BY_FEATURES, ELIMINATION = "cascade-kl-ucb", "cascade-lin-ucb", "top-rank(delta=0.1)"
POLICIES = (ITEM_WISE, BY_FEATURES, ELIMINATION)


class Clock:
    """The time in milliseconds, which stands still unless it is told to go on."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> int:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += round(seconds * 1000)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@asynccontextmanager
async def at_work(path: Path, clock: Clock | None = None, **more: Any) -> AsyncIterator[Desk]:
    desk = Desk(path, clock or Clock(), **more)
    await desk.start()
    try:
        yield desk
    finally:
        await desk.stop()


async def killed(desk: Desk) -> None:
    """What kill -9 leaves behind: the file as it is, and nobody who holds it."""
    store, writer = desk._store, desk._writer
    assert store is not None
    assert writer is not None
    if writer._task is not None:
        writer._task.cancel()
        await asyncio.wait([writer._task])
    writer.close()  # a commit that has begun is beyond recall
    store._roll_back()
    store.close()
    desk._memory = desk._store = desk._writer = None


def row(n: int) -> list[float]:
    return [1.0 if n % 4 == column else 0.1 for column in range(4)]


def items(count: int, policy: str = ITEM_WISE, first: int = 0) -> list[Item]:
    features = policy == BY_FEATURES
    return [Item(id=f"item-{n}", features=row(n) if features else None) for n in range(first, first + count)]


async def front(desk: Desk, policy: str = ITEM_WISE, count: int = 8, **more: Any) -> None:
    """A ranking called front."""
    features = 4 if policy == BY_FEATURES else 0
    given: dict[str, Any] = {"positions": 3, "click_window": WINDOW, "seed": 7, "features": features} | more
    await desk.create_ranking(RankingSpec(name="front", policy=policy, **given))
    await desk.put_items("front", items(count, policy))


async def shown(desk: Desk, **request: Any) -> ListReply:
    return await desk.make_list("front", ListRequest(**request))


async def told(desk: Desk, reply: ListReply, *clicks: int | str, **more: Any) -> ReportReply:
    return await desk.report(reply.impression, Report(clicks=list(clicks), **more))


async def learned(desk: Desk, key: str | None = None) -> int:
    return (await desk.estimates("front", key)).learned
