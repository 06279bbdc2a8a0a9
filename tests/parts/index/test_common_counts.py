"""Kinds of common counts: which are chosen and which make room; and the list of the members of rare kinds."""

import numpy as np
import pytest

from toplist.core.beliefs import BLOCK, MANY, block_count
from toplist.core.problem import Problem
from toplist.core.slate import Bools
from toplist.parts.index.common_counts import (
    KINDS,
    NO_KIND,
    CommonCounts,
    agree_on_blocks,
    choose_kind,
    count_kinds,
    count_of_kinds,
    empty_common_counts,
    place_for_kind,
)
from toplist.parts.index.kind_members import WASTE, Members, empty_members, enlist
from toplist.parts.memory import Everything
from toplist.parts.memory.counts import Counts, touch

PROBLEM = Problem(MANY, 4)
BLOCKS = block_count(PROBLEM)
EVERY = np.zeros(0, dtype=bool)


def three_kinds() -> tuple[Counts, CommonCounts]:
    """Half of the items have counts (1, 0.5), an eighth (2, 1.5), and all others their own."""
    belief, common = Everything().begin(PROBLEM), empty_common_counts(BLOCKS)
    belief.examined[:], belief.clicked[:] = np.arange(MANY) + 10.0, 5.0
    belief.examined[: MANY // 2], belief.clicked[: MANY // 2] = 1.0, 0.5
    belief.examined[MANY // 2 : MANY // 8 * 5], belief.clicked[MANY // 2 : MANY // 8 * 5] = 2.0, 1.5
    common.counts[:] = NO_KIND
    common.counts[0], common.counts[1] = (1.0, 0.5), (2.0, 1.5)
    return belief, common


def count_all(belief: Counts, common: CommonCounts, present: Bools = EVERY) -> None:
    """Count the items of all blocks."""
    agree_on_blocks(common, 0, BLOCKS)
    for block in range(BLOCKS):
        count_kinds(belief, common, present, block, MANY)


def listed(members: Members) -> list[int]:
    """The members in order."""
    return sorted(members.items[: members.length[0]].tolist())


def test_items_are_counted_by_kind_and_block() -> None:
    belief, common = three_kinds()
    count_all(belief, common)
    assert common.total[:2].tolist() == [MANY // 2, MANY // 8]
    assert common.kinds.tolist() == [0b01] * (BLOCKS // 2) + [0b10] * (BLOCKS // 8) + [0] * (BLOCKS // 8 * 3)
    belief.examined[0] = 2.0
    belief.clicked[0] = 1.5
    count_kinds(belief, common, EVERY, 0, MANY)
    assert common.total[:2].tolist() == [MANY // 2 - 1, MANY // 8 + 1]
    assert (common.kinds[0], common.alike[0]) == (0b11, BLOCK)
    agree_on_blocks(common, 1, BLOCKS // 2 + 1)
    assert [count_of_kinds(common, kinds) for kinds in (0b01, 0b10, 0b11)] == [MANY // 2 - BLOCK, BLOCK, MANY // 2]


def test_items_that_are_not_present_are_not_counted() -> None:
    belief, common = three_kinds()
    present = np.arange(MANY) % 4 > 0
    count_all(belief, common, present)
    assert common.total[:2].tolist() == [MANY // 8 * 3, MANY // 32 * 3]


@pytest.mark.parametrize("found", [0, 100, 400])
def test_frequent_counts_become_common_and_rare_ones_do_not(found: int) -> None:
    """The items looked at are at both ends of the array."""
    belief, common = three_kinds()
    common.counts[1] = NO_KIND
    items, looked = np.full(MANY, -1), np.arange(MANY // 8 * 5 - 200, MANY // 8 * 5 + 200)  # half of them (2, 1.5)
    items[:found], items[MANY - 400 + found :] = looked[:found], looked[found:]
    chosen = [
        choose_kind(common._replace(counts=common.counts.copy()), belief, items, found, 400 - found, key, 0.0)
        for key in range(60)
    ]
    assert 50 < sum(chosen) < 60  # four probes: one of them finds it with probability 15/16
    own = np.arange(MANY - 400, MANY)
    assert not any(choose_kind(common, belief, own, 400, 0, key, 0.0) for key in range(60))
    assert choose_kind(common, belief, np.arange(MANY // 2, MANY // 2 + 9), 9, 0, 1, 0.0)
    assert common.counts[:3].tolist() == [[1.0, 0.5], [2.0, 1.5], [NO_KIND, NO_KIND]]
    assert not choose_kind(common, belief, np.arange(MANY // 2, MANY // 2 + 9), 9, 0, 1, 0.0)  # it is common already


def test_the_kind_with_the_lowest_index_makes_room_unless_it_is_needed() -> None:
    common = empty_common_counts(BLOCKS)
    common.counts[:], common.indices[:] = 1.0, [0.9, 0.3, 0.2, 0.4, 0.8, 0.8, 0.8, 0.8]
    assert len(common.indices) == KINDS
    assert place_for_kind(common, 0.5) == 2
    assert place_for_kind(common, 0.2) == -1
    common.counts[6:] = NO_KIND
    assert place_for_kind(common, 0.5) == 6


def test_members_join_when_their_block_changes() -> None:
    belief, common = three_kinds()
    count_all(belief, common)
    members = empty_members(MANY, BLOCKS)
    enlist(belief, common, members, EVERY, 0, BLOCKS, 0b10)
    assert listed(members) == list(range(MANY // 2, MANY // 8 * 5))
    belief.examined[7], belief.clicked[7] = 2.0, 1.5
    enlist(belief, common, members, EVERY, 0, BLOCKS, 0b10)
    assert 7 not in listed(members)  # nobody has said so
    touch(belief, 7)
    count_kinds(belief, common, EVERY, 0, MANY)
    enlist(belief, common, members, EVERY, 0, BLOCKS, 0b10)
    assert listed(members) == [7, *range(MANY // 2, MANY // 8 * 5)]
    enlist(belief, common, members, EVERY, 0, BLOCKS, 0b01)
    assert listed(members) == list(range(MANY // 8 * 5))


def test_a_list_that_was_mostly_not_asked_for_is_made_anew() -> None:
    belief, common = three_kinds()
    count_all(belief, common)
    members = empty_members(MANY, BLOCKS)
    enlist(belief, common, members, EVERY, 0, BLOCKS, 0b11)
    uses = 0
    while members.length[0] > MANY // 8:
        enlist(belief, common, members, EVERY, 0, BLOCKS, 0b10)
        uses += 1
    assert uses == WASTE * BLOCKS // (MANY // 2) + 1
    assert listed(members) == list(range(MANY // 2, MANY // 8 * 5))
    assert members.is_listed.sum() == MANY // 8
