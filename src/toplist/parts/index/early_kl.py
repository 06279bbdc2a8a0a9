"""KL-UCB's best of few items in the first lists, where to solve one index after the other takes longer.

There, most items are within reach of the list, and the counts of those that were shown have just changed. So all
indices are estimated together, in vectors of single precision and without a branch: one step of Householder's method,
from the inverse of a simple function that grows as the divergence does. How large the step was bounds the error.
`few_keys` orders the estimates. Equal counts have equal estimates. Where different counts have estimates that are too
close for their errors, which is rare, the list is made as later ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import helper, is_machine_code, routine
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.few_keys import is_early, key_scratch, select_by_keys
from toplist.parts.memory.counts import Counts

Singles = NDArray[np.float32]

LANES = 16  # estimates computed together: a vector of single precision, or several
EARLY = 512  # lists per item; afterwards, bounds leave so little to solve that they are quicker
HALF, ONE, TWO, THIRD, EIGHT = (np.float32(number) for number in (0.5, 1.0, 2.0, 1.0 / 3.0, 8.0))
LEAST = np.float32(1e-10)  # mean; numbers below 1e-38, which are slow, do not come of it
FAR = np.float32(30.0)  # the start is at least exp(-FAR) of the way below 1
ROUNDED = np.float32(3.5e-7)  # of an estimate: more than its rounding
LOG_2, PER_LOG_2 = np.float32(math.log(2.0)), np.float32(1.0 / math.log(2.0))
MANTISSA = np.int32(23)  # bits
BITS_OF_1 = np.int32(0x3F800000)
ROOT_HALF = np.int32(0x3F3504F3)  # the bits of sqrt(1/2)
# Taylor's coefficients of 2^x; and of log(1 + x) those from x^3 on of the Cephes library (logf).
E1, E2, E3 = (np.float32(math.log(2.0) ** power / math.factorial(power)) for power in (1, 2, 3))
E4, E5, E6 = (np.float32(math.log(2.0) ** power / math.factorial(power)) for power in (4, 5, 6))
SHIFTED = np.float32(1.5 * 2.0**23)  # added to a small number, leaves its nearest whole number in the last bits
C1, C2, C3 = np.float32(3.3333331174e-1), np.float32(-2.4999993993e-1), np.float32(2.0000714765e-1)
C4, C5, C6 = np.float32(-1.6668057665e-1), np.float32(1.4249322787e-1), np.float32(-1.2420140846e-1)
C7, C8, C9 = np.float32(1.1676998740e-1), np.float32(-1.1514610310e-1), np.float32(7.0376836292e-2)


class EarlyScratch(NamedTuple):
    """Scratch space for the estimates of few items; empty where there are too many, or lists are too long."""

    keys: Ints
    worth: Floats  # the estimates
    doubt: Singles  # bounds of their errors
    tries: Singles  # counts, if the index lies between mean and 1
    hits: Singles  # likewise; then the estimates
    lane: Singles  # a place in memory for each


def early_scratch(problem: Problem) -> EarlyScratch:
    """Nothing is estimated yet."""
    keys = key_scratch(problem)
    lanes, places = LANES if len(keys) else 0, len(keys)
    return EarlyScratch(
        keys=keys,
        worth=np.zeros(places),
        doubt=np.zeros(places, dtype=np.float32),
        tries=np.ones(lanes, dtype=np.float32),
        hits=np.full(lanes, 0.5, dtype=np.float32),
        lane=np.zeros(lanes, dtype=np.float32),
    )


@helper
def choose_early(
    belief: Counts, scratch: EarlyScratch, request: Request, budget: float, chosen: Ints, scores: Floats
) -> bool:
    """Fill `chosen`, and `scores` with estimates; False if it is not early, or if the estimates leave the list open."""
    if (
        not is_machine_code()
        or not is_early(request, belief.clock[0], scratch.keys, len(chosen), EARLY)
        or budget <= 0.0
        or len(request.present) > 0
        or len(request.exceptions) > 0
    ):
        return False
    return choose_by_estimates(belief, scratch, request, budget, chosen, scores)


@routine
def choose_by_estimates(
    belief: Counts, scratch: EarlyScratch, request: Request, budget: float, chosen: Ints, scores: Floats
) -> bool:
    """The same for a request that suits."""
    first, count = request.candidates[0], len(request.candidates)
    examined, clicked = belief.examined[first : first + count], belief.clicked[first : first + count]
    for begin in range(0, count, LANES):
        fill_estimates(examined[begin:], clicked[begin:], budget, scratch, begin)
    if not select_by_keys(scratch.worth, request, scratch.keys, chosen, scores):
        return False
    return are_clear(examined, clicked, scratch.worth, scratch.doubt, first, chosen)


@helper
def are_clear(examined: Floats, clicked: Floats, worth: Floats, doubt: Singles, first: int, chosen: Ints) -> bool:
    """Whether errors of the estimates cannot change the order of the list, nor which items are in it."""
    last = chosen[len(chosen) - 1] - first
    unclear = not worth[last] >= 0.0  # not a number
    for j in range(len(chosen) - 1):
        place, following = chosen[j] - first, chosen[j + 1] - first
        gap = worth[place] - worth[following]
        differ = (examined[place] != examined[following]) | (clicked[place] != clicked[following])
        unclear |= differ & (not gap > doubt[place] + doubt[following])
    last_examined, last_clicked, last_worth, last_doubt = examined[last], clicked[last], worth[last], doubt[last]
    for i in range(len(examined)):
        differ = (examined[i] != last_examined) | (clicked[i] != last_clicked)
        unclear |= differ & (not abs(worth[i] - last_worth) > doubt[i] + last_doubt)
    return not unclear


@helper
def fill_estimates(examined: Floats, clicked: Floats, budget: float, scratch: EarlyScratch, begin: int) -> None:
    """Estimate the indices of the first LANES counts, and bound the errors, from place `begin` on."""
    count, special = min(len(examined), LANES), 0
    tries, hits, lane = scratch.tries, scratch.hits, scratch.lane
    worth, doubt = scratch.worth[begin : begin + LANES], scratch.doubt[begin : begin + LANES]
    for i in range(count):
        own_tries, own_hits = examined[i], clicked[i]
        between = own_hits < own_tries
        special += 0 if between else 1
        tries[i] = np.float32(own_tries if between else 1.0)
        hits[i] = np.float32(own_hits if between else 0.5)
    limit, bits = np.float32(budget), lane.view(np.int32)
    for i in range(len(tries)):
        per_try = ONE / tries[i]
        mean, radius = max(hits[i] * per_try, LEAST), limit * per_try
        other = ONE - mean
        # The start: the divergence is about other decay^2 / (2 mean + decay), where exp(-decay) of `other` is left.
        root = np.float32(math.sqrt(radius * (radius + EIGHT * mean * other)))
        decay = min((radius + root) * (HALF / other), FAR)
        # exp(-decay) is a power of 2, `scale`, and a part; bits are read and written by way of a place in memory.
        power = -decay * PER_LOG_2
        lane[i] = power + SHIFTED
        x = power - (lane[i] - SHIFTED)
        bits[i] = np.int32(np.int32(bits[i] << MANTISSA) + BITS_OF_1)
        scale, square = lane[i], x * x
        part = scale * (x * E1 + square * ((E2 + x * E3) + square * ((E4 + x * E5) + square * E6)))
        rest, d = other * (scale + part), other * ((ONE - scale) - part)
        q = mean + d
        inverse, per_d = ONE / (q * rest), ONE / d
        per_q, per_rest, per_slope = inverse * rest, inverse * q, q * rest * per_d
        # The logarithm of mean / q: of a power of 2, and of 1 + x, a mantissa between sqrt(1/2) and sqrt(2).
        lane[i] = mean * per_q
        whole = np.int32(np.int32(bits[i] - ROOT_HALF) >> MANTISSA)
        bits[i] = np.int32(bits[i] - np.int32(whole << MANTISSA))
        x = lane[i] - ONE
        square = x * x
        low, high = (C1 + x * C2) + square * (C3 + x * C4), (C5 + x * C6) + square * (C7 + x * C8)
        fourth = square * square
        log = np.float32(whole) * LOG_2 + ((x - HALF * square) + x * square * (low + fourth * (high + fourth * C9)))
        # The step is that of `kl_upper`.
        excess = mean * log + (other * decay - radius)
        from_q, from_rest = mean * per_q * per_q, other * per_rest * per_rest
        bend = HALF * (from_q + from_rest) * per_slope
        twist = (from_rest * per_rest - from_q * per_q) * per_slope * THIRD
        newton = excess * per_slope
        turn = bend * newton
        step = newton * (ONE - turn) / (ONE - TWO * turn + twist * newton * newton)
        share = step * max(per_d, per_rest)
        hits[i] = q - step
        doubt[i] = abs(step) * share * share * abs(share) + ROUNDED * (ONE + mean * per_slope)
    for i in range(count):
        worth[i] = float(hits[i])
    if special > 0:
        for i in range(count):
            if clicked[i] >= examined[i]:
                worth[i], doubt[i] = 1.0 if examined[i] > 0.0 else np.inf, 0.0
