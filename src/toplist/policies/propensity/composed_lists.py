"""Probabilities of the lists of a composed policy, where its index and arrangement have a closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import NONE, Bools, Ints, Request
from toplist.policies.propensity.independent_draws import IndependentDraws
from toplist.policies.propensity.last_drawn import probabilities_with_last_drawn
from toplist.policies.propensity.levels import probabilities_by_level
from toplist.policies.propensity.positions import free_candidates, ranks_of_positions, with_pins
from toplist.policies.propensity.shared_draw import probabilities_by_shared_draw

# Of these beliefs, an index has the same value to the last bit in `exact` and in `top`. Features are summed in another
# order, so that the two could disagree about which of two nearly equal items is the better one.
EXACT_BELIEFS = ("counts", "exposure", "positions", "any")


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
    if hasattr(arrangement, "forced") and (first := arrangement.forced(belief, request)) >= 0:
        # From the top down: one item, above others at random.
        ranks = ranks_of_positions(request._replace(order=NONE), NONE, size)
        return with_pins(probabilities_by_level((free == first).astype(np.float64), free, ranks, lists), request, lists)
    filled = ranks >= 0
    is_drawn = any(hasattr(scoring, method) for method in ("log_density", "lines", "contenders"))
    if is_drawn and np.any(np.diff(ranks[filled]) < 0):  # the items above are not those with the larger draws
        return None
    if hasattr(scoring, "log_density") or hasattr(scoring, "lines"):
        found = ListProbabilities.exact(np.ones(lists.shape), np.ones(lists.shape))
        if filled.any():
            if hasattr(scoring, "lines"):
                mean, deviation = scoring.lines(belief, free)
                draws = _each(
                    lists[:, filled], lambda items: probabilities_by_shared_draw(mean, deviation, free, items)
                )
            else:
                draws = IndependentDraws(
                    lambda some, values: scoring.log_density(belief, some, values), free, int(filled.sum())
                ).probabilities(lists[:, filled])
            found.conditional[:, filled], found.marginal[:, filled] = draws.conditional, draws.marginal
        return with_pins(found, request, lists)
    if hasattr(scoring, "contenders"):
        levels = scoring.levels(belief, free)

        def able(level: float) -> Bools:
            found: Bools = scoring.contenders(belief, free, level)
            return found

        explored = _each(lists, lambda items: probabilities_with_last_drawn(levels, able, free, ranks, items))
        return with_pins(explored, request, lists)
    levels = np.nan_to_num(scoring.exact(belief, request._replace(candidates=free)), nan=0.0, posinf=np.inf)
    return with_pins(probabilities_by_level(levels, free, ranks, lists), request, lists)


def _each(lists: Ints, of_one: Callable[[Ints], ListProbabilities]) -> ListProbabilities:
    """Probabilities of lists, one after the other; a row per list."""
    return ListProbabilities(*map(np.stack, zip(*map(of_one, lists), strict=True)))
