"""Random numbers as a pure function of where they are used: (seed, run, list number, item or position).

There is no stream of random numbers, so nothing depends on the order of the draws: every policy meets the same
visitors, results do not depend on the number of threads, and a belief can be rebuilt from a log. Keys are 64-bit
integers; `branch` derives a key from a key and a number, and `uniform` and `toss` read a number off a key. The mixing
function is the finaliser of SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
OOPSLA 2014).
"""

from __future__ import annotations

import math
from typing import Any

from numba.extending import overload

from toplist.core.compiling import helper, routine
from toplist.core.elementary import take_logarithms
from toplist.core.slate import Floats

# SplitMix64's constants as signed numbers: the same bits.
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)
_TO_UNIT = 1.0 / (1 << 53)
LOG_4, LOG_5 = math.log(4.0), math.log(5.0)

CHOICES, VISITORS, CHANGES = 0, 1, 2  # branches of a run's key
WEIGHED = -(1 << 46)  # the branch of the key of a ranker's lists for those that a copy of it makes
REPLACEMENT, NEWCOMERS, AGAIN = -(1 << 40), -(1 << 41), -(1 << 45)  # branches of a list's key; no index draws from them
KINDS = -(1 << 42)  # the branch of a visitor's key for their kind; no click model draws from it


def wrap(number: int) -> int:
    """A whole number modulo 2^64, between -2^63 and 2^63 - 1; machine integers are so already."""
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


@overload(wrap, strict=False, inline="always")
def overload_wrap(number: int) -> Any:  # noqa: ARG001 - numba passes its type
    """Compiled, `wrap` changes nothing."""
    return lambda number: number


@helper
def branch(key: int, number: int) -> int:
    """Derive a key from `key` and a number; different numbers give unrelated keys."""
    x = leading_bits(key, spread(number))
    return x ^ ((x >> 31) & ((1 << 33) - 1))


@helper
def spread(number: int) -> int:
    """The part of `branch` that depends on the number alone."""
    return wrap((int(number) + 1) * _GOLDEN)


@helper
def leading_bits(key: int, spread_number: int) -> int:
    """A number whose first 31 bits are those of `branch(key, number)`, from `spread(number)`; a third quicker."""
    x = wrap(int(key) + int(spread_number))
    # A shift keeps the sign; the mask removes its copies.
    x = wrap((x ^ ((x >> 30) & ((1 << 34) - 1))) * _FIRST)
    return wrap((x ^ ((x >> 27) & ((1 << 37) - 1))) * _SECOND)


@helper
def uniform(key: int, number: int) -> float:
    """The uniform draw in [0, 1) that belongs to `number` under `key`."""
    return float((branch(key, number) >> 11) & ((1 << 53) - 1)) * _TO_UNIT


@helper
def toss(key: int, number: int, probability: float) -> bool:
    """True with this probability; always for 1, never for 0."""
    return uniform(key, number) < probability


@routine
def normals(key: int, values: Floats) -> None:
    """Fill `values` with draws from the standard normal distribution, by the Box-Muller transform."""
    for i in range(len(values)):  # separate loops, which are vectorised
        values[i] = 1.0 - uniform(key, 2 * i)
    take_logarithms(values)
    for i in range(len(values)):
        values[i] = math.sqrt(-2.0 * values[i]) * cosine(uniform(key, 2 * i + 1))


@helper
def beta(key: int, a: float, b: float) -> float:
    """A draw from the beta distribution with parameters a and b of at least 1; each draw needs a key of its own.

    Cheng's rejection from a ratio of powers, algorithm BB (Generating Beta Variates with Nonintegral Shape Parameters,
    1978); a closed form where a or b is 1.
    """
    if b == 1.0:
        return math.exp(math.log(1.0 - uniform(key, 0)) / a)
    if a == 1.0:
        return -math.expm1(math.log(1.0 - uniform(key, 0)) / b)
    small, large, both = min(a, b), max(a, b), a + b
    power = math.sqrt((both - 2.0) / (2.0 * small * large - both))
    tilt = small + 1.0 / power
    number = 0
    while True:
        first, second = 1.0 - uniform(key, number), 1.0 - uniform(key, number + 1)
        number += 2
        if first == 1.0:
            continue
        exponent = power * math.log(first / (1.0 - first))
        odds = small * math.exp(exponent)
        height = first * first * second
        slope = tilt * exponent - LOG_4
        above = small + slope - odds
        if above + 1.0 + LOG_5 >= 5.0 * height:  # the usual case, and without a logarithm
            break
        log_height = math.log(height)
        if above >= log_height or slope + both * math.log(both / (large + odds)) >= log_height:
            break
    return odds / (large + odds) if a == small else large / (large + odds)


@helper
def cosine(turns: float) -> float:
    """cos(2 pi turns) for turns in [0, 1], to 1e-15: Taylor's series around the nearest half turn, without a branch."""
    half = math.floor(2.0 * turns + 0.5)
    x = turns - 0.5 * half  # at most a quarter turn; the first omitted term is below 1e-17
    s = x * x
    series = -0.03638284114254567 + s * (0.0037798342006800396 + s * -0.0003229910672070978)
    series = -1.714390711088672 + s * (0.28200596845579123 + s * series)
    series = -26.4262567833744 + s * (7.903536371318469 + s * series)
    series = -85.45681720669373 + s * (60.24464137187666 + s * series)
    series = -19.739208802178716 + s * (64.9393940226683 + s * series)
    return (1.0 + s * series) * (1.0 - 2.0 * half * (2.0 - half))  # +1 for the first and the last half turn, -1 between
