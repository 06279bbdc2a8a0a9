"""Requests whose candidates have gaps: items that are not present, and a few exceptions."""

from __future__ import annotations

from toplist.core.compiling import helper, routine
from toplist.core.slate import Bools, Floats, Ints, Request


@routine
def leave_out(request: Request, values: Floats, lowest: float) -> None:
    """Set the values of candidates that are not eligible, where there is one value per candidate."""
    candidates, present, exceptions, at = request.candidates, request.present, request.exceptions, 0
    if len(present) == 0:
        gaps = candidates[len(candidates) - 1] - candidates[0] + 1 - len(candidates)
        for item in exceptions:
            values[place_of(candidates, item, gaps)] = lowest
        return
    for i in range(len(candidates)):
        item = candidates[i]
        while at < len(exceptions) and exceptions[at] < item:
            at += 1
        is_exception = at < len(exceptions) and exceptions[at] == item
        if present[item] == is_exception:
            values[i] = lowest


@helper
def is_present(present: Bools, item: int) -> bool:
    """Whether an item can be eligible."""
    return bool(len(present) == 0 or present[item])


@helper
def is_eligible(request: Request, item: int, absent: int) -> bool:
    """Whether an item is eligible; `absent` items of all blocks are no candidates."""
    if item < 0 or (absent > 0 and not is_listed(request.candidates, item, absent)):
        return False
    is_exception = len(request.exceptions) > 0 and is_listed(request.exceptions, item, item)
    return is_present(request.present, item) != is_exception


@helper
def is_listed(items: Ints, item: int, gaps: int) -> bool:
    """Whether an item is one of `items`, which ascend with at most `gaps` gaps."""
    guess = item - items[0]  # right if there is no gap before it
    if 0 <= guess < len(items) and items[guess] == item:
        return True
    place = place_of(items, item, gaps)
    return bool(place < len(items) and items[place] == item)


@helper
def place_of(items: Ints, item: int, gaps: int) -> int:
    """The place of an item among `items`, which ascend with at most `gaps` gaps, or where it would stand."""
    low = max(0, item - items[0] - gaps)
    high = min(len(items), item - items[0] + 1)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return int(low)
