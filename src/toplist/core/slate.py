"""The data of one list: the request, the slate made for it, and the page with the clicks that came back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


NONE = np.zeros(0, dtype=np.int64)  # no pins, no exceptions, or the order from the top
EVERY = np.zeros(0, dtype=bool)  # every candidate is present


class Request(NamedTuple):
    """The input of a policy when it makes a list.

    Parameters
    ----------
    candidates : ndarray of int
        Eligible items, ascending; for a policy that `takes_gaps`, others may be among them.
    positions : int
        Number of positions to fill, at most the length of the slate.
    pins : ndarray of int
        Per position the item that must stand there, or -1; empty for no pins. Pinned items are candidates.
    order : ndarray of int
        All positions of the slate, from the most to the least valuable; empty for the order of the arrangement.
    features : ndarray of float, shape (items, features)
        Features of the items; no columns if items have none.
    edition : int
        Version of the features, which caches compare; negative for features of this request only, which are not cached.
    labels : ndarray of int
        Per item the number that identifies it to the random numbers, whatever its index.
    key : int
        Random key of this list.
    present : ndarray of bool, default empty
        Per item whether it can be eligible; empty for all. A candidate is eligible if it is either present or an
        exception. Where this changes, `touched` counts it.
    exceptions : ndarray of int, default empty
        A few candidates, ascending: present items that are not eligible, and eligible items that are not present. Both
        are empty unless the policy `takes_gaps`; a whole list of eligible items is then left.
    """

    candidates: Ints
    positions: int
    pins: Ints
    order: Ints
    features: Floats
    edition: int
    labels: Ints
    key: int
    present: Bools = EVERY
    exceptions: Ints = NONE


class Slate(NamedTuple):
    """A list, with everything that is needed to learn from it at any later time.

    Parameters
    ----------
    items : ndarray of int
        Item per position.
    size : ndarray of int, shape (1,)
        Number of filled positions.
    rows : ndarray of float, shape (positions, features)
        Per position the feature row with which the item was scored.
    memo : ndarray of float, shape (positions, columns)
        Per position the policy's own notes for learning.
    """

    items: Ints
    size: Ints
    rows: Floats
    memo: Floats


# The columns of a ranked bandit's memo.
PROPOSED, SCORE, CANDIDATES = 0, 1, 2


class Page(NamedTuple):
    """The response to a slate, and its reading.

    Parameters
    ----------
    clicks : ndarray of int
        Per position 1 for a click, 0 for none.
    left : ndarray of int, shape (1,)
        Last examined position, counted from 1; 0 if unknown.
    seen : ndarray of float
        Per position the probability that it was in view; the first is negative if unknown.
    weight : ndarray of float
        Per position how much it was examined; filled by the reading.
    value : ndarray of float
        Per position the observed value, mostly 1 for a click and 0 for none; filled by the reading.
    """

    clicks: Ints
    left: Ints
    seen: Floats
    weight: Floats
    value: Floats


def empty_slate(positions: int, features: int = 0, memo: int = 0) -> Slate:
    """A slate to be filled."""
    return Slate(
        items=np.full(positions, -1, dtype=np.int64),
        size=np.zeros(1, dtype=np.int64),
        rows=np.zeros((positions, features)),
        memo=np.zeros((positions, memo)),
    )


def empty_page(positions: int) -> Page:
    """A page without clicks, of which nothing else is known."""
    return Page(
        clicks=np.zeros(positions, dtype=np.int64),
        left=np.zeros(1, dtype=np.int64),
        seen=np.full(positions, -1.0),
        weight=np.zeros(positions),
        value=np.zeros(positions),
    )


def joint_page(positions: int) -> tuple[Page, Floats]:
    """A page without clicks, and all of its numbers in one array: to blank them at once takes less time.

    >>> page, numbers = joint_page(2)
    >>> blank = numbers.copy()
    >>> page.clicks[1], page.left[0], page.value[1] = 1, 2, 1.0
    >>> numbers[:] = blank
    >>> page.clicks.tolist(), page.left.tolist(), page.seen.tolist(), page.value.tolist()
    ([0, 0], [0], [-1.0, -1.0], [0.0, 0.0])
    """
    numbers = np.zeros(4 * positions + 1)
    clicks, seen, weight, value, left = np.split(numbers, np.arange(1, 5) * positions)
    seen.fill(-1.0)
    return Page(clicks.view(np.int64), left.view(np.int64), seen, weight, value), numbers
