"""The pseudoinverse estimator, for values that add up over positions.

Swaminathan, Krishnamurthy, Agarwal, Dudik, Langford, Jose and Zitouni, Off-policy Evaluation for Slate Recommendation,
NIPS 2017: a list's clicks count q'G^+ s, where s marks the (item, position) pairs of the list, q has their
probabilities under the target, and G those of two pairs at once under the policy of the log.
"""

from __future__ import annotations

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.logged_lists import NO_ITEM, LoggedLists
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.targets import TargetPolicy

MOST_PAIRS = 2000  # (item, position) pairs of a query, whose matrix is inverted


def uniform_weights(at_place: Floats, included: Floats, candidates: Ints, length: Ints) -> Floats:
    """The weights q'G^+ s of lists drawn uniformly, without an inverse.

    G commutes with every permutation of items and of positions, so that it acts by a number on each of three spaces:
    K/L on constants, (L - K) / (L (L - 1)) on what depends on the item alone, and 1 / (L - 1) on what depends on both.

    Parameters
    ----------
    at_place : ndarray of float, shape (lists, positions)
        Probability of each item at its position under the target; 0 in empty cells.
    included : ndarray of float, shape (lists, positions)
        Probability of each item anywhere in the list under the target; 0 in empty cells.
    candidates : ndarray of int
        Number of items, L, from which each list was drawn.
    length : ndarray of int
        Number of positions, K, of each list.

    Returns
    -------
    ndarray of float
        A weight per list; it may be negative.
    """
    items, places = candidates.astype(np.float64), length.astype(np.float64)
    here, anywhere = at_place.sum(axis=1), included.sum(axis=1)
    both = (items - 1.0) * (here - anywhere / places)
    is_partial = items > places
    rest = np.where(is_partial, items - places, 1.0)
    alone = np.where(is_partial, items * (items - 1.0) / rest * (anywhere / places - places / items), 0.0)
    found: Floats = 1.0 + alone + both
    return found


def general_weights(lists: Ints, probability: Floats, target: Floats, items: int) -> Floats:
    """The weights q'G^+ s of the lists that a policy may show, all of one query and length.

    Parameters
    ----------
    lists : ndarray of int, shape (lists, positions)
        The different lists that the policy of the log may show, as numbers of items.
    probability : ndarray of float
        Their probabilities under that policy.
    target : ndarray of float, shape (items, positions)
        Probability of each item at each position under the target.
    items : int
        Number of items.

    Returns
    -------
    ndarray of float
        A weight per list.

    Raises
    ------
    CannotEstimate
        If there are too many pairs of items and positions.
    """
    places = lists.shape[1]
    if items * places > MOST_PAIRS:
        raise CannotEstimate(
            f"{items} items at {places} positions are {items * places:,} pairs, but a matrix of at most {MOST_PAIRS:,} "
            f"pairs is inverted; use a log of uniformly random lists, or another estimator"
        )
    marks = np.zeros((len(lists), items * places))
    marks[np.arange(len(lists))[:, None], lists * places + np.arange(places)] = 1.0
    together = (marks * probability[:, None]).T @ marks
    found: Floats = marks @ (np.linalg.pinv(together, hermitian=True) @ target.ravel())
    return found


def mixture_weights(logged_by: TargetPolicy, target: TargetPolicy, lists: LoggedLists) -> Floats:
    """The weights of logged lists, from the lists that the policy of the log may show.

    Parameters
    ----------
    logged_by : TargetPolicy
        The policy of the log, which must say which lists it shows.
    target : TargetPolicy
        The target.
    lists : LoggedLists
        The log.

    Returns
    -------
    ndarray of float
        A weight per list.

    Raises
    ------
    CannotEstimate
        If the policy of the log does not show a logged list, or shows too many.
    """
    found, items = np.full(len(lists), np.nan), len(lists.log.items)
    for rows, shown in logged_by.shown(lists):
        for query in np.unique(lists.query[rows]).tolist():
            here = rows[lists.query[rows] == query]
            length = shown.item.shape[1]
            possible, inverse = np.unique(
                np.concatenate([shown.item, lists.item[here, :length]]), axis=0, return_inverse=True
            )
            inverse = inverse.ravel()
            chance = np.bincount(inverse[: len(shown.item)], weights=shown.probability, minlength=len(possible)).astype(
                np.float64
            )
            if (possible < 0).any() or (chance[inverse[len(shown.item) :]] == 0).any():
                raise CannotEstimate("the policy that is said to have made the log would not show some of its lists")
            wanted = np.zeros((items, length))
            wanted[possible, np.arange(length)] = target.at_place(_as_lists(possible, query, lists))[:, :length]
            found[here] = general_weights(possible, chance, wanted, items)[inverse[len(shown.item) :]]
    if np.isnan(found).any():
        raise CannotEstimate("the policy that is said to have made the log shows no lists of some length that it has")
    return found


def _as_lists(item: Ints, query: int, lists: LoggedLists) -> LoggedLists:
    """Lists of a query as if they were logged, without clicks and probabilities."""
    count, length = item.shape
    wide = np.full((count, lists.positions), NO_ITEM, dtype=np.int64)
    wide[:, :length] = item
    return LoggedLists(
        lists.log, np.full(count, query), wide, np.zeros(wide.shape), np.full(count, length), np.ones(count), None, None
    )


def pseudoinverse_clicks(weights: Floats, click: Floats, weight: Floats) -> MeanEstimate:
    """The mean of clicks per list times the weights of lists.

    Parameters
    ----------
    weights : ndarray of float
        A weight per list.
    click : ndarray of float, shape (lists, positions)
        1 for a click.
    weight : ndarray of float
        Number of equal lists that each row stands for.

    Returns
    -------
    MeanEstimate
        Clicks per list.
    """
    return MeanEstimate.plain(weights * click.sum(axis=1), weight)
