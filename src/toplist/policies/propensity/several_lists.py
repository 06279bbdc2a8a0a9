"""Probabilities of several lists: all at once where the policy can, else one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Ints, Request


def weigh_lists(policy: Any, belief: Any, request: Request, lists: Ints) -> ListProbabilities | None:
    """Probabilities of lists that fill all positions of a request.

    Parameters
    ----------
    policy : policy
        The policy, prepared.
    belief : NamedTuple of ndarray
        Learned state.
    request : Request
        Input for the lists; its random key does not matter.
    lists : ndarray of int, shape (lists, positions)
        The lists, from the top.

    Returns
    -------
    ListProbabilities or None
        A row per list; None where the probabilities have no closed form.
    """
    if hasattr(policy, "weigh_lists"):
        at_once: ListProbabilities | None = policy.weigh_lists(belief, request, lists)
        return at_once
    if not hasattr(policy, "list_probabilities"):
        return None
    different, inverse = np.unique(lists, axis=0, return_inverse=True)
    found = [policy.list_probabilities(belief, request, items) for items in different]
    if any(one is None for one in found):
        return None
    return ListProbabilities(*(np.array(column)[inverse.ravel()] for column in zip(*found, strict=True)))
