"""Checks of arguments that JSON would silently turn into something else, such as a text into its letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toplist.core.item_id import ACCEPTED, ItemId, id_advice, plain_id

ITEMS, CLICKS, NUMBERS = "items", "positions or items", "numbers"  # elements of lists, for errors


def wrong_type(what: str, given: object, accepted: str, advice: str) -> TypeError:
    """The error of an argument that cannot be used.

    >>> print(wrong_type("items", "tea", "a list of items", "write ['tea']"))
    items is 'tea', but must be a list of items; write ['tea'].
    """
    shown = repr(given)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return TypeError(f"{what} is {shown}, but must be {accepted}; {advice}.")


def plain(given: Any) -> Any:
    """A NumPy number as a Python number, and an array as a list; anything else stays."""
    return given.tolist() if hasattr(given, "tolist") else given


def encode_unknown(given: Any) -> Any:
    """Values that JSON does not have: NumPy numbers and arrays, by duck typing, since the client does not use NumPy."""
    if not hasattr(given, "tolist"):
        raise wrong_type("A value of the request", given, "text, a number, a list or a mapping", "convert it")
    return given.tolist()


def elements(what: str, given: Any, of: str) -> list[Any]:
    """The elements of a list; a text is refused, and not taken as its letters, and so are a number and a mapping."""
    several = plain(given)
    if isinstance(several, str | bytes | Mapping) or not isinstance(several, Iterable):
        advice = "write [0.5, 1.0]" if of == NUMBERS else "write []" if given is None else f"write [{several!r}]"
        raise wrong_type(what, given, f"a list of {of}", advice)
    return list(several)


def text(what: str, given: Any) -> str:
    """A name; a number is refused."""
    if not isinstance(given, str):
        advice = f"write {str(given)!r}" if isinstance(plain_id(given), int) else "write it as text"
        raise wrong_type(what, given, "text", advice)
    return given


def optional_text(what: str, given: Any) -> str | None:
    """A name, or None."""
    return None if given is None else text(what, given)


def item_id(what: str, given: Any) -> ItemId:
    """The id of an item."""
    id = plain_id(given)
    if id is None:
        raise wrong_type(what, given, ACCEPTED, id_advice(given))
    return id


def ids(what: str, given: Any) -> list[ItemId]:
    """A list of ids of items."""
    return [item_id(f"{what}[{n}]", id) for n, id in enumerate(elements(what, given, ITEMS))]


def mapping(what: str, given: Any, advice: str) -> Mapping[Any, Any]:
    """A mapping."""
    if not isinstance(given, Mapping):
        raise wrong_type(what, given, "a mapping", advice)
    return given
