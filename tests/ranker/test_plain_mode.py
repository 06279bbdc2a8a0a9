"""With `compiled=False`, a ranker of many items runs the source of functions that run compiled elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

from toplist import Ranker
from toplist.core.compiling import BULK, by_mode, compiled, plain_mode

ITEMS = [f"item-{number}" for number in range(BULK + 200)]


@contextmanager
def called() -> Iterator[set[str]]:
    """The names of the functions whose source runs, line by line; machine code has calls, but no lines."""
    names: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            names.add(frame.f_code.co_name)
            return None  # one line is enough
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield names
    finally:
        sys.settrace(before)


def explain(ranker: Ranker) -> None:
    ranker.explain(ranker.rank())


def weigh(ranker: Ranker) -> None:
    ranker.weigh([ITEMS[:3]])


@pytest.mark.parametrize(
    ("policy", "function", "asked"),
    [
        ("cascade-ucb1", "fill_formula", Ranker.estimates),
        ("cascade-ucb-v", "fill_variance", Ranker.estimates),
        ("cascade-kl-ucb", "fill_kl_upper", explain),
        ("cascade-moss", "fill_moss", weigh),
        ("cascade-kl-ucb-plus-plus", "fill_plus_plus", Ranker.estimates),
        ("ts-cascade", "fill_lines", weigh),
        ("pbm-ucb", "exposure_bound", Ranker.estimates),
        ("pbm-pie", "fill_estimates", weigh),
    ],
)
def test_what_a_ranker_tells_runs_as_its_source(policy: str, function: str, asked: Callable[[Ranker], object]) -> None:
    ranker = Ranker(ITEMS, 3, policy=policy, compiled=False)
    for _ in range(3):
        ranker.learn(ranker.rank(), clicks=[1])
    with called() as names:
        asked(ranker)
    assert function in names


def test_limits_of_new_items_run_as_their_source() -> None:
    ranker = Ranker(ITEMS, 3, policy="cascade-ucb1", compiled=False, new_per_list=1)
    ranker.learn(ranker.rank(), clicks=[1])
    with called() as names:
        ranker.rank()
    assert {"find_small_lots", "branch"} <= names


def test_a_log_is_checked_as_source() -> None:
    ranker = Ranker(ITEMS, 3, policy="cascade-ucb1", compiled=False)
    lists = BULK + 1
    with called() as names:
        ranker.learn_log(ITEMS, np.arange(lists + 1), np.arange(lists) % 7, np.zeros(lists, dtype=int))
    assert "find_repeats" in names


def test_the_mode_is_that_of_the_caller() -> None:
    @compiled
    def twice(value: int) -> int:
        return 2 * value

    assert by_mode(twice) is twice
    with plain_mode():
        assert by_mode(twice) is not twice
        assert by_mode(twice)(4) == 8
        with plain_mode(False):
            assert by_mode(twice) is twice
    assert by_mode(twice) is twice
