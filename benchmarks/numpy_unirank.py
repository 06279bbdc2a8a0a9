"""UniRank in NumPy: all pairs of items at once."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from benchmarks.numpy_loops import kl_upper
from benchmarks.numpy_toprank import peeled
from toplist.core.slate import Floats


def uni_rank(attraction: Floats, positions: int, steps: int, generator: np.random.Generator) -> float:
    """Regret of UniRank on cascade users."""
    items = len(attraction)
    wins, led = np.zeros((items, items)), Counter[bytes]()
    ideal = math.prod(1.0 - np.sort(attraction)[-positions:])
    regret = 0.0
    for step in range(steps):
        lead, duels = wins - wins.T, wins + wins.T
        leader = peeled((lead > 0.0) & (lead * lead > math.log(math.log(step + 3)) * duels))
        led[leader.tobytes()] += 1
        upper = np.ones((items, items))
        if (times := led[leader.tobytes()]) >= 3:
            budget = math.log(times) + 3.0 * math.log(math.log(times))
            met = (duels > 0.0) & (wins < duels)
            share = wins[met] / duels[met]
            if len(share):
                upper[met] = kl_upper(share, budget / duels[met], share)
        blocks = merged(leader, upper, positions)
        shown = np.argsort(blocks + generator.random(items))[:positions]
        clicked = np.zeros(items, dtype=bool)
        attracted = np.flatnonzero(generator.random(positions) < attraction[shown])
        if len(attracted):
            clicked[shown[attracted[0]]] = True
        regret += math.prod(1.0 - attraction[shown]) - ideal
        wins += (blocks[:, None] == blocks[None, :]) & clicked[:, None] & ~clicked[None, :]
    return regret


def merged(leader: Floats, upper: Floats, positions: int) -> Floats:
    """Blocks to be shown: parts of the leader, merged with the next one where that may be better."""
    blocks, now, filled = np.full(len(leader), np.inf), 0.0, 0
    while filled < positions:
        part = leader == now
        if filled + part.sum() >= positions:
            blocks[part] = now
            below = np.flatnonzero(leader > now)
            if len(below):
                promise = upper[below][:, part].max(axis=1)
                if promise.max() > 0.5:
                    blocks[below[promise.argmax()]] = now
            break
        following = leader == now + 1.0
        blocks[part] = now
        filled += int(part.sum())
        if (upper[following][:, part] > 0.5).any():
            blocks[following] = now
            filled += int(following.sum())
            now += 1.0
        now += 1.0
    return blocks
