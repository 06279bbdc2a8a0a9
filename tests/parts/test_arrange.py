"""Arrangement of the best: declared orders of positions, worst of the best first, pins and short lists."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toplist.core.problem import Problem
from toplist.core.slate import Request
from toplist.parts.arrange import TopK
from toplist.parts.feedback import EveryPlace
from toplist.parts.index import Greedy
from toplist.parts.memory import Everything
from toplist.policies import Policy

MEANS = [0.3, 0.9, 0.1, 0.7, 0.5]  # best first: items 1, 3, 4, 0, 2
NOTHING = np.zeros(0, dtype=np.int64)


def shown(
    order: Any = "first", candidates: Any = range(5), pins: Any = (), asked: Any = (), places: int = 3
) -> list[int]:
    problem = Problem(5, 3)
    policy = Policy(EveryPlace(), Everything(), Greedy(), TopK(order)).prepare(problem)
    belief, cache, slate = policy.begin(problem), policy.scratch(problem), policy.slate(problem)
    belief.examined[:], belief.clicked[:] = 1.0, MEANS
    request = Request(
        np.array(candidates), places, np.array(pins, dtype=np.int64), np.array(asked, dtype=np.int64),
        np.zeros((5, 0)), 0, np.arange(5), 1,
    )  # fmt: skip
    policy.rank(belief, cache, request, slate)
    return [int(item) for item in slate.items[: slate.size[0]]]


def test_orders() -> None:
    assert shown() == [1, 3, 4]
    assert shown("last") == [4, 3, 1]
    assert shown([2, 3, 1]) == [4, 1, 3]  # the best at position 2, the next at position 3


def test_a_requested_order_overrides_the_declared_one() -> None:
    assert shown("last", asked=[1, 0, 2]) == [3, 1, 4]


def test_short_lists_and_subsets() -> None:
    assert shown(candidates=[0, 2]) == [0, 2]
    assert shown("last", candidates=[0, 2]) == [2, 0]
    assert shown([3, 1, 2], candidates=[0, 2, 4], places=2) == [4, 0]
    assert shown(places=1) == [1]


def test_pins_keep_their_positions() -> None:
    assert shown(pins=[-1, 2, -1]) == [1, 2, 3]
    assert shown(pins=[-1, 1, -1]) == [3, 1, 4]
    assert shown("last", pins=[-1, -1, 0]) == [3, 1, 0]
    assert shown(pins=[4, 3, 1]) == [4, 3, 1]


@given(st.permutations([1, 2, 3]), st.permutations(range(5)), st.lists(st.booleans(), min_size=3, max_size=3))
def test_the_best_free_items_are_in_the_declared_order(order: Any, pool: Any, pinned: Any) -> None:
    pins = [pool[place] if pinned[place] else -1 for place in range(3)]
    free = sorted(set(range(5)) - set(pins), key=lambda item: -MEANS[item])
    wanted = list(pins)
    for position in order:
        if wanted[position - 1] < 0:
            wanted[position - 1] = free.pop(0)
    assert shown(order, pins=pins) == wanted


def test_preparing_twice_is_preparing_once() -> None:
    once = TopK([2, 1]).prepare(Problem(4, 2))
    assert once.prepare(Problem(4, 2)).places.tolist() == [1, 0]


def test_an_array_is_an_order_like_any_other() -> None:
    assert shown(np.array([2, 3, 1])) == shown([2, 3, 1])


def test_pins_beyond_a_short_list_are_left_out() -> None:
    assert shown(candidates=[1, 4], pins=[-1, -1, 4]) == [1, 4]


@pytest.mark.parametrize("order", ["first", "last", [3, 1, 2]])
def test_the_same_items_in_any_order(order: Any) -> None:
    assert sorted(shown(order)) == [1, 3, 4]
