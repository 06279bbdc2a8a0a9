"""Replay: of uniformly random lists, those that the policy would have shown are a sample of what it earns.

Li, Chu, Langford and Wang, Unbiased Offline Evaluation of Contextual-Bandit-Based News Article Recommendation
Algorithms, WSDM 2011. It is the only way to judge a policy that goes on learning: it learns from the lists that match.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats, Ints
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.estimators import normalised_clicks
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.refusals import CannotEstimate
from toplist.ranker import Ranker


def check_uniform(lists: LoggedLists, is_uniform: bool) -> None:
    """Refuse a log of lists that are not known to be uniformly random.

    Parameters
    ----------
    lists : LoggedLists
        The log.
    is_uniform : bool
        Whether the caller says so, for a log without propensities.

    Raises
    ------
    CannotEstimate
        If its propensities are not uniform, or it has none and the caller does not say that lists were random.
    """
    if lists.propensity is None and is_uniform:
        return
    if lists.uniform_candidates() is None:
        what = "has no propensities" if lists.propensity is None else "has lists that are not uniformly random"
        advice = "; say so if they were uniform" if lists.propensity is None else ""
        raise CannotEstimate(f"replay needs uniformly random lists, and the log {what}{advice}")


def replayed_clicks(given: Floats, lists: LoggedLists, prefixes: bool) -> MeanEstimate:
    """The clicks of lists, or of positions, that a frozen policy would have shown.

    Parameters
    ----------
    given : ndarray of float, shape (lists, positions)
        Probability of each logged item under the policy, given those above; a list counts by the product.
    lists : LoggedLists
        The log, of uniformly random lists.
    prefixes : bool
        Whether a position counts as soon as the items down to it match, which is right for users who do not look at the
        items below before they click.

    Returns
    -------
    MeanEstimate
        Clicks per list.

    Raises
    ------
    CannotEstimate
        If nothing matches.
    """
    return matched_clicks(match_of(given, prefixes), lists)


def match_of(given: Floats, prefixes: bool) -> Floats:
    """How much each list, or each position with the items above it, counts: its probability under the policy."""
    if prefixes:
        return np.cumprod(given, axis=1, dtype=np.float64)
    return np.asarray(np.prod(given, axis=1)[:, None])


def matched_clicks(match: Floats, lists: LoggedLists) -> MeanEstimate:
    """Mean clicks where lists, or prefixes, match.

    Parameters
    ----------
    match : ndarray of float, shape (lists, 1 or positions)
        How much each list, or position, counts.
    lists : LoggedLists
        The log.

    Returns
    -------
    MeanEstimate
        Clicks per list.

    Raises
    ------
    CannotEstimate
        If nothing matches.
    """
    used = match * lists.is_shown if match.shape[1] > 1 else match
    if not (used.sum(axis=0) > 0).all():
        what = "list of the log" if match.shape[1] == 1 else "list of the log down to its last position"
        raise CannotEstimate(f"no {what} is one that the policy would have shown; a longer log, or shorter lists, help")
    return normalised_clicks(match, lists.click, lists.weight, lists.is_shown)


class LearnedReplay(NamedTuple):
    """The replay of a policy that goes on learning.

    Parameters
    ----------
    estimate : MeanEstimate
        Clicks per list, over the lists that it learned from.
    match : ndarray of float, shape (lists, 1 or positions)
        1 where a list, or a prefix, matched.
    learned : int
        Number of lists that it learned from.
    """

    estimate: MeanEstimate
    match: Floats
    learned: int


def replay_learning(ranker: Ranker, lists: LoggedLists, prefixes: bool = False) -> LearnedReplay:
    """Replay a ranker that learns from every list that matches, in the order of their times.

    Parameters
    ----------
    ranker : Ranker
        The ranker; it is changed.
    lists : LoggedLists
        The log, of uniformly random lists; rows that stand for several lists are not accepted.
    prefixes : bool, default False
        Whether it also learns from the upper part of a list, down to the last position that matches.

    Returns
    -------
    LearnedReplay
        What it earned while it learned.

    Raises
    ------
    CannotEstimate
        If nothing matches, or the ranker learns from whole lists of its own only.
    """
    if not np.all(lists.weight == 1.0):
        raise CannotEstimate("rows that stand for several lists have no order in which a policy could learn from them")
    if prefixes and not ranker.capabilities.learns_from_any_list:
        raise CannotEstimate("the policy learns from lists of its own only, not from their upper parts")
    names: list[Any] = list(lists.log.items)
    match = np.zeros((len(lists), lists.positions if prefixes else 1))
    learned = 0
    for row in time_order(lists):
        length = int(lists.length[row])
        if length > ranker.positions:
            continue
        logged = [names[code] for code in lists.item[row, :length]]
        try:
            shown = ranker.rank(positions=length)
        except InvalidInput as error:
            raise CannotEstimate(str(error)) from error
        same = 0
        while same < min(length, len(shown.items)) and shown.items[same] == logged[same]:
            same += 1
        clicked = np.flatnonzero(lists.click[row, :same]) + 1
        if same == length:
            ranker.learn(shown, clicks=[{"position": int(place)} for place in clicked])
        elif prefixes and same:
            ranker.learn(ranker.adopt(logged[:same]), clicks=[{"position": int(place)} for place in clicked])
        else:
            continue
        learned += 1
        match[row, :same] = 1.0
    return LearnedReplay(matched_clicks(match, lists), match, learned)


def time_order(lists: LoggedLists) -> Ints:
    """The lists by time; in the order of the log where it has no times."""
    if lists.log.time is None:
        return np.arange(len(lists))
    return np.argsort(lists.log.time, kind="stable")
