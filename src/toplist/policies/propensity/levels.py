"""Lists by levels: higher levels first, and a random order within each level.

That is every ranking by an index whose ties are broken fairly, a random list (one level), and TopRank (its blocks).
"""

from __future__ import annotations

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Floats, Ints


def probabilities_by_level(levels: Floats, candidates: Ints, ranks: Ints, items: Ints) -> ListProbabilities:
    """Probabilities of a list whose items are ranked by level, and at random within one.

    Parameters
    ----------
    levels : ndarray of float
        Level of each candidate.
    candidates : ndarray of int
        Items that are not pinned, ascending.
    ranks : ndarray of int
        Per position its rank, from `ranks_of_positions`.
    items : ndarray of int
        The list.

    Returns
    -------
    ListProbabilities
        Exact ones.
    """
    descending = np.sort(levels)[::-1]
    conditional, marginal = np.ones(len(items)), np.ones(len(items))
    above: dict[float, int] = {}  # items of each level so far
    possible = True
    for position, item in enumerate(items):
        rank = ranks[position]
        if rank < 0:
            conditional[position] = float(possible)
            continue
        at = np.searchsorted(candidates, item)
        known = at < len(candidates) and candidates[at] == item
        level = float(levels[at]) if known else np.nan
        if not known or descending[rank] != level:
            conditional[position:], marginal[position] = 0.0, 0.0
            possible = False
            continue
        equals = int(np.count_nonzero(levels == level))
        marginal[position] = 1.0 / equals
        conditional[position] = possible / (equals - above.get(level, 0))
        above[level] = above.get(level, 0) + 1
    return ListProbabilities.exact(conditional, marginal)
