"""Bodies and queries that only HTTP has: pages, bulk, and what is said about the service itself."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from toplist.service.wire import Item, ItemId, Key, Ranking, Row, Strict

Limit = Annotated[int, Meta(ge=1, le=10_000)]
ImpressionId = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\s\S])",
        description="as it came with the list",
        examples=["019a8b5e-7c1f-7d3a-9b42-5f0e6c1d2a33"],
    ),
]


class ItemBody(Strict, frozen=True, kw_only=True):
    """An item whose name stands in the path."""

    features: Row | None = None
    hidden: bool | None = None


class ItemsBody(Strict, frozen=True, kw_only=True):
    """Items to put, all or none of them."""

    items: Annotated[list[Item], Meta(max_length=10_000)]


class RemoveBody(Strict, frozen=True, kw_only=True):
    """Items to remove."""

    ids: Annotated[list[ItemId], Meta(max_length=10_000)]


class Removed(Struct, frozen=True, kw_only=True):
    """How many of the items were there, and are gone now."""

    removed: int


class Rankings(Struct, frozen=True, kw_only=True):
    """All rankings, by name."""

    rankings: list[Ranking]


class ItemsPage(Struct, frozen=True, kw_only=True):
    """Some items, in the order in which they came; `next` is the `after` of the next page, null on the last."""

    items: list[Item]
    next: str | None


class KeysPage(Struct, frozen=True, kw_only=True):
    """Some keys that have a learner of their own; `next` is the `after` of the next page, null on the last."""

    keys: list[str]
    next: str | None


class Point(Struct, frozen=True, kw_only=True):
    """Some lists, one learned after the other."""

    lists: int
    clicked: int  # lists with at least one click
    clicks: int
    until: str  # when the last of them was learned


class History(Struct, frozen=True, kw_only=True):
    """Click-through of all lists that a ranking has learned from, in the order of learning."""

    ranking: str
    lists: int
    clicked: int
    clicks: int
    complete: bool  # whether the log was read to its end; if not, ask again
    points: list[Point]


class Health(Struct, frozen=True, kw_only=True):
    """How the service is."""

    status: str
    version: str


class ItemsQuery(Strict, frozen=True, kw_only=True):
    """Which page of the items."""

    after: ItemId | None = None
    limit: Limit = 1000


class KeysQuery(Strict, frozen=True, kw_only=True):
    """Which page of the keys."""

    after: Key | None = None
    limit: Limit = 1000


Person = Annotated[str, Meta(description="the features of who asks, with commas between", examples=["0.5,1"])]


class EstimatesQuery(Strict, frozen=True, kw_only=True):
    """Whose estimates, and how many."""

    key: Key | None = None
    limit: Limit = 100
    person: Person | None = None


class NextQuery(Strict, frozen=True, kw_only=True):
    """Whose next list."""

    key: Key | None = None
    person: Person | None = None


class EventsQuery(Strict, frozen=True, kw_only=True):
    """From where on, and how many lines."""

    after: Annotated[int, Meta(ge=0, le=2**63 - 1, description="only events with a larger seq")] = 0
    limit: (
        Annotated[int, Meta(ge=1, le=2**63 - 1, description="at most so many; all where it is left out")] | UnsetType
    ) = UNSET
