"""Fair ties: of several items of equal value, the one with the highest standing under the list's key goes first.

A standing is the hash of the item's label, wherever the item is stored. Very many items are often equal, as unseen
items are, and to hash each of them for every list would take too long. Then a standing is minus a number as in
`draw_numbers`: one hash per block of items tells the highest standing in it, so that most blocks need no other. The
block of an item depends on where it is stored, and so do the lists; but all standings are independent and have one
distribution, so that every order of equal items has the same probability.
"""

from __future__ import annotations

import math

from toplist.core.beliefs import BLOCK, MANY
from toplist.core.compiling import helper, routine
from toplist.core.randomness import branch
from toplist.core.slate import Ints
from toplist.parts.index.draw_numbers import LEADERS, as_number, leader_of, number_of, top_bits

WHOLE = 2.0**62  # times a standing of very many items, which is between -1 and 0
ROUNDED = 1.0 - 2.0**-50  # a number of an item is at least its own bits' number times this


@helper
def standing(slot: int, labels: Ints, key: int) -> float:
    """The standing of an item, rounded: the higher goes first; `labels` has all items, not only the candidates."""
    if len(labels) < MANY:
        return float(branch(key, labels[slot]))
    return standing_in_blocks(slot, labels, key)


@routine
def standing_in_blocks(slot: int, labels: Ints, key: int) -> float:
    """The standing of one of very many items."""
    return -number_of(key, True, slot, labels[slot])


@helper
def is_behind(slot: int, other: float, labels: Ints, key: int) -> bool:
    """Whether an item is sure to have a lower standing than `other`: quick, and almost always right."""
    own = branch(key, labels[slot])
    if len(labels) < MANY:
        return bool(float(own) < other)
    below = as_number(top_bits(own)) * ROUNDED > -other
    return bool(below and leader_of(branch(branch(key, LEADERS), slot // BLOCK)) != slot % BLOCK)


@helper
def whole_standing(slot: int, labels: Ints, key: int) -> int:
    """The standing of an item as a whole number for `is_outranked`, rounded down."""
    if len(labels) < MANY:
        return branch(key, labels[slot])
    return math.floor(standing_in_blocks(slot, labels, key) * WHOLE)


@helper
def is_outranked(slot: int, rival: int, whole: int, labels: Ints, key: int) -> bool:
    """Whether `slot` goes after `rival`, of which `whole` is the whole standing, if their values are equal."""
    if len(labels) < MANY:
        return bool(branch(key, labels[slot]) < whole)
    return is_outranked_in_blocks(slot, rival, whole / WHOLE, labels, key)


@routine
def is_outranked_in_blocks(slot: int, rival: int, other: float, labels: Ints, key: int) -> bool:
    """The same for two of very many items; most are behind by their own bits."""
    return bool(is_behind(slot, other, labels, key) or wins_tie_in_blocks(rival, slot, labels, key))


@helper
def wins_tie(slot: int, rival: int, labels: Ints, key: int) -> bool:
    """Whether `slot` goes before `rival` if their values are equal."""
    own, other = branch(key, labels[slot]), branch(key, labels[rival])
    return bool(own > other) if len(labels) < MANY else wins_tie_in_blocks(slot, rival, labels, key)


@routine
def wins_tie_in_blocks(slot: int, rival: int, labels: Ints, key: int) -> bool:
    """The same for two of very many items."""
    own, other = standing_in_blocks(slot, labels, key), standing_in_blocks(rival, labels, key)
    return bool(own > other or (own == other and branch(key, labels[slot]) > branch(key, labels[rival])))
