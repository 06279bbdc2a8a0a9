"""Users of different classes as users of one class, so that a policy is compiled once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from toplist.core.slate import Floats, Ints, Page


class UserUnion(NamedTuple):
    """Users of the first kind or of the second, both prepared, by what a number says and not by their class."""

    first: Any
    second: Any
    is_first: bool

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """As they click."""
        if self.is_first:
            return int(self.first.click(moment, items, attraction, labels, visitor, page))
        return int(self.second.click(moment, items, attraction, labels, visitor, page))

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """As they see it."""
        if self.is_first:
            return float(self.first.reward(moment, items, attraction))
        return float(self.second.reward(moment, items, attraction))

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """As they would have it."""
        if self.is_first:
            self.first.best(moment, attraction, items)
        else:
            self.second.best(moment, attraction, items)


def with_shared_type(users: Sequence[Any]) -> list[Any]:
    """The same users, prepared as they are, but all of one class: every click and every reward stays what it was.

    `play` is compiled for the classes of its arguments, and compiling takes a policy seconds; seven classes of users
    would take it seven times. So everybody becomes a chain with a link for each class among them, of which only that of
    their own is ever asked; in the others, somebody else stands in.
    """
    somebody: dict[Any, Any] = {}
    for one in users:
        somebody.setdefault(_shape(one), one)
    chained = []
    for one in users:
        kinds = [one if shape == _shape(one) else other for shape, other in somebody.items()]
        chain = kinds.pop()
        for kind in reversed(kinds):
            chain = UserUnion(kind, chain, kind is one)
        chained.append(chain)
    return chained


def _shape(part: Any) -> Any:
    """The class of a part and those of the parts it is made of, as the compiler tells parts apart."""
    if hasattr(part, "_fields"):
        return (type(part), *(_shape(field) for field in part))
    return type(part)
