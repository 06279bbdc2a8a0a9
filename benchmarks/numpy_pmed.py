"""PMED in NumPy, with SciPy's linear programs: all items of a position, and all positions of an item, at once."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from benchmarks.numpy_since2019 import Generator, by_position
from toplist.core.slate import Floats


def pmed(attraction: Floats, positions: int, steps: int, generator: Generator) -> float:
    """Regret of PMED; every constraint is the world with one item raised, where the search for worlds begins."""
    items, places = len(attraction), np.arange(positions)
    cyclic = [tuple((first + places) % items) for first in range(items)]
    queue, levels = list(cyclic), [np.full(items, -1.0), -np.log(np.arange(1.0, positions + 1.0))]
    need, last = np.zeros((items, positions)), [-1000, -1000]

    def listing(step: int, clicked: Floats, missed: Floats) -> list[int]:
        if not queue:
            if step >= last[0] + 20:
                fit(levels, clicked + 0.5, missed + 0.5, 50 if last[0] < 0 else 2)
                last[0] = step
            if step >= last[1] + max(1000, last[1] // 10):
                need[:] = plan(np.exp(levels[0]), np.exp(levels[1]))
                last[1] = step
            leader = np.argsort(-levels[0])[:positions]
            queue.append(tuple(leader))
            shown, asked = clicked + missed, need * math.log(step)
            rare = shown < math.sqrt(math.log(step))
            queue.extend(made for made in cyclic if rare[made, places].any())
            for item, place in np.argwhere((asked > 0.5) & (shown < asked)).tolist():
                made = leader.copy()
                made[leader == item] = leader[place]  # the two change places
                made[place] = item
                queue.append(tuple(made))
        return [int(item) for item in queue.pop(int(generator.integers(len(queue))))]

    return by_position(attraction, positions, steps, generator, listing)


def fit(levels: list[Floats], clicks: Floats, others: Floats, sweeps: int) -> None:
    """Newton steps of the logarithms of attractions, and of examination probabilities."""
    for _ in range(sweeps):
        for axis, level in enumerate(levels):
            odds = 1.0 / np.expm1(-np.minimum(levels[0][:, None] + levels[1], -1e-6))
            first = (others * odds - clicks).sum(axis=1 - axis)
            second = (others * odds * (1.0 + odds)).sum(axis=1 - axis)
            np.minimum(level - np.clip(first / second, -0.5, 0.5), -1e-6, out=level)
        levels[1][:] = np.minimum.accumulate(np.append(0.0, levels[1][1:]))


def plan(theta: Floats, kappa: Floats) -> Floats:
    """Displays per log t with the least regret."""
    order = np.argsort(-theta)
    best, items, places = theta[order], len(theta), len(kappa)
    rate, cost = np.outer(best, kappa), (best[:places] - best[:, None]) * kappa
    rows = []
    for low in range(1, items):
        raised = best.copy()
        raised[low] = best[min(low, places) - 1]
        chance = np.minimum(np.outer(raised, best[:places] * kappa / raised[:places]), 1.0 - 1e-9)
        row = rate * np.log(rate / chance) + (1.0 - rate) * np.log((1.0 - rate) / (1.0 - chance))
        if row.max() > 1e-6:
            rows.append(-row.ravel())
    flow = np.zeros((places, items, places))
    flow[places_ := np.arange(places), :, places_] -= 1.0
    flow[places_, places_, :] += 1.0
    constraints = np.concatenate([np.array(rows).reshape(-1, items * places), flow.reshape(places, -1)])
    least = np.append(np.full(len(rows), -1.0), np.zeros(places))
    solved = linprog(cost.ravel(), constraints, least, method="highs")
    found = np.zeros((items, places))
    if solved.x is not None:
        found[order] = solved.x.reshape(items, places) * (1.0 - np.eye(items, places))
    return found
