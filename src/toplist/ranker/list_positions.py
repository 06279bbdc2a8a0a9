"""The positions of a list that a report names: by number, by item, or by an entry that says which of both is meant."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from toplist.core.item_id import ItemId, plain_id
from toplist.core.problem import InvalidInput, refuse

SHOWN_ITEMS = 10  # items that an error lists at most
FEW = 20  # items of a list that is searched sooner than a dictionary of them is made


class ListPositions:
    """Positions of a list, from 1.

    A number is a position, or an integer item of the list; it is refused if it is both, at different positions. Then
    `{"position": 2}` or `{"item": 2}` says which is meant.
    """

    def __init__(self, items: Sequence[ItemId]) -> None:
        self._items = items

    @cached_property
    def by_item(self) -> dict[ItemId, int]:
        """Positions by item; a search of the list for each named item would take too long."""
        return {item: position for position, item in enumerate(self._items, 1)}

    def find(self, given: Any, what: str, n: int | str = "") -> int:
        """The position that an entry names; `what` and `n`, its index, are for errors, and joined only then."""
        if isinstance(given, str):
            return self.find_item(given, what, n)
        if isinstance(given, Mapping):
            return self._find_entry(given, f"{what}{n}")
        number = _integer(given)
        at = None if number is None else self.by_item.get(number)
        if number is not None and 1 <= number <= len(self._items):
            if at is not None and at != number:
                raise InvalidInput(
                    f"{what}{n} is {number}, which is a position and also the item at position {at}; write "
                    f'{{"position": {number}}} or {{"item": {number}}}.'
                )
            return number
        if at is not None:
            return at
        return self._refuse_position(given, f"{what}{n}", ", or an item of the list")

    def find_item(self, item: Any, what: str, n: int | str = "") -> int:
        """The position of an item."""
        id = plain_id(item)
        if id is not None and id in self.by_item:
            return self.by_item[id]
        items = ", ".join(map(repr, self._items[:SHOWN_ITEMS])) + (", ..." if len(self._items) > SHOWN_ITEMS else "")
        raise refuse(f"{what}{n}", item, "an item of the list", f"the list holds {items or 'no items'}")

    def find_position(self, position: Any, what: str, n: int | str = "") -> int:
        """A position of the list."""
        number = _integer(position)
        if number is not None and 1 <= number <= len(self._items):
            return number
        return self._refuse_position(position, f"{what}{n}")

    def _find_entry(self, entry: Mapping[Any, Any], what: str) -> int:
        if set(entry) == {"item"}:
            return self.find_item(entry["item"], f"{what}: item")
        if set(entry) == {"position"}:
            return self.find_position(entry["position"], f"{what}: position")
        raise refuse(what, dict(entry), "an item or a position", 'write {"item": ...} or {"position": ...}')

    def _refuse_position(self, given: Any, what: str, more: str = "") -> int:
        if not self._items:
            raise refuse(what, given, "left out", "the list is empty")
        accepted = f"a position between 1 and {len(self._items)}{more}"
        raise refuse(what, given, accepted, "positions are counted from 1, from the top")


def plain_positions(given: Sequence[Any], items: Sequence[ItemId]) -> tuple[int, ...] | None:
    """Positions of a list, ascending, where they are given as numbers that name no item; None for all else.

    >>> plain_positions([3, 1], ["tea", "milk", 7]), plain_positions([7], ["tea", "milk", 7])
    ((1, 3), None)
    """
    size = len(items)
    if size > FEW:
        return None
    for one in given:
        if type(one) is not int or not 1 <= one <= size or one in items:
            return None
    return tuple(given) if len(given) < 2 else tuple(sorted(set(given)))


def _integer(given: Any) -> int | None:
    """A whole number; None for anything else, and for booleans."""
    if isinstance(given, bool):
        return None
    try:
        return operator.index(given)
    except TypeError:
        return None
