"""A single part is checked inside of a policy that fits it."""

from typing import Any, Self

import pytest

import toplist
from toplist import parts
from toplist.checks import CheckFailed, check_part
from toplist.checks.part_in_policy import policy_around
from toplist.core.problem import Problem
from toplist.core.protocols.kinds import KINDS, kind_of
from toplist.parts import CUSUM, KLUCB, UCB1, Everything, OnlyLastClick, TopK, Window

FAST = ["lists_hold_distinct_items", "rank_leaves_the_belief"]


@pytest.mark.parametrize("name", parts.__all__)
def test_every_part_of_ours_has_a_policy(name: str) -> None:
    part = getattr(parts, name)()
    assert kind_of(part) in KINDS
    policy = policy_around(part)
    assert part in policy or policy.memory.detector == part
    assert policy.prepare(Problem(9, 3, 9, 100)).capabilities()


@pytest.mark.parametrize("part", [OnlyLastClick(), Window(50), KLUCB(), TopK("last"), CUSUM()])
def test_one_part_of_each_kind(part: Any) -> None:
    assert check_part(part, only=FAST) == FAST


class Repeating(TopK):
    """Shows one item everywhere."""

    __slots__ = ()

    def arrange(self, scoring: Any, belief: Any, cache: Any, request: Any, slate: Any) -> None:
        slate.size[0] = len(slate.items)
        slate.items[:] = request.candidates[0]


class Sketches(Everything):
    """A memory of a kind that no index of ours reads."""

    __slots__ = ()

    def prepare(self, problem: Problem) -> Self:
        return self

    def keeps(self) -> str:
        return "sketches"


def test_a_broken_part_is_found_out() -> None:
    with pytest.raises(CheckFailed, match=r"lists_hold_distinct_items: .* does not hold 3 different items"):
        check_part(Repeating(), only=["lists_hold_distinct_items"])


def test_parts_that_cannot_be_checked_alone_are_refused() -> None:
    with pytest.raises(toplist.InvalidInput, match=r"Sketches keeps sketches, .* know only counts, .*; check a policy"):
        check_part(Sketches())
    with pytest.raises(toplist.InvalidInput, match=r"The part is Cascade.* must be a reading, memory, index"):
        check_part(toplist.clicks.Cascade())
    with pytest.raises(toplist.InvalidInput, match="The part is 5"):
        check_part(5)


def test_an_index_that_no_memory_serves() -> None:
    class Reads(UCB1):
        __slots__ = ()

        def reads(self) -> str:
            return "sketches"

    with pytest.raises(toplist.InvalidInput, match="Reads reads sketches"):
        check_part(Reads())
