"""Priors of the parameters: smoothing as a stated prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from toplist.core.prior import Prior
from toplist.core.slate import Floats
from toplist.logs.models.protocol import Coins

__all__ = ["STRENGTH", "CoinPrior", "Prior", "coin_prior"]

STRENGTH = 2.0  # lists; by default, of the coins of (query, item) pairs


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
