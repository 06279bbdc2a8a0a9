"""The best few of many, with fair ties: among equals, the item with the larger hash under the list's key goes first.

The rule depends neither on a scan order nor on an index: relabelling items, or scoring lazily or in blocks, changes
nothing.
"""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints


@helper
def select(values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats) -> int:
    """Fill `chosen` and `scores` with slots and values of the largest of the first `count` values; their number."""
    wanted = len(chosen)
    filled = 0
    worst, worst_hash, hashed = -np.inf, 0, False  # of the last position, once all are filled
    for i in range(count):
        value = values[i]
        if filled == wanted:
            if value < worst:
                continue
            if value == worst:
                if not hashed:
                    worst_hash, hashed = branch(key, labels[chosen[wanted - 1]]), True
                if branch(key, labels[slots[i]]) < worst_hash:
                    continue
        else:
            filled += 1
        position = filled - 1
        while position > 0 and (
            scores[position - 1] < value
            or (scores[position - 1] == value and wins_tie(slots[i], chosen[position - 1], labels, key))
        ):
            scores[position] = scores[position - 1]
            chosen[position] = chosen[position - 1]
            position -= 1
        scores[position] = value
        chosen[position] = slots[i]
        if filled == wanted:
            worst, hashed = scores[wanted - 1], False
    return filled


@routine
def largest(values: Floats, slots: Ints, labels: Ints, key: int) -> int:
    """The slot with the largest value; among equals, the one that wins the tie."""
    most, best, i, count = -np.inf, -1, 0, len(slots)
    if is_contiguous(slots):
        here = values[slots[0] : slots[0] + count]
        while i + 4 <= count:  # one comparison for four values, since almost all are smaller
            if max(here[i], here[i + 1], here[i + 2], here[i + 3]) >= most:
                for j in range(i, i + 4):
                    if here[j] > most or (here[j] == most and (best < 0 or wins_tie(slots[j], best, labels, key))):
                        most, best = here[j], slots[j]
            i += 4
    while i < count:
        value = values[slots[i]]
        if value > most or (value == most and (best < 0 or wins_tie(slots[i], best, labels, key))):
            most, best = value, slots[i]
        i += 1
    return int(best)


@helper
def wins_tie(slot: int, rival: int, labels: Ints, key: int) -> bool:
    """Whether `slot` goes before `rival` if their values are equal."""
    return branch(key, labels[slot]) > branch(key, labels[rival])


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
