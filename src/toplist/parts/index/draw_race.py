"""The first uniform numbers of the draws of very many items, as a race in each block, so that most blocks stay closed.

The number u of an item is 1 - exp(-e) with an exponential time e. In a block whose items have weights w with the sum W,
the least e / w is exponential with rate W, and it belongs to an item with probability w / W; given it, all other e / w
are larger by exponential times of rate w, as if the race began again. So a hash of the block gives the winner of the
race and its time, two more give the second, and all others follow from the hashes of their labels. Whatever the
weights, all numbers are independent and uniform.

An item matters if its number is below its limit: if e / w is below a `reach` of its own. A block is opened if its
winner's time is below the largest reach. If weights are proportional to the chances that items matter, that happens as
often as there is an item that matters. So the weights are these chances, not at the level of the best draws, which is
known only roughly, but at a level of the block: there, the most likely of its items has a chance of 1 in 16. They
depend on the counts of the block alone, and so do the numbers. Items that are not present have no weight, and with a
discounting memory, whose counts all change with each list, all others have the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.beliefs import BLOCK
from toplist.core.compiling import helper, routine
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Ints
from toplist.parts.index.beta_draw import ONLY_CLICKED, Tail
from toplist.parts.index.draw_numbers import BELOW_1, as_number, number_above, top_bits

Weights = NDArray[np.int16]

LARGEST = 32_767  # weights are whole numbers, so that their sum does not depend on an order
TIMES = 16.0  # one over the chance of the most likely item at the level of a block
STEPS = 16.0  # levels of blocks per unit of -log(1 - x): one item's observation rarely changes that of all others
HIGHEST = 1024  # level of a block
CHUNK = 16  # items whose weights are added, to find the owner of a number among few
CHUNKS = BLOCK // CHUNK
NOBODY = -1
NEVER = np.inf


class Race(NamedTuple):
    """Who wins a race and who is second, by their places in the block, and when."""

    first: int
    first_time: float
    second: int
    second_time: float


NO_RACE = Race(NOBODY, NEVER, NOBODY, NEVER)


@helper
def log_mass(tail: Tail) -> float:
    """The logarithm of a tail's function, continued to 0."""
    return math.log(tail.mass) - tail.rate * math.log1p(-tail.start)


@routine
def item_level(tail: Tail) -> int:
    """The least level of a block at which an item has a chance of at most 1 in 16."""
    if tail.start == ONLY_CLICKED:
        level = -math.log(-math.expm1(math.log1p(-1.0 / TIMES) / tail.rate))
    else:
        level = (log_mass(tail) + math.log(TIMES)) / tail.rate
    return math.ceil(STEPS * min(max(level, 0.0), HIGHEST / STEPS))


@helper
def level_start(level: int) -> float:
    """The level of a block as a draw."""
    return -math.expm1(-level / STEPS)


@routine
def item_weight(tail: Tail, level: int) -> int:
    """The weight of an item in a block of some level."""
    at = level / STEPS
    if tail.start == ONLY_CLICKED:
        chance = -math.expm1(tail.rate * math.log1p(-math.exp(-at))) if at > 0.0 else 1.0
    else:
        chance = math.exp(min(log_mass(tail) - tail.rate * at, 0.0))
    return max(int(LARGEST * min(TIMES * chance, 1.0)), 1)


@helper
def exponential(drawn: int) -> float:
    """An exponential time from a hash."""
    return -math.log1p(-min(as_number(top_bits(drawn)), BELOW_1))


@routine
def add_up(weights: Weights, sums: Ints) -> int:
    """Fill the sums of a block's weights up to the end of each of its chunks; the sum of all."""
    total = 0
    for chunk in range(CHUNKS):
        some = weights[chunk * CHUNK : (chunk + 1) * CHUNK]
        for i in range(CHUNK):  # vectorised
            total += int(some[i])
        sums[chunk] = total
    return total


@helper
def owner(weights: Weights, sums: Ints, point: int) -> int:
    """The item of a block to which a whole number below the sum of its weights belongs, without a branch."""
    chunk, here = 0, 0
    for i in range(CHUNKS):
        chunk += 1 if sums[i] <= point else 0
    some, rest = weights[chunk * CHUNK : (chunk + 1) * CHUNK], point - (sums[chunk - 1] if chunk > 0 else 0)
    place = chunk * CHUNK
    for i in range(CHUNK):
        here += int(some[i])
        place += 1 if here <= rest else 0
    return place


@helper
def winner(weights: Weights, sums: Ints, drawn: int) -> int:
    """The winner of a block's race, from the block's hash."""
    return owner(weights, sums, int(uniform(drawn, 0) * sums[CHUNKS - 1]))


@routine
def runner_up(weights: Weights, sums: Ints, drawn: int, first: int) -> int:
    """The second of a block's race, if there is one."""
    before = 0
    for i in range(first):
        before += int(weights[i])
    point = int(uniform(drawn, 2) * (sums[CHUNKS - 1] - int(weights[first])))
    return owner(weights, sums, point if point < before else point + int(weights[first]))


@helper
def is_over(first_time: float, others: int, drawn: int, reach: float) -> bool:
    """Whether the second of a race, whose weights without the winner add up to `others`, certainly misses a time."""
    return others == 0 or first_time + as_number(top_bits(branch(drawn, 1))) / others > reach  # log(1 - u) <= -u


@routine
def block_race(weights: Weights, sums: Ints, drawn: int) -> Race:
    """The first and the second of a block's race, from the block's hash."""
    total = sums[CHUNKS - 1]
    if total == 0:
        return NO_RACE
    first, time = winner(weights, sums, drawn), exponential(drawn) / total
    others = total - int(weights[first])
    if others == 0:
        return Race(first, time, NOBODY, NEVER)
    after = exponential(branch(drawn, 1)) / others
    return Race(first, time, runner_up(weights, sums, drawn, first), time + after)


@helper
def number_at(weight: int, time: float) -> float:
    """The number of an item that ends its race at some time."""
    return -math.expm1(-weight * time)


@helper
def number_in_race(race: Race, inside: int, weight: int, bits: int) -> float:
    """The number of an item, by its place in the block and its own bits."""
    if weight == 0:
        return as_number(bits)
    if inside == race.first:
        return number_at(weight, race.first_time)
    if inside == race.second:
        return number_at(weight, race.second_time)
    return number_above(number_at(weight, race.second_time), bits)
