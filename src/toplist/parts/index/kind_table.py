"""Spans of items by the kinds of their counts: how many items of a span are of a kind, and which.

Ranked bandits have a span of items each, and most items of a span have the counts of many others. So a bandit chooses a
kind, of which there are few, and then one of its items. The items of a kind are a linked list, so that an item whose
counts have changed is moved at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper, routine
from toplist.core.slate import Bools, Floats, Ints
from toplist.parts.memory.counts import Counts

MOST_KINDS = 256  # of a span; with more, many items have counts of their own, and ceilings serve as well
TOGETHER = 32  # blocks looked at in a vectorised loop
NOBODY = -1  # in place of an item or a kind


class KindTable(NamedTuple):
    """Per span and kind, in arrays of two dimensions, a line above its index; and the items of each."""

    examined: Floats  # the counts of a kind ...
    clicked: Floats
    members: Ints  # ... the number of its items; 0 for a free place ...
    first: Ints  # ... one of these, or NOBODY ...
    base: Floats  # ... the tangent of its index, base + slope * budget, which the index is never above ...
    slope: Floats
    value: Floats  # ... the index at the budget `since` ...
    since: Floats
    bound: Floats  # ... and scratch: an upper bound of the index now
    used: Ints  # per span: kinds from this place on are free ...
    is_crowded: Bools  # ... whether there were more kinds than places, so that its lists were given up ...
    begin: Ints  # ... and which items are listed: from this one ...
    end: Ints  # ... to before this one
    known: Ints  # per block, its touch count when its items were listed
    after: Ints  # per item, the next one of its kind, or NOBODY ...
    before: Ints  # ... the one before it ...
    kind: Ints  # ... and its kind; NOBODY if it is not listed


def empty_kinds(items: int, spans: int) -> KindTable:
    """Nothing is listed yet."""
    kinds = min(MOST_KINDS, items // spans)
    return KindTable(
        examined=np.zeros((spans, kinds)),
        clicked=np.zeros((spans, kinds)),
        members=np.zeros((spans, kinds), dtype=np.int64),
        first=np.full((spans, kinds), NOBODY),
        base=np.zeros((spans, kinds)),
        slope=np.zeros((spans, kinds)),
        value=np.zeros((spans, kinds)),
        since=np.zeros((spans, kinds)),
        bound=np.zeros((spans, kinds)),
        used=np.zeros(spans, dtype=np.int64),
        is_crowded=np.zeros(spans, dtype=np.bool_),
        begin=np.zeros(spans, dtype=np.int64),
        end=np.zeros(spans, dtype=np.int64),
        known=np.full(-(-items // BLOCK), -1),
        after=np.full(items, NOBODY),
        before=np.full(items, NOBODY),
        kind=np.full(items, NOBODY),
    )


@helper
def follow_span(belief: Counts, table: KindTable, span: int, begin: int, end: int) -> None:
    """Let the lists of a span have the items of a range, by their counts of now."""
    if table.begin[span] != begin or table.end[span] != end:
        list_range(table, span, begin, end)
    for start in range(begin // BLOCK, (end - 1) // BLOCK + 1, TOGETHER):
        stop = min(start + TOGETHER, (end - 1) // BLOCK + 1)
        known, touched, outdated = table.known[start:stop], belief.touched[start:stop], 0
        for i in range(len(known)):  # vectorised, and often finds nothing
            outdated += 1 if known[i] != touched[i] else 0
        for i in range(len(known) if outdated > 0 else 0):
            if known[i] != touched[i]:
                known[i] = touched[i]
                block = start + i
                for item in range(max(begin, block * BLOCK), min(end, (block + 1) * BLOCK)):
                    kind = table.kind[item]
                    if (
                        kind == NOBODY
                        or table.examined[span, kind] != belief.examined[item]
                        or table.clicked[span, kind] != belief.clicked[item]
                    ):
                        unlist(table, span, item)
                        enlist(belief, table, span, item)


@routine
def list_range(table: KindTable, span: int, begin: int, end: int) -> None:
    """Remove what is not in a range from the lists of a span, and let what is new there be listed."""
    old_begin, old_end = table.begin[span], table.end[span]
    for item in range(old_begin, min(old_end, begin)):
        unlist(table, span, item)
    for item in range(max(old_begin, end), old_end):
        unlist(table, span, item)
    for block in range(begin // BLOCK, (min(old_begin, end) - 1) // BLOCK + 1):
        table.known[block] = -1
    for block in range(max(old_end, begin) // BLOCK, (end - 1) // BLOCK + 1):
        table.known[block] = -1
    table.begin[span], table.end[span] = begin, end


@helper
def unlist(table: KindTable, span: int, item: int) -> None:
    """Remove an item from the list of its kind, if it is in one."""
    kind, before, after = table.kind[item], table.before[item], table.after[item]
    if kind == NOBODY:
        return
    table.kind[item] = NOBODY
    if before == NOBODY:
        table.first[span, kind] = after
    else:
        table.after[before] = after
    if after != NOBODY:
        table.before[after] = before
    table.members[span, kind] -= 1
    while table.used[span] > 0 and table.members[span, table.used[span] - 1] == 0:
        table.used[span] -= 1


@helper
def enlist(belief: Counts, table: KindTable, span: int, item: int) -> None:
    """Add an item to the list of its kind; if there is no place for the kind, the span is crowded."""
    kind = kind_of_counts(table, span, belief.examined[item], belief.clicked[item])
    if kind == NOBODY:
        table.is_crowded[span] = True
        return
    after = table.first[span, kind]
    if after != NOBODY:
        table.before[after] = item
    table.first[span, kind], table.before[item], table.after[item] = item, NOBODY, after
    table.kind[item] = kind
    table.members[span, kind] += 1


@helper
def kind_of_counts(table: KindTable, span: int, examined: float, clicked: float) -> int:
    """The kind of some counts, which gets a place if it has none; NOBODY if there is none left."""
    used, members, found, free = table.used[span], table.members[span], 0, 0
    tries, hits = table.examined[span], table.clicked[span]
    for kind in range(used):  # vectorised
        found += kind + 1 if (tries[kind] == examined) & (hits[kind] == clicked) & (members[kind] > 0) else 0
    if found > 0:
        return found - 1
    while free < used and members[free] > 0:
        free += 1
    if free == len(members):
        return NOBODY
    table.used[span] = max(used, free + 1)
    tries[free], hits[free] = examined, clicked
    outdate_kind(table, span, free)
    return free


@helper
def outdate_kind(table: KindTable, span: int, kind: int) -> None:
    """Let the index of a kind be computed anew."""
    table.base[span, kind], table.slope[span, kind], table.since[span, kind] = np.inf, 0.0, np.nan
