"""The probability with which a ranker shows a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Ints
from toplist.policies.propensity.repeated_draws import probabilities_by_repetition

DRAWS = 1000  # lists that are drawn where there is no closed form


def weigh_list(exact: Callable[[], Any] | None, draw: Callable[[int], Ints], items: Ints) -> ListProbabilities:
    """Probabilities of a list: the policy's own where it has them, and the rest by repeated draws.

    Parameters
    ----------
    exact : callable, optional
        The policy's own, or None where it has none in closed form.
    draw : callable
        Makes another list from the same belief, given a number.
    items : ndarray of int
        The list.

    Returns
    -------
    ListProbabilities
        The probabilities with their standard errors.
    """
    found: ListProbabilities | None = None if exact is None else exact()
    if found is not None and not np.any(np.isnan(found.marginal)):
        return found
    drawn = probabilities_by_repetition(draw, items, DRAWS)
    if found is None:
        return drawn
    unknown = np.isnan(found.marginal)
    found.marginal[unknown], found.marginal_error[unknown] = drawn.marginal[unknown], drawn.marginal_error[unknown]
    return found
