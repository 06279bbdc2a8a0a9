"""The items of kinds that have few, in one list: to hash each of them is quicker than to look for them in all blocks.

Items that join a kind are added when the list is used, by the blocks that have changed. Those that have left it stay,
so whoever uses an item checks it. Once these have cost as much time as a new list takes, the list is made anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import routine
from toplist.core.slate import Bools, Ints
from toplist.parts.index.common_counts import CommonCounts, count_of_kinds, is_of_kind
from toplist.parts.index.gaps import is_present
from toplist.parts.memory.counts import Counts

WASTE = 64  # items that are hashed in the time that it takes to find those of a block


class Members(NamedTuple):
    """All present items of some kinds of common counts, and items that were such."""

    items: Ints  # the list, in any order ...
    length: Ints  # ... one element: its length
    is_listed: Bools  # per item
    kinds: Ints  # one element: the kinds whose items are listed
    scanned: Ints  # per block, its touch count when its items were listed; -1 if outdated
    waste: Ints  # one element: how many items that nobody asked for were listed, over all uses of the list


def empty_members(items: int, blocks: int) -> Members:
    """No kind is listed yet."""
    return Members(
        items=np.zeros(items, dtype=np.int64),
        length=np.zeros(1, dtype=np.int64),
        is_listed=np.zeros(items, dtype=np.bool_),
        kinds=np.zeros(1, dtype=np.int64),
        scanned=np.full(blocks, -1),
        waste=np.zeros(1, dtype=np.int64),
    )


@routine
def enlist(
    belief: Counts, common: CommonCounts, members: Members, present: Bools, first: int, end: int, kinds: int
) -> None:
    """List all items of some kinds in a range of blocks, of which those that have changed are looked at."""
    members.waste[0] += max(0, members.length[0] - count_of_kinds(common, kinds))
    if members.waste[0] > WASTE * (end - first):
        strike_all(members)
    if kinds & ~members.kinds[0] != 0:
        members.kinds[0] |= kinds
        members.scanned[:] = -1
    kinds = members.kinds[0]
    for block in range(first, end):
        if members.scanned[block] == belief.touched[block]:
            continue
        members.scanned[block] = belief.touched[block]
        if common.kinds[block] & kinds == 0:
            continue
        for item in range(block * BLOCK, min((block + 1) * BLOCK, len(members.items))):
            if (
                is_of_kind(common, kinds, belief.examined[item], belief.clicked[item])
                and not members.is_listed[item]
                and is_present(present, item)
            ):
                members.items[members.length[0]] = item
                members.is_listed[item] = True
                members.length[0] += 1


@routine
def strike_all(members: Members) -> None:
    """Remove all items."""
    for number in range(members.length[0]):
        members.is_listed[members.items[number]] = False
    members.length[0], members.kinds[0], members.waste[0] = 0, 0, 0
    members.scanned[:] = -1
