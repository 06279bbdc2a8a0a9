"""What is asked for, shown and seen: one list's request, the slate made for it, and the page that came back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


NONE = np.zeros(0, dtype=np.int64)  # no pins, or no order of places but the one from the top


class Request(NamedTuple):
    """What a policy may look at when it makes a list."""

    candidates: Ints  # eligible items, ascending
    positions: int  # how many places to fill, at most as many as the slate has
    pins: Ints  # per place: the item that must stand there, or -1; empty: none. Pinned items are candidates
    order: Ints  # places from the most to the least valuable, all of the slate's; empty: as the arrangement declares
    features: Floats  # (items, features); no columns where items have none
    edition: int  # another number for other features; negative: theirs alone, not to be remembered
    labels: Ints  # per item: the number it is known by to the random numbers, whatever its index
    key: int  # the random key of this list


class Slate(NamedTuple):
    """A list, with everything that is needed to learn from it at any later time."""

    items: Ints  # per place
    size: Ints  # one element: how many places are filled
    rows: Floats  # per place: the feature row the item was scored with
    memo: Floats  # per place: what the policy wants to find again when the clicks come


# The columns of a ranked bandit's memo.
PROPOSED, SCORE, CANDIDATES = 0, 1, 2


class Page(NamedTuple):
    """What came back for a slate, and what the policy reads in it."""

    clicks: Ints  # per place: 1 for a click, 0 for none
    left: Ints  # one element: the last place examined, counted from 1; 0 where nobody knows
    seen: Floats  # per place: probability that it was in view; the first is negative where nobody knows
    weight: Floats  # per place, filled by the reading: how much it was examined
    value: Floats  # per place, filled by the reading: what it said


def empty_slate(positions: int, features: int = 0, memo: int = 0) -> Slate:
    """A slate to be filled."""
    return Slate(
        items=np.full(positions, -1, dtype=np.int64),
        size=np.zeros(1, dtype=np.int64),
        rows=np.zeros((positions, features)),
        memo=np.zeros((positions, memo)),
    )


def empty_page(positions: int) -> Page:
    """A page without clicks of which nothing more is known."""
    return Page(
        clicks=np.zeros(positions, dtype=np.int64),
        left=np.zeros(1, dtype=np.int64),
        seen=np.full(positions, -1.0),
        weight=np.zeros(positions),
        value=np.zeros(positions),
    )
