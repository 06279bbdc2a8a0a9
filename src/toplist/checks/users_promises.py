"""The promises of click models: one function per promise, whose docstring gives the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from toplist.checks.playing import (
    ITEMS,
    POSITIONS,
    STEPS,
    compare_plain_and_compiled,
    make_player,
    play_trace,
    text_of,
)
from toplist.checks.promise import check_field_names, fail_if, promise
from toplist.core.beliefs import array_bytes
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Page, empty_page
from toplist.engine.player import RunSetup
from toplist.engine.starts import NeverSeenFirst
from toplist.policies.by_name import make
from toplist.worlds import Fixed

LISTS = 200
RISE = 1e-9  # smallest improvement of a best list that counts

# Fixtures -------------------------------------------------------------------------------------------------------------


def checked_world(world: Any) -> Any:
    """The world in which click models are checked: one with fixed attraction, unless another is given."""
    return (Fixed(np.linspace(0.8, 0.05, ITEMS), POSITIONS) if world is None else world).checked()


class PreparedUsers(NamedTuple):
    """Prepared users in a world that has reached its first step."""

    users: Any
    moment: Any
    problem: Problem

    @classmethod
    def of(cls, users: Any, world: Any) -> PreparedUsers:
        """Prepare the users for the world."""
        problem, moment = world.problem(STEPS), world.begin()
        world.advance(moment, 0, 7)
        return cls(users.prepare(problem), moment, problem)

    def lists(self) -> Iterator[tuple[int, Ints, Floats]]:
        """The key of a visitor, a random list, and the attraction of its positions."""
        random = np.random.default_rng(3)
        for number in range(LISTS):
            items = random.permutation(self.problem.items)[: self.problem.positions]
            yield branch(11, number), items, random.uniform(size=len(items))

    def click(self, visitor: int, items: Ints, attraction: Floats) -> tuple[Page, int]:
        """The page of a visitor, and the number of clicks that was returned; left-over clicks must be overwritten."""
        page = empty_page(len(items))
        page.clicks[:] = 1
        labels = np.arange(self.problem.items)
        return page, int(self.users.click(self.moment, items, attraction, labels, visitor, page))

    def reward(self, items: Ints, attraction: Floats) -> float:
        """The reward of a list."""
        return float(self.users.reward(self.moment, items, attraction))

    def best(self, attraction: Floats, size: int) -> Ints:
        """The best list of this number of positions."""
        items = np.full(size, -1, dtype=np.int64)
        self.users.best(self.moment, attraction, items)
        return items


def prepare_part(users: Any, world: Any) -> None:
    """Let the users refuse their parameters, if they are invalid."""
    users.prepare(world.problem(STEPS))


# The promises ---------------------------------------------------------------------------------------------------------


@promise
def fields_have_free_names(users: Any, world: Any) -> None:
    """Compiled code finds a part's method before a field of the same name, so no field may be named like a method."""
    check_field_names(users, PreparedUsers.of(users, world).users)


@promise
def clicks_fill_the_page(users: Any, world: Any) -> None:
    """`click` writes 0 or 1 at every position, returns their sum, and says where the visitor left: after all clicks."""
    audience = PreparedUsers.of(users, world)
    for visitor, items, attraction in audience.lists():
        page, count = audience.click(visitor, items, attraction)
        clicks, left = page.clicks.tolist(), int(page.left[0])
        fail_if(not set(clicks) <= {0, 1}, f"the clicks are {clicks}, not 0 or 1 at every position")
        fail_if(count != sum(clicks), f"it returned {count} for the clicks {clicks}")
        fail_if(not 0 <= left <= len(items), f"the visitor left at position {left} of {len(items)}")
        fail_if(left > 0 and any(clicks[left:]), f"the clicks are {clicks}, but the visitor left at position {left}")


@promise
def same_visitor_clicks_alike(users: Any, world: Any) -> None:
    """All randomness comes from the visitor's key: no global state, nothing left from an earlier visitor."""
    audience = PreparedUsers.of(users, world)
    lists = list(audience.lists())
    first = [audience.click(*each)[0] for each in lists]
    again = [audience.click(*each)[0] for each in reversed(lists)]
    for (_, items, _), page, other in zip(lists, first, reversed(again), strict=True):
        here, there = page.clicks.tolist(), other.clicks.tolist()
        fail_if(here != there, f"on the list {text_of(items)} the same visitor clicked {here}, and later {there}")
        fail_if(page.left[0] != other.left[0], "the same visitor left at different positions of the same list")


