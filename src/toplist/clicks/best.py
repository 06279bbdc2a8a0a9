"""The best list for people to whom each item has a worth of its own, and each position a rank of its own."""

from __future__ import annotations

import numpy as np

from toplist.compiled import helper
from toplist.slate import Floats, Ints

EVEN = np.zeros(0)  # every item's factor is 1


@helper
def best_by_worth(attraction: Floats, factor: Floats, order: Ints, items: Ints) -> None:
    """Fill `items`: the item of the r-th largest attraction times factor stands at the r-th place of `order`.

    Of equals, the item of the lower index goes first: the best list is a yardstick, so it must not move. Items whose
    attraction is negative are not there. A list shorter than `order` fills the places from the top.
    """
    wanted = len(items)
    filled = 0
    for item in range(len(attraction)):
        if attraction[item] < 0.0:
            continue
        value = attraction[item] * (factor[item] if len(factor) > 0 else 1.0)
        rank = filled
        while rank > 0:
            above = items[place_of(rank - 1, order, wanted)]
            if attraction[above] * (factor[above] if len(factor) > 0 else 1.0) >= value:
                break
            if rank < wanted:
                items[place_of(rank, order, wanted)] = above
            rank -= 1
        if rank < wanted:
            items[place_of(rank, order, wanted)] = item
        filled = min(filled + 1, wanted)


@helper
def place_of(rank: int, order: Ints, size: int) -> int:
    """The place that comes at this rank in an order of places, of which only the first `size` are filled."""
    if len(order) == 0:
        return rank
    if size == len(order):
        return order[rank]  # type: ignore[no-any-return]
    ahead = 0
    for place in order:
        if place < size:
            if ahead == rank:
                return place  # type: ignore[no-any-return]
            ahead += 1
    return -1
