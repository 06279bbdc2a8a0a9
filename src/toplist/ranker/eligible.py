"""Selects the candidates of a list: the eligible items, a limited number of new ones, and pins that fit its length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toplist.core.compiling import helper, in_bulk
from toplist.core.item_id import ItemId
from toplist.core.problem import refuse
from toplist.core.randomness import NEWCOMERS, branch
from toplist.core.slate import Ints
from toplist.ranker.item_slots import ItemSlots


def eligible_slots(
    items: ItemSlots, among: Sequence[ItemId] | None, exclude: Sequence[ItemId], pinned: dict[int, int]
) -> Ints:
    """The eligible slots, ascending, with the pinned ones."""
    visible = items.visible_slots()
    if among is None and not exclude:
        return visible
    excluded = items.slots(exclude, "exclude")
    if contradiction := set(excluded) & set(pinned.values()):
        name = items.names[contradiction.pop()]
        raise refuse("exclude", name, "without the pinned items", "leave it out of exclude, or of pins")
    slots = visible
    if among is not None:
        named = [slot for slot in items.slots(among, "among") if not items.is_hidden(slot)]
        slots = np.array(named, dtype=np.int64)
    return np.union1d(np.setdiff1d(slots, excluded), list(pinned.values())).astype(np.int64)


def limit_new_items(
    items: ItemSlots, limit: int, candidates: Ints, wanted: int, key: int, pinned: dict[int, int]
) -> Ints:
    """The candidates with at most `limit` never-examined ones, drawn at random; more only to fill the list."""
    examined = items.examined[candidates]
    fixed = np.isin(candidates, list(pinned.values()))
    new = np.flatnonzero(~examined & ~fixed)
    allowed = max(limit, wanted - int(examined.sum())) - int((fixed & ~examined).sum())
    if len(new) <= allowed:
        return candidates
    lots = np.zeros(len(new), dtype=np.int64)
    draw_lots_in_bulk(branch(key, NEWCOMERS), items.labels[candidates[new]], lots)
    return np.delete(candidates, new[np.argsort(lots)[max(0, allowed) :]])


@helper
def draw_lots(key: int, labels: Ints, lots: Ints) -> None:
    """Fill in a random number for each label."""
    for i in range(len(labels)):
        lots[i] = branch(key, labels[i])


draw_lots_in_bulk = in_bulk(draw_lots)


def pinned_slots(items: ItemSlots, by_place: dict[int, ItemId]) -> dict[int, int]:
    """The slots of pinned items, by place."""
    pinned = dict(zip(by_place, items.slots(list(by_place.values()), "pins"), strict=True))
    for slot in pinned.values():
        if items.is_hidden(slot):
            raise refuse("pins", items.names[slot], "items that are not hidden", "unhide it, or leave it out")
    return pinned


def pins_within(pinned: dict[int, int], size: int) -> dict[int, int]:
    """Pinned slots by place; those beyond the end of the list move up to its end, in their order."""
    places: dict[int, int] = {}
    last = size - 1
    for place in sorted(pinned, reverse=True):
        places[min(place, last)] = pinned[place]
        last = min(place, last) - 1
    return places
