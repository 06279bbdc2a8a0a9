"""Stacking: weights of click models by which their mixture predicts held-out lists best.

A large log rejects every model, so that choosing one of them would be too sure. The weights maximise the mean logarithm
of the mixture's probability of held-out lists (Yao, Vehtari, Simpson and Gelman, Using Stacking to Average Bayesian
Predictive Distributions, 2018).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats

ENOUGH = 1e-6  # nats per list that better weights could still gain
MOST_ROUNDS = 5_000
MOST_LISTS = 50_000  # held-out lists; more do not change the weights visibly


class Stacking(NamedTuple):
    """The weights of models in the best mixture.

    Parameters
    ----------
    weights : dict of str to float
        By model; they add up to 1.
    per_list : float
        Mean logarithm of the probability that the mixture gives to a held-out list.
    gap : float
        An upper bound on what better weights could gain per list.
    """

    weights: dict[str, float]
    per_list: float
    gap: float


def stack(log_likelihoods: Mapping[str, Floats], list_weights: Floats) -> Stacking:
    """Weigh models by the held-out lists that their mixture predicts.

    Parameters
    ----------
    log_likelihoods : mapping of str to ndarray of float
        Per model the logarithm of the probability of each held-out list; minus infinity for a list that the model
        cannot explain, NaN for one that it cannot judge.
    list_weights : ndarray of float
        Weight of each list.

    Returns
    -------
    Stacking
        The weights.

    Raises
    ------
    InvalidInput
        If no list can be explained by any model.

    Examples
    --------
    >>> likelihoods = {"one": np.log([0.9, 0.9, 0.1]), "other": np.log([0.1, 0.1, 0.9])}
    >>> {name: round(weight, 3) for name, weight in stack(likelihoods, np.ones(3)).weights.items()}
    {'one': 0.708, 'other': 0.292}
    """
    names = list(log_likelihoods)
    table = np.array([log_likelihoods[name] for name in names])
    kept = np.isfinite(table).any(axis=0) & ~np.isnan(table).any(axis=0) & (list_weights > 0)
    table, share = table[:, kept], list_weights[kept]
    if not table.shape[1]:
        raise InvalidInput("No model explains any of the lists held out; use a larger log.")
    if table.shape[1] > MOST_LISTS:
        some = np.linspace(0, table.shape[1] - 1, MOST_LISTS).astype(np.int64)
        table, share = table[:, some], share[some]
    share = share / share.sum()
    best = table.max(axis=0)
    chance = np.exp(table - best)
    weights = np.full(len(names), 1.0 / len(names))
    gap = np.inf
    for _ in range(MOST_ROUNDS):
        slope = (chance / (weights @ chance)) @ share
        # The objective is concave, so that no other weights gain more than the steepest slope beyond 1.
        gap = float(slope.max() - 1.0)
        if gap < ENOUGH:
            break
        weights = weights * slope  # an EM step: it never lowers the objective, and keeps the sum
    weights /= weights.sum()
    found = dict(zip(names, weights.tolist(), strict=True))
    return Stacking(found, float((best + np.log(weights @ chance)) @ share), gap)


def allot(weights: Mapping[str, float], draws: int, least: float = 0.02) -> dict[str, int]:
    """Divide a number of draws among models by their weights; those of less than `least` get none.

    >>> allot({"dbn": 0.7, "ubm": 0.29, "pbm": 0.01}, 10)
    {'dbn': 7, 'ubm': 3}
    """
    kept = {name: weight for name, weight in weights.items() if weight >= least}
    total = sum(kept.values())
    exact = {name: draws * weight / total for name, weight in kept.items()}
    found = {name: int(each) for name, each in exact.items()}
    by_rest = sorted(exact, key=lambda name: found[name] - exact[name])
    for name in by_rest[: draws - sum(found.values())]:
        found[name] += 1
    return {name: each for name, each in found.items() if each}
