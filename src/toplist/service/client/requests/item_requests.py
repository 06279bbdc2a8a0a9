"""Requests about the items of a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toplist.service.client.arguments import ITEMS, NUMBERS, elements, optional_text, text
from toplist.service.client.arguments import ids as checked_ids
from toplist.service.client.client_request import ClientRequest, given, item_path, ranking_path
from toplist.service.wire import Item, ItemBody, ItemsBody, ItemsChanged, ItemsPage, RemoveBody, Removed


def items(name: str, after: str | None = None, limit: int = 1000) -> ClientRequest[ItemsPage]:
    """Read a page of items, in the order in which they were added.

    Parameters
    ----------
    name : str
        Name of the ranking.
    after : str or None, default None
        Last item of the previous page, its `next`; None for the first page.
    limit : int, default 1000
        Items at most.

    Returns
    -------
    ItemsPage
    """
    query = given(after=optional_text("after", after), limit=limit)
    return ClientRequest("GET", f"{ranking_path(name)}/items", ItemsPage, query=query)


def put_items(name: str, items: Sequence[Item | str]) -> ClientRequest[ItemsChanged]:
    """Add or change items, all or none of them.

    Parameters
    ----------
    name : str
        Name of the ranking.
    items : sequence of Item or str
        Up to 10,000 items; a str is the id of an item without features.

    Returns
    -------
    ItemsChanged
        Numbers of added, changed and unchanged items.
    """
    whole = [_item(f"items[{n}]", item) for n, item in enumerate(elements("items", items, ITEMS))]
    return ClientRequest("PUT", f"{ranking_path(name)}/items", ItemsChanged, ItemsBody(items=whole))


def _item(what: str, given: Any) -> Any:
    """An item of a request, from an item or an id."""
    if isinstance(given, Item):
        text(f"{what}.id", given.id)
    return given if isinstance(given, Item | Mapping) else Item(id=text(what, given))


def remove_items(name: str, ids: Sequence[str]) -> ClientRequest[Removed]:
    """Remove items; unknown ids are ignored.

    Parameters
    ----------
    name : str
        Name of the ranking.
    ids : sequence of str
        Up to 10,000 items.

    Returns
    -------
    Removed
        Number of items removed.
    """
    return ClientRequest("POST", f"{ranking_path(name)}/items/remove", Removed, RemoveBody(ids=checked_ids("ids", ids)))


def item(name: str, item: str) -> ClientRequest[Item]:
    """Read one item.

    Parameters
    ----------
    name, item : str
        Name of the ranking, and id of the item.

    Returns
    -------
    Item
    """
    return ClientRequest("GET", item_path(name, item), Item)


def put_item(
    name: str, item: str, *, features: Sequence[float] | None = None, hidden: bool | None = None
) -> ClientRequest[ItemsChanged]:
    """Add or change one item.

    Parameters
    ----------
    name, item : str
        Name of the ranking, and id of the item.
    features : sequence of float or None, default None
        Features, or topic coverage, for policies that use them; None leaves them as they are.
    hidden : bool or None, default None
        Whether to leave it out of lists; None leaves it as it is.

    Returns
    -------
    ItemsChanged
    """
    row = None if features is None else elements("features", features, NUMBERS)
    return ClientRequest("PUT", item_path(name, item), ItemsChanged, ItemBody(features=row, hidden=hidden))


def remove_item(name: str, item: str) -> ClientRequest[None]:
    """Remove one item; an unknown one is an error.

    Parameters
    ----------
    name, item : str
        Name of the ranking, and id of the item.
    """
    return ClientRequest("DELETE", item_path(name, item), type(None), repeatable=False)
