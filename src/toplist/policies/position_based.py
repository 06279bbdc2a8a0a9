"""Algorithms for the position-based click model with known examination probabilities; each is one line of parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toplist.parts.arrange import TopK
from toplist.parts.feedback import EveryPlace
from toplist.parts.index import ExposureBound, ExposurePosterior, Parsimonious
from toplist.parts.memory import Exposure, PerPosition
from toplist.policies.bandits import Order
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy

Examination = str | float | Sequence[float]


@entry("PBM-UCB")
def pbm_ucb(examination: Examination = "reciprocal", scale: float = 0.5) -> Policy:
    """Shows the items with the largest upper bound, the best at the most examined position.

    Parameters
    ----------
    examination : "reciprocal", float or sequence of float, default "reciprocal"
        Probability that a position is examined: 1, 1/2, 1/3 and so on, one for all positions, or one per position.
    scale : float, default 0.5
        Factor of log t in the confidence radius; a larger one explores more.

    Notes
    -----
    `U(e) = S/E + sqrt(N/E) sqrt(scale log t / E)` after N impressions and S clicks, where E is the sum of the
    examination probabilities of the N positions. Lagree, Vernade and Cappe, Multiple-Play Bandits in the Position-Based
    Model, NIPS 2016, section 5.
    """
    return Policy(EveryPlace(), Exposure(examination), ExposureBound(scale), TopK(places_by_examination(examination)))


@entry("PBM-TS")
def pbm_ts(examination: Examination = "reciprocal") -> Policy:
    """Thompson sampling: shows the best items of a draw from each posterior, the best at the most examined position.

    Parameters
    ----------
    examination : "reciprocal", float or sequence of float, default "reciprocal"
        Probability that a position is examined: 1, 1/2, 1/3 and so on, one for all positions, or one per position.

    Notes
    -----
    The posterior is `theta^S prod_l (1 - kappa_l theta)^F_l` after S clicks and F_l impressions at position l without a
    click, where kappa_l is the examination probability of l. Lagree, Vernade and Cappe, Multiple-Play Bandits in the
    Position-Based Model, NIPS 2016, section 5.
    """
    return Policy(EveryPlace(), Exposure(examination), ExposurePosterior(), TopK(places_by_examination(examination)))


@entry("PBM-PIE")
def pbm_pie(examination: Examination = "reciprocal", epsilon: float = 0.01, steps: float | str = "theory") -> Policy:
    """Shows the items with the largest estimate, and explores only at the least examined position.

    Parameters
    ----------
    examination : "reciprocal", float or sequence of float, default "reciprocal"
        Probability that a position is examined: 1, 1/2, 1/3 and so on, one for all positions, or one per position.
    epsilon : float, default 0.01
        Makes the upper bound of an item larger than its asymptotic minimum.
    steps : float or "theory", default "theory"
        Number of lists n; "theory" is that of the simulation, and where it is unknown the number of the next list.

    Notes
    -----
    The estimate is `S/E` after S clicks, where E is the sum of the examination probabilities of all impressions. Every
    other time, the last of the best items is replaced by one of those whose upper bound reaches its estimate, each
    equally likely; the bound is the largest q with `sum of N_l KL(S_l / N_l || kappa_l q) <= (1 + epsilon) log n`
    after N_l impressions and S_l clicks at position l. Lagree, Vernade and Cappe, Multiple-Play Bandits in the
    Position-Based Model, NIPS 2016, algorithm 1. The paper first shows each item at each position; here items never
    shown go first.
    """
    index = Parsimonious(epsilon, steps)
    return Policy(EveryPlace(), PerPosition(examination), index, TopK(places_by_examination(examination)))


def places_by_examination(examination: Examination) -> Order:
    """The 1-based positions, the most examined first, or "first" (top down) without one probability per position."""
    try:
        chances = np.asarray(examination, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # a name; anything else is refused by `Exposure`
        return "first"
    if chances.ndim != 1:
        return "first"
    order: list[int] = (np.argsort(-chances, kind="stable") + 1).tolist()
    return order
