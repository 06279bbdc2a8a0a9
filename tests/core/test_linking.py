"""Machine code that is called by its address, with a value kept in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import types

from toplist.core.compiling import Kept, caller, compiled, value_at
from toplist.core.compiling.numba_private import code_address


class Part(NamedTuple):
    """Fields of all kinds that parts have, with a byte between numbers."""

    flag: bool
    weight: float
    rows: Any
    number: int
    nothing: tuple[()]


@compiled
def weigh(state: Any, row: int, times: float) -> float:
    part, counts = value_at(state)
    counts[0] += 1
    if not part.flag:
        return -1.0
    total = 0.0
    for column in range(part.rows.shape[1]):
        total += part.rows[row, column]
    return float(part.weight * total * times + part.number)


call_weigh = caller(types.float64, types.int64, types.float64)


@compiled
def weigh_by_address(code: int, state: int, row: int, times: float) -> Any:
    return call_weigh(code, state, (row, times))


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("rows", [np.arange(6.0).reshape(2, 3), np.arange(24.0).reshape(4, 6)[::2, ::2]])
def test_code_reads_and_writes_a_kept_value(rows: Any, flag: bool) -> None:
    counts = np.zeros(1, dtype=np.int64)
    kept = Kept((Part(flag, 0.5, rows, 7, ()), counts), {weigh: (types.int64, types.float64)})
    (code,) = kept.code
    for row in (0, 1):
        expected = 0.5 * rows[row].sum() * 3.0 + 7 if flag else -1.0
        assert weigh_by_address(code, kept.address, row, 3) == expected  # a whole number becomes a float
    assert counts[0] == 2
    rows[1, 1] += 1.0
    assert weigh_by_address(code, kept.address, 1, 2.0) == (rows[1].sum() + 7 if flag else -1.0)


def test_values_of_one_type_share_their_code() -> None:
    counts = np.zeros(1, dtype=np.int64)
    one, other = (
        Kept((Part(True, weight, np.ones((2, 2)), 1, ()), counts), {weigh: (types.int64, types.float64)})
        for weight in (1.0, 2.0)
    )
    assert one.code == other.code
    assert one.address != other.address
    found = [weigh_by_address(each.code[0], each.address, 0, 1.0) for each in (one, other, one)]
    assert found == [3.0, 5.0, 3.0]


@compiled
def fail(_: Any, number: int) -> int:
    if number < 0:
        raise ValueError("a negative number")
    return number


call_fail = caller(types.int64, types.int64)


@compiled
def fail_by_address(code: int, state: int, number: int) -> Any:
    return call_fail(code, state, (number,))


def test_errors_reach_the_caller() -> None:
    code = code_address(fail, (types.int64, types.int64))
    assert fail_by_address(code, 0, 3) == 3
    with pytest.raises(ValueError, match="a negative number"):
        fail_by_address(code, 0, -3)
