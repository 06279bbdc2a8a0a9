"""The best few of many for the threads of a warp: the same choice as `select`, by loops that all threads share."""

from __future__ import annotations

from types import FunctionType

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.parts.index.select import select, wins_tie

FEW = 64  # values; among more, insertions are rare, and `select` itself is faster

# Code for CUDA that calls `select` gets `select_in_rounds`, which calls this.
select_by_insertion = FunctionType(select.__code__, select.__globals__, "select_by_insertion")


def select_in_rounds(
    values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats
) -> int:
    """As `select`: scan all values for the best one, then for the next, and so on.

    An insertion takes another number of steps in every thread, and a warp takes as many as all of them together.
    """
    if count > FEW:
        return int(select_by_insertion(values, slots, count, labels, key, chosen, scores))
    filled = min(len(chosen), count)
    last, last_at = np.inf, -1
    for position in range(filled):
        best, best_at = -np.inf, -1
        for i in range(count):
            value = values[i]
            # Whatever is above the last one is chosen already; of its equals, those that win the tie are.
            if (last_at >= 0 and value >= last) and (
                value > last or i == last_at or wins_tie(slots[i], slots[last_at], labels, key)
            ):
                continue
            if value > best or best_at < 0 or (value == best and wins_tie(slots[i], slots[best_at], labels, key)):
                best, best_at = value, i
        chosen[position], scores[position] = slots[best_at], best
        last, last_at = best, best_at
    return filled
