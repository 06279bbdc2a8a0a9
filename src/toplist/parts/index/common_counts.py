"""Counts that very many items share, of a few kinds: items of a kind are counted, and found by hashes of their blocks.

Where very many items are equal, as unseen items are, they need no bounds of their own: they have one index. Different
counts can also have the same index: those of KL-UCB round to the same value near 1. So there can be several kinds of
common counts at a time. Which counts are common affects the time that a list takes, but never the list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper, routine
from toplist.core.randomness import branch
from toplist.core.slate import Bools, Floats, Ints
from toplist.parts.index.draw_numbers import top_bits
from toplist.parts.memory.counts import Counts

KINDS = 8  # of common counts, at most
EVERY_KIND = (1 << KINDS) - 1
NO_KIND, NOT_CHOSEN = -1.0, -2.0  # in place of common counts
PROBES = 4  # items whose counts are considered
FREQUENT = 4  # counts become common if at least one of so many items has them


class CommonCounts(NamedTuple):
    """The kinds, and how many items of each there are. A set of kinds is a number with a bit for each."""

    counts: Floats  # (KINDS, 2): examined and clicked; NO_KIND from the first free place on
    indices: Floats  # scratch: per kind, its index; minus infinity if there are no items
    total: Ints  # per kind, its items in the blocks ...
    span: Ints  # ... of the last request: the first one, and the end
    of_kind: Ints  # (blocks, KINDS): the number of items
    kinds: Ints  # per block, the kinds that it has items of
    alike: Ints  # per block, the number of items of any kind
    counted: Ints  # per block, its touch count when these were counted; -1 if outdated


def empty_common_counts(blocks: int) -> CommonCounts:
    """Nothing is chosen yet."""
    kinds = KINDS if blocks > 0 else 0
    return CommonCounts(
        counts=np.full((kinds, 2), NOT_CHOSEN),
        indices=np.zeros(kinds),
        total=np.zeros(kinds, dtype=np.int64),
        span=np.zeros(2, dtype=np.int64),
        of_kind=np.zeros((blocks, KINDS), dtype=np.int64),
        kinds=np.zeros(blocks, dtype=np.int64),
        alike=np.zeros(blocks, dtype=np.int64),
        counted=np.full(blocks, -1),
    )


@routine
def is_of_kind(common: CommonCounts, kinds: int, examined: float, clicked: float) -> bool:
    """Whether counts are one of a set of kinds."""
    for kind in range(KINDS):
        if kinds >> kind & 1 and common.counts[kind, 0] == examined and common.counts[kind, 1] == clicked:
            return True
    return False


@helper
def are_all_of_kind(common: CommonCounts, kinds: int, block: int, size: int) -> bool:
    """Whether all items of a block of this size are of a set of kinds."""
    return bool(common.alike[block] == size and common.kinds[block] & ~kinds == 0)


@routine
def agree_on_blocks(common: CommonCounts, first: int, end: int) -> None:
    """Let the totals be those of the blocks of a request."""
    if common.span[0] == first and common.span[1] == end:
        return
    common.span[0], common.span[1] = first, end
    for kind in range(KINDS):
        common.total[kind] = 0
        for block in range(first, end):
            common.total[kind] += common.of_kind[block, kind]


@routine
def count_kinds(belief: Counts, common: CommonCounts, present: Bools, block: int, items: int) -> None:
    """Count the present items of each kind in one of the blocks of this many items."""
    here = slice(block * BLOCK, min((block + 1) * BLOCK, items))
    examined, clicked, alike, kinds = belief.examined[here], belief.clicked[here], 0, 0
    for kind in range(KINDS):
        tries, hits, same = common.counts[kind, 0], common.counts[kind, 1], 0
        if tries >= 0.0 and len(present) == 0:
            for i in range(len(examined)):  # vectorised
                same += 1 if (examined[i] == tries) & (clicked[i] == hits) else 0
        elif tries >= 0.0:
            there = present[here]
            for i in range(len(examined)):
                same += 1 if (examined[i] == tries) & (clicked[i] == hits) & there[i] else 0
        common.total[kind] += same - common.of_kind[block, kind]
        common.of_kind[block, kind] = same
        alike += same
        kinds |= 1 << kind if same > 0 else 0
    common.alike[block], common.kinds[block], common.counted[block] = alike, kinds, belief.touched[block]


@routine
def count_of_kinds(common: CommonCounts, kinds: int) -> int:
    """How many items of the blocks of a request are of a set of kinds."""
    count = 0
    for kind in range(KINDS):
        count += common.total[kind] if kinds >> kind & 1 else 0
    return count


@routine
def enough_reach(common: CommonCounts, index: float, enough: int) -> bool:
    """Whether enough common items have at least this index."""
    return count_of_kinds(common, kinds_between(common, index, np.inf)) >= enough


@routine
def kinds_between(common: CommonCounts, lowest: float, highest: float) -> int:
    """The kinds that have items, and an index in a range."""
    kinds = 0
    for kind in range(KINDS):
        kinds |= 1 << kind if common.total[kind] > 0 and lowest <= common.indices[kind] <= highest else 0
    return kinds


@routine
def choose_kind(
    common: CommonCounts, belief: Counts, items: Ints, found: int, dropped: int, key: int, least: float
) -> bool:
    """Make counts common that many of the items share which a list has looked at; whether there are any.

    These items are the first `found` and the last `dropped` ones. Kinds that reach `least` are needed, and stay.
    """
    looked, best, most = found + dropped, -1, 0
    for probe in range(PROBES):
        item = item_looked_at(items, found, top_bits(branch(key, probe)) % looked)
        examined, clicked, same = belief.examined[item], belief.clicked[item], 0
        if is_of_kind(common, EVERY_KIND, examined, clicked):
            continue
        for i in range(looked):
            other = item_looked_at(items, found, i)
            same += 1 if (belief.examined[other] == examined) & (belief.clicked[other] == clicked) else 0
        if same > most:
            best, most = item, same
    place = place_for_kind(common, least)
    if place < 0 or FREQUENT * most < looked:
        return False
    common.counts[place, 0], common.counts[place, 1] = belief.examined[best], belief.clicked[best]
    common.counted[:] = -1
    return True


@helper
def item_looked_at(items: Ints, found: int, number: int) -> int:
    """One of the first `found` items, or, for larger numbers, of the last ones."""
    return int(items[number] if number < found else items[len(items) - 1 - (number - found)])


@routine
def place_for_kind(common: CommonCounts, least: float) -> int:
    """A free place, or that of the kind with the lowest index, if it is below `least`; -1 for none."""
    place = -1
    for kind in range(KINDS):
        if common.counts[kind, 0] < 0.0:
            return kind
        if common.indices[kind] < (least if place < 0 else common.indices[place]):
            place = kind
    return place
