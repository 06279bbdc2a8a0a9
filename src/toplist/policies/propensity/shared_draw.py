"""Lists by one Gaussian number that all items share: scores are lines over it, and a list holds on an interval."""

from __future__ import annotations

import math

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Floats, Ints


def probabilities_by_shared_draw(mean: Floats, deviation: Floats, candidates: Ints, items: Ints) -> ListProbabilities:
    """Probabilities of a list of the items with the largest mean + Z deviation, where Z is standard normal.

    That one line is above another is a condition on Z alone, a half-line, so a list is shown for an interval of Z.
    Items with the same line are in random order.

    Parameters
    ----------
    mean, deviation : ndarray of float
        The line of each candidate.
    candidates : ndarray of int
        All items that are scored, ascending.
    items : ndarray of int
        The list, from the largest score down.

    Returns
    -------
    ListProbabilities
        Exact ones.
    """
    lines, group, sizes = np.unique(
        np.stack([mean, deviation], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    group = group.reshape(-1)
    row = {int(item): int(group[number]) for number, item in enumerate(candidates)}
    shown = [row.get(int(item), -1) for item in items]
    conditional, marginal = np.zeros(len(items)), np.zeros(len(items))
    left, low, high, ties, before = sizes.copy(), -math.inf, math.inf, 1.0, 1.0
    for position, number in enumerate(shown):
        if number < 0:
            continue
        marginal[position] = _chance_of_rank(lines, sizes, number, position)
    for position, number in enumerate(shown):
        if number < 0 or left[number] == 0:
            break
        ties /= left[number]
        left[number] -= 1
        low, high = _narrowed(lines, number, np.flatnonzero(left > 0), low, high)
        chance = ties * _mass(low, high)
        if chance <= 0.0:
            break
        conditional[position], before = chance / before, chance
    return ListProbabilities.exact(np.minimum(conditional, 1.0), np.minimum(marginal, 1.0))


def _narrowed(lines: Floats, number: int, others: Ints, low: float, high: float) -> tuple[float, float]:
    """The part of an interval of Z in which a line is not below any of the others."""
    for other in others:
        if other == number:
            continue
        gap, turn = lines[number] - lines[other]
        if turn > 0.0:
            low = max(low, -gap / turn)
        elif turn < 0.0:
            high = min(high, -gap / turn)
        elif gap < 0.0:
            return math.inf, -math.inf
    return low, high


def _chance_of_rank(lines: Floats, sizes: Ints, number: int, rank: int) -> float:
    """The probability that an item of a group has this rank: as many items are above, and its equals are shuffled."""
    gap, turn = (lines - lines[number]).T
    always = (turn == 0.0) & (gap > 0.0)
    crossing = np.flatnonzero(turn != 0.0)
    at = -gap[crossing] / turn[crossing]
    order = np.argsort(at)
    rises = np.where(turn[crossing] > 0.0, sizes[crossing], -sizes[crossing])[
        order
    ]  # of the number above, left to right
    above = int(sizes[always].sum() + sizes[crossing][turn[crossing] < 0.0].sum())
    edges = np.concatenate([[-math.inf], at[order], [math.inf]])
    counts = above + np.concatenate([[0], np.cumsum(rises)])
    holds = np.flatnonzero((counts <= rank) & (rank < counts + sizes[number]))
    return float(sum(_mass(edges[piece], edges[piece + 1]) for piece in holds) / sizes[number])


def _mass(low: float, high: float) -> float:
    """Probability that a standard normal number lies in an interval, accurate in both tails."""
    if high <= low:
        return 0.0
    if low > 0.0:
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / math.sqrt(2.0)) - math.erfc(-low / math.sqrt(2.0)))
