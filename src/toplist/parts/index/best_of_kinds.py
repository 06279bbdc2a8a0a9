"""The best one of a span of many items, by the kinds of their counts (`kind_table`).

The index of a kind lies below its tangent at any budget, so the kind with the highest tangent is looked at first, and
its index computed; almost always, that is higher than the tangents of all other kinds. One of its items goes first, by
its standing (`ties`). If the kind has few items in the span, each of them is hashed; else their blocks are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.block_ceilings import ROUNDING
from toplist.parts.index.draw_numbers import LEADERS, leader_of, limit_of_blocks, limit_of_items, top_bits
from toplist.parts.index.kind_table import NOBODY, KindTable, empty_kinds, follow_span, outdate_kind
from toplist.parts.index.select import is_contiguous, leads
from toplist.parts.index.shortlist import Shortlist
from toplist.parts.index.ties import standing
from toplist.parts.memory.counts import Counts

SCATTERED = 32  # items of a kind are hashed one by one if their number squared is at most so many times all items
EVERY_BIT = 1 << 53  # a limit that the bits of all numbers are below


class ShortlistOfSpans(NamedTuple):
    """Finds the best one of a span of items by kinds; and by ceilings where there are too many kinds."""

    table: KindTable
    others: Shortlist

    def suits(self, candidates: Ints, wanted: int) -> bool:
        """Whether the candidates are many and dense."""
        return self.others.suits(candidates, wanted)

    def take_best(
        self, scoring: Any, belief: Counts, request: Request, budget: float, chosen: Ints, scores: Floats
    ) -> int:
        """By kinds, if one item of a span is wanted."""
        if len(chosen) == 1 and len(request.present) == 0 and is_contiguous(request.candidates):
            computed = best_of_span(scoring, belief, self.table, request, budget, chosen, scores)
            if computed >= 0:
                return computed
        return self.others.take_best(scoring, belief, request, budget, chosen, scores)

    def outdate(self) -> None:
        """Forget all indices, tangents and ceilings."""
        self.others.outdate()
        for span in range(len(self.table.used)):
            for kind in range(self.table.used[span]):
                outdate_kind(self.table, span, kind)


def with_spans(cache: Any, spans: int) -> Any:
    """The cache of an index, with which it finds the best one of each of several spans of items by kinds.

    Caches without a shortlist are returned as they are.
    """
    shortlist = getattr(cache, "shortlist", None)
    if not isinstance(shortlist, Shortlist):
        return cache
    table = empty_kinds(len(shortlist.ceilings.items), spans)
    return cache._replace(shortlist=ShortlistOfSpans(table, shortlist))


@helper
def best_of_span(
    scoring: Any, belief: Counts, table: KindTable, request: Request, budget: float, chosen: Ints, scores: Floats
) -> int:
    """Fill the best candidate and its index; returns the number of computed indices, negative for a crowded span."""
    candidates = request.candidates
    first, end = candidates[0], candidates[len(candidates) - 1] + 1
    span = first * len(table.used) // len(table.kind)
    if not table.is_crowded[span]:
        follow_span(belief, table, span, first, end)
    if table.is_crowded[span]:
        return -1
    count_exceptions(table, span, request.exceptions, -1)
    computed = find_best_kind(scoring, table, span, budget)
    chosen[0], scores[0] = foremost(table, span, request, budget)
    count_exceptions(table, span, request.exceptions, 1)
    return computed


@helper
def count_exceptions(table: KindTable, span: int, exceptions: Ints, sign: int) -> None:
    """Add the exceptions to the items of their kinds in a span, or subtract them."""
    for item in exceptions:
        if table.kind[item] != NOBODY:
            table.members[span, table.kind[item]] += sign


@helper
def find_best_kind(scoring: Any, table: KindTable, span: int, budget: float) -> int:
    """Compute indices until the highest bound of the kinds of a span is one; returns how many."""
    base, slope, value, since = table.base[span], table.slope[span], table.value[span], table.since[span]
    bound, computed = table.bound[span], 0
    for kind in range(table.used[span]):  # vectorised
        above = (base[kind] + slope[kind] * budget) * (1.0 + 2.0 * ROUNDING) + 2.0 * ROUNDING
        bound[kind] = value[kind] if since[kind] == budget else above
    while True:
        best = highest_kind(table, span, budget)
        if since[best] == budget:
            return computed
        computed += 1
        value[best], slope[best] = scoring.tangent(table.examined[span, best], table.clicked[span, best], budget)
        base[best], since[best], bound[best] = value[best] - slope[best] * budget, budget, value[best]
        if budget <= 0.0:  # as for the first list: an index may be infinitely steep there
            base[best], slope[best] = np.inf, 0.0


@helper
def highest_kind(table: KindTable, span: int, budget: float) -> int:
    """The kind with the highest bound of those that have items in a span; of equal ones, one without its index."""
    members, bound, since, best, highest = table.members[span], table.bound[span], table.since[span], 0, -np.inf
    for kind in range(table.used[span]):
        if members[kind] > 0 and bound[kind] >= highest and (bound[kind] > highest or since[kind] != budget):
            best, highest = kind, bound[kind]
    return best


@helper
def is_of_value(table: KindTable, span: int, kind: int, budget: float, value: float) -> bool:
    """Whether a kind has this index now."""
    return bool(kind != NOBODY and table.bound[span, kind] == value and table.since[span, kind] == budget)


@helper
def foremost(table: KindTable, span: int, request: Request, budget: float) -> tuple[int, float]:
    """The item of the best kinds of a span that wins the ties, and its index."""
    value, alike = table.bound[span, highest_kind(table, span, budget)], 0
    for kind in range(table.used[span]):
        alike += table.members[span, kind] if is_of_value(table, span, kind, budget, value) else 0
    if alike * alike > SCATTERED * len(request.candidates):
        return foremost_of_blocks(table, span, request, budget, value), value
    best, highest = NOBODY, 0.0
    for kind in range(table.used[span]):
        if table.members[span, kind] > 0 and is_of_value(table, span, kind, budget, value):
            item = table.first[span, kind]
            while item != NOBODY:
                if leads(value, item, value, best, highest, request.labels, request.key) and is_free(request, item):
                    best, highest = item, standing(item, request.labels, request.key)
                item = table.after[item]
    return int(best), value


@helper
def is_free(request: Request, item: int) -> bool:
    """Whether an item is none of the exceptions, which are few."""
    for exception in request.exceptions:
        if exception == item:
            return False
    return True


@helper
def foremost_of_blocks(table: KindTable, span: int, request: Request, budget: float, value: float) -> int:
    """The item with an index that wins the ties, where many have it: by the hashes of blocks."""
    labels, key, candidates = request.labels, request.key, request.candidates
    first, end = candidates[0] // BLOCK, candidates[len(candidates) - 1] // BLOCK + 1
    leaders, best, lowest = branch(key, LEADERS), NOBODY, EVERY_BIT
    for block in range(first, end):
        own = branch(leaders, block)
        item = block * BLOCK + leader_of(own)
        if top_bits(own) >= lowest or item >= len(table.kind) or not is_free(request, item):
            continue
        if is_of_value(table, span, table.kind[item], budget, value):
            best, lowest = item, top_bits(own)
    highest = standing(best, labels, key) if best != NOBODY else 0.0
    limit = limit_of_items(-highest) if best != NOBODY else EVERY_BIT
    limit_here = limit_of_blocks(-highest) if best != NOBODY else EVERY_BIT
    for block in range(first, end):
        own, begin, stop = branch(leaders, block), block * BLOCK, min((block + 1) * BLOCK, len(table.kind))
        leader, here, hits = begin + leader_of(own), labels[begin:stop], 0
        if top_bits(own) >= limit_here or leader == best:
            continue  # its other items have larger numbers than its leader
        for i in range(len(here)):  # vectorised, and mostly finds little
            hits += 1 if top_bits(branch(key, here[i])) < limit else 0
        if leader < stop and is_of_value(table, span, table.kind[leader], budget, value):
            hits += 1
        for item in range(begin, stop if hits > 0 else begin):
            if item != leader and top_bits(branch(key, labels[item])) >= limit:
                continue
            if not is_of_value(table, span, table.kind[item], budget, value) or not is_free(request, item):
                continue
            if leads(value, item, value, best, highest, labels, key):
                best, highest = item, standing(item, labels, key)
                limit = limit_of_items(-highest)
    return int(best)
