"""Algorithms for people who look at each place with a probability of its own, which is known; each a line of parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toplist.parts.arrange import TopK
from toplist.parts.feedback import EveryPlace
from toplist.parts.index import ExposureBound, ExposurePosterior
from toplist.parts.memory import Exposure
from toplist.policies.bandits import Order
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy

Examination = str | float | Sequence[float]


@entry("PBM-UCB")
def pbm_ucb(examination: Examination = "reciprocal", scale: float = 0.5) -> Policy:
    """The items with the largest upper bound, the best at the place that is looked at most.

    U(e) = S/E + sqrt(N/E) sqrt(scale log t / E), where each of N displays counts in E as much as its place is looked
    at. Lagree, Vernade and Cappe, Multiple-Play Bandits in the Position-Based Model, NIPS 2016, section 5.
    """
    return Policy(EveryPlace(), Exposure(examination), ExposureBound(scale), TopK(most_examined(examination)))


@entry("PBM-TS")
def pbm_ts(examination: Examination = "reciprocal") -> Policy:
    """The best items of a draw from the posterior of each, the best at the place that is looked at most.

    The posterior is theta^S prod_l (1 - kappa_l theta)^F_l after F_l displays at place l without a click and S clicks.
    Lagree, Vernade and Cappe, Multiple-Play Bandits in the Position-Based Model, NIPS 2016, section 5.
    """
    return Policy(EveryPlace(), Exposure(examination), ExposurePosterior(), TopK(most_examined(examination)))


def most_examined(examination: Examination) -> Order:
    """The places by how much they are looked at, the most first; from the top down where all are alike."""
    if isinstance(examination, str | int | float):
        return "first"
    order: list[int] = (np.argsort(-np.asarray(examination), kind="stable") + 1).tolist()
    return order
