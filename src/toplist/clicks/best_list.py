"""Best lists: by sorting where each item has a worth and each position a rank, and by local search."""

from __future__ import annotations

from typing import Any

import numpy as np

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats, Ints

EVEN = np.zeros(0)  # a factor of 1 for every item
RISE = 1e-12  # smallest improvement that counts: rounding alone must not keep the search going


@helper
def best_by_worth(attraction: Floats, factor: Floats, order: Ints, items: Ints) -> None:
    """Fill `items`: the item with the r-th largest attraction times factor goes to the r-th position of `order`.

    Ties go to the lower index: the best list is the reference of regret, so it must be stable. Items with negative
    attraction are not available. A list shorter than `order` fills the positions from the top.
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
    """The position at this rank in an order of positions of which only the first `size` are filled."""
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


@routine
def improve_by_exchange(users: Any, moment: Any, attraction: Floats, items: Ints, shown: Floats) -> float:
    """Improve a list until no exchange does, of two positions or of an item with one outside; return its reward.

    Each step takes the exchange with the largest reward, the first of equals; so the list depends on the items' indices
    only where rewards are equal. `shown` is scratch of the list's length.
    """
    size = len(items)
    for place in range(size):
        shown[place] = attraction[items[place]]
    reward = users.reward(moment, items, shown)
    while True:
        most, at, below, instead = reward + RISE, -1, -1, -1
        for place in range(size):
            kept = items[place]
            for other in range(place + 1, size):
                swap(items, shown, place, other)
                earned = users.reward(moment, items, shown)
                swap(items, shown, place, other)
                if earned > most:
                    most, at, below, instead = earned, place, other, -1
            for item in range(len(attraction)):
                if attraction[item] < 0.0 or item == kept or is_among(item, items):
                    continue
                items[place], shown[place] = item, attraction[item]
                earned = users.reward(moment, items, shown)
                if earned > most:
                    most, at, below, instead = earned, place, -1, item
            items[place], shown[place] = kept, attraction[kept]
        if at < 0:
            return reward  # type: ignore[no-any-return]
        if below >= 0:
            swap(items, shown, at, below)
        else:
            items[at], shown[at] = instead, attraction[instead]
        reward = most


@helper
def swap(items: Ints, shown: Floats, place: int, other: int) -> None:
    """Exchange the items at two positions of a list."""
    items[place], items[other] = items[other], items[place]
    shown[place], shown[other] = shown[other], shown[place]


@helper
def is_among(item: int, items: Ints) -> bool:
    """Whether an item is in a list."""
    for place in range(len(items)):
        if items[place] == item:
            return True
    return False
