"""Requests about the items of a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toplist.core.item_id import ItemId, item_text
from toplist.core.problem import nearest
from toplist.service.client.arguments import ITEMS, NUMBERS, elements, item_id, wrong_type
from toplist.service.client.arguments import ids as checked_ids
from toplist.service.client.client_request import ClientRequest, given, item_path, ranking_path
from toplist.service.wire import Item, ItemBody, ItemPrior, ItemsBody, ItemsChanged, ItemsPage, RemoveBody, Removed


def items(name: str, after: ItemId | None = None, limit: int = 1000) -> ClientRequest[ItemsPage]:
    """Read a page of items, in the order in which they were added.

    Parameters
    ----------
    name : str
        Name of the ranking.
    after : str, int or None, default None
        Last item of the previous page, or its `next`; None for the first page.
    limit : int, default 1000
        Items at most.

    Returns
    -------
    ItemsPage
    """
    query = given(after=None if after is None else item_text(item_id("after", after)), limit=limit)
    return ClientRequest("GET", f"{ranking_path(name)}/items", ItemsPage, query=query)


def put_items(
    name: str,
    items: Sequence[Item | ItemId | Mapping[str, Any]] | Mapping[ItemId, Sequence[float] | None],
) -> ClientRequest[ItemsChanged]:
    """Add or change items, all or none of them.

    Parameters
    ----------
    name : str
        Name of the ranking.
    items : sequence of Item, str, int or dict, or mapping of str or int to sequence of float
        Up to 10,000 items. A str or int is the id of an item without features, and a dict has the fields of an `Item`.
        A mapping has the features of each item, or None for none.

    Returns
    -------
    ItemsChanged
        Numbers of added, changed and unchanged items.

    Raises
    ------
    TypeError
        If an item has no id, or a field that items do not have.
    """
    if isinstance(items, Mapping):
        whole = [_item_of_row(id, row) for id, row in items.items()]
    else:
        whole = [_item(f"items[{n}]", item) for n, item in enumerate(elements("items", items, ITEMS))]
    return ClientRequest("PUT", f"{ranking_path(name)}/items", ItemsChanged, ItemsBody(items=whole))


def _item(what: str, given: Any) -> Item:
    """An item of a request, from an item, its fields, or an id."""
    if isinstance(given, Item):
        item_id(f"{what}.id", given.id)
        return given
    if not isinstance(given, Mapping):
        return Item(id=item_id(what, given))
    if unknown := [field for field in given if field not in Item.__struct_fields__]:
        advice = nearest(unknown[0], Item.__struct_fields__, "leave it out")
        raise wrong_type(f"A field of {what}", unknown[0], "id, features, hidden or prior", advice)
    if "id" not in given:
        raise wrong_type(what, dict(given), "an item with an id", "write {'id': ...}")
    fields = dict(given)
    row = fields.get("features")
    return Item(
        id=item_id(f"{what}['id']", fields["id"]),
        features=None if row is None else elements(f"{what}['features']", row, NUMBERS),
        hidden=fields.get("hidden"),
        prior=_prior(f"{what}['prior']", fields.get("prior")),
    )


def _prior(what: str, given: Any) -> ItemPrior | None:
    """The prior of an item, from its fields or a pair."""
    if given is None or isinstance(given, ItemPrior):
        return given
    fields = dict(given) if isinstance(given, Mapping) else dict(zip(("mean", "strength"), given, strict=False))
    if set(fields) != {"mean", "strength"}:
        raise wrong_type(what, given, "a mean and a strength", "write {'mean': 0.2, 'strength': 10}")
    return ItemPrior(mean=fields["mean"], strength=fields["strength"])


def _item_of_row(id: Any, row: Any) -> Item:
    """An item from an entry of a mapping."""
    return Item(
        id=item_id("A key of items", id), features=None if row is None else elements(f"items[{id!r}]", row, NUMBERS)
    )


def remove_items(name: str, ids: Sequence[ItemId]) -> ClientRequest[Removed]:
    """Remove items; unknown ids are ignored.

    Parameters
    ----------
    name : str
        Name of the ranking.
    ids : sequence of str or int
        Up to 10,000 items.

    Returns
    -------
    Removed
        Number of items removed.
    """
    return ClientRequest("POST", f"{ranking_path(name)}/items/remove", Removed, RemoveBody(ids=checked_ids("ids", ids)))


def item(name: str, item: ItemId) -> ClientRequest[Item]:
    """Read one item.

    Parameters
    ----------
    name : str
        Name of the ranking.
    item : str or int
        Id of the item.

    Returns
    -------
    Item
    """
    return ClientRequest("GET", item_path(name, item), Item)


def put_item(
    name: str,
    item: ItemId,
    *,
    features: Sequence[float] | None = None,
    hidden: bool | None = None,
    prior: ItemPrior | Mapping[str, float] | tuple[float, float] | None = None,
) -> ClientRequest[ItemsChanged]:
    """Add or change one item.

    Parameters
    ----------
    name : str
        Name of the ranking.
    item : str or int
        Id of the item.
    features : sequence of float or None, default None
        Features, or topic coverage, for policies that use them; None leaves them as they are.
    hidden : bool or None, default None
        Whether to leave it out of lists; None leaves it as it is.
    prior : ItemPrior, mapping, pair of float, or None, default None
        Mean and strength of its prior, for learners that do not have the item yet; None leaves it as it is.

    Returns
    -------
    ItemsChanged
    """
    row = None if features is None else elements("features", features, NUMBERS)
    body = ItemBody(features=row, hidden=hidden, prior=_prior("prior", prior))
    return ClientRequest("PUT", item_path(name, item), ItemsChanged, body)


def remove_item(name: str, item: ItemId) -> ClientRequest[None]:
    """Remove one item; an unknown one is an error.

    Parameters
    ----------
    name : str
        Name of the ranking.
    item : str or int
        Id of the item.
    """
    return ClientRequest("DELETE", item_path(name, item), type(None), repeatable=False)
