"""The memory that a learner takes: measured, or foretold before anything of its size is allocated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, MANY
from toplist.core.problem import Problem

BYTES_PER_SLOT = 200  # names, labels and dictionaries of an item
BYTES_PER_OPEN_LIST = 120  # its number, in a dictionary that doubles
BYTES_PER_LEARNER = 8192  # its Python objects
_LEAST_SQUARE = 0.1  # bytes per pair of items; a bit takes more
_MEASURED = 64 << 20  # bytes of a learner that is made only to know its size


def allocated(arrays: Any) -> int:
    """Bytes of the arrays in a NamedTuple, nested ones included."""
    if isinstance(arrays, np.ndarray):
        return int(arrays.nbytes)
    return sum(map(allocated, arrays)) if isinstance(arrays, tuple) else 0


def used(arrays: Any) -> int:
    """Bytes of the arrays in a NamedTuple or list, nested ones included, as far as they are used."""
    if isinstance(arrays, np.ndarray):
        return int(arrays.nbytes)
    if hasattr(arrays, "used_bytes"):
        return int(arrays.used_bytes())
    return sum(map(used, arrays)) if isinstance(arrays, tuple | list) else 0


Coefficients = tuple[float, float, float]  # bytes: constant, per item, per pair of items


class SizeByItems(NamedTuple):
    """Bytes of a learner's arrays as polynomials of its number of items: some policies keep a number per pair of items.

    Parameters
    ----------
    few, many : tuple of float
        Coefficients, from the constant on, below `MANY` items, and from there on, where changes are tracked.
    """

    few: Coefficients
    many: Coefficients

    @classmethod
    def of(cls, policy: Any, problem: Problem) -> SizeByItems:
        """Derive it from learners of few items, made one after the other.

        Parameters
        ----------
        policy : policy
            The policy, not prepared.
        problem : Problem
            Its positions, features and steps; its number of items does not matter.

        Returns
        -------
        SizeByItems
        """
        few = _coefficients(policy, problem, max(BLOCK, 1 << problem.positions.bit_length()))
        if few[2] or few[1] * 4 * MANY > _MEASURED:  # what is tracked by block hardly counts then
            return cls(few, few)
        return cls(few, _coefficients(policy, problem, MANY))

    def at(self, items: int) -> int:
        """Bytes of a learner with a number of items.

        >>> SizeByItems((100.0, 10.0, 1.0), (100.0, 10.0, 1.0)).at(10)
        10492
        """
        fixed, linear, square = self.few if items < MANY else self.many
        return round(fixed + linear * items + square * items**2) + BYTES_PER_SLOT * items + BYTES_PER_LEARNER


def _coefficients(policy: Any, problem: Problem, items: int) -> Coefficients:
    """Coefficients from learners of so many items, a power of two, and more.

    Some arrays have a row per block of items, or as many rows as the next power of two: the sizes are those of powers
    of two, where neither is rounded up, and an item more shows how much rounding up may add.
    """
    one, two, four, more = (
        _size(policy, problem._replace(items=number)) for number in (items, 2 * items, 4 * items, 2 * items + 1)
    )
    square = (four - 3 * two + 2 * one) / (6 * items**2)
    if square < _LEAST_SQUARE:
        square = 0.0
    linear = (two - one) / items - 3 * items * square
    rounding = max(0.0, more - two - linear - (4 * items + 1) * square)
    return one - items * linear - items**2 * square, linear + rounding / (2 * items), square


def _size(policy: Any, problem: Problem) -> int:
    """Bytes of the arrays of a learner; each kind is freed before the next is made."""
    ready = policy.prepare(problem)
    total = allocated(ready.begin(problem))
    total += allocated(ready.scratch(problem))
    total += allocated(ready.slate(problem))
    return total + 8 * problem.items * problem.features
