"""Ids of items: text or whole numbers, 7 and "7" being two items, and the text that stands for either of them."""

from __future__ import annotations

import operator
import re
from typing import Any

from toplist.core.problem import InvalidInput, refuse

ItemId = str | int
OwnId = Any  # an id that the caller gave, who knows whether it is text or an integer

LARGEST_INTEGER = 2**53 - 1  # JavaScript and other readers of JSON round larger ones, which would be other items
INTEGER_MARK = "\t"  # where only text can stand, it begins an integer; text of the service has no control characters
ACCEPTED = f"text or a whole number between {-LARGEST_INTEGER} and {LARGEST_INTEGER}"

_AS_INTEGER = re.compile(rf"{INTEGER_MARK}(0|-?[1-9][0-9]{{0,15}})")


def plain_id(given: Any) -> ItemId | None:
    """The id as a plain text or int, or None if it is no id; booleans and floats are none.

    Parameters
    ----------
    given : object
        An id of any type; NumPy integers are accepted.

    Returns
    -------
    str, int or None
        The id.

    Examples
    --------
    >>> plain_id("7"), plain_id(7), plain_id(7.0), plain_id(True)
    ('7', 7, None, None)
    """
    if isinstance(given, str):
        return given
    if isinstance(given, bool):
        return None
    try:
        number = operator.index(given)
    except TypeError:
        return None
    return number if -LARGEST_INTEGER <= number <= LARGEST_INTEGER else None


def checked_id(what: str, given: Any) -> ItemId:
    """Check an id.

    Parameters
    ----------
    what : str
        Name of the argument, for the error.
    given : object
        The id.

    Returns
    -------
    str or int
        The id as a plain text or int.

    Raises
    ------
    InvalidInput
        If `given` is neither text nor a whole number that JSON keeps exactly.

    Examples
    --------
    >>> checked_id("The item", 7)
    7
    """
    id = plain_id(given)
    if id is None:
        raise refuse(what, given, ACCEPTED, id_advice(given))
    return id


def id_advice(given: Any) -> str:
    """What to write instead of something that is no id.

    Parameters
    ----------
    given : object
        What was given.

    Returns
    -------
    str
        The advice.

    Examples
    --------
    >>> id_advice(7.0), id_advice(2**53)
    ("write 7 or '7.0'", "write '9007199254740992'")
    """
    if isinstance(given, bool) or not isinstance(given, int | float):
        return "write it as text"
    whole = isinstance(given, float) and given.is_integer() and abs(given) <= LARGEST_INTEGER
    return f"write {int(given)} or {str(given)!r}" if whole else f"write {str(given)!r}"


def item_text(id: ItemId) -> str:
    r"""The text that stands for an id in columns, paths, queries and names of fields: an integer follows a tab.

    Parameters
    ----------
    id : str or int
        The id.

    Returns
    -------
    str
        The text, from which `item_of_text` gets the id.

    Examples
    --------
    >>> item_text("7"), item_text(7)
    ('7', '\t7')
    """
    return id if isinstance(id, str) else f"{INTEGER_MARK}{id}"


def item_of_text(text: str) -> ItemId:
    r"""The id that a text stands for.

    Parameters
    ----------
    text : str
        A result of `item_text`.

    Returns
    -------
    str or int
        The id.

    Raises
    ------
    InvalidInput
        If the text begins with a tab, but no accepted whole number follows.

    Examples
    --------
    >>> item_of_text("7"), item_of_text("\t7")
    ('7', 7)
    """
    if not text.startswith(INTEGER_MARK):
        return text
    found = _AS_INTEGER.fullmatch(text)
    if found is None or abs(int(found[1])) > LARGEST_INTEGER:
        raise InvalidInput(
            f"The item is {text!r}, but a tab must be followed by a whole number between {-LARGEST_INTEGER} and "
            f"{LARGEST_INTEGER}, without zeros before it; write a larger one as text, without the tab."
        )
    return int(found[1])


def twin_id(id: Any) -> ItemId | None:
    """The id of the other kind that looks the same, with which an unknown id may have been confused.

    Parameters
    ----------
    id : object
        The id.

    Returns
    -------
    str, int or None
        The other id; None if there is none.

    Examples
    --------
    >>> twin_id(7), twin_id("7"), twin_id("tea")
    ('7', 7, None)
    """
    if isinstance(id, str):
        found = _AS_INTEGER.fullmatch(f"{INTEGER_MARK}{id}")
        return None if found is None else int(id)
    return str(id) if type(id) is int else None


def id_order(id: ItemId) -> tuple[bool, ItemId]:
    """A key to sort ids: integers first.

    Parameters
    ----------
    id : str or int
        The id.

    Returns
    -------
    tuple
        For `sorted`.

    Examples
    --------
    >>> sorted(["b", 7, "7", 3], key=id_order)
    [3, 7, '7', 'b']
    """
    return isinstance(id, str), id
