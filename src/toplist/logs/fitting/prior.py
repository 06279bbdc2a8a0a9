"""Priors of the parameters: smoothing as a stated prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from toplist.core.problem import number
from toplist.core.slate import Floats
from toplist.logs.models.protocol import Coins

STRENGTH = 2.0  # lists; by default, of the coins of (query, item) pairs


class Prior(NamedTuple):
    """A beta prior of a kind of parameter, as imagined tosses of its coin.

    The estimate of a parameter whose coin fell heads h times in n tosses is `(h + strength * mean) / (n + strength)`:
    the mean of the posterior, which is its mode on the logit scale.

    Parameters
    ----------
    mean : float
        Mean of the beta distribution.
    strength : float
        Number of imagined tosses; 0 for no prior.
    """

    mean: float
    strength: float

    def checked(self, kind: str) -> Prior:
        """A copy with checked numbers."""
        mean = number(f"The prior mean of {kind}", self.mean, 0.0, 1.0, "give a probability")
        strength = number(f"The prior strength of {kind}", self.strength, 0.0, np.inf, "give a number of tosses")
        return Prior(mean, strength)


class CoinPrior(NamedTuple):
    """Imagined heads and tails per kind of own coin, and per shared coin."""

    own_heads: Floats
    own_tails: Floats
    shared_heads: Floats
    shared_tails: Floats


def coin_prior(coins: Coins, priors: Mapping[str, Prior]) -> CoinPrior:
    """The imagined tosses of each coin; kinds without a prior have none."""
    nothing = Prior(0.5, 0.0)
    own = [priors.get(kind.partition(" at ")[0], nothing) for kind in coins.own]
    shared = [priors.get(kind, nothing) for kind, _ in coins.shared]
    return CoinPrior(
        np.array([each.mean * each.strength for each in own]),
        np.array([(1.0 - each.mean) * each.strength for each in own]),
        np.array([each.mean * each.strength for each in shared]),
        np.array([(1.0 - each.mean) * each.strength for each in shared]),
    )
