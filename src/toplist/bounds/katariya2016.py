"""Regret bounds of katariya2016: Katariya, Kveton, Szepesvari and Wen, DCM Bandits, ICML 2016."""

import math
from collections.abc import Sequence

from toplist.bounds.common import POSITIONS, SHARE, checked_problem, sorted_probabilities
from toplist.bounds.kveton2015 import kveton2015_theorem3, kveton2015_theorem4
from toplist.core.problem import number, whole


def katariya2016_theorem1(attraction: Sequence[float], positions: int, termination: float, steps: int) -> float:
    """Bound the regret of dcmKL-UCB from above where all positions terminate alike.

    Parameters
    ----------
    attraction : sequence of float
        Attraction probability w of each item, in any order.
    positions : int
        Number of positions K.
    termination : float
        Probability g of leaving after a click, the same at all positions.
    steps : int
        Number of lists n.

    Returns
    -------
    float
        Upper bound on the regret of n steps.

    Notes
    -----
    g / a times the bound of `kveton2015_theorem3`, `a = (1 - max w)^(K-1)`; infinite if a = 0 < g. katariya2016,
    Theorem 1.

    Examples
    --------
    >>> round(katariya2016_theorem1([0.2] * 4 + [0.05] * 12, 4, 0.5, 100_000), 3)
    2320.324
    """
    leaving = number("termination", termination, 0.0, 1.0, SHARE)
    return katariya2016_theorem2(attraction, [leaving] * whole("positions", positions, 1, POSITIONS), steps)


def katariya2016_theorem2(attraction: Sequence[float], termination: Sequence[float], steps: int) -> float:
    """Bound the regret of dcmKL-UCB from above where the order of the positions is known.

    Parameters
    ----------
    attraction : sequence of float
        Attraction probability w of each item, in any order.
    termination : sequence of float
        Probability v of leaving after a click, for each of the K positions.
    steps : int
        Number of lists n.

    Returns
    -------
    float
        Upper bound on the regret of n steps.

    Notes
    -----
    `sum over i <= K of (v_i - v_(i+1)) / a * R_i`, v sorted downwards and `v_(K+1) = 0`, R_i the bound of
    `kveton2015_theorem3` for i positions, each with its own best epsilon, `a = (1 - max w)^(K-1)`. katariya2016,
    Theorem 2.

    Examples
    --------
    >>> round(katariya2016_theorem2([0.2] * 2 + [0.05] * 6, [0.8, 0.5], 100_000), 3)
    1103.626
    """
    leaving = sorted_probabilities("termination", termination, "position")
    ranked, K = checked_problem(attraction, len(leaving))
    total, unclicked = 0.0, math.pow(1 - ranked[0], K - 1)
    for place, (here, below) in enumerate(zip(leaving, [*leaving[1:], 0.0], strict=True), 1):
        if here > below:
            cascade = kveton2015_theorem3(ranked, place, steps)
            total += (here - below) / unclicked * cascade if unclicked else math.inf
    return total


def katariya2016_theorem3(
    items: int, positions: int, attraction: float, gap: float, termination: float, steps: int
) -> float:
    """Bound the regret of any consistent policy for DCM users from below, for large n.

    Parameters
    ----------
    items : int
        Number of items L.
    positions : int
        Number of positions K.
    attraction : float
        Attraction p of the K best items.
    gap : float
        Gap D between the K best and the other items.
    termination : float
        Probability g of leaving after a click, the same at all positions.
    steps : int
        Number of lists n.

    Returns
    -------
    float
        Lower bound on the regret of n steps.

    Notes
    -----
    `g (L-K) (1-p)^(K-1) D / KL(p-D || p) * log n`. katariya2016, Theorem 3.

    Examples
    --------
    >>> round(katariya2016_theorem3(16, 4, 0.2, 0.15, 0.5, 100_000), 3)
    56.472
    """
    cascade = kveton2015_theorem4(items, positions, attraction, gap, steps)
    return number("termination", termination, 0.0, 1.0, SHARE) * cascade
