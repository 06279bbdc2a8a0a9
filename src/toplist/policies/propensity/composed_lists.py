"""Probabilities of the lists of a composed policy, where its index and arrangement have a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Ints, Request
from toplist.policies.propensity.independent_draws import probabilities_by_draws
from toplist.policies.propensity.last_drawn import probabilities_with_last_drawn
from toplist.policies.propensity.levels import probabilities_by_level
from toplist.policies.propensity.positions import free_candidates, ranks_of_positions, with_pins
from toplist.policies.propensity.shared_draw import probabilities_by_shared_draw

# Of these beliefs, an index has the same value to the last bit in `exact` and in `top`. Features are summed in another
# order, so that the two could disagree about which of two nearly equal items is the better one.
EXACT_BELIEFS = ("counts", "exposure", "positions", "any")


def composed_probabilities(
    scoring: Any, arrangement: Any, belief: Any, request: Request, items: Ints
) -> ListProbabilities | None:
    """Probabilities of a list of the items with the largest index; None for lists arranged or scored by features."""
    if arrangement.asks() != "top" or scoring.reads() not in EXACT_BELIEFS:
        return None
    ranks = ranks_of_positions(request, arrangement.places, len(items))
    free = free_candidates(request, len(items))
    filled = ranks >= 0
    is_drawn = any(hasattr(scoring, method) for method in ("log_density", "lines", "contenders"))
    if is_drawn and np.any(np.diff(ranks[filled]) < 0):  # the items above are not those with the larger draws
        return None
    if hasattr(scoring, "log_density") or hasattr(scoring, "lines"):
        found = ListProbabilities.exact(np.ones(len(items)), np.ones(len(items)))
        if hasattr(scoring, "lines"):
            mean, deviation = scoring.lines(belief, free)
            drawn = probabilities_by_shared_draw(mean, deviation, free, items[filled])
        else:
            drawn = probabilities_by_draws(
                lambda some, values: scoring.log_density(belief, some, values), free, items[filled]
            )
        found.conditional[filled], found.marginal[filled] = drawn.conditional, drawn.marginal
        return with_pins(found, request, items)
    if hasattr(scoring, "contenders"):
        explored = probabilities_with_last_drawn(
            scoring.levels(belief, free), lambda level: scoring.contenders(belief, free, level), free, ranks, items
        )
        return with_pins(explored, request, items)
    levels = np.nan_to_num(scoring.exact(belief, request._replace(candidates=free)), nan=0.0, posinf=np.inf)
    return with_pins(probabilities_by_level(levels, free, ranks, items), request, items)
