"""Beliefs as arrays: kept under their names, grown for items that come later, and forgotten item by item.

An array called `touched` counts changes for those who remember something of a belief, and is no part of what is known:
it is neither kept nor compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import Problem

TOUCHED = "touched"
MANY = 4096  # items; of fewer, all are looked at for every list, and nobody needs to be told which have changed
BLOCK = 128  # items whose changes are told together


def block_count(problem: Problem) -> int:
    """How many blocks the items make; none where there are not MANY."""
    return -(-problem.items // BLOCK) if problem.items >= MANY else 0


class ItemRows(NamedTuple):
    """How a policy's belief is laid out: what it holds per item, and what is held of an item nobody has seen."""

    rows: tuple[int, ...]  # per array: how many rows each item has; 0 where the array is about everything
    fresh: tuple[Any, ...]  # per array: those rows before anything is known

    @classmethod
    def of(cls, policy: Any, problem: Problem) -> ItemRows:
        """Find out by beginning for a few items and for twice as many."""
        items = problem.positions + 1
        few = policy.begin(problem._replace(items=items))
        more = policy.begin(problem._replace(items=2 * items))
        rows = tuple(
            0 if name == TOUCHED else (len(b) - len(a)) // items
            for name, a, b in zip(few._fields, few, more, strict=True)
        )
        return cls(rows, tuple(array[:count].copy() for array, count in zip(few, rows, strict=True)))

    def forget(self, belief: Any, item: int) -> None:
        """Take an item's rows back to where nothing is known of it."""
        for array, count, fresh in zip(belief, self.rows, self.fresh, strict=True):
            array[item * count : (item + 1) * count] = fresh
        if hasattr(belief, TOUCHED):
            most = max(self.rows)
            belief.touched[item * most // BLOCK : ((item + 1) * most - 1) // BLOCK + 1] += 1


def grow_belief(belief: Any, larger: Any) -> Any:
    """`larger`, a belief about more items before anything is known, with all that `belief` knows."""
    for old, new in zip(belief, larger, strict=True):
        new[: len(old)] = old
    return larger


def named_arrays(prefix: str, arrays: Any) -> dict[str, Any]:
    """A NamedTuple's arrays under names of their own."""
    return {f"{prefix}.{name}": array for name, array in saved_arrays(arrays).items()}


def saved_arrays(arrays: Any) -> dict[str, Any]:
    """A NamedTuple's arrays by name, but for the one that counts changes."""
    return {name: array for name, array in arrays._asdict().items() if name != TOUCHED}


def copy_arrays(arrays: Any) -> Any:
    """A NamedTuple of arrays, or of such NamedTuples, with copies of all arrays; anything else in it stays as it is."""
    if hasattr(arrays, "_fields"):
        return arrays._make(copy_arrays(field) for field in arrays)
    return np.copy(arrays) if isinstance(arrays, np.ndarray) else arrays


def array_bytes(arrays: Any) -> bytes:
    """All bytes of a NamedTuple of arrays, to compare two of them to the last bit."""
    return b"".join(np.ascontiguousarray(array).tobytes() for array in saved_arrays(arrays).values())
