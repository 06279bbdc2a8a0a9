"""Messages about the items of a ranking."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from toplist.service.wire.fields import (
    FeatureRow,
    ItemId,
    ItemText,
    Limit,
    ManyIds,
    Probability,
    Strength,
    Strict,
    check_texts,
)


class ItemPrior(Strict, frozen=True, kw_only=True):
    """What is known of an item before its first list: it counts as examined `strength` times with this mean.

    Strengths count up to 100, and less for an item that is thought bad; 0 is no prior.
    """

    mean: Probability
    strength: Strength


class Item(Strict, frozen=True):
    """An item. In a request, fields that are left out stay as they are."""

    id: ItemId
    features: FeatureRow | None = None  # or its topic coverage, for policies that diversify by topic
    hidden: bool | None = None  # not shown, but what was learned about it is kept; False for a new item
    prior: ItemPrior | None = None  # for learners that do not have the item yet


class ItemsChanged(Struct, frozen=True, kw_only=True):
    """Numbers of items added, changed and unchanged."""

    added: int
    changed: int
    unchanged: int


class ItemBody(Strict, frozen=True, kw_only=True):
    """An item whose id is in the path."""

    features: FeatureRow | None = None
    hidden: bool | None = None
    prior: ItemPrior | None = None


class ItemsBody(Strict, frozen=True, kw_only=True):
    """Items to put, all or none of them."""

    items: Annotated[list[Item], Meta(max_length=10_000)]


class RemoveBody(Strict, frozen=True, kw_only=True):
    """Items to remove."""

    ids: Annotated[list[ManyIds], Meta(max_length=10_000)]

    def __post_init__(self) -> None:
        check_texts(self.ids, "`$.ids[{}]`")


class Removed(Struct, frozen=True, kw_only=True):
    """The number of items removed."""

    removed: int


class ItemsPage(Struct, frozen=True, kw_only=True):
    """A page of items, in the order of adding them; `next` is the `after` of the next page, null on the last."""

    items: list[Item]
    next: str | None


class ItemsQuery(Strict, frozen=True, kw_only=True):
    """Query of a page of items."""

    after: ItemText | None = None
    limit: Limit = 1000
