"""Best lists: where each item has a worth and each position a rank of its own, and by exchanging one for another."""

from __future__ import annotations

from typing import Any

import numpy as np

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats, Ints

EVEN = np.zeros(0)  # every item's factor is 1
RISE = 1e-12  # the least by which an exchange must raise the reward: rounding alone must not keep the search going


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


@routine
def exchange(users: Any, moment: Any, attraction: Floats, items: Ints, shown: Floats) -> float:
    """Improve a list until no exchange does: of two places, or of an item against one outside; the reward then.

    Each time the exchange that raises these users' reward most, and of equals the first; so the list depends on the
    items' indices only where rewards are equal. `shown` is as long as the list, and is written to.
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
    """Let two places of a list change their items."""
    items[place], items[other] = items[other], items[place]
    shown[place], shown[other] = shown[other], shown[place]


@helper
def is_among(item: int, items: Ints) -> bool:
    """Whether an item stands in a list."""
    for place in range(len(items)):
        if items[place] == item:
            return True
    return False
