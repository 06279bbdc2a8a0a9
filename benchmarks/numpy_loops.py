"""NumPy loops as a user would write them: arrays over items, plain Python over positions and steps."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from toplist.core.slate import Floats

BLOCK = 256  # steps whose random numbers are drawn at once: a call costs more than its numbers
MOST_NUMBERS = 2**20  # drawn at once: a few million are slow to write and to read again
TIE_BREAK = 1e-9  # random noise of this size on the scores, so that ties are fair; as small as the accuracy of KL-UCB
LAST_STEP = 1e-7  # at which Newton's method stops: the error left is of the order of its square
FEW = 128  # items up to which sorting all is faster than partitioning first

Index = Callable[[int, Floats, Floats], Floats]  # scores at a step, counted from 0, from examined and clicked


def ucb1(attraction: Floats, positions: int, steps: int, generator: np.random.Generator) -> float:
    """Regret of CascadeUCB1."""

    def index(step: int, examined: Floats, clicked: Floats) -> Floats:
        scores: Floats = clicked / examined + np.sqrt(1.5 * math.log(max(1, step)) / examined)
        return scores

    return cascade(attraction, positions, steps, generator, index)


def kl_ucb(attraction: Floats, positions: int, steps: int, generator: np.random.Generator) -> float:
    """Regret of CascadeKL-UCB."""
    upper = np.zeros(len(attraction))

    def index(step: int, examined: Floats, clicked: Floats) -> Floats:
        nonlocal upper
        log = math.log(step + 1)
        budget = log + 3 * math.log(log) if log > 1 else log
        mean = clicked / examined
        if budget <= 0:
            return mean
        certain = mean >= 1.0
        if not certain.any():
            upper = kl_upper(mean, budget / examined, upper)
            return upper.copy()
        upper = kl_upper(np.where(certain, 0.5, mean), budget / examined, upper)
        return np.where(certain, 1.0, upper)

    return cascade(attraction, positions, steps, generator, index)


def kl_upper(mean: Floats, radius: Floats, start: Floats) -> Floats:
    """The largest q with KL(mean || q) <= radius, by Newton's method from `start`, all items at once; mean < 1."""
    other = 1.0 - mean
    known = mean * np.log(np.maximum(mean, 1e-300)) + other * np.log(other) - radius
    lost = (start <= mean) | (start >= 1.0)
    upper = start
    if lost.any():
        upper = np.where(lost, np.minimum(mean + np.sqrt(0.5 * radius), 0.5 * (1.0 + mean)), start)
    for _ in range(50):
        rest = 1.0 - upper
        excess = known - mean * np.log(upper) - other * np.log(rest)
        step = excess * upper * rest / (upper - mean)
        # KL is convex in q, so Newton's method overshoots upwards only: guard against 1 alone.
        upper = np.minimum(upper - step, upper + 0.5 * rest)
        if np.abs(step, out=step).max() < LAST_STEP:
            break
    return upper


def best(scores: Floats, positions: int) -> list[int]:
    """The items with the largest scores, the largest first."""
    if len(scores) <= FEW:
        chosen = scores.argsort()[: -positions - 1 : -1]
    else:
        some = scores.argpartition(-positions)[-positions:]
        chosen = some[scores[some].argsort()[::-1]]
    return [*chosen.tolist()]


def cascade(attraction: Floats, positions: int, steps: int, generator: np.random.Generator, index: Index) -> float:
    """Show each visitor the best list by an index, and return the regret."""
    items = len(attraction)
    examined = np.ones(items)
    clicked = (generator.random(items) < attraction).astype(np.float64)
    attracts = attraction.tolist()  # a list: reading a number from an array takes longer
    ideal = math.prod(1.0 - chance for chance in sorted(attracts)[-positions:])
    regret = 0.0
    block = max(1, min(BLOCK, MOST_NUMBERS // items))
    for step in range(steps):
        row = step % block
        if row == 0:
            noise = TIE_BREAK * generator.random((block, items))
            coins = generator.random((block, positions)).tolist()
        scores = index(step, examined, clicked)
        scores += noise[row]
        chosen = best(scores, positions)
        regret += math.prod([1.0 - attracts[item] for item in chosen]) - ideal
        for item, coin in zip(chosen, coins[row], strict=True):
            examined[item] += 1.0
            if coin < attracts[item]:
                clicked[item] += 1.0
                break
    return regret
