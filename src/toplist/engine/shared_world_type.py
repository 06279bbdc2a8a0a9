"""Worlds of several classes, with their users, in one shared type: for a GPU, a policy is compiled once for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from toplist.core.compiling import routine
from toplist.core.slate import Floats, Ints, Page
from toplist.engine.compare import users_of_shared_types
from toplist.engine.player import RunSetup
from toplist.engine.shared_user_type import type_of


class MomentUnion(NamedTuple):
    """The moments of both worlds of a union."""

    first: Any
    second: Any


class WorldUnion(NamedTuple):
    """A tagged union of two checked worlds: a flag, not the class, selects the active one."""

    first: Any
    second: Any
    is_first: bool

    def begin(self) -> MomentUnion:
        """The moments before the first step."""
        return MomentUnion(self.first.begin(), self.second.begin())

    def features(self, moment: MomentUnion) -> Floats:
        """The features of the active world."""
        found: Floats = self.first.features(moment.first) if self.is_first else self.second.features(moment.second)
        return found

    def order(self, moment: MomentUnion) -> Ints:
        """The order of the positions in the active world."""
        found: Ints = self.first.order(moment.first) if self.is_first else self.second.order(moment.second)
        return found

    def advance(self, moment: MomentUnion, step: int, key: int) -> bool:
        """Move the active world to a step."""
        return advance_active(self, moment, step, key)

    def eligible(self, moment: MomentUnion, candidates: Ints) -> int:
        """Items of the active world that can be shown."""
        if self.is_first:
            return int(self.first.eligible(moment.first, candidates))
        return int(self.second.eligible(moment.second, candidates))

    def revision(self, moment: MomentUnion) -> int:
        """Version of the features of the active world."""
        if self.is_first:
            return int(self.first.revision(moment.first))
        return int(self.second.revision(moment.second))

    def attract(self, moment: MomentUnion, items: Ints, attraction: Floats) -> None:
        """Attraction in the active world."""
        if self.is_first:
            self.first.attract(moment.first, items, attraction)
        else:
            self.second.attract(moment.second, items, attraction)

    def best_list(self, moment: MomentUnion, users: UsersOfUnion, items: Ints) -> None:
        """Best list of the active world for its own users."""
        fill_active_best(self, moment, users, items)


class UsersOfUnion(NamedTuple):
    """Users of the worlds of a union: they read the moment of their own world."""

    first: Any
    second: Any
    is_first: bool

    def click(
        self, moment: MomentUnion, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page
    ) -> int:
        """Clicks of the active users."""
        return active_clicks(self, moment, items, attraction, labels, visitor, page)

    def reward(self, moment: MomentUnion, items: Ints, attraction: Floats) -> float:
        """Reward of the active users."""
        return active_reward(self, moment, items, attraction)


# Routines, not inlined: in the loop, the code of all worlds and users would be optimised again at every call.


@routine
def advance_active(world: WorldUnion, moment: MomentUnion, step: int, key: int) -> bool:
    """Move the active world of a union to a step."""
    if world.is_first:
        return bool(world.first.advance(moment.first, step, key))
    return bool(world.second.advance(moment.second, step, key))


@routine
def fill_active_best(world: WorldUnion, moment: MomentUnion, users: UsersOfUnion, items: Ints) -> None:
    """Fill the best list of the active world of a union."""
    if world.is_first:
        world.first.best_list(moment.first, users.first, items)
    else:
        world.second.best_list(moment.second, users.second, items)


@routine
def active_clicks(
    users: UsersOfUnion, moment: MomentUnion, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page
) -> int:
    """Clicks of the active users of a union."""
    if users.is_first:
        return int(users.first.click(moment.first, items, attraction, labels, visitor, page))
    return int(users.second.click(moment.second, items, attraction, labels, visitor, page))


@routine
def active_reward(users: UsersOfUnion, moment: MomentUnion, items: Ints, attraction: Floats) -> float:
    """Reward of the active users of a union."""
    if users.is_first:
        return float(users.first.reward(moment.first, items, attraction))
    return float(users.second.reward(moment.second, items, attraction))


def setups_of_shared_types(setups: Sequence[RunSetup]) -> list[RunSetup]:
    """The same setups, with worlds of one type and users of one type; every list, click and reward is unchanged.

    `play` is compiled for the types of its arguments, so that a policy that plays on six classes of worlds would be
    compiled six times. As with users, each world becomes a chain with one link per type, of which only its own is
    active, and its users become a chain along with it.
    """
    users = users_of_shared_types(setups)
    examples: dict[Any, tuple[Any, Any]] = {}  # a world of each type with its users, as placeholders
    for setup, own in zip(setups, users, strict=True):
        examples.setdefault(type_of(setup.world), (setup.world, own))
    chained = []
    for setup, own in zip(setups, users, strict=True):
        kind = type_of(setup.world)
        links = [(setup.world, own, True) if each == kind else (*pair, False) for each, pair in examples.items()]
        world, people, _ = links.pop()
        for first, its_users, is_own in reversed(links):
            world = WorldUnion(first, world, is_own)
            people = UsersOfUnion(its_users, people, is_own)
        chained.append(setup._replace(world=world, users=people))
    return chained
