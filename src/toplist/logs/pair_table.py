"""Numbers (query, item) pairs in the order of their first appearance, by a hash table that grows with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import compiled
from toplist.core.randomness import branch
from toplist.core.slate import Ints
from toplist.logs.id_table import Codes
from toplist.logs.patterns import speed

AT_ONCE = 1 << 18  # positions between two looks at the size of the table
EMPTY = -1


class PairTable:
    """The pairs seen so far.

    Examples
    --------
    >>> table = PairTable()
    >>> table.number(np.array([3, 3, 5], dtype=np.int32), np.array([1, 2, 1], dtype=np.int32))
    array([0, 1, 2], dtype=int32)
    >>> table.number(np.array([5, 4], dtype=np.int32), np.array([1, 1], dtype=np.int32))
    array([2, 3], dtype=int32)
    >>> table.queries(), table.items()
    (array([3, 3, 5, 4], dtype=int32), array([1, 2, 1, 1], dtype=int32))
    """

    def __init__(self) -> None:
        self._keys = np.zeros(1024, dtype=np.int64)  # by number
        self._table = np.full(2048, EMPTY, dtype=np.int32)
        self._count = 0

    def __len__(self) -> int:
        """Number of pairs."""
        return self._count

    def number(self, query: Codes, item: Codes) -> NDArray[np.int32]:
        """The number of each pair; new pairs get the next ones.

        Parameters
        ----------
        query, item : ndarray of int32
            Codes, per position.

        Returns
        -------
        ndarray of int32
            Numbers, per position.
        """
        keys = (query.astype(np.int64) << 32) | item
        numbers = np.empty(len(keys), dtype=np.int32)
        for begin in range(0, len(keys), AT_ONCE):
            part = keys[begin : begin + AT_ONCE]
            self._grow(self._count + len(part))
            self._count = speed(number_keys, len(part))(
                part, self._keys, self._table, self._count, numbers[begin : begin + AT_ONCE]
            )
        return numbers

    def _grow(self, room: int) -> None:
        """Make room for a number of pairs."""
        if room > len(self._keys):
            self._keys = np.concatenate([self._keys, np.zeros(max(room, 2 * len(self._keys)) - len(self._keys), int)])
        size = len(self._table)
        while size < 2 * room:
            size *= 2
        if size > len(self._table):
            self._table = np.full(size, EMPTY, dtype=np.int32)
            known = self._keys[: self._count].copy()
            speed(number_keys, len(known))(known, self._keys, self._table, 0, np.empty(len(known), dtype=np.int32))

    def queries(self) -> Codes:
        """The code of the query of each pair."""
        return (self._keys[: self._count] >> 32).astype(np.int32)

    def items(self) -> Codes:
        """The code of the item of each pair."""
        return (self._keys[: self._count] & ((1 << 32) - 1)).astype(np.int32)


@compiled
def number_keys(keys: Ints, known: Ints, table: NDArray[np.int32], count: int, numbers: NDArray[np.int32]) -> int:
    """Fill the number of each key, adding new ones; returns how many are known."""
    mask = len(table) - 1
    for at in range(len(keys)):
        key = keys[at]
        slot = branch(key, 0) & mask
        while table[slot] != EMPTY and known[table[slot]] != key:
            slot = (slot + 1) & mask
        if table[slot] == EMPTY:
            known[count] = key
            table[slot] = count
            count += 1
        numbers[at] = table[slot]
    return count
