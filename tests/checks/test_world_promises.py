"""Every world keeps its promises, and for each promise there is a world that breaks it."""

from typing import Any, NamedTuple, Self

import numpy as np
import pytest

import toplist
from toplist.checks import CheckFailed, check_world, contract
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints
from toplist.support.catalogue import WORLDS
from toplist.worlds import Contextual, Fixed, TopicCoverage
from toplist.worlds.fixed import Still

COMPILED = "plain_and_compiled_agree"
SHARES = "attraction=[0.8,0.6,0.5,0.3,0.2], positions=2"
TEXTS = [
    "b-lb", "b-top-k", f"fixed({SHARES})", "b-l", f"drifting({SHARES})",
    f"jumping({SHARES}, raised=1, up=50, down=70)",
    "piecewise(attraction=[[0.5,0.3,0.1],[0.1,0.3,0.5]], positions=2, breakpoints=[100])",
    "coming-and-going(attraction=[0.5,0.3,0.2], positions=2, lifetimes=[[0,None],[20,90],[0,60]])",
]  # fmt: skip
OTHERS = {
    "topic-coverage": TopicCoverage(np.eye(6)[:, :3] * 0.5 + 0.1, [0.5, 0.3, 0.2], 2),
    "contextual": Contextual(6, 3, 2),
}


@pytest.mark.parametrize("world", [*TEXTS, *OTHERS])
def test_ours_keep_their_promises(world: str) -> None:
    """What is compiled is compared with its source in the tests of the worlds."""
    only = [name for name in contract("world") if name != COMPILED]
    assert check_world(OTHERS.get(world, world), only) == only


def test_all_of_ours_are_there() -> None:
    assert {text.partition("(")[0] for text in [*TEXTS, *OTHERS]} == set(WORLDS.entries())


def test_a_whole_check() -> None:
    assert check_world(Fixed([0.5, 0.3, 0.2], 2)) == list(contract("world"))


class Scattered(Fixed):
    """Features for fewer items than there are."""

    __slots__ = ()

    def features(self, moment: Still) -> Floats:
        return np.zeros((1, 2))

    def problem(self, steps: int | None = None) -> Problem:
        return super().problem(steps)._replace(features=2)


class Overwhelming(Fixed):
    """Attraction above 1."""

    __slots__ = ()

    def attract(self, moment: Still, items: Ints, attraction: Floats) -> None:
        super().attract(moment, items, attraction)
        attraction += 1.0


class Hiding(Fixed):
    """Hides an item without a word."""

    __slots__ = ()

    def eligible(self, moment: Still, candidates: Ints) -> int:
        return len(candidates) - 1


class Mood(NamedTuple):
    """The state of a world in one number."""

    now: Floats


class Moody(Fixed):
    """Its attraction is what `now` says."""

    __slots__ = ()

    def begin(self) -> Any:
        return Mood(np.zeros(1))

    def attract(self, moment: Any, items: Ints, attraction: Floats) -> None:
        for place in range(len(items)):
            attraction[place] = moment.now[0] if items[place] >= 0 else 0.0


class Fickle(Moody):
    """Draws its state from NumPy's global generator."""

    __slots__ = ()

    def advance(self, moment: Any, step: int, key: int) -> bool:
        moment.now[0] = np.random.rand()
        return True


class Secretive(Moody):
    """Changes after 100 steps, and does not tell."""

    __slots__ = ()

    def advance(self, moment: Any, step: int, key: int) -> bool:
        moment.now[0] = 0.2 if step < 100 else 0.8
        return step == 0


class Repeating(Fixed):
    """The best list has one item everywhere."""

    __slots__ = ()

    def best_list(self, moment: Still, users: Any, items: Ints) -> None:
        items[:] = 1


class Forgetful(Moody):
    """Keeps a part of its state outside of the arrays of `begin`."""

    __slots__ = ()
    steps = [0]  # noqa: RUF012

    def begin(self) -> Any:
        self.steps[0] = 0
        return super().begin()

    def advance(self, moment: Any, step: int, key: int) -> bool:
        self.steps[0] += 1
        moment.now[0] = self.steps[0] / 1000
        return True


class Overflowing(Moody):
    """Relies on unbounded integers, which compiled integers are not."""

    __slots__ = ()

    def advance(self, moment: Any, step: int, key: int) -> bool:
        large = 1 << 40
        moment.now[0] = 0.9 if large * large > 0 else 0.1
        return step == 0


class Named(NamedTuple):
    """A world with a field named like a method."""

    rank: float = 0.0

    def checked(self) -> Self:
        return self

    def problem(self, steps: int | None = None) -> Problem:
        return Problem(3, 2, 0, steps)

    def begin(self) -> Still:
        return Still(np.zeros(1, dtype=np.int64))

    def advance(self, moment: Still, step: int, key: int) -> bool:
        return True

    def attract(self, moment: Still, items: Ints, attraction: Floats) -> None:
        attraction[:] = 0.5


SOME = ([0.5, 0.4, 0.3, 0.2], 2)
BROKEN = {
    "fields_have_free_names": (Named(), "field 'rank'"),
    "sizes_fit_each_other": (Scattered(*SOME), r"its features have the shape \(1, 2\), but must have \(4, 2\)"),
    "attraction_is_a_probability": (Overwhelming(*SOME), r"at step 1 the attraction of the list .* is \[1\."),
    "eligible_items_are_ascending": (Hiding(*SOME), r"at step 1 only \[0, 1, 2\] can be shown, but .* passing"),
    "same_key_gives_same_world": (Fickle(*SOME), "two runs with the same key differ at step 1"),
    "changes_are_told": (Secretive(*SOME), "advance returned False at step 101, but the reward .* from 0.36 to 0.96"),
    "best_lists_hold_eligible_items": (Repeating(*SOME), r"at step 1 the best list is \[1, 1\]"),
    "saved_world_continues": (Forgetful(*SOME), "saved and resumed"),
    COMPILED: (Overflowing(*SOME), "plain Python"),
}


def test_every_promise_has_a_world_that_breaks_it() -> None:
    assert list(BROKEN) == list(contract("world"))


@pytest.mark.parametrize("promise", BROKEN)
def test_a_broken_world_is_found_out(promise: str) -> None:
    world, message = BROKEN[promise]
    with pytest.raises(CheckFailed, match=rf"^{promise}: .*{message}"):
        check_world(world, only=[promise])


def test_what_is_no_world_is_refused() -> None:
    with pytest.raises(toplist.InvalidInput, match=r"There is no world 'b-lbb', but .*; perhaps you mean 'b-lb'"):
        check_world("b-lbb")
    with pytest.raises(toplist.InvalidInput, match=r"The world is 5, but must be a world.* it has no checked\(\)"):
        check_world(5)
