"""Which items are on a shortlist: those that reach a bar, by lines, kinds of common counts, and hashes of blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import routine
from toplist.core.randomness import branch
from toplist.core.slate import Request
from toplist.parts.index.block_ceilings import GROUP, TOGETHER, BlockCeilings, index_of, line_reaches
from toplist.parts.index.common_counts import are_all_of_kind, is_of_kind
from toplist.parts.index.draw_numbers import (
    LEADERS,
    leader_of,
    least_number,
    limit_of_blocks,
    limit_of_items,
    number_above,
    top_bits,
)
from toplist.parts.index.gaps import is_eligible, is_present
from toplist.parts.index.kind_members import enlist
from toplist.parts.index.ties import is_behind
from toplist.parts.memory.counts import Counts

EVERY_NUMBER = 2.0  # numbers by which ties are broken are at most 1


class Bar(NamedTuple):
    """What an item must reach to be on the shortlist."""

    budget: float
    least: float  # a lower bound of the last index of the list
    level: float  # the index of the tied kinds ...
    most: float  # ... the largest number of their items; EVERY_NUMBER for all ...
    tied: int  # ... these kinds, none if 0 ...
    are_few: bool  # ... and whether they have so few items that `members` lists them
    better: int  # kinds with a higher index
    absent: int  # items of all blocks that are no candidates


@routine
def is_present_of_kind(belief: Counts, ceilings: BlockCeilings, request: Request, kinds: int, item: int) -> bool:
    """Whether an item is present and is one of a set of kinds."""
    is_alike = is_of_kind(ceilings.common, kinds, belief.examined[item], belief.clicked[item])
    return bool(is_alike and is_present(request.present, item))


@routine
def fill_shortlist(
    scoring: Any, belief: Counts, ceilings: BlockCeilings, request: Request, first: int, end: int, bar: Bar
) -> tuple[int, int, int, int]:
    """Fill the shortlist: the better kinds, the tied ones by standing, and others that are better or stand as high.

    Returns its length, the number of common items in it, and of tied ones; it is complete only if these are enough for
    a list. The last number is of the items that were looked at and dropped; these are at the end of `ceilings.items`.
    """
    leaders, limit = branch(request.key, LEADERS), limit_of_blocks(bar.most)
    tied, better, least = 0 if bar.are_few else bar.tied, bar.better, bar.least
    found, alike, ties, dropped = 0, 0, 0, 0
    for group in range(first // GROUP, (end - 1) // GROUP + 1):
        if ceilings.group_kinds[group] & (tied | better) == 0 and ceilings.group_height[group] < least:
            continue
        begin, stop = max(first, group * GROUP), min(end, (group + 1) * GROUP)
        height, kinds, some = ceilings.height[begin:stop], ceilings.common.kinds[begin:stop], 0
        for i in range(len(height)):  # vectorised, and mostly finds nothing
            lucky = (kinds[i] & tied != 0) & (top_bits(branch(leaders, begin + i)) < limit)
            some += 1 if lucky | (kinds[i] & better != 0) | (height[i] >= least) else 0
        if some == 0:
            continue
        for block in range(begin, stop):
            own, here = branch(leaders, block), ceilings.common.kinds[block]
            if here & better != 0:
                before = found
                found = add_common(belief, ceilings, request, block, own, better, EVERY_NUMBER, bar.absent, found)
                alike += found - before
            if here & tied != 0 and top_bits(own) < limit:
                before = found
                found = add_common(belief, ceilings, request, block, own, tied, bar.most, bar.absent, found)
                alike += found - before
                ties += found - before
            if ceilings.height[block] >= least:
                found, dropped = add_reaching(scoring, ceilings, request, block, bar, found, dropped)
    if bar.are_few:
        before = found
        found = add_members(belief, ceilings, request, first, end, bar, found)
        ties = found - before
        alike += ties
    return found, alike, ties, dropped


@routine
def add_common(
    belief: Counts, ceilings: BlockCeilings, request: Request, block: int, drawn: int, kinds: int, most: float,
    absent: int, found: int,
) -> int:  # fmt: skip
    """Add the items of a block that are of a set of kinds and whose number is not above a limit; the new length.

    `drawn` is the hash of the block.
    """
    begin, stop = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.items))
    leader, least, limit = leader_of(drawn), least_number(drawn), limit_of_items(most)
    labels, others = request.labels[begin:stop], 0
    if least < most:
        for i in range(len(labels)):  # vectorised, and mostly finds nothing
            others += 1 if top_bits(branch(request.key, labels[i])) < limit else 0
    all_alike = are_all_of_kind(ceilings.common, kinds, block, stop - begin)
    low, high = (0, len(labels)) if others > 0 else (leader, min(leader + 1, len(labels)))
    for i in range(low, high):
        if not all_alike and not is_present_of_kind(belief, ceilings, request, kinds, begin + i):
            continue
        number = least if i == leader else number_above(least, top_bits(branch(request.key, labels[i])))
        if number <= most and is_eligible(request, begin + i, absent):
            ceilings.items[found] = begin + i
            found += 1
    return found


@routine
def add_members(
    belief: Counts, ceilings: BlockCeilings, request: Request, first: int, end: int, bar: Bar, found: int
) -> int:
    """Add the tied items whose number is not above the limit, where they are few: leaders first; the new length."""
    common, members, leaders = ceilings.common, ceilings.members, branch(request.key, LEADERS)
    kinds, most, absent = bar.tied, bar.most, bar.absent
    enlist(belief, common, members, request.present, first, end, kinds)
    limit = limit_of_blocks(most)
    for block in range(first, end):
        own = branch(leaders, block)
        if common.kinds[block] & kinds != 0 and top_bits(own) < limit:
            item = block * BLOCK + leader_of(own)
            if item >= len(ceilings.items) or not members.is_listed[item] or least_number(own) > most:
                continue
            if is_present_of_kind(belief, ceilings, request, kinds, item) and is_eligible(request, item, absent):
                ceilings.items[found] = item
                found += 1
    limit, listed, start = limit_of_items(most), members.items[: members.length[0]], 0
    while start < len(listed):
        here, hits = listed[start : start + TOGETHER], 0
        for i in range(len(here)):
            hits += 1 if top_bits(branch(request.key, request.labels[here[i]])) < limit else 0
        for i in range(len(here) if hits > 0 else 0):
            item, block = here[i], here[i] // BLOCK
            bits, own = top_bits(branch(request.key, request.labels[item])), branch(leaders, block)
            if bits >= limit or leader_of(own) == item % BLOCK or not first <= block < end:
                continue
            if not is_present_of_kind(belief, ceilings, request, kinds, item):
                continue
            if number_above(least_number(own), bits) <= most and is_eligible(request, item, absent):
                ceilings.items[found] = item
                found += 1
        start += TOGETHER
    return found


@routine
def add_reaching(
    scoring: Any, ceilings: BlockCeilings, request: Request, block: int, bar: Bar, found: int, dropped: int
) -> tuple[int, int]:
    """Add the other items of a block whose line reaches the bar, unless tied items on the shortlist go before them.

    Returns the new length of the shortlist, and the number of items that were dropped.
    """
    begin, stop = block * BLOCK, min((block + 1) * BLOCK, len(ceilings.items))
    base, slope, items, reaching = ceilings.base[begin:stop], ceilings.slope[begin:stop], ceilings.items, 0
    budget, least = bar.budget, bar.least
    if ceilings.common.alike[block] == stop - begin:
        return found, dropped  # all are common, and there are no lines
    for i in range(len(base)):  # vectorised, and often finds nothing
        reaching += 1 if base[i] + slope[i] * budget >= least else 0
    if reaching == 0:
        return found, dropped
    for i in range(len(base)):
        item = begin + i
        if base[i] + slope[i] * budget < least:
            continue  # so are COMMON and NOT_PRESENT
        if not line_reaches(scoring, ceilings, item, budget, least) or not is_eligible(request, item, bar.absent):
            continue
        may_drop = 0.0 < bar.most <= 1.0 and is_behind(item, -bar.most, request.labels, request.key)
        examined, clicked = ceilings.examined[item], ceilings.clicked[item]
        if may_drop and index_of(scoring, ceilings, examined, clicked, budget) <= bar.level:
            dropped += 1
            items[len(items) - dropped] = item
        else:
            items[found] = item
            found += 1
    return found, dropped
