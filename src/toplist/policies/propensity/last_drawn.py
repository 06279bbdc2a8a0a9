"""Lists by levels whose last item may be drawn from others: parsimonious exploration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.slate import Bools, Floats, Ints
from toplist.policies.propensity.levels import probabilities_by_level


def probabilities_with_last_drawn(
    levels: Floats, contenders: Callable[[float], Bools], candidates: Ints, ranks: Ints, items: Ints
) -> ListProbabilities:
    """Probabilities of a list by levels, whose last item is replaced every other time by a contender, if there is one.

    Parameters
    ----------
    levels : ndarray of float
        Level of each candidate.
    contenders : callable
        Which candidates may replace a last item of this level.
    candidates : ndarray of int
        Items that are not pinned, ascending.
    ranks : ndarray of int
        Per position its rank, from `ranks_of_positions`; ascending, but for pinned positions.
    items : ndarray of int
        The list.

    Returns
    -------
    ListProbabilities
        Exact ones. The marginal probability at the last position is nan where items above it have its level.
    """
    found = probabilities_by_level(levels, candidates, ranks, items[None]).of_list(0)
    filled = np.flatnonzero(ranks >= 0)
    if len(filled) == 0:
        return found
    last = int(filled[-1])
    level = float(np.sort(levels)[::-1][ranks[last]])
    able = contenders(level)
    above = np.isin(candidates, items[filled[:-1]])
    possible = bool(np.all(found.conditional[filled[:-1]] > 0.0))
    is_last = candidates == items[last]
    found.conditional[last] = _chance_of_last((levels == level) & ~above, able & ~above, is_last) if possible else 0.0
    found.conditional[last + 1 :] = float(found.conditional[last] > 0.0)  # pinned positions
    better = levels > level
    is_certain = int(np.count_nonzero(better)) == len(filled) - 1
    found.marginal[last] = _chance_of_last(levels == level, able & ~better, is_last & ~better) if is_certain else np.nan
    return found


def _chance_of_last(leaders: Bools, able: Bools, item: Bools) -> float:
    """The probability of an item at the last position, whose leader is one of several equals."""
    chance, equals = 0.0, np.flatnonzero(leaders)
    for leader in equals:
        others = int(np.count_nonzero(able)) - int(able[leader])
        stays = 0.5 if others > 0 else 1.0
        if item[leader]:
            chance += stays
        elif others > 0 and bool(np.any(item & able)):
            chance += 0.5 / others
    return chance / len(equals)
