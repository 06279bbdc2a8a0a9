"""Ranks with intervals that hold all at once: a policy is above another only if that is beyond doubt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.engine.statistics import standard_error, t_quantile


class PolicyStanding(NamedTuple):
    """The place of a policy.

    Parameters
    ----------
    label : str
        The policy.
    score : float
        Its mean normalised regret.
    low, high : float
        Interval of the mean, 95% for this policy alone.
    rank : int
        Its place by the mean, from 1.
    best, worst : int
        Interval of its place, 95% for the intervals of all policies at once.
    """

    label: str
    score: float
    low: float
    high: float
    rank: int
    best: int
    worst: int


def standings(scores: Mapping[str, Floats], confidence: float = 0.95) -> list[PolicyStanding]:
    """The policies by mean score, the smallest first.

    Parameters
    ----------
    scores : mapping of str to ndarray of float
        Per policy a score per run; run r of all policies met the same visitors.
    confidence : float, default 0.95
        Probability that every interval of a place holds.

    Returns
    -------
    list of PolicyStanding
        The standings.

    Notes
    -----
    The differences of all pairs are tested with Student's paired test at the level that makes all of them hold at once
    (Bonferroni). A policy is at best behind those that are certainly better, and at worst before those that are
    certainly worse; if all tests are right, so are all intervals.

    Examples
    --------
    >>> runs = np.arange(10) % 2
    >>> [tuple(each[4:]) for each in standings({"a": 5.0 + runs, "b": 1.0 - runs, "c": 1.1 + runs})]
    [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    """
    labels = list(scores)
    values = np.array([scores[label] for label in labels])
    means, runs = values.mean(axis=1), values.shape[1]
    order = sorted(range(len(labels)), key=lambda one: (means[one], labels[one]))
    pairs = max(1, len(labels) * (len(labels) - 1) // 2)
    far, near = t_quantile(runs - 1, 1.0 - (1.0 - confidence) / pairs), t_quantile(runs - 1, confidence)
    found = []
    for rank, one in enumerate(order, 1):
        apart = values - values[one]  # above 0: the other one is worse
        half = far * standard_error(apart.T)
        difference = apart.mean(axis=1)
        better, worse = int(np.sum(difference < -half)), int(np.sum(difference > half))
        error = near * float(standard_error(values[one]))
        found.append(
            PolicyStanding(
                labels[one], float(means[one]), float(means[one]) - error, float(means[one]) + error, rank,
                1 + better, len(labels) - worse,
            )
        )  # fmt: skip
    return found
