"""The rows of a ranker's estimates, put in order as far as they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nsmallest
from typing import Any

import numpy as np

from toplist.core.item_id import ItemId, id_order
from toplist.core.slate import Floats, Ints

FEW = 8  # if at least this share of equal items is not read, the first of them are found without sorting all


class EstimateRows:
    """Rows of item, examined, mean, low, high and index: the largest index first, then the largest mean, then by name.

    To sort the names of very many equal items takes longest, so only those that are read are sorted.

    Parameters
    ----------
    names : sequence of str or int
        Items.
    columns : sequence of ndarray
        The other columns, NaN where there is no number; they must not change any more.
    """

    def __init__(self, names: Sequence[ItemId], columns: Sequence[Floats]) -> None:
        self._names, self._columns = names, columns
        self._by_numbers: tuple[Ints, list[tuple[int, int]]] | None = None

    def __len__(self) -> int:
        return len(self._names)

    def first(self, count: int) -> list[tuple[Any, ...]]:
        """The first rows, at most `count`."""
        if self._by_numbers is None:
            self._by_numbers = _order_by_numbers(self._columns[4], self._columns[1])
        by_numbers, groups = self._by_numbers
        order, name_of = by_numbers[:count].copy(), self._name_order()
        for begin, end in groups:
            if begin >= len(order):
                break
            members, wanted = by_numbers[begin:end].tolist(), min(end, len(order)) - begin
            is_quick = FEW * wanted < end - begin
            ordered = nsmallest(wanted, members, name_of) if is_quick else sorted(members, key=name_of)[:wanted]
            order[begin : begin + wanted] = ordered
        cells = [_nones_for_nans(column[order]) for column in self._columns]
        return list(zip(map(self._names.__getitem__, order.tolist()), *cells, strict=True))

    def window(self, begin: int, count: int, search: str = "") -> tuple[int, list[tuple[Any, ...]]]:
        """Some rows of the order, each after its place from 1, and the number of rows that fit.

        Equal items are in the order in which they were added, so that no names are sorted.

        Parameters
        ----------
        begin, count : int
            The first row, from 0, and the number of rows, of those that fit.
        search : str
            Part of the names of the items that fit, in any case.
        """
        if self._by_numbers is None:
            self._by_numbers = _order_by_numbers(self._columns[4], self._columns[1])
        order = self._by_numbers[0]
        places = np.arange(len(order))
        if search:
            wanted = search.casefold()
            fits = np.fromiter((wanted in str(name).casefold() for name in self._names), bool, len(self._names))
            places = np.flatnonzero(fits[order])
        chosen = places[begin : begin + count]
        slots = order[chosen]
        cells = [_nones_for_nans(column[slots]) for column in self._columns]
        names = map(self._names.__getitem__, slots.tolist())
        return len(places), list(zip((chosen + 1).tolist(), names, *cells, strict=True))

    def named(self, name: Any) -> tuple[Any, ...] | None:
        """The row of an item, or None."""
        try:
            at = self._names.index(name)
        except ValueError:
            return None
        return (self._names[at], *(_nones_for_nans(column[at : at + 1])[0] for column in self._columns))

    def _name_order(self) -> Callable[[int], Any]:
        """The key by which equal items are sorted."""
        names = self._names
        if set(map(type, names)) <= {str}:
            return names.__getitem__
        return lambda n: id_order(names[n])


def _order_by_numbers(index: Floats, mean: Floats) -> tuple[Ints, list[tuple[int, int]]]:
    """Items by index and mean, the largest first and NaN last; and the ranges of several equal ones."""
    keys = [np.where(np.isnan(column), np.inf, -column) for column in (mean, index)]
    order = np.lexsort(keys)
    is_first = np.ones(len(order) + 1, dtype=bool)  # of several equal ones
    for key in keys:
        key[:] = key[order]
    is_first[1:-1] = (keys[0][1:] != keys[0][:-1]) | (keys[1][1:] != keys[1][:-1])
    begins = np.flatnonzero(is_first)
    several = np.flatnonzero(begins[1:] - begins[:-1] > 1)
    return order, list(zip(begins[several].tolist(), begins[several + 1].tolist(), strict=True))


def _nones_for_nans(values: Floats) -> list[float | None]:
    """The values of a column; None where there is none."""
    missing = np.isnan(values)
    if not missing.any():
        return list(values.tolist())
    if missing.all():
        return [None] * len(values)
    cells = values.astype(object)
    cells[missing] = None
    return list(cells.tolist())
