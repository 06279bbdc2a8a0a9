"""The memory that a learner takes: measured, or foretold before anything of its size is allocated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import Problem

BYTES_PER_SLOT = 200  # names, labels and dictionaries of an item
BYTES_PER_OPEN_LIST = 120  # its number, in a dictionary that doubles
BYTES_PER_LEARNER = 8192  # its Python objects


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


class SizeByItems(NamedTuple):
    """Bytes of a learner as a polynomial of its number of items: some policies keep a number per pair of items.

    Parameters
    ----------
    fixed, linear, square : float
        Coefficients of the polynomial.
    """

    fixed: float
    linear: float
    square: float

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
        few = problem.positions + 1
        sizes = [_size(policy, problem._replace(items=few * times)) for times in (1, 2, 3)]
        square = (sizes[2] - 2 * sizes[1] + sizes[0]) / 2
        linear = sizes[1] - sizes[0] - 3 * square
        return cls(sizes[0] - linear - square, linear / few, square / few**2)

    def at(self, items: int) -> int:
        """Bytes of a learner with a number of items.

        >>> SizeByItems(100.0, 10.0, 1.0).at(10)
        10492
        """
        arrays = self.fixed + self.linear * items + self.square * items**2
        return round(arrays) + BYTES_PER_SLOT * items + BYTES_PER_LEARNER


def _size(policy: Any, problem: Problem) -> int:
    """Bytes of the arrays of a learner; each kind is freed before the next is made."""
    ready = policy.prepare(problem)
    total = allocated(ready.begin(problem))
    total += allocated(ready.scratch(problem))
    total += allocated(ready.slate(problem))
    return total + 8 * problem.items * problem.features
