"""Finds lists that have an item twice."""

from __future__ import annotations

from toplist.core.compiling import in_bulk
from toplist.core.slate import Bools, Ints


def find_repeats(start: Ints, item: Ints, last: Ints, repeats: Bools) -> None:
    """Mark the lists that have an item twice; `last` has, per item, the last list that had it."""
    for row in range(len(repeats)):
        for at in range(start[row], start[row + 1]):
            if last[item[at]] == row:
                repeats[row] = True
            last[item[at]] = row


mark_repeats = in_bulk(find_repeats)
