"""The arguments of `Ranker.rank`, checked, and the list that is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from toplist.core.item_id import ItemId
from toplist.core.problem import refuse, whole
from toplist.core.slate import Floats, Request
from toplist.ranker.candidates import Candidates
from toplist.ranker.features import CallFeatures


class RankRequest(NamedTuple):
    """The arguments of `rank`, checked."""

    wanted: int  # positions
    eligible: list[ItemId] | None  # None: all items
    excluded: list[ItemId]
    by_place: dict[int, ItemId]  # pinned items, by place from 0
    features: CallFeatures  # of this list only


class Eligible(NamedTuple):
    """What a list is made of, for any random key."""

    wanted: int  # positions
    candidates: Candidates
    pinned: dict[int, int]  # slots by place, as asked
    places: dict[int, int]  # slots by place, within the list
    rows: Floats  # features
    edition: int


class NewList(NamedTuple):
    """A list just made, without its slate."""

    number: int
    life: str
    pinned: tuple[int, ...]  # positions, from 1
    among: Candidates | None  # if explanations can compare them later
    eligible: Eligible
    request: Request


def checked_positions(positions: int, longest: int) -> int:
    """The length of a list, at most the ranker's own."""
    wanted = whole("positions", positions, 1, "give the length of the list")
    if wanted > longest:
        raise refuse("positions", wanted, f"at most {longest}, the ranker's own", "make a ranker for more")
    return wanted


def checked_pins(pins: Mapping[int, ItemId], wanted: int) -> dict[int, ItemId]:
    """Pinned items by place, from 0."""
    if not isinstance(pins, Mapping):
        raise refuse("pins", pins, "a mapping from positions to items", "write {1: 'a'}")
    by_place: dict[int, ItemId] = {}
    for given, item in pins.items():
        position = whole("A pinned position", given, 1, "positions are counted from 1")
        if position > wanted:
            raise refuse("A pinned position", position, f"at most {wanted}, the length of the list", "leave it out")
        by_place[position - 1] = item
    return by_place
