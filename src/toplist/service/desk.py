"""The service without its network: rankings, items, lists, reports and their closing, on one event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from toplist.service.shapes import (
    Estimates,
    Event,
    Explanation,
    Impression,
    Item,
    ItemsChanged,
    ListReply,
    ListRequest,
    Ranking,
    RankingChange,
    RankingSpec,
    Report,
    ReportReply,
)


def milliseconds() -> int:
    """The time of day."""
    return time.time_ns() // 1_000_000


class Desk:
    """Everything that the service promises. All methods belong to one event loop.

    Errors: `Refused` (with `field`, a JSON pointer), `NotFound`, `Conflict`; `StoreUnavailable` (with `retry_after`).
    """

    def __init__(self, path: Path, clock: Callable[[], int] = milliseconds, *, hot_bytes: int = 512 << 20) -> None: ...

    # Life: `start` opens the store; `stop` waits for what is under way and closes it.
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    @property
    def ready(self) -> bool: ...

    async def create_ranking(self, spec: RankingSpec) -> Ranking: ...
    def ranking(self, name: str) -> Ranking: ...
    def rankings(self) -> list[Ranking]: ...
    async def change_ranking(self, name: str, change: RankingChange) -> Ranking: ...
    async def delete_ranking(self, name: str) -> None: ...

    async def put_items(self, name: str, items: Sequence[Item]) -> ItemsChanged: ...
    async def remove_items(self, name: str, ids: Sequence[str]) -> int: ...  # how many were there
    def item(self, name: str, item: str) -> Item: ...
    def items(self, name: str, after: str | None = None, limit: int = 1000) -> list[Item]: ...

    async def make_list(self, name: str, request: ListRequest) -> ListReply: ...
    async def report(self, impression: str, report: Report) -> ReportReply: ...  # NotFound for an unknown id
    async def activate(self, impression: str) -> ReportReply: ...
    def impression(self, impression: str) -> Impression: ...

    async def estimates(
        self, name: str, key: str | None = None, limit: int = 100, person: Sequence[float] | None = None
    ) -> Estimates: ...
    async def explanation(self, impression: str) -> Explanation: ...
    def keys(self, name: str, after: str | None = None, limit: int = 1000) -> list[str]: ...
    def events(self, name: str, after: int = 0) -> Iterator[Event]: ...

    async def close_due(self, now: int | None = None) -> int: ...  # how many were closed; call every 100 ms
    async def retain(self, now: int | None = None) -> int: ...  # impressions forgotten; call every minute
    async def backup(self, path: Path) -> None: ...
