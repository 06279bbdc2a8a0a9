"""The best list for people to whom each item has a worth of its own, and each position a rank of its own."""

from __future__ import annotations

import numpy as np

from toplist.compiled import helper
from toplist.slate import Floats, Ints

EVEN = np.zeros(0)  # every item's factor is 1


@helper
def best_by_worth(attraction: Floats, factor: Floats, order: Ints, items: Ints) -> None:
    """Fill `items`: the item of the r-th largest attraction times factor stands at place `order[r]`.

    Of equals, the item of the lower index goes first: the best list is a yardstick, so it must not move.
    """
    wanted = len(items)
    filled = 0
    for item in range(len(attraction)):
        value = attraction[item] * (factor[item] if len(factor) > 0 else 1.0)
        rank = filled
        while rank > 0:
            above = items[order[rank - 1] if len(order) > 0 else rank - 1]
            if attraction[above] * (factor[above] if len(factor) > 0 else 1.0) >= value:
                break
            if rank < wanted:
                items[order[rank] if len(order) > 0 else rank] = above
            rank -= 1
        if rank < wanted:
            items[order[rank] if len(order) > 0 else rank] = item
        filled = min(filled + 1, wanted)
