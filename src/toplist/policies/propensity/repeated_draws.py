"""Probabilities of a list by repeated draws, where there is no closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Ints


def probabilities_by_repetition(draw: Callable[[int], Ints], items: Ints, draws: int) -> ListProbabilities:
    """Shares of drawn lists that begin like a list, and that have its items at their positions.

    The list itself counts as one more draw: a list that was shown never has the probability 0, and one that is certain
    has 1. Where a policy cannot show the list, that is too much, by 1 in `draws` at most.

    Parameters
    ----------
    draw : callable
        Draws a list, given the number of the draw.
    items : ndarray of int
        The list.
    draws : int
        Number of draws.

    Returns
    -------
    ListProbabilities
        The shares with their standard errors.
    """
    begins, stands = np.ones(len(items) + 1), np.ones(len(items))
    begins[0] += draws
    for number in range(draws):
        drawn = draw(number)
        same = drawn[: len(items)] == items[: len(drawn)]
        stands[: len(same)] += same
        begins[1 : len(same) + 1] += np.logical_and.accumulate(same)
    conditional, marginal = begins[1:] / begins[:-1], stands / (draws + 1)
    return ListProbabilities(
        conditional, marginal, np.sqrt(conditional * (1.0 - conditional) / begins[:-1]),
        np.sqrt(marginal * (1.0 - marginal) / (draws + 1)),
    )  # fmt: skip
