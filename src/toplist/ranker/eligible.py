"""Selects the candidates of a list: the eligible items, a limited number of new ones, and pins that fit its length."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from toplist.core.beliefs import BLOCK, MANY
from toplist.core.compiling import BULK, by_mode, compiled, helper, in_bulk
from toplist.core.item_id import ItemId
from toplist.core.problem import refuse
from toplist.core.randomness import NEWCOMERS, branch, leading_bits, spread
from toplist.core.slate import EVERY, NONE, Bools, Ints
from toplist.ranker.candidates import Candidates
from toplist.ranker.item_slots import ItemSlots

FEW = 1024  # exceptions of a request at most, or a share of 1 / MOST_EXCEPTED of the slots; more are taken out
MOST_EXCEPTED = 64
MOST_GAPS = 16  # if fewer than 1 / MOST_GAPS of the slots are eligible, they are listed
LARGEST = (1 << 63) - 1  # the largest lot


def eligible_slots(
    items: ItemSlots, among: Sequence[ItemId] | None, exclude: Sequence[ItemId], pinned: dict[int, int], longest: int,
    takes_gaps: bool,
) -> Candidates:  # fmt: skip
    """The eligible slots with the pinned ones; with gaps, if the policy takes them and most slots are eligible.

    `longest` is the length of the policy's slate.
    """
    is_many = items.capacity >= MANY  # with fewer, policies remember nothing about present items
    present = items.present if takes_gaps and is_many else EVERY
    if among is None and not exclude:
        if len(present) > 0 and items.visible_count < items.used and _are_most(items.visible_count, items, longest):
            return items.candidates(items.used_slots(), present, NONE, items.visible_count)
        return items.candidates(items.visible_slots(), present, NONE, items.visible_count)
    excluded = items.ascending_slots(exclude, "exclude") if exclude else NONE
    if pinned and (contradiction := set(excluded.tolist()) & set(pinned.values())):
        name = items.names[contradiction.pop()]
        raise refuse("exclude", name, "without the pinned items", "leave it out of exclude, or of pins")
    if among is not None:
        slots = _named_slots(items, items.ascending_slots(among, "among"), excluded, list(pinned.values()))
        return items.candidates(slots, present, NONE, len(slots))
    if items.has_hidden:
        excluded = excluded[items.present[excluded]]
    count = items.visible_count - len(excluded)
    if takes_gaps and len(excluded) <= max(FEW, items.used // MOST_EXCEPTED) and _are_most(count, items, longest):
        slots = items.used_slots() if is_many else items.visible_slots()
        return items.candidates(slots, present, excluded, count)
    kept = items.present[: items.used].copy()
    kept[excluded] = False
    return items.candidates(kept.nonzero()[0], present, NONE, count)


def _are_most(count: int, items: ItemSlots, longest: int) -> bool:
    """Whether enough slots are eligible to make a list without listing them."""
    return count >= longest and MOST_GAPS * count >= items.used


def _named_slots(items: ItemSlots, named: Ints, excluded: Ints, pinned: list[int]) -> Ints:
    """Some slots without hidden and excluded ones, and the pinned ones, ascending."""
    if MOST_GAPS * len(named) < items.used:  # a sort is quicker than a scan of all
        shown = named[items.present[named]]
        if len(excluded) == 0 and not pinned:
            return shown
        return np.array(sorted(set(shown.tolist()).difference(excluded.tolist()).union(pinned)), dtype=np.int64)
    chosen = np.zeros(items.used, dtype=bool)
    chosen[named] = True
    chosen &= items.present[: items.used]
    chosen[excluded] = False
    chosen[pinned] = True
    return np.flatnonzero(chosen)


def limit_new_items(
    items: ItemSlots, limit: int, candidates: Candidates, wanted: int, key: int, pinned: dict[int, int], longest: int
) -> Candidates:
    """The candidates with at most `limit` never-examined ones, drawn at random; more only to fill the list.

    If the policy remembers which items are present, examined items are, and new ones are exceptions: a new item's block
    is touched when it is examined.
    """
    remembers = len(candidates.present) > 0
    used, examined = items.used, items.examined[: items.used]
    chosen = _chosen_slots(items, candidates)
    seen = chosen & examined
    known = int(np.count_nonzero(seen))
    new = chosen & ~examined
    fixed = [slot for slot in pinned.values() if not examined[slot]]
    new[fixed] = False
    count, allowed = candidates.total - known - len(fixed), max(limit, wanted - known) - len(fixed)
    if count <= allowed and not remembers:
        return candidates
    drawn = np.flatnonzero(new) if count <= allowed else draw_new(items, new, count, max(0, allowed), key)
    added = np.sort(np.append(drawn, np.array(fixed, dtype=np.int64)))
    total = known + len(added)
    if not remembers:
        seen[added] = True
        return Candidates(np.flatnonzero(seen), EVERY, NONE, total)
    present = np.zeros(items.capacity, dtype=bool)
    np.logical_and(items.present[:used], examined, out=present[:used])
    if _are_most(total, items, longest):
        left_out = np.flatnonzero(present[:used] & ~seen)
        if len(left_out) <= max(FEW, used // MOST_EXCEPTED):
            exceptions = np.sort(np.concatenate([added, left_out]))
            return Candidates(items.used_slots(), present, exceptions, total)
    seen[added] = True
    return Candidates(np.flatnonzero(seen), present, added, total)


def _chosen_slots(items: ItemSlots, candidates: Candidates) -> Bools:
    """Per used slot whether it is eligible."""
    if len(candidates.slots) == items.used:  # all of them, perhaps with gaps
        chosen = items.present[: items.used].copy()
    else:
        chosen = np.zeros(items.used, dtype=bool)
        chosen[candidates.slots] = True
    chosen[candidates.exceptions] = False
    return chosen


def draw_new(items: ItemSlots, new: Bools, count: int, wanted: int, key: int) -> Ints:
    """The `wanted` of `count` new slots with the smallest lots."""
    if wanted == 0:
        return NONE
    lots_key, labels = branch(key, NEWCOMERS), items.labels[: len(new)]
    share = (wanted + 4.0 * math.sqrt(wanted) + 8.0) / count
    if len(new) < BULK or share >= 1.0:
        return smallest_lots(lots_key, labels, np.flatnonzero(new), wanted)
    while True:
        bound = LARGEST if share >= 1.0 else int((2.0 * share - 1.0) * 2.0**63)
        slots = np.zeros(min(count, int(4.0 * share * count) + 64), dtype=np.int64)
        found = by_mode(find_small_lots_compiled)(lots_key, labels, new, bound, slots)
        if wanted <= found <= len(slots):
            return smallest_lots(lots_key, labels, slots[:found], wanted)
        share *= 8.0  # rare: fewer than wanted lots are that small, or very many


def smallest_lots(key: int, labels: Ints, slots: Ints, wanted: int) -> Ints:
    """The `wanted` slots with the smallest lots."""
    lots = np.zeros(len(slots), dtype=np.int64)
    draw_lots_in_bulk(key, labels[slots], lots)
    return slots[np.argsort(lots)[:wanted]]


@helper
def draw_lots(key: int, labels: Ints, lots: Ints) -> None:
    """Fill in a random number for each label."""
    for i in range(len(labels)):
        lots[i] = branch(key, labels[i])


draw_lots_in_bulk = in_bulk(draw_lots)


@helper
def find_small_lots(key: int, labels: Ints, is_new: Bools, bound: int, slots: Ints) -> int:
    """Fill the first slots whose item is new and whose lot is at most `bound`; returns the number of all of them."""
    found, leading = 0, bound | ((1 << 33) - 1)  # a lot's leading bits are not above those of the bound
    for begin in range(0, len(labels), BLOCK):
        here, new = labels[begin : begin + BLOCK], is_new[begin : begin + BLOCK]
        smallest = LARGEST
        for i in range(len(here)):  # vectorised, and mostly finds nothing
            smallest = min(smallest, leading_bits(key, spread(here[i])) if new[i] else LARGEST)
        if smallest > leading:
            continue
        for i in range(len(here)):
            if new[i] and branch(key, here[i]) <= bound:
                if found < len(slots):
                    slots[found] = begin + i
                found += 1
    return found


find_small_lots_compiled = compiled(find_small_lots)


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
