"""The doubly robust estimator for cascade users: a model's prediction, corrected by weighted residuals.

Kiyohara, Saito, Matsuhiro, Narita, Shimizu and Yamamoto, Doubly Robust Off-Policy Evaluation for Ranking Policies under
the Cascade Behavior Model, WSDM 2022. With w_k the weight of the items down to position k, c_k the click there, Q_k the
predicted clicks from there on, and E Q_k their expectation over the target's item, a list contributes

    sum over k of  w_k (c_k - Q_k) + w_(k-1) E Q_k.

A click model predicts r_k from the items down to k, so that Q_k = r_k + E Q_(k+1), and the sum is the model's
prediction for the target plus w_k (c_k - r_k) over all positions.
"""

from __future__ import annotations

import numpy as np

from toplist.core.problem import whole
from toplist.core.slate import Floats, Ints
from toplist.evaluation.direct import predicted_clicks, target_pages
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.logged_lists import LoggedLists, as_matrix
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.targets import TargetPolicy
from toplist.evaluation.units import IndependentUnits
from toplist.logs import ClickLog, FitSettings
from toplist.logs.fit_value import fit_predictor

FOLDS = 3
SETTINGS = FitSettings(iterations=20, newton=False)  # the model need not be exact: the residuals correct it


def cascade_doubly_robust(
    prefix_weights: Floats, click: Floats, logged: Floats, expected: Floats, weight: Floats
) -> MeanEstimate:
    """The estimate from given predictions.

    Parameters
    ----------
    prefix_weights : ndarray of float, shape (lists, positions)
        Weights of the items down to each position.
    click : ndarray of float, shape (lists, positions)
        1 for a click.
    logged : ndarray of float, shape (lists, positions)
        Predicted clicks from each position on, given the logged items down to it, with the target's items below.
    expected : ndarray of float, shape (lists, positions)
        The same, with the target's item at the position too, given the logged items above.
    weight : ndarray of float
        Number of equal lists that each row stands for.

    Returns
    -------
    MeanEstimate
        Clicks per list.
    """
    before = np.concatenate([np.ones((len(click), 1)), prefix_weights[:, :-1]], axis=1)
    return MeanEstimate.plain((prefix_weights * (click - logged) + before * expected).sum(axis=1), weight)


def doubly_robust_clicks(
    prefix_weights: Floats,
    target: TargetPolicy,
    lists: LoggedLists,
    units: IndependentUnits,
    model: str,
    folds: int = FOLDS,
    seed: int = 0,
) -> MeanEstimate:
    """The estimate by a click model that is fitted to the other parts of the log for each part.

    Parameters
    ----------
    prefix_weights : ndarray of float, shape (lists, positions)
        Weights of the items down to each position.
    target : TargetPolicy
        The target, which must say which lists it shows.
    lists : LoggedLists
        The log.
    units : IndependentUnits
        Visitors, whose lists are in one part.
    model : str
        Name of the click model.
    folds : int, default 3
        Number of parts.
    seed : int, default 0
        Seed of the parts.

    Returns
    -------
    MeanEstimate
        Clicks per list: right where the propensities or the model are right, if clicks do not depend on items below.
    """
    parts = whole("The number of folds", folds, 2, "give at least 2")
    pages = target_pages(target, lists)
    fold = fold_of(units, len(lists), parts, seed)
    predicted, for_target = np.zeros(len(lists.log.item)), np.zeros(len(lists))
    place = np.repeat(fold, lists.length)
    bare = ClickLog(  # a model reads nothing else, and every part is copied
        lists.log.queries, lists.log.items, lists.log.query, lists.log.start, lists.log.item, lists.log.click,
        weight=lists.log.weight,
    )  # fmt: skip
    for number in range(parts):
        here = fold == number
        if not here.any() or here.all():
            continue
        fitted = fit_predictor(bare.take(~here), model, SETTINGS)
        if fitted.positions < lists.positions:
            raise CannotEstimate(
                f"too few lists have {lists.positions} positions to leave some out of a fit; use fewer folds, or leave "
                f"the longest lists out"
            )
        predicted[place == number] = fitted.predict(bare.take(here)).marginal
        for_target[here] = predicted_clicks(fitted, pages)[here]
    residual = lists.click - as_matrix(lists.log, predicted, 0.0)
    return MeanEstimate.plain(for_target + (prefix_weights * residual).sum(axis=1), lists.weight)


def fold_of(units: IndependentUnits, lists: int, folds: int, seed: int) -> Ints:
    """The part of each list: units are dealt in random order."""
    count = lists if units.unit is None else units.independent
    dealt = np.random.Generator(np.random.Philox(key=[seed, 2])).permutation(count) % folds
    return np.asarray(dealt if units.unit is None else dealt[units.unit])
