"""The rows of estimates: their order, and the first of them without sorting all."""

from typing import Any

import numpy as np
import pytest

from toplist.core.item_id import id_order
from toplist.ranker.estimate_rows import EstimateRows


def columns_of(items: int, different: int, seed: int) -> list[Any]:
    """Columns with few different numbers, and some that are missing."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, different, items).astype(float) for _ in range(5)]
    for column in columns:
        column[rng.random(items) < 0.1] = np.nan
    columns[4][rng.random(items) < 0.2] = np.inf
    return columns


def by_hand(names: list[Any], columns: list[Any]) -> list[tuple[Any, ...]]:
    """All rows, sorted at once."""
    rows = [
        (name, *(None if np.isnan(value) else float(value) for value in values))
        for name, *values in zip(names, *columns, strict=True)
    ]

    def key(row: tuple[Any, ...]) -> Any:
        return (row[5] is None, -(row[5] or 0.0), row[2] is None, -(row[2] or 0.0), id_order(row[0]))

    return sorted(rows, key=key)


@pytest.mark.parametrize("different", [1, 3, 10**6])
@pytest.mark.parametrize("has_integers", [False, True])
def test_any_number_of_first_rows_are_those_of_sorting_everything(different: int, has_integers: bool) -> None:
    rng = np.random.default_rng(different)
    names: list[Any] = [f"item {n}" for n in rng.permutation(200)]
    if has_integers:
        names[::3] = range(67)
    columns = columns_of(200, different, 7)
    expected = by_hand(names, columns)
    rows = EstimateRows(names, columns)
    assert len(rows) == 200
    for count in (0, 1, 5, 40, 199, 200, 300):
        assert rows.first(count) == expected[:count]
        assert EstimateRows(names, columns).first(count) == expected[:count]


def test_a_row_by_its_name() -> None:
    names: list[Any] = ["b", 7, "a"]
    columns = columns_of(3, 4, 1)
    rows = EstimateRows(names, columns)
    found = {row[0]: row for row in rows.first(3)}
    assert {name: rows.named(name) for name in names} == found
    assert rows.named("c") is None


def test_no_rows() -> None:
    assert EstimateRows([], [np.zeros(0)] * 5).first(3) == []
