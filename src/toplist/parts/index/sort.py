"""Sorting and ranking in place, without scratch space: for lists so long that insertion takes too long.

Values travel with their slots. Slots are not negative, so that a complement marks a pair that is in its final place.
"""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats, Ints

SHORT = 12  # pairs that are sorted by insertion


@routine
def sort_pairs(values: Floats, slots: Ints) -> None:
    """Sort slots by their values, the largest first; the order of equal ones is arbitrary.

    Quicksort. It needs no stack: the next segment to sort ends at the next pair that is marked as final. Insertion, if
    the values are almost sorted.
    """
    count = len(values)
    if inserts_quickly(values, slots):
        return
    begin = 0
    while begin < count:
        if slots[begin] < 0:
            slots[begin] = ~slots[begin]
            begin += 1
            continue
        end = begin + 1
        while end < count and slots[end] >= 0:
            end += 1
        if end - begin <= SHORT:
            insert_pairs(values, slots, begin, end)
            begin = end
            continue
        pivot = middle_of_three(values[begin], values[(begin + end) // 2], values[end - 1])
        first = move_above(values, slots, begin, end, pivot)
        last = move_up_to(values, slots, first, end, pivot)
        for i in range(first, last):
            slots[i] = ~slots[i]


@helper
def inserts_quickly(values: Floats, slots: Ints) -> bool:
    """Sort by insertion if few values are larger than the one before; False if that was given up."""
    count, rises, moves = len(values), 0, 0
    for i in range(count - 1):
        rises += 1 if values[i] < values[i + 1] else 0
    if 8 * rises > count:
        return False
    for i in range(1, count):
        value, slot = values[i], slots[i]
        position = i
        while position > 0 and values[position - 1] < value:
            values[position], slots[position] = values[position - 1], slots[position - 1]
            position -= 1
        values[position], slots[position] = value, slot
        moves += i - position
        if moves > 2 * count:
            return False
    return True


@helper
def middle_of_three(a: float, b: float, c: float) -> float:
    """The middle value."""
    return max(min(a, b), min(max(a, b), c))


@helper
def move_above(values: Floats, slots: Ints, begin: int, end: int, pivot: float) -> int:
    """Move the pairs above the pivot to the front of a segment; their end. Exchanges without a branch."""
    at = begin
    for i in range(begin, end):
        value, slot = values[i], slots[i]
        values[i], slots[i] = values[at], slots[at]
        values[at], slots[at] = value, slot
        at += 1 if value > pivot else 0
    return at


@helper
def move_up_to(values: Floats, slots: Ints, begin: int, end: int, pivot: float) -> int:
    """Move the pairs not below the pivot to the front of a segment; their end."""
    at = begin
    for i in range(begin, end):
        value, slot = values[i], slots[i]
        values[i], slots[i] = values[at], slots[at]
        values[at], slots[at] = value, slot
        at += 1 if value >= pivot else 0
    return at


@helper
def insert_pairs(values: Floats, slots: Ints, begin: int, end: int) -> None:
    """Sort a short segment."""
    for i in range(begin + 1, end):
        value, slot = values[i], slots[i]
        position = i
        while position > begin and values[position - 1] < value:
            values[position], slots[position] = values[position - 1], slots[position - 1]
            position -= 1
        values[position], slots[position] = value, slot


@helper
def sort_descending(slots: Ints, values: Floats) -> None:
    """Sort a few slots by values that stay where they are; equal ones keep their order."""
    for j in range(1, len(slots)):
        slot = slots[j]
        position = j
        while position > 0 and values[slots[position - 1]] < values[slot]:
            slots[position] = slots[position - 1]
            position -= 1
        slots[position] = slot


@routine
def ranked_value(values: Floats, rank: int) -> tuple[float, int]:
    """The `rank`-th largest value, counted from 1, and how many are larger; minus infinity if there are fewer.

    Values inside a shrinking range are tried. Counting is vectorised, so that many rounds cost less than moving values.
    """
    count = len(values)
    low, high = -np.inf, np.inf
    if count < rank:
        return low, count
    larger, equal = count_from(values, high)
    if equal >= rank:
        return high, larger
    at = count // 2
    while True:
        a, at = next_inside(values, low, high, at)
        if at < 0:
            return low, count_from(values, low)[0]  # only minus infinity is left
        b, other = next_inside(values, low, high, (at + count // 3) % count)
        c, other = next_inside(values, low, high, (other + count // 3) % count)
        tried = middle_of_three(a, b, c)
        larger, equal = count_from(values, tried)
        if larger >= rank:
            low = tried
        elif larger + equal < rank:
            high = tried
        else:
            return tried, larger


@helper
def next_inside(values: Floats, low: float, high: float, begin: int) -> tuple[float, int]:
    """The next value between two others, and its place; the place is -1 if there is none."""
    for i in range(begin, len(values)):
        if low < values[i] < high:
            return values[i], i
    for i in range(begin):
        if low < values[i] < high:
            return values[i], i
    return low, -1


@helper
def count_from(values: Floats, bound: float) -> tuple[int, int]:
    """How many values are larger than a bound, and how many are equal to it."""
    larger, equal = 0, 0
    for i in range(len(values)):
        larger += 1 if values[i] > bound else 0
        equal += 1 if values[i] == bound else 0
    return larger, equal
