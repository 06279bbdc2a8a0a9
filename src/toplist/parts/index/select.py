"""The best few of many, with fair ties: among equals, the item with the highest standing goes first (`ties`).

The rule does not depend on a scan order: scoring lazily or in blocks changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats, Ints
from toplist.parts.index.sort import insert_pairs, ranked_value, sort_pairs
from toplist.parts.index.ties import is_behind, is_outranked, standing, whole_standing, wins_tie

FEW = 16  # values that are chosen by insertion
WORTH_A_BOUND = 256  # values from which on a bound of the last one chosen saves more insertions than it costs
COLUMNS = 8  # largest values of interleaved columns, found together


class ShortSelection(NamedTuple):
    """`select` for a few positions: the code for long lists, which takes long to compile, is left out."""

    nothing: Ints

    def select_best(
        self, values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats
    ) -> int:
        """By insertion."""
        return select_few(values, slots, count, labels, key, chosen, scores)

    def select_contenders(
        self, values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats
    ) -> int:
        """By insertion, each value by itself."""
        return select_one_by_one(values, slots, count, labels, key, chosen, scores)

    def kth_largest(self, values: Floats, wanted: int, largest: Floats) -> float:
        """By insertion."""
        return kth_by_insertion(values, wanted, largest)

    def sort_contenders(self, values: Floats, slots: Ints, count: int) -> None:
        """By insertion."""
        insert_pairs(values, slots, 0, count)


class AnySelection(NamedTuple):
    """`select`."""

    nothing: Ints

    def select_best(
        self, values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats
    ) -> int:
        """By insertion, or by the value of the last one."""
        return select(values, slots, count, labels, key, chosen, scores)

    def select_contenders(
        self, values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats
    ) -> int:
        """By insertion, each value by itself, or by the value of the last one."""
        if len(chosen) > FEW and count > FEW:
            return select_many(values, slots, count, labels, key, chosen, scores)
        return select_one_by_one(values, slots, count, labels, key, chosen, scores)

    def kth_largest(self, values: Floats, wanted: int, largest: Floats) -> float:
        """By insertion, or by counting."""
        return ranked_value(values, wanted)[0] if wanted > FEW else kth_by_insertion(values, wanted, largest)

    def sort_contenders(self, values: Floats, slots: Ints, count: int) -> None:
        """By insertion, or by partitions."""
        if count > 2 * FEW:
            sort_pairs(values[:count], slots[:count])
        else:
            insert_pairs(values, slots, 0, count)


def selection_for(positions: int) -> ShortSelection | AnySelection:
    """What selects lists of this length."""
    nothing = np.zeros(1, dtype=np.int64)
    return ShortSelection(nothing) if positions <= FEW else AnySelection(nothing)


@helper
def select(values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats) -> int:
    """Fill `chosen` and `scores` with slots and values of the largest of the first `count` values; their number."""
    if len(chosen) > FEW and count > FEW:
        return select_many(values, slots, count, labels, key, chosen, scores)
    return select_few(values, slots, count, labels, key, chosen, scores)


@helper
def select_few(values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats) -> int:
    """Select by insertion."""
    i = 0
    # No value below the second number is chosen; the others are of the last position, once all are filled.
    last = 0, least_of_maxima(values[:count], scores[: len(chosen)]), 0, False
    while i < count:
        end = min(i + 4, count)
        if i + 4 == end and max(values[i], values[i + 1], values[i + 2], values[i + 3]) < last[1]:
            i = end  # one comparison for four values, since almost all are smaller
            continue
        while i < end:
            last = insert_if_better(values[i], slots[i], last, labels, key, chosen, scores)
            i += 1
    return last[0]


@helper
def select_one_by_one(
    values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats
) -> int:
    """Select by insertion where most values can be chosen, and many are equal."""
    last = 0, -np.inf, 0, False
    for i in range(count):
        last = insert_if_better(values[i], slots[i], last, labels, key, chosen, scores)
    return last[0]


@helper
def insert_if_better(
    value: float, slot: int, last: tuple[int, float, int, bool], labels: Ints, key: int, chosen: Ints, scores: Floats
) -> tuple[int, float, int, bool]:
    """Insert a slot among the chosen if it goes before the last one; what is known of that one then.

    That is the number of filled positions, and for the last position of all a bound of its value, its whole
    standing and whether that is known.
    """
    filled, worst, lowest, compared = last
    wanted = len(chosen)
    if value < worst:
        return last
    if filled == wanted:
        if value == worst:
            if not compared:
                lowest, compared = whole_standing(chosen[wanted - 1], labels, key), True
            if is_outranked(slot, chosen[wanted - 1], lowest, labels, key):
                return filled, worst, lowest, compared
    else:
        filled += 1
    insert(value, slot, filled, labels, key, chosen, scores)
    if filled == wanted:
        worst, compared = scores[wanted - 1], False
    return filled, worst, lowest, compared


@helper
def least_of_maxima(values: Floats, largest: Floats) -> float:
    """A lower bound of the K-th largest value for few K, the length of the scratch space; -inf for not so many values.

    Each of at least 2 K disjoint sets of values has a value as large as its maximum; so K values are as large as the
    K-th largest maximum.
    """
    wanted, count = len(largest), len(values)
    if count < WORTH_A_BOUND or wanted == 0:
        return -np.inf
    for i in range(wanted):
        largest[i] = -np.inf
    parts = (2 * wanted + COLUMNS - 1) // COLUMNS
    each = count // (parts * COLUMNS) * COLUMNS  # values of a part; the few that are left over are not needed
    for part in range(parts):
        here = values[part * each : (part + 1) * each]
        a, b, c, d = here[0], here[1], here[2], here[3]
        e, f, g, h = here[4], here[5], here[6], here[7]
        for i in range(COLUMNS, each, COLUMNS):
            a, b, c, d = max(a, here[i]), max(b, here[i + 1]), max(c, here[i + 2]), max(d, here[i + 3])
            e, f, g, h = max(e, here[i + 4]), max(f, here[i + 5]), max(g, here[i + 6]), max(h, here[i + 7])
        for maximum in (a, b, c, d, e, f, g, h):
            keep_largest(maximum, largest)
    return float(largest[wanted - 1])


@helper
def kth_by_insertion(values: Floats, wanted: int, largest: Floats) -> float:
    """The `wanted`-th largest value; minus infinity if there are fewer."""
    if len(values) < wanted:
        return -np.inf
    best = largest[:wanted]
    for i in range(wanted):
        best[i] = -np.inf
    least, first, count = -np.inf, 0, len(values)
    while first + 4 <= count:  # one comparison for four values, since almost all are smaller
        if max(values[first], values[first + 1], values[first + 2], values[first + 3]) > least:
            for i in range(first, first + 4):
                keep_largest(values[i], best)
            least = best[wanted - 1]
        first += 4
    for i in range(first, count):
        keep_largest(values[i], best)
    return float(best[wanted - 1])


@helper
def keep_largest(value: float, largest: Floats) -> None:
    """Insert a value among the largest, which are in order; the last one is dropped."""
    position = len(largest) - 1
    if value <= largest[position]:
        return
    while position > 0 and largest[position - 1] < value:
        largest[position] = largest[position - 1]
        position -= 1
    largest[position] = value


@helper
def insert(value: float, slot: int, filled: int, labels: Ints, key: int, chosen: Ints, scores: Floats) -> None:
    """Insert a slot into those before place `filled`, which are in order; the one at that place is dropped."""
    position = filled - 1
    while position > 0 and (
        scores[position - 1] < value
        or (scores[position - 1] == value and wins_tie(slot, chosen[position - 1], labels, key))
    ):
        scores[position] = scores[position - 1]
        chosen[position] = chosen[position - 1]
        position -= 1
    scores[position] = value
    chosen[position] = slot


@routine
def select_many(values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats) -> int:
    """Select by the value of the last one chosen, and sort."""
    rank = min(len(chosen), count)
    if rank == count:
        for i in range(count):
            scores[i], chosen[i] = values[i], slots[i]
    else:
        least, larger = ranked_value(values[:count], rank)
        above, equal = 0, larger
        for i in range(count):
            if values[i] > least:
                scores[above], chosen[above] = values[i], slots[i]
                above += 1
            elif values[i] == least:
                if equal < rank:
                    equal += 1
                    own = standing(slots[i], labels, key)
                    climb(scores[larger:equal], chosen[larger:equal], own, slots[i], labels, key)
                elif not is_behind(slots[i], scores[larger], labels, key):
                    own = standing(slots[i], labels, key)
                    if precedes(own, slots[i], scores[larger], chosen[larger], labels, key):
                        sink(scores[larger:rank], chosen[larger:rank], own, slots[i], labels, key)
        for i in range(larger, rank):
            scores[i] = least
    sort_pairs(scores[:rank], chosen[:rank])
    begin = 0
    while begin < rank:
        end = begin + 1
        while end < rank and scores[end] == scores[begin]:
            end += 1
        if end - begin > 1:
            sort_equals(scores[begin:end], chosen[begin:end], labels, key)
        begin = end
    return rank


@helper
def precedes(own: float, slot: int, other: float, rival: int, labels: Ints, key: int) -> bool:
    """Whether `slot` goes before `rival` by their rounded standings, or by those themselves."""
    return own > other or (own == other and wins_tie(slot, rival, labels, key))


@helper
def climb(standings: Floats, slots: Ints, own: float, slot: int, labels: Ints, key: int) -> None:
    """Add a slot to a heap whose last place is free; its first slot goes after all others."""
    at = len(slots) - 1
    while at > 0:
        parent = (at - 1) // 2
        if not precedes(standings[parent], slots[parent], own, slot, labels, key):
            break
        standings[at], slots[at] = standings[parent], slots[parent]
        at = parent
    standings[at], slots[at] = own, slot


@helper
def sink(standings: Floats, slots: Ints, own: float, slot: int, labels: Ints, key: int) -> None:
    """Replace the first slot of a heap."""
    at, count = 0, len(slots)
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and precedes(
            standings[child], slots[child], standings[child + 1], slots[child + 1], labels, key
        ):
            child += 1
        if not precedes(own, slot, standings[child], slots[child], labels, key):
            break
        standings[at], slots[at] = standings[child], slots[child]
        at = child
    standings[at], slots[at] = own, slot


@routine
def sort_equals(scores: Floats, slots: Ints, labels: Ints, key: int) -> None:
    """Order slots of equal value by their standings, which take the place of the value meanwhile."""
    value, count = scores[0], len(slots)
    for i in range(count):
        scores[i] = standing(slots[i], labels, key)
    sort_pairs(scores, slots)
    for i in range(1, count):
        position = i
        while position > 0 and scores[position - 1] == scores[position]:  # very rare: equal once rounded
            if wins_tie(slots[position], slots[position - 1], labels, key):
                slots[position - 1], slots[position] = slots[position], slots[position - 1]
            position -= 1
    for i in range(count):
        scores[i] = value


@routine
def largest(values: Floats, slots: Ints, labels: Ints, key: int) -> int:
    """The slot with the largest value; among equals, the one that wins the tie."""
    most, best, highest, i, count = -np.inf, -1, 0.0, 0, len(slots)
    if is_contiguous(slots):
        here = values[slots[0] : slots[0] + count]
        while i + 4 <= count:  # one comparison for four values, since almost all are smaller
            if max(here[i], here[i + 1], here[i + 2], here[i + 3]) >= most:
                for j in range(i, i + 4):
                    if leads(here[j], slots[j], most, best, highest, labels, key):
                        most, best, highest = here[j], slots[j], standing(slots[j], labels, key)
            i += 4
    while i < count:
        value = values[slots[i]]
        if leads(value, slots[i], most, best, highest, labels, key):
            most, best, highest = value, slots[i], standing(slots[i], labels, key)
        i += 1
    return int(best)


@helper
def leads(value: float, slot: int, most: float, best: int, highest: float, labels: Ints, key: int) -> bool:
    """Whether a slot goes before the best so far, which has the value `most` and the standing `highest`."""
    if value != most or best < 0:
        return value >= most
    return not is_behind(slot, highest, labels, key) and wins_tie(slot, best, labels, key)


@helper
def is_contiguous(candidates: Ints) -> bool:
    """Whether the candidates, which ascend, have no gap: loops over them can then be vectorised."""
    count = len(candidates)
    return count > 0 and candidates[count - 1] - candidates[0] + 1 == count


@helper
def gather(values: Floats, candidates: Ints, copied: Floats) -> None:
    """Copy the candidates' values to the start of `copied`."""
    for i in range(len(candidates)):
        copied[i] = values[candidates[i]]
