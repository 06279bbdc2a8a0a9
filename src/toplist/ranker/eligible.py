"""Who may be in a list: the eligible items, a few of the new ones, and pins that fit its length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import refuse
from toplist.core.randomness import NEWCOMERS, branch
from toplist.core.slate import Ints
from toplist.ranker.item_slots import Roster


def eligible(roster: Roster, among: Sequence[str] | None, exclude: Sequence[str], pinned: dict[int, int]) -> Ints:
    """The eligible slots, ascending, pinned ones among them."""
    everybody = roster.visible()
    if among is None and not exclude:
        return everybody
    excluded = roster.slots(exclude, "exclude")
    if contradiction := set(excluded) & set(pinned.values()):
        raise refuse("exclude", roster.names[contradiction.pop()], "without the pinned items", "choose one")
    slots = everybody
    if among is not None:
        visible = [slot for slot in roster.slots(among, "among") if not roster.is_hidden(slot)]
        slots = np.array(visible, dtype=np.int64)
    return np.union1d(np.setdiff1d(slots, excluded), list(pinned.values())).astype(np.int64)


def with_few_new(roster: Roster, limit: int, candidates: Ints, wanted: int, key: int, pinned: dict[int, int]) -> Ints:
    """The candidates with no more never-examined ones than one list may carry, chosen fairly."""
    known = roster.examined[candidates]
    fixed = np.isin(candidates, list(pinned.values()))
    new = np.flatnonzero(~known & ~fixed)
    allowed = max(limit, wanted - int(known.sum())) - int((fixed & ~known).sum())
    if len(new) <= allowed:
        return candidates
    lots = np.zeros(len(new), dtype=np.int64)
    draw_lots(branch(key, NEWCOMERS), roster.labels[candidates[new]], lots)
    return np.delete(candidates, new[np.argsort(lots)[max(0, allowed) :]])


@helper
def draw_lots(key: int, labels: Ints, lots: Ints) -> None:
    """Fill a random number for each label."""
    for i in range(len(labels)):
        lots[i] = branch(key, labels[i])


def from_the_end(pinned: dict[int, int], size: int) -> dict[int, int]:
    """Slots by place, where those whose place lies beyond the end of the list stand at its end, in their order."""
    places: dict[int, int] = {}
    last = size - 1
    for place in sorted(pinned, reverse=True):
        places[min(place, last)] = pinned[place]
        last = min(place, last) - 1
    return places
