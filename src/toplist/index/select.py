"""The best few of many, with fair ties: among equals the item whose hash under this list's key is larger goes first.

The rule needs neither a scan order nor an index: relabelling items, scoring lazily or in blocks changes nothing.
"""

from __future__ import annotations

import numpy as np

from toplist.compiled import helper, routine
from toplist.randomness import branch
from toplist.slate import Floats, Ints


@helper
def select(values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats) -> int:
    """Fill `chosen` and `scores` with the largest of the first `count` values and their slots, largest first."""
    wanted = len(chosen)
    filled = 0
    worst, worst_hash, hashed = -np.inf, 0, False  # of the last place, once all are filled
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
        place = filled - 1
        while place > 0 and (
            scores[place - 1] < value
            or (scores[place - 1] == value and wins_tie(slots[i], chosen[place - 1], labels, key))
        ):
            scores[place] = scores[place - 1]
            chosen[place] = chosen[place - 1]
            place -= 1
        scores[place] = value
        chosen[place] = slots[i]
        if filled == wanted:
            worst, hashed = scores[wanted - 1], False
    return filled


@routine
def largest(values: Floats, slots: Ints, labels: Ints, key: int) -> int:
    """The slot with the largest value; among equals, the one that wins the tie."""
    # Four maxima beside each other do not wait for one another; the ties, of which there are few, are seen to later.
    first, second, third, fourth = -np.inf, -np.inf, -np.inf, -np.inf
    whole = len(slots) - len(slots) % 4
    for i in range(0, whole, 4):
        a, b, c, d = values[slots[i]], values[slots[i + 1]], values[slots[i + 2]], values[slots[i + 3]]
        first = a if a > first else first
        second = b if b > second else second
        third = c if c > third else third
        fourth = d if d > fourth else fourth
    for i in range(whole, len(slots)):
        first = max(first, values[slots[i]])
    most = max(first, second, third, fourth)
    best = -1
    for i in range(len(slots)):
        if values[slots[i]] == most and (best < 0 or wins_tie(slots[i], best, labels, key)):
            best = slots[i]
    return int(best)


@helper
def wins_tie(slot: int, rival: int, labels: Ints, key: int) -> bool:
    """Whether `slot` goes before `rival` when their values are equal."""
    return branch(key, labels[slot]) > branch(key, labels[rival])


@helper
def side_by_side(candidates: Ints) -> bool:
    """Whether the candidates, which ascend, have no gap: loops over them may then run on vectors."""
    count = len(candidates)
    return count > 0 and candidates[count - 1] - candidates[0] + 1 == count


@helper
def gather(values: Floats, candidates: Ints, room: Floats) -> None:
    """Copy the candidates' values to `room`, side by side."""
    for i in range(len(candidates)):
        room[i] = values[candidates[i]]
