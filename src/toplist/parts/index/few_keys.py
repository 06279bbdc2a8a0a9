"""The best of few items by one whole number each, without a branch that depends on the values.

In the first lists any item can be among the best, and many are equal. A processor then guesses most comparisons of an
insertion wrong, and a wrong guess takes longer than all comparisons together. Here a key holds the leading bits of an
item's value, of its standing (`ties`) and its place. A sorting network of four inputs, which keeps the four largest,
takes the keys four at a time. Where leading bits do not decide, `select` does.
"""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.select import is_contiguous, select

WIDTH = 4  # inputs of the network
PAIR = 2 * WIDTH  # of two networks side by side
PLACE_BITS, STANDING_BITS = 5, 15
LOW_BITS = PLACE_BITS + STANDING_BITS
PLACES = 1 << PLACE_BITS
EARLY = 512  # lists per item; afterwards, an insertion is guessed right often enough
LOWEST = np.int64(-(2**63))  # below all keys


def key_scratch(problem: Problem) -> Ints:
    """Scratch space for keys; empty where there are too many items for them, or lists are too long."""
    suits = problem.items <= PLACES and problem.positions <= min(WIDTH, problem.items)
    return np.zeros(PLACES if suits else 0, dtype=np.int64)


@helper
def select_early(values: Floats, request: Request, lists: float, keys: Ints, chosen: Ints, scores: Floats) -> None:
    """Choose as `select` does, and quicker in the first lists of few items; no value is below 0 but minus infinity."""
    if not is_early(request, lists, keys, len(chosen), EARLY) or not select_by_keys(
        values, request, keys, chosen, scores
    ):
        candidates = request.candidates
        select(values, candidates, len(candidates), request.labels, request.key, chosen, scores)


@helper
def is_early(request: Request, lists: float, keys: Ints, wanted: int, most: int) -> bool:
    """Whether keys suit the request: few contiguous candidates, and at most so many lists for each."""
    candidates, count = request.candidates, len(request.candidates)
    return bool(len(keys) > 0 and lists <= most * count and wanted <= count and is_contiguous(candidates))


@helper
def select_by_keys(values: Floats, request: Request, keys: Ints, chosen: Ints, scores: Floats) -> bool:
    """Fill `chosen` and `scores` from contiguous candidates; False if the keys leave their order open."""
    first, count, wanted = request.candidates[0], len(request.candidates), len(chosen)
    fill_keys(values[:count], request.labels[first : first + count], request.key, keys)
    a, b, c, d = sort_four(keys, 0)
    others = sort_four(keys, WIDTH)
    for begin in range(PAIR, count, PAIR):  # two at a time, since neither waits for the other
        a, b, c, d = best_four(a, b, c, d, sort_four(keys, begin))
        others = best_four(others[0], others[1], others[2], others[3], sort_four(keys, begin + WIDTH))
    a, b, c, d = best_four(a, b, c, d, others)
    position = 0
    for key in (a, b, c, d):
        if position < wanted:
            place = key & (PLACES - 1)
            chosen[position], scores[position] = first + place, values[place]
        position += 1  # noqa: SIM113 - compiled, `enumerate` is slower
    worth_b, worth_c, worth_d = values[b & (PLACES - 1)], values[c & (PLACES - 1)], values[d & (PLACES - 1)]
    unclear = is_unclear(a, b, values[a & (PLACES - 1)], worth_b) | is_unclear(b, c, worth_b, worth_c)
    for i in range(count):  # vectorised, since no place is read off a key
        unclear |= (keys[i] != d) & is_unclear(keys[i], d, values[i], worth_d)
    return not unclear


@helper
def fill_keys(values: Floats, labels: Ints, key: int, keys: Ints) -> None:
    """Fill the keys of contiguous items; the lowest ones fill the last eight."""
    bits, count = values.view(np.int64), len(values)
    for i in range(count):
        standing = (branch(key, labels[i]) >> (64 - STANDING_BITS)) + (1 << (STANDING_BITS - 1))
        keys[i] = ((bits[i] >> LOW_BITS) << LOW_BITS) | (standing << PLACE_BITS) | i
    for i in range(count, (count + PAIR - 1) // PAIR * PAIR):
        keys[i] = LOWEST


@helper
def is_unclear(key: int, other: int, value: float, other_value: float) -> bool:
    """Whether the leading bits of values or standings agree, though these can differ."""
    same = (key >> LOW_BITS) == (other >> LOW_BITS)
    standings_agree = (key >> PLACE_BITS) == (other >> PLACE_BITS)
    return bool(same & (standings_agree | (value != other_value)))


@helper
def in_order(a: int, b: int) -> tuple[int, int]:
    """The larger one first."""
    return max(a, b), min(a, b)


@helper
def sort_four(keys: Ints, begin: int) -> tuple[int, int, int, int]:
    """Four keys, the largest first."""
    a, b = in_order(keys[begin], keys[begin + 1])
    c, d = in_order(keys[begin + 2], keys[begin + 3])
    a, c = in_order(a, c)
    b, d = in_order(b, d)
    b, c = in_order(b, c)
    return a, b, c, d


@helper
def best_four(a: int, b: int, c: int, d: int, others: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """The largest four of two times four that are in order, in order: the last step of a bitonic merge."""
    a, b, c, d = max(a, others[3]), max(b, others[2]), max(c, others[1]), max(d, others[0])
    a, c = in_order(a, c)
    b, d = in_order(b, d)
    a, b = in_order(a, b)
    c, d = in_order(c, d)
    return a, b, c, d
