"""Beliefs as NamedTuples of arrays: name, copy, compare and grow them, and reset single items.

An array called `touched` counts changes for caches built on a belief. It is not part of the learned state: it is
neither saved nor compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import Problem

TOUCHED = "touched"
MANY = 4096  # items; with fewer, every list scans all of them, and changes need not be tracked
BLOCK = 128  # items that share a counter of changes


def block_count(problem: Problem) -> int:
    """Number of blocks of items; 0 below MANY items."""
    return -(-problem.items // BLOCK) if problem.items >= MANY else 0


class ItemRows(NamedTuple):
    """Layout of a policy's belief: the rows of each item, and their values before anything is learned."""

    rows: tuple[int, ...]  # per array: rows per item; 0 where the array is not per item
    fresh: tuple[Any, ...]  # per array: the initial values of these rows

    @classmethod
    def of(cls, policy: Any, problem: Problem) -> ItemRows:
        """Derive the layout from the initial beliefs about a few items and about twice as many."""
        items = problem.positions + 1
        # One after the other: a belief about many features is large, whatever the number of items.
        lengths = tuple(map(len, policy.begin(problem._replace(items=2 * items))))
        few = policy.begin(problem._replace(items=items))
        rows = tuple(
            0 if name == TOUCHED else (more - len(array)) // items
            for name, array, more in zip(few._fields, few, lengths, strict=True)
        )
        return cls(rows, tuple(array[:count].copy() for array, count in zip(few, rows, strict=True)))

    def forget(self, belief: Any, items: int | Sequence[int]) -> None:
        """Reset the rows of one or several items to their initial values."""
        for array, count, fresh in zip(belief, self.rows, self.fresh, strict=True):
            if count:
                by_item = array[: len(array) // count * count].reshape(-1, count, *array.shape[1:])
                by_item[items] = fresh
        self.touch(belief, items)

    def touch(self, belief: Any, items: int | Sequence[int]) -> None:
        """Count a change of the rows of one or several items, or of whether they are present."""
        slots = np.atleast_1d(items)
        if len(slots) and len(getattr(belief, TOUCHED, ())):
            most = max(self.rows)
            first, last = slots * most // BLOCK, ((slots + 1) * most - 1) // BLOCK
            for more in range(int((last - first).max()) + 1):
                belief.touched[np.minimum(first + more, last)] += 1


def grow_belief(belief: Any, larger: Any) -> Any:
    """Copy `belief` into `larger`, an initial belief about more items; returns `larger`."""
    for old, new in zip(belief, larger, strict=True):
        new[: len(old)] = old
    return larger


def named_arrays(prefix: str, arrays: Any) -> dict[str, Any]:
    """The saved arrays of a NamedTuple, with their names behind a prefix."""
    return {f"{prefix}.{name}": array for name, array in saved_arrays(arrays).items()}


def saved_arrays(arrays: Any) -> dict[str, Any]:
    """The arrays of a NamedTuple by name, without `touched`; those of a nested one have its name before theirs."""
    found: dict[str, Any] = {}
    for name, field in arrays._asdict().items():
        if hasattr(field, "_fields"):
            found |= named_arrays(name, field)
        elif name != TOUCHED:
            found[name] = field
    return found


def copy_arrays(arrays: Any) -> Any:
    """Copy all arrays of a NamedTuple, nested ones included; other fields are kept as they are."""
    if hasattr(arrays, "_fields"):
        return arrays._make(copy_arrays(field) for field in arrays)
    return np.copy(arrays) if isinstance(arrays, np.ndarray) else arrays


def all_arrays(state: Any) -> list[Any] | None:
    """All arrays of nested tuples; None if something else in them might change, such as a list."""
    found: list[Any] = []
    waiting = [state]
    while waiting:
        field = waiting.pop()
        if isinstance(field, tuple):
            waiting.extend(field)
        elif isinstance(field, np.ndarray) and field.dtype != object:
            found.append(field)
        elif field is not None and not isinstance(field, int | float | str | bytes | np.generic):
            return None
    return found


def nested_values(value: Any) -> list[Any]:
    """A value, and all within it, if it is a tuple or a list."""
    return (
        [value, *(each for field in value for each in nested_values(field))]
        if isinstance(value, tuple | list)
        else [value]
    )


def filled_arrays(value: Any) -> list[Any]:
    """All arrays of nested tuples that have elements; the same empty one serves several fields."""
    return [each for each in nested_values(value) if isinstance(each, np.ndarray) and each.size > 0]


def array_bytes(arrays: Any) -> bytes:
    """All bytes of the saved arrays of a NamedTuple, to compare two beliefs bit for bit."""
    return b"".join(np.ascontiguousarray(array).tobytes() for array in saved_arrays(arrays).values())
