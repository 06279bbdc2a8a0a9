"""Lists by levels: higher levels first, and a random order within each level.

That is every ranking by an index whose ties are broken fairly, a random list (one level), and TopRank (its blocks).
"""

from __future__ import annotations

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Floats, Ints


def probabilities_by_level(levels: Floats, candidates: Ints, ranks: Ints, lists: Ints) -> ListProbabilities:
    """Probabilities of lists whose items are ranked by level, and at random within one.

    Parameters
    ----------
    levels : ndarray of float
        Level of each candidate.
    candidates : ndarray of int
        Items that are not pinned, ascending.
    ranks : ndarray of int
        Per position its rank, from `ranks_of_positions`.
    lists : ndarray of int, shape (lists, positions)
        The lists.

    Returns
    -------
    ListProbabilities
        Exact ones.
    """
    conditional, marginal = np.ones(lists.shape), np.ones(lists.shape)
    filled = np.flatnonzero(ranks >= 0)
    if len(filled) == 0:
        return ListProbabilities.exact(conditional, marginal)
    different, inverse, sizes = np.unique(levels, return_inverse=True, return_counts=True)
    level = np.searchsorted(different, np.sort(levels)[::-1][ranks])  # that has the turn at each position
    at = np.minimum(np.searchsorted(candidates, lists), len(candidates) - 1)
    fits = (candidates[at] == lists) & (inverse[at] == level)
    above = np.zeros(len(different), dtype=np.int64)  # items of each level so far, where all fit
    for position in filled:
        here, turn = fits[:, position], level[position]
        marginal[:, position] = here / sizes[turn]
        conditional[:, position] = here / (sizes[turn] - above[turn])
        above[turn] += 1
    impossible = np.logical_or.accumulate(conditional == 0.0, axis=1)
    conditional[impossible] = 0.0
    return ListProbabilities.exact(conditional, marginal)
