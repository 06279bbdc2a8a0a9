"""Probabilities of the lists of a composed policy, where its index and arrangement have a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Ints, Request
from toplist.policies.propensity.independent_draws import IndependentDraws
from toplist.policies.propensity.levels import probabilities_by_level
from toplist.policies.propensity.positions import free_candidates, ranks_of_positions, with_pins

# Of these beliefs, an index has the same value to the last bit in `exact` and in `top`. Features are summed in another
# order, so that the two could disagree about which of two nearly equal items is the better one.
EXACT_BELIEFS = ("counts", "exposure", "any")


def composed_probabilities(
    scoring: Any, arrangement: Any, belief: Any, request: Request, lists: Ints
) -> ListProbabilities | None:
    """Probabilities of lists of the items with the largest index; None for lists arranged or scored by features.

    `lists` has a row per list.
    """
    if arrangement.asks() != "top" or scoring.reads() not in EXACT_BELIEFS:
        return None
    size = lists.shape[1]
    ranks, free = ranks_of_positions(request, arrangement.places, size), free_candidates(request, size)
    filled = ranks >= 0
    if hasattr(scoring, "log_density"):
        if np.any(np.diff(ranks[filled]) < 0):  # the items above are not those with the larger draws
            return None
        found = ListProbabilities.exact(np.ones(lists.shape), np.ones(lists.shape))
        if filled.any():
            draws = IndependentDraws(
                lambda some, values: scoring.log_density(belief, some, values), free, int(filled.sum())
            ).probabilities(lists[:, filled])
            found.conditional[:, filled], found.marginal[:, filled] = draws.conditional, draws.marginal
        return with_pins(found, request, lists)
    levels = np.nan_to_num(scoring.exact(belief, request._replace(candidates=free)), nan=0.0, posinf=np.inf)
    return with_pins(probabilities_by_level(levels, free, ranks, lists), request, lists)
