"""Priors of single items: what is known of them before their first list, and how much of it counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.core.item_id import ItemId, plain_id
from toplist.core.prior import Prior
from toplist.core.problem import number, refuse
from toplist.core.slate import Floats
from toplist.policies.by_name import make

MOST_STRENGTH = 100.0  # looks that a prior stands for, at most
MOST_ODDS = 5.0  # that a prior may set against an item being as good as the K-th best

Priors = Mapping[Any, tuple[float, float]]  # by item; a Prior is such a pair


def checked_priors(given: Any, names: Sequence[ItemId]) -> dict[ItemId, Prior]:
    """The priors of some of the named items, checked."""
    if not isinstance(given, Mapping):
        raise refuse("priors", given, "a mapping from items to (mean, strength)", "write {'a': (0.2, 10)}")
    known, found = set(names), {}
    for item, prior in given.items():
        if plain_id(item) is None or item not in known:
            raise refuse("An item of priors", item, "one of the items", "leave it out, or add the item")
        found[item] = checked_prior(f"priors[{item!r}]", prior)
    return found


def checked_prior(what: str, given: Any) -> Prior:
    """One prior, from a pair of numbers."""
    try:
        mean, strength = given
    except (TypeError, ValueError):
        raise refuse(what, given, "a pair (mean, strength)", "write (0.2, 10)") from None
    return Prior(
        number(f"The mean of {what}", mean, 0.0, 1.0, "give the expected share of clicks"),
        number(f"The strength of {what}", strength, 0.0, 1e9, "give a number of looks, or 0 for no prior"),
    )


def capped_priors(
    priors: Sequence[Prior], looks: Floats, clicks: Floats, positions: int, most: float = MOST_STRENGTH,
    odds: float = MOST_ODDS,
) -> list[Prior]:  # fmt: skip
    """Priors whose strengths are cut to what counts.

    Parameters
    ----------
    priors : sequence of Prior
        The priors.
    looks, clicks : ndarray of float
        What is known of the other items: how often they were examined and clicked, with their priors.
    positions : int
        K.
    most : float, default 100
        Largest strength.
    odds : float, default 5
        Largest odds that a prior may set against an item being as good as the K-th best.

    Returns
    -------
    list of Prior
        The same means, with strengths of at most `most`, and less for items that are thought bad.

    Examples
    --------
    >>> some = [Prior(0.0, 100.0), Prior(0.1, 100.0), Prior(0.2, 500.0)]
    >>> [round(prior.strength, 1) for prior in capped_priors(some, np.zeros(0), np.zeros(0), positions=1)]
    [7.0, 39.8, 100.0]
    """
    mean, strength = (np.array(column, dtype=np.float64) for column in zip(*priors, strict=True))
    strength = np.minimum(strength, most)
    known_looks = np.concatenate([looks, strength])
    rates = (1.0 + np.concatenate([clicks, strength * mean])) / (2.0 + known_looks)
    if len(rates) > positions:
        level = float(np.partition(rates, len(rates) - positions)[len(rates) - positions])
        below = mean < level
        strength[below] = np.minimum(strength[below], math.log(odds) / _divergence(mean[below], level))
    return [Prior(*pair) for pair in zip(mean.tolist(), strength.tolist(), strict=True)]


def _divergence(mean: Floats, level: float) -> Floats:
    """kl(mean, level) of Bernoulli variables, for means below a level between 0 and 1."""
    clicked = np.zeros(len(mean))
    np.log(mean / level, out=clicked, where=mean > 0.0)
    found: Floats = mean * clicked + (1.0 - mean) * np.log((1.0 - mean) / (1.0 - level))
    return found


class WeightsPrior(NamedTuple):
    """A prior of the weights of features: their mean, and the precision matrix."""

    mean: Floats
    precision: Floats


def checked_weights(given: Any, divisors: Floats) -> WeightsPrior:
    """A prior of the weights of features as the caller gives them, for features that the policy sees divided.

    Parameters
    ----------
    given : pair
        Mean of the weights, and their precision: a number, one per feature, or a matrix.
    divisors : ndarray of float
        Per feature, by what it is divided before the policy sees it.

    Returns
    -------
    WeightsPrior
        The prior of the weights of divided features.
    """
    d = len(divisors)
    try:
        mean, precision = given
    except (TypeError, ValueError):
        advice = "write ([0.1, 0.4], 10.0)"
        raise refuse("prior_weights", given, "a pair (mean, precision)", advice) from None
    weights = _finite("The mean of prior_weights", mean, f"{d} finite numbers, one per feature")
    if weights.shape != (d,):
        raise refuse("The mean of prior_weights", mean, f"{d} finite numbers, one per feature", "give one per feature")
    accepted = f"a number above 0, {d} of them, or a symmetric {d} x {d} matrix with positive eigenvalues"
    matrix = _finite("The precision of prior_weights", precision, accepted)
    if matrix.ndim == 0:
        matrix = np.full(d, float(matrix))
    if matrix.shape == (d,):
        matrix = np.diag(matrix)
    if matrix.shape != (d, d) or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise refuse("The precision of prior_weights", precision, accepted, "give the inverse of the covariance")
    matrix = 0.5 * (matrix + matrix.T) / np.outer(divisors, divisors)
    if np.linalg.eigvalsh(matrix)[0] <= 0.0:
        raise refuse("The precision of prior_weights", precision, accepted, "give the inverse of the covariance")
    return WeightsPrior(weights * divisors, matrix)


def _finite(what: str, given: Any, accepted: str) -> Floats:
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(what, given, accepted, "give numbers") from None
    if not np.isfinite(array).all():
        raise refuse(what, given, accepted, "one of them is not finite")
    return array


def adds_up(policy: Any) -> bool:
    """Whether a policy over features may begin with sums of observations: it has a memory that can add them."""
    inner = make(getattr(policy, "policy", policy))  # of a policy that explores, which may name it
    return hasattr(getattr(inner, "memory", None), "add_sums")


def takes_item_priors(policy: Any) -> bool:
    """Whether a new ranker of a policy may have priors of items: it counts them, or learns from their features."""
    return policy.capabilities().samples != "nothing" or adds_up(policy)


def sums_of_priors(rows: Floats, means: Floats, strengths: Floats) -> tuple[Floats, Floats]:
    """Priors of items as sums of observations of their features, for policies over features.

    Parameters
    ----------
    rows : ndarray of float, shape (items, d)
        Features of the items.
    means, strengths : ndarray of float
        Priors of the items.

    Returns
    -------
    tuple of ndarray of float
        The sums of x x' and of value x. Many items share few weights: if each counted with its whole strength, the rate
        of each would be known much better than its prior says. So d items' worth of looks are divided among all.

    Examples
    --------
    >>> gram, total = sums_of_priors(np.ones((4, 1)), np.full(4, 0.2), np.full(4, 10.0))
    >>> gram.tolist(), total.tolist()
    ([[10.0]], [2.0])
    """
    used = strengths > 0.0
    share = min(1.0, rows.shape[1] / max(int(used.sum()), 1))
    weighted = rows[used] * (share * strengths[used])[:, None]
    return weighted.T @ rows[used], weighted.T @ means[used]
