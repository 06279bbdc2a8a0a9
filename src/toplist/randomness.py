"""Random numbers as a pure function of where they are used: (seed, run, list number, item or place).

Nothing is drawn from a stream, so nothing depends on the order of drawing: every policy meets the same visitors,
threads do not matter, and a belief can be rebuilt from a log. Keys are 64-bit integers; `branch` derives a key from
a key and a number, and `uniform` and `toss` read a number off a key. The mixing function is the finaliser of
SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
"""

from __future__ import annotations

import math

import numpy as np

from toplist.compiled import helper

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)

CHOICES, VISITORS, CHANGES = 0, 1, 2  # what the key of a run is branched into
REPLACEMENT, NEWCOMERS = -(1 << 40), -(1 << 41)  # branches of a list's key that no index draws from


@helper
def branch(key: int, number: int) -> int:
    """The key derived from `key` for `number`; different numbers give unrelated keys."""
    x = np.uint64(key) + (np.uint64(number) + np.uint64(1)) * _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    # Signed on purpose: a Python int of any other range would make numba compile everything twice.
    return np.int64(x ^ (x >> np.uint64(31)))  # type: ignore[return-value]


@helper
def uniform(key: int, number: int) -> float:
    """A number in [0, 1), the one that belongs to `number` under `key`."""
    return float(np.uint64(branch(key, number)) >> np.uint64(11)) * _TO_UNIT


@helper
def toss(key: int, number: int, probability: float) -> bool:
    """True with this probability; always for 1, never for 0."""
    return uniform(key, number) < probability


@helper
def normal(key: int, number: int) -> float:
    """A draw from the standard normal distribution, by Box and Muller's transform."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 2 * number)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 2 * number + 1))
