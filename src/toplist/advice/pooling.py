"""Priors of a fit learned from the fit itself: what items are like, by how often they were shown and by their features.

A fit shrinks rarely shown items to the mean by two imagined lists, whatever the others are like. If all others are
alike, such an item would look as if it could be anything, and a policy that tries it as if it could gain a lot. If the
old ranking knows its business, an item that it rarely shows is worse than the mean. So each item gets a Beta prior
whose mean is a logistic regression on the logarithm of its impressions and on its features, and whose strength says how
well the regression predicts (empirical Bayes).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import lgamma
from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.logs import ClickLog, FittedModel, Prior
from toplist.logs.fit_model import PairPriors
from toplist.logs.id_table import Codes

STRENGTHS = (
    2.0, 3.0, 5.0, 8.0, 12.0, 18.0, 27.0, 40.0, 60.0, 90.0, 135.0, 200.0, 300.0, 450.0, 675.0, 1000.0, 1500.0, 2250.0,
    3400.0, 5000.0,
)  # fmt: skip
MOST_PAIRS = 3000  # pairs that say what items are like
PAIRS_PER_COLUMN = 4  # that a regression needs
ROUNDS = 12  # of Newton's method
RIDGE = 1.0  # imagined observations against a coefficient


class PairFacts:
    """What is known of the (query, item) pairs of a log before any fit: impressions and features.

    Parameters
    ----------
    log : ClickLog
        The log.
    features : mapping, optional
        Features by item.
    """

    def __init__(self, log: ClickLog, features: Mapping[Any, Floats] | None = None) -> None:
        self._width = len(log.items) + 1
        keys = np.repeat(log.query, log.lengths).astype(np.int64) * self._width + log.item
        self._keys, number = np.unique(keys, return_inverse=True)
        shown = np.log(np.bincount(number, weights=np.repeat(log.weights, log.lengths)))
        self._middle, self._spread = float(shown.mean()), max(float(shown.std()), 1e-9)
        self._shown = (shown - self._middle) / self._spread
        self._features = None
        if features is not None:
            columns = len(next(iter(features.values())))
            rows = [features.get(log.items[code], np.zeros(columns)) for code in range(len(log.items))]
            table = np.array(rows, dtype=np.float64).reshape(len(rows), columns)
            self._features = (table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-9)

    def columns(self, pair_query: Codes, pair_item: Codes) -> Floats:
        """The covariates of pairs: 1, the standardised logarithm of their impressions, and features."""
        at = np.searchsorted(self._keys, pair_query.astype(np.int64) * self._width + pair_item)
        found = np.stack([np.ones(len(at)), self._shown[at]], axis=1)
        return found if self._features is None else np.concatenate([found, self._features[pair_item]], axis=1)


class BetaRegression(NamedTuple):
    """A Beta distribution whose mean is a logistic function of covariates.

    Parameters
    ----------
    weights : ndarray of float
        Coefficients.
    strength : float
        Number of imagined tosses.
    """

    weights: Floats
    strength: float


def pooled_priors(fitted: FittedModel, facts: PairFacts) -> PairPriors:
    """Priors for the parameters of items, learned from a fit with the usual priors.

    Parameters
    ----------
    fitted : FittedModel
        The fit, to some or all pairs of the log.
    facts : PairFacts
        What is known of the pairs of the log.

    Returns
    -------
    callable
        Gives the imagined heads and tails of pairs, for `toplist.logs.fit_draws.draw_fits`.
    """
    kinds = fitted.model.coins().own
    rows = np.linspace(0, len(fitted.own.value) - 1, min(len(fitted.own.value), MOST_PAIRS)).astype(np.int64)
    columns = facts.columns(fitted.pair_query[rows], fitted.pair_item[rows])
    found = []
    for column, kind in enumerate(kinds):
        old = fitted.priors.get(kind, Prior(0.5, 2.0))
        tosses = np.nan_to_num(fitted.own.tosses[rows, column])
        heads = fitted.own.value[rows, column] * (tosses + old.strength) - old.mean * old.strength
        found.append(beta_regression(np.clip(heads, 0.0, tosses), tosses, columns, old))

    def priors(pair_query: Codes, pair_item: Codes) -> tuple[Floats, Floats]:
        known = facts.columns(pair_query, pair_item)
        means = np.stack([mean_of(known, each.weights) for each in found], axis=1)
        strengths = np.array([each.strength for each in found])
        return means * strengths, (1.0 - means) * strengths

    return priors


def beta_regression(heads: Floats, tosses: Floats, columns: Floats, otherwise: Prior) -> BetaRegression:
    """The regression from which coins with these counts most probably come.

    Parameters
    ----------
    heads, tosses : ndarray of float
        Counts of each coin, not necessarily whole.
    columns : ndarray of float, shape (coins, covariates)
        Covariates, the first of them 1.
    otherwise : Prior
        What to take if there are too few coins.

    Returns
    -------
    BetaRegression
        The coefficients, and a strength between 2 and 5,000: the harmonic mean of strengths by how probable each makes
        the counts. The most probable one would be too sure where many are nearly as probable.

    Examples
    --------
    >>> ones = np.ones((8, 1))
    >>> found = beta_regression(np.array([10.0, 11.0, 9.0, 10.0] * 2), np.full(8, 50.0), ones, Prior(0.5, 2.0))
    >>> round(float(mean_of(ones, found.weights)[0]), 2), round(found.strength)
    (0.2, 201)
    """
    known = tosses > 0.0
    heads, tosses, used = heads[known], tosses[known], columns[known]
    constant = np.zeros(columns.shape[1])
    constant[0] = np.log(otherwise.mean / (1.0 - otherwise.mean))
    if len(tosses) < PAIRS_PER_COLUMN * columns.shape[1]:
        used = used[:, :1]
    if len(tosses) < PAIRS_PER_COLUMN:
        return BetaRegression(constant, max(otherwise.strength, STRENGTHS[0]))
    # Uniform in the standard deviation between coins, which goes with 1 / sqrt(strength): few coins leave it open.
    evidence = -0.5 * np.log(STRENGTHS)
    for place, strength in enumerate(STRENGTHS):
        mean = mean_of(used, regress(heads, tosses, used, strength))
        evidence[place] += sum(
            map(log_evidence, heads.tolist(), tosses.tolist(), mean.tolist(), [strength] * len(heads))
        )
    chance = np.exp(evidence - evidence.max())
    strength = float(chance.sum() / (chance @ (1.0 / np.array(STRENGTHS))))
    weights = regress(heads, tosses, used, strength)
    return BetaRegression(np.append(weights, np.zeros(columns.shape[1] - len(weights))), strength)


def regress(heads: Floats, tosses: Floats, columns: Floats, strength: float) -> Floats:
    """Logistic regression of overdispersed counts: coins of equal mean differ as a Beta of this strength does."""
    share = (strength + 1.0) / (strength + tosses)  # that a toss of a coin is worth
    total = min(max(float(share @ heads / (share @ tosses)), 0.001), 0.999)
    weights = np.zeros(columns.shape[1])
    weights[0] = np.log(total / (1.0 - total))
    penalty = np.full(len(weights), RIDGE)
    penalty[0] = 1e-6
    for _ in range(ROUNDS):
        mean = mean_of(columns, weights)
        slope = columns.T @ (share * (heads - tosses * mean)) - penalty * np.append(0.0, weights[1:])
        curve = (columns * (share * tosses * mean * (1.0 - mean))[:, None]).T @ columns + np.diag(penalty)
        weights = weights + np.clip(np.linalg.solve(curve, slope), -1.0, 1.0)
    return weights


def mean_of(columns: Floats, weights: Floats) -> Floats:
    """Probabilities of a logistic regression, inside of 0.001 and 0.999."""
    found: Floats = np.clip(1.0 / (1.0 + np.exp(-np.clip(columns @ weights, -30.0, 30.0))), 0.001, 0.999)
    return found


def log_evidence(head: float, toss: float, mean: float, strength: float) -> float:
    """Logarithm of the probability of a coin's tosses if its probability is drawn from a Beta distribution."""
    above, below = mean * strength, (1.0 - mean) * strength
    prior = lgamma(strength) - lgamma(above) - lgamma(below)
    return prior + lgamma(above + head) + lgamma(below + toss - head) - lgamma(strength + toss)
