"""Every click model keeps its promises, and for each promise there is a click model that breaks it."""

from typing import Any, NamedTuple, Self

import numpy as np
import pytest

import toplist
from toplist.checks import CheckFailed, check_users, contract
from toplist.clicks import CCM, DBN, DCM, PBM, UBM, Cascade, ChangingDCM, Mixture
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import USERS
from toplist.worlds import Contextual

COMPILED = "plain_and_compiled_agree"
ALL = [
    Cascade(2), DCM([0.2, 0.9, 0.5]), DBN(0.7, 0.9), PBM([0.4, 0.9, 0.2]), UBM(0.6), CCM(0.8, 0.7, 0.3), ChangingDCM(),
    Mixture("cascade", PBM([0.3, 0.6, 0.1])),
]  # fmt: skip


@pytest.mark.parametrize("users", ALL, ids=lambda users: type(users).__name__)
def test_ours_keep_their_promises(users: Any) -> None:
    """What is compiled is compared with its source in the tests of the click models."""
    world = Contextual(9, 3, 2) if isinstance(users, ChangingDCM) else None
    only = [name for name in contract("users") if name != COMPILED]
    assert check_users(users, only, world) == only


def test_all_of_ours_are_there() -> None:
    assert {type(users) for users in ALL} == {entry.build for entry in USERS.entries().values()}


def test_a_whole_check_and_names() -> None:
    assert check_users("cascade") == list(contract("users"))


class Twice(Cascade):
    """Counts a click as two."""

    __slots__ = ()

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        return 2 * super().click(moment, items, attraction, labels, visitor, page)


class Restless(Cascade):
    """Draws from NumPy's global generator."""

    __slots__ = ()

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        return super().click(moment, items, attraction, labels, int(np.random.randint(1 << 40)), page)


class Tiring(Cascade):
    """Makes items less attractive by looking at them."""

    __slots__ = ()

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        attraction *= 0.5
        return super().reward(moment, items, attraction)


class Grasping(Cascade):
    """Clicks the last position of every list."""

    __slots__ = ()

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        page.clicks[:] = 0
        page.clicks[-1] = 1
        page.left[0] = len(items)
        return 1


class Costly(Cascade):
    """Is unhappy about every list."""

    __slots__ = ()

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        return super().reward(moment, items, attraction) - 5.0


class Upward(PBM):
    """Takes the best list upside down."""

    __slots__ = ()

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        super().best(moment, attraction, items)
        items[:] = items[::-1].copy()


class Wishful(Cascade):
    """Puts the first items into the best list, whether they are there or not."""

    __slots__ = ()

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        items[:] = np.arange(len(items))


class Overflowing(Cascade):
    """Relies on unbounded integers, which compiled integers are not."""

    __slots__ = ()

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        large = 1 << 40
        return attraction[0] if large * large > 0 else 0.5 * attraction[0]  # type: ignore[no-any-return]


class Named(NamedTuple):
    """Users with a field named like a method."""

    rank: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        return self

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        return 0

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        return 0.0

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        pass


BROKEN = {
    "fields_have_free_names": (Named(), "field 'rank'"),
    "clicks_fill_the_page": (Twice(), r"it returned 2 for the clicks \["),
    "same_visitor_clicks_alike": (Restless(), "the same visitor clicked"),
    "lists_stay_as_they_are": (Tiring(), "it changed the attraction, which it may only read"),
    "empty_positions_get_no_click": (Grasping(), r"the clicks are \[0, 0, 1\], but only position 1 has an item"),
    "rewards_are_numbers": (Costly(), "the reward of the list .* is -"),
    "no_exchange_improves_the_best_list": (Upward([0.9, 0.5, 0.1]), "its best list .* has reward .*, but .* has"),
    "best_lists_leave_absent_items_out": (
        Wishful(),
        r"its best list is \[0\], but must hold 1 different items of \[8\]",
    ),
    COMPILED: (Overflowing(), "different regret or clicks"),
}


def test_every_promise_has_a_click_model_that_breaks_it() -> None:
    assert list(BROKEN) == list(contract("users"))


@pytest.mark.parametrize("promise", BROKEN)
def test_a_broken_click_model_is_found_out(promise: str) -> None:
    users, message = BROKEN[promise]
    with pytest.raises(CheckFailed, match=rf"^{promise}: .*{message}"):
        check_users(users, only=[promise])


def test_what_is_no_click_model_is_refused() -> None:
    with pytest.raises(
        toplist.InvalidInput, match=r"There is no click model 'cascad', but .*; perhaps you mean 'cascade'"
    ):
        check_users("cascad")
    with pytest.raises(
        toplist.InvalidInput, match=r"The users is 5, but must be a click model.* it has no prepare\(\)"
    ):
        check_users(5)
    with pytest.raises(toplist.InvalidInput, match="There is no promise 'click', but there are fields_have"):
        check_users("cascade", only=["click"])
