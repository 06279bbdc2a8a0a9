"""The positions that a policy fills by itself, in the order of their value."""

from __future__ import annotations

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Ints, Request


def ranks_of_positions(request: Request, order: Ints, size: int) -> Ints:
    """Per position the number of more valuable positions that the policy fills; -1 where an item is pinned.

    Parameters
    ----------
    request : Request
        Input for the list.
    order : ndarray of int
        The positions from the most to the least valuable, unless the request has an order; empty from the top down.
    size : int
        Number of positions of the list.

    Returns
    -------
    ndarray of int
        The ranks, counted from 0.
    """
    by_value = request.order if len(request.order) > 0 else order if len(order) > 0 else np.arange(size)
    found = np.full(size, -1, dtype=np.int64)
    rank = 0
    for position in by_value:
        if position < size and not is_pinned_position(request, int(position)):
            found[position] = rank
            rank += 1
    return found


def is_pinned_position(request: Request, position: int) -> bool:
    """Whether an item is pinned to a position."""
    return position < len(request.pins) and request.pins[position] >= 0


def free_candidates(request: Request, size: int) -> Ints:
    """The candidates that are not pinned to a position of the list."""
    pinned = request.pins[:size]
    return np.setdiff1d(request.candidates, pinned[pinned >= 0], assume_unique=True)


def with_pins(found: ListProbabilities, request: Request, lists: Ints) -> ListProbabilities:
    """Probabilities with those of pinned positions, where any other item is impossible; a row per list."""
    for position in range(lists.shape[1]):
        if is_pinned_position(request, position):
            stands = lists[:, position] == request.pins[position]
            found.marginal[:, position] = stands
            found.conditional[~stands, position:] = 0.0
    return found
