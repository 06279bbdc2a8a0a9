"""Functions that are compiled in fewer steps than by numba, and to less code, give the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import base, compiler, event, utils
from numba.core.datamodel import packer
from numba.core.types import functions
from numba.np import arrayobj

from toplist.core.compiling import compiled, helper
from toplist.core.compiling.numba_passes import is_ordinary
from toplist.core.compiling.numba_private import compiled_callees


class Inner(NamedTuple):
    counts: Any
    weight: float


class Outer(NamedTuple):
    inner: Inner
    rows: Any
    number: int


def example() -> Outer:
    return Outer(Inner(np.arange(1, 9), 0.5), np.arange(12.0).reshape(3, 4), 3)


def outer_parts(value: Any) -> Any:
    """Fields of fields, in several blocks."""
    counts, weight = value.inner.counts, value.inner.weight
    total = 0.0
    for i in range(len(counts)):
        if counts[i] % 2 == 0:
            continue
        total += weight * counts[i]
    return total + value.rows[value.number - 1, 1]


def negative_indices(value: Any) -> Any:
    """From the end, and with an index of another type."""
    last = value.inner.counts[-1]
    value.rows[-1, -2] = last
    value.rows[np.int32(0), np.uint8(1)] = True
    return value.rows[-1, -2] + value.rows[0, 1] + value.inner.counts[np.int8(-2)]


def types_of_a_variable(value: Any) -> Any:
    """A whole number first, then a float; and one that is set in one branch only."""
    number = value.number
    number = number + value.inner.weight
    if number > 1.0:
        number += 1
        found: Any = 2
    else:
        found = 5.5
    return number * found


def search(value: Any) -> int:
    """Nested loops that are left early."""
    for i in range(value.rows.shape[0]):
        for j in range(value.rows.shape[1]):
            if value.rows[i, j] == 7.0:
                return i * 10 + j
    return -1


def swap(value: Any) -> Any:
    """Variables that exchange their values in a loop."""
    a, b = 1, value.number
    while a < 100:
        a, b = b, a + b
    return a * 1000 + b


def views(value: Any) -> Any:
    """Slices and rows are arrays."""
    row = value.rows[1]
    part = value.rows[1:, 2]
    row[0] = 100.0
    part[:] = value.inner.weight
    return row.sum() + part[1] + value.inner.counts[2:5].sum()


def constant_index(value: Any) -> Any:
    """An index that is known before the types are."""
    pair = (value.number, value.inner)
    return pair[0] + pair[1].weight + pair[1][0][0]


def structures(value: Any) -> Any:
    """Iterators, slices and complex numbers, which numba has in memory, in several blocks."""
    total = 0.0
    for i, entry in enumerate(value.rows[0]):
        total += i * entry
    for count, weight in zip(value.inner.counts, value.rows[2]):  # noqa: B905 - numba knows no `strict`
        total += count * weight
    for i in range(7, 0, -value.number):
        total += value.inner.counts[i]
    here = slice(1, value.number) if total > 0.0 else slice(0, 1)
    total += value.rows[0, here].sum() + value.inner.counts[::-2].sum()
    turned = complex(total, 1.0) * complex(1.0, value.inner.weight)
    return turned.real - turned.imag


def sum_row(row: Any, nothing: Any = None) -> Any:
    if nothing is None:
        total = 0.0
        for entry in row:
            total += entry
        return total
    return nothing.sum()


helper(sum_row)


def omitted(value: Any) -> Any:
    """An argument that is left out; the branch that needs it does not compile without."""
    return sum_row(value.rows[2])


def closure(value: Any) -> Any:
    """A function within the function."""

    def double(number: float) -> float:
        return 2.0 * number

    return double(value.inner.weight)


def asks_for_a_type(value: Any) -> float:
    return 1.0 if isinstance(value.number, int) else 2.0


ORDINARY = (
    outer_parts,
    negative_indices,
    types_of_a_variable,
    search,
    swap,
    views,
    constant_index,
    structures,
    omitted,
)


@pytest.mark.parametrize("function", [*ORDINARY, closure, asks_for_a_type], ids=lambda function: function.__name__)
def test_results_are_those_of_the_source_and_of_numba(function: Callable[[Any], Any]) -> None:
    values = example(), example(), example()
    by_numba: Any = numba.njit(function)
    expected = function(values[0])
    assert compiled(function)(values[1]) == expected == by_numba(values[2])
    for value in values[1:]:
        assert np.array_equal(value.rows, values[0].rows)


def test_functions_that_need_other_passes_are_told_from_ordinary_ones() -> None:
    flags: Any = compiler.Flags()  # type: ignore[no-untyped-call]
    flags.nrt = False
    assert all(is_ordinary(function, flags) for function in ORDINARY)
    assert not is_ordinary(closure, flags)
    assert not is_ordinary(asks_for_a_type, flags)
    flags.nrt = True
    assert not is_ordinary(search, flags)


def fails(value: Any, number: int) -> Any:
    if number < 0:
        raise ValueError("below zero", 17)
    return value.number


def test_errors_keep_their_arguments() -> None:
    assert compiled(fails)(example(), 1) == 3
    with pytest.raises(ValueError, match="below zero") as raised:
        compiled(fails)(example(), -4)
    assert raised.value.args == ("below zero", 17)


@helper
def weight_of(value: Any) -> Any:
    return value.inner.weight


def twice_the_weight(value: Any) -> Any:
    return weight_of(value) + weight_of(value)


def test_arguments_are_not_put_together_for_a_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPLIST_CACHE_DIR", str(tmp_path))  # empty, so that it is compiled
    assert compiled(twice_the_weight)(example()) == 1.0
    (result,) = [result for key, result in compiled_callees.items() if key[0] is weight_of]
    code = result.library.get_llvm_str()
    assert "define" in code
    assert "insertvalue" not in code


def test_numba_is_as_before_after_compiling() -> None:
    def changed() -> tuple[Any, ...]:
        return (
            event.start_event, utils.order_by_target_specificity, compiler.compile_extra, base.BaseContext.refresh,
            functions.BaseFunction.get_call_type, packer.ArgPacker.assign_names, arrayobj.make_array,
        )  # fmt: skip

    before = changed()
    compiled(swap)(example()._replace(number=4.0))  # type: ignore[arg-type]
    assert changed() == before


def test_scipy_is_not_imported_until_it_is_used(tmp_path: Path) -> None:
    program = (
        "import sys, numba, numpy as np\n"
        "from toplist.core.compiling import compiled\n"
        "assert compiled(lambda x: x + 1.0)(1.0) == 2.0\n"
        "before = 'scipy.linalg' in sys.modules\n"
        "rows = np.eye(3) * 2.0\n"
        "squared, inverse = numba.njit(lambda a: np.dot(a, a))(rows), numba.njit(lambda a: np.linalg.inv(a))(rows)\n"
        "print(before, squared.sum(), inverse.sum())\n"
    )
    environment = os.environ | {"TOPLIST_CACHE_DIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stdout.strip() == "False 12.0 1.5", ended.stderr


def test_functions_that_numba_compiled_for_us_work_elsewhere(tmp_path: Path) -> None:
    """Code for linking only cannot be called: in a process of its own, which would end."""
    program = (
        "import numba\n"
        "from toplist.core.compiling import compiled\n"
        "@numba.njit\n"
        "def double(x):\n    return max(2.0 * x, 0.5)\n"
        "print(compiled(lambda x: double(x) + max(x, 4.0))(3.0), double(3.0), numba.njit(lambda x: max(x, 5.0))(3.0))\n"
    )
    environment = os.environ | {"TOPLIST_CACHE_DIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stdout.strip() == "10.0 6.0 5.0", ended.stderr