@promise
def lists_stay_as_they_are(users: Any, world: Any) -> None:
    """`click`, `reward` and `best` only read the world, the list and its attraction."""
    audience = PreparedUsers.of(users, world)
    everything = np.linspace(0.9, 0.1, audience.problem.items)
    for visitor, items, attraction in audience.lists():
        before = (items.tolist(), attraction.tolist(), everything.tolist(), array_bytes(audience.moment))
        audience.click(visitor, items, attraction)
        audience.reward(items, attraction)
        audience.best(everything, len(items))
        after = (items.tolist(), attraction.tolist(), everything.tolist(), array_bytes(audience.moment))
        for what, one, other in zip(
            ("list", "attraction", "attraction of the items", "world"), before, after, strict=True
        ):
            fail_if(one != other, f"it changed the {what}, which it may only read")


@promise
def empty_positions_get_no_click(users: Any, world: Any) -> None:
    """A list may be short: item -1 with attraction 0 stands at an empty position, and is never clicked."""
    audience = PreparedUsers.of(users, world)
    for visitor, items, attraction in audience.lists():
        items[1:], attraction[1:] = -1, 0.0
        clicks = audience.click(visitor, items, attraction)[0].clicks.tolist()
        fail_if(any(clicks[1:]), f"the clicks are {clicks}, but only position 1 has an item")


@promise
def rewards_are_numbers(users: Any, world: Any) -> None:
    """Regret is a difference of rewards: each is finite, at least 0, and the same whenever it is asked for."""
    audience = PreparedUsers.of(users, world)
    for _, items, attraction in audience.lists():
        reward = audience.reward(items, attraction)
        fail_if(not (np.isfinite(reward) and reward >= 0.0), f"the reward of the list {text_of(items)} is {reward}")
        fail_if(reward != audience.reward(items, attraction), "the reward of the same list differs between two calls")


@promise
def no_exchange_improves_the_best_list(users: Any, world: Any) -> None:
    """Regret is measured against `best`: no exchange of two positions, or with another item, may have more reward."""
    audience = PreparedUsers.of(users, world)
    random = np.random.default_rng(4)
    count, size = audience.problem.items, audience.problem.positions
    for _ in range(20):
        attraction = random.uniform(size=count)
        best = audience.best(attraction, size)
        _check_list(best, range(count))
        reward = audience.reward(best, attraction[best])
        for other in _exchanges(best, count):
            more = audience.reward(other, attraction[other])
            fail_if(
                more > reward + RISE,
                f"its best list {text_of(best)} has reward {reward:.6g}, but {text_of(other)} has {more:.6g}",
            )


@promise
def best_lists_leave_absent_items_out(users: Any, world: Any) -> None:
    """Items that are absent have negative attraction; the list to fill is shorter if too few are left."""
    audience = PreparedUsers.of(users, world)
    count, size = audience.problem.items, audience.problem.positions
    for present in (1, size - 1, size, count - 1):
        if present > 0:
            attraction = np.full(count, -1.0)
            there = np.arange(count)[-present:]
            attraction[there] = np.linspace(0.2, 0.7, present)
            _check_list(audience.best(attraction, min(size, present)), there.tolist())


@promise
def plain_and_compiled_agree(users: Any, world: Any) -> None:
    """Compiled code does what the plain source does, to the last bit."""
    setup = RunSetup.of(make("cascade-ucb1"), world, users, NeverSeenFirst(), STEPS)
    compare_plain_and_compiled(play_trace(make_player(setup)), play_trace(make_player(setup, compiled=True)))


def _check_list(shown: Ints, eligible: Any) -> None:
    """Break the promise if a list does not hold different items that are there."""
    items = shown.tolist()
    fail_if(
        len(set(items)) != len(items) or not set(items) <= set(eligible),
        f"its best list is {items}, but must hold {len(items)} different items of {list(eligible)}",
    )


def _exchanges(items: Ints, count: int) -> Iterator[Ints]:
    """All lists that differ by an exchange of two positions, or of an item with one outside."""
    for place in range(len(items)):
        for other in range(place + 1, len(items)):
            swapped = items.copy()
            swapped[[place, other]] = items[[other, place]]
            yield swapped
        for item in set(range(count)) - set(items.tolist()):
            replaced = items.copy()
            replaced[place] = item
            yield replaced
