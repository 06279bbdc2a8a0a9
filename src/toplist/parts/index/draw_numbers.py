"""A uniform number per item by which ties are broken, such that the least one of a block is known by itself.

With few items, it is a hash of the item's label under the list's key. Very many items form blocks, by where they are
stored. The least of n independent uniform numbers is 1 - (1 - v)^(1/n) for a uniform v, it belongs to each of them with
equal probability, and given it the others are uniform above it. So a block's hash gives v and the item of the least
number, and the others follow from their labels' hashes. All numbers are independent and uniform, as before.
"""

from __future__ import annotations

import math

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper
from toplist.core.randomness import branch

BITS = 53
TOP_BITS = (1 << BITS) - 1
TO_UNIT = 1.0 / (1 << BITS)
BELOW_1 = 1.0 - TO_UNIT
LEADERS = -(1 << 43)  # the branch of a list's drawing key for blocks; no label is likely to be the same
ROUNDING = 1e-12  # relative margin of limits, far above the rounding of numbers


@helper
def top_bits(drawn: int) -> int:
    """The first 53 bits of a hash."""
    return (drawn >> 11) & TOP_BITS


@helper
def as_number(bits: int) -> float:
    """A uniform number in (0, 1] of 53 bits."""
    return float(bits + 1) * TO_UNIT


@helper
def leader_of(drawn: int) -> int:
    """Where in its block the item with the least number is, from the block's hash: other bits than the number's."""
    return drawn & (BLOCK - 1)


@helper
def least_number(drawn: int) -> float:
    """The least number of a block, from its hash."""
    return max(-math.expm1(math.log1p(-min(as_number(top_bits(drawn)), BELOW_1)) / BLOCK), TO_UNIT / BLOCK)


@helper
def number_above(least: float, bits: int) -> float:
    """The number of another item of the block, from its own bits."""
    return least + (1.0 - least) * as_number(bits)


@helper
def limit_of_items(number: float) -> int:
    """A limit that the bits of any item but the leader are below if its number is below `number`."""
    return int(min(number, 1.0) * (1.0 + ROUNDING) / TO_UNIT) + 1


@helper
def limit_of_blocks(number: float) -> int:
    """A limit that the bits of a block's hash are below if its least number is below `number`."""
    return limit_of_items(-math.expm1(BLOCK * math.log1p(-min(number, BELOW_1))))


@helper
def number_of(key: int, in_blocks: bool, item: int, label: int) -> float:
    """The number of an item for a list, given the list's drawing key."""
    bits = top_bits(branch(key, label))
    if not in_blocks:
        return as_number(bits)
    drawn = branch(branch(key, LEADERS), item // BLOCK)
    least = least_number(drawn)
    return least if leader_of(drawn) == item % BLOCK else number_above(least, bits)
