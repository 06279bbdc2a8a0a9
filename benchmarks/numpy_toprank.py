"""TopRank in NumPy: all pairs of items at once."""

from __future__ import annotations

import math

import numpy as np

from toplist.core.slate import Floats

CONSTANT = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))


def top_rank(attraction: Floats, positions: int, steps: int, generator: np.random.Generator) -> float:
    """Regret of TopRank with delta = 1/n on cascade users."""
    items = len(attraction)
    lead, duels = np.zeros((items, items)), np.zeros((items, items))
    beaten = np.zeros((items, items), dtype=bool)
    blocks = np.zeros(items)
    ideal = math.prod(1.0 - np.sort(attraction)[-positions:])
    regret = 0.0
    for _ in range(steps):
        shown = np.argsort(blocks + generator.random(items))[:positions]
        clicked = np.zeros(items)
        attracted = np.flatnonzero(generator.random(positions) < attraction[shown])
        if len(attracted):
            clicked[shown[attracted[0]]] = 1.0
        regret += math.prod(1.0 - attraction[shown]) - ideal
        won = np.where(blocks[:, None] == blocks[None, :], clicked[:, None] - clicked[None, :], 0.0)
        lead += won
        duels += np.abs(won)
        bound = np.sqrt(2.0 * duels * np.log(CONSTANT * steps * np.sqrt(np.maximum(duels, 1.0))))
        better = (duels > 0.0) & (lead >= bound)
        if (better & ~beaten).any():
            beaten |= better
            blocks = peeled(beaten)
    return regret


def peeled(beaten: np.typing.NDArray[np.bool_]) -> Floats:
    """Block of each item: items that no remaining one beats, then again among the rest."""
    blocks = np.full(len(beaten), -1.0)
    number = 0.0
    while (left := blocks < 0.0).any():
        best = left & ~beaten[left].any(axis=0)
        if not best.any():  # a cycle
            best = left
        blocks[best] = number
        number += 1.0
    return blocks
