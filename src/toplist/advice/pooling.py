"""Priors of a fit learned from the fit itself: how much the items of a log differ (empirical Bayes).

A fit shrinks rarely shown items to the mean by two imagined lists, whatever the others are like. If all others are
alike, such an item would look as if it could be anything, and a policy that tries it as if it could gain a lot.
"""

from __future__ import annotations

from math import lgamma

import numpy as np

from toplist.core.slate import Floats
from toplist.logs import FittedModel, Prior

STRENGTHS = (2.0, 3.0, 5.0, 8.0, 12.0, 18.0, 27.0, 40.0, 60.0, 90.0, 135.0, 200.0, 300.0)
MOST_PAIRS = 3000  # pairs that say how much items differ
FEWEST_PAIRS = 4


def pooled_priors(fitted: FittedModel) -> dict[str, Prior]:
    """Priors for the parameters of items, by kind: the mean of all, and a strength that is large if they are alike.

    Parameters
    ----------
    fitted : FittedModel
        A fit with the usual priors.

    Returns
    -------
    dict of str to Prior
        The prior of each kind of parameter that an item has.
    """
    found = {}
    for column, kind in enumerate(fitted.model.coins().own):
        old = fitted.priors.get(kind, Prior(0.5, 0.0))
        tosses = fitted.own.tosses[:, column]
        known = np.flatnonzero(np.isfinite(tosses) & (tosses > 0.0))
        known = known[np.linspace(0, len(known) - 1, min(len(known), MOST_PAIRS)).astype(np.int64)]
        size = tosses[known]
        heads = fitted.own.value[known, column] * (size + old.strength) - old.mean * old.strength
        found[kind] = beta_prior(np.clip(heads, 0.0, size), size, old)
    return found


def beta_prior(heads: Floats, tosses: Floats, otherwise: Prior) -> Prior:
    """The Beta distribution from which coins with these counts most probably come.

    Parameters
    ----------
    heads, tosses : ndarray of float
        Counts of each coin, not necessarily whole.
    otherwise : Prior
        What to take if there are too few coins.

    Returns
    -------
    Prior
        Mean and strength, one of some strengths between 2 and 300.

    Examples
    --------
    >>> alike = beta_prior(np.array([10.0, 11.0, 9.0, 10.0]), np.full(4, 50.0), Prior(0.5, 2.0))
    >>> round(alike.mean, 3), alike.strength
    (0.2, 300.0)
    """
    if len(tosses) < FEWEST_PAIRS:
        return otherwise
    best, chosen = -np.inf, otherwise
    for strength in STRENGTHS:
        weight = tosses / (tosses + strength)
        mean = float(np.clip(weight @ (heads / tosses) / weight.sum(), 0.001, 0.999))
        above, below = mean * strength, (1.0 - mean) * strength
        shared = lgamma(strength) - lgamma(above) - lgamma(below)
        evidence = sum(
            shared + lgamma(above + head) + lgamma(below + toss - head) - lgamma(strength + toss)
            for head, toss in zip(heads.tolist(), tosses.tolist(), strict=True)
        )
        if evidence > best:
            best, chosen = evidence, Prior(mean, strength)
    return chosen
