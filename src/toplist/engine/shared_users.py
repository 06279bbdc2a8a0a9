"""Click models of different classes in one shared type: for a GPU, a policy is compiled once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from toplist.core.slate import Floats, Ints, Page
from toplist.engine.player import RunSetup


class UserUnion(NamedTuple):
    """A tagged union of two prepared click models: a flag, not the class, selects the active one."""

    first: Any
    second: Any
    is_first: bool

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Clicks of the active users."""
        if self.is_first:
            return int(self.first.click(moment, items, attraction, labels, visitor, page))
        return int(self.second.click(moment, items, attraction, labels, visitor, page))

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Reward of the active users."""
        if self.is_first:
            return float(self.first.reward(moment, items, attraction))
        return float(self.second.reward(moment, items, attraction))

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """Best list of the active users."""
        if self.is_first:
            self.first.best(moment, attraction, items)
        else:
            self.second.best(moment, attraction, items)


def users_of_shared_types(setups: Sequence[RunSetup]) -> list[Any]:
    """Users of every setup, of one type per class of worlds: users may read state that only their own world has.

    Worlds keep their own types: few problems of several classes of worlds could share a kernel, because shapes are
    constants of its code, and the code of all worlds takes several times as long to compile.
    """
    users: list[Any] = [None] * len(setups)
    for world in {type(setup.world) for setup in setups}:
        members = [number for number, setup in enumerate(setups) if type(setup.world) is world]
        shared = with_shared_type([setups[number].users for number in members])
        for number, one in zip(members, shared, strict=True):
            users[number] = one
    return users


def with_shared_type(users: Sequence[Any]) -> list[Any]:
    """The same prepared users, all of one type; every click and every reward is unchanged.

    `play` is compiled for the types of its arguments, which takes seconds per policy, and seven types of users would
    take it seven times. So each becomes a chain with one link per type, of which only its own link is active; the
    other links are placeholders.
    """
    examples: dict[Any, Any] = {}  # one of each type, as placeholder
    for one in users:
        examples.setdefault(type_of(one), one)
    chained = []
    for one in users:
        links = [one if kind == type_of(one) else example for kind, example in examples.items()]
        chain = links.pop()
        for link in reversed(links):
            chain = UserUnion(link, chain, link is one)
        chained.append(chain)
    return chained


def type_of(part: Any) -> Any:
    """The class of a part with the classes of its own parts, as the compiler distinguishes them."""
    if hasattr(part, "_fields"):
        return (type(part), *(type_of(field) for field in part))
    return type(part)
