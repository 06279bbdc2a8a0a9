"""Estimators by importance weights: plain, clipped and self-normalised, whatever the weights are ratios of.

With weights of lists these are inverse propensity scoring (IPS), right for any users; with weights of positions the
independent-position form (IIPS; Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen, Offline Evaluation of Ranking
Policies with Click Models, KDD 2018), right if a click depends on the item and its position alone; with weights of
prefixes the reward-interaction form (RIPS; McInerney, Brost, Chandar, Mehrotra and Carterette, Counterfactual
Evaluation of Slate Recommendations with Sequential Reward Interactions, KDD 2020), right if it depends on the items
above too.
"""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import compiled
from toplist.core.slate import Bools, Floats
from toplist.evaluation.estimate import MeanEstimate, full_ratio_sum, ratio_sum
from toplist.logs.patterns import speed


def weighted_clicks(weights: Floats, click: Floats, weight: Floats, largest: float | None = None) -> MeanEstimate:
    """The mean of clicks times weights: unbiased if the weights are right.

    Parameters
    ----------
    weights : ndarray of float, shape (lists, 1 or positions)
        Importance weights, of lists or positions.
    click : ndarray of float, shape (lists, positions)
        1 for a click.
    weight : ndarray of float
        Number of equal lists that each row stands for.
    largest : float, optional
        Bound of all possible weights, for intervals that need one.

    Returns
    -------
    MeanEstimate
        Clicks per list.
    """
    bounds = None if largest is None else (0.0, largest * click.shape[1])
    return MeanEstimate.plain(_weighted_sums(weights, click), weight, bounds)


def _weighted_sums(weights: Floats, click: Floats) -> Floats:
    """Per list the sum of its clicks times their weights, without the products in between."""
    if weights.shape[1] == 1:
        return np.asarray(weights[:, 0] * click.sum(axis=1))
    return np.asarray(np.einsum("ij,ij->i", weights, click))


def clipped_clicks(weights: Floats, click: Floats, weight: Floats, clip: float) -> MeanEstimate:
    """The mean of clicks times clipped weights: estimates a lower bound of the value, with less variance.

    Parameters
    ----------
    weights, click, weight
        As for `weighted_clicks`.
    clip : float
        Largest weight that is kept.

    Returns
    -------
    MeanEstimate
        Clicks per list, of the value with clipped weights.

    Notes
    -----
    Ionides, Truncated Importance Sampling, 2008: with a bound that grows as the root of the number of lists, the bias
    vanishes.
    """
    return weighted_clicks(np.minimum(weights, clip), click, weight, clip)


def normalised_clicks(weights: Floats, click: Floats, weight: Floats, shown: Bools) -> MeanEstimate:
    """Clicks times weights over the sum of weights, of lists or of each position: consistent, and never above K.

    Parameters
    ----------
    weights, click, weight
        As for `weighted_clicks`.
    shown : ndarray of bool, shape (lists, positions)
        Which cells are positions of a list.

    Returns
    -------
    MeanEstimate
        Clicks per list.

    Notes
    -----
    Swaminathan and Joachims, The Self-Normalized Estimator for Counterfactual Learning, NIPS 2015. Weights of a
    position are normalised over the lists that have it.
    """
    clicks = click.sum(axis=1)[:, None] if weights.shape[1] == 1 else click
    width = weights.shape[1]
    is_full = width == 1 or bool(shown.all())
    columns = np.empty((len(weights), (2 if is_full else 3) * width))
    sums = np.zeros(columns.shape[1])
    speed(fill_ratio_columns, columns.size)(weights, clicks, weight, shown, is_full, columns, sums)
    means = sums / weight.sum()
    combine = full_ratio_sum if is_full else ratio_sum
    value = float(combine(means))
    top, bottom, share = means[:width], means[width : 2 * width], np.ones(width) if is_full else means[2 * width :]
    has_weight = bottom > 0
    rate = np.where(has_weight, top / np.where(has_weight, bottom, 1.0), 0.0)
    scale = np.where(has_weight, share / np.where(has_weight, bottom, 1.0), 0.0)
    # The sum of present x rate + used x (clicks - rate) x scale over positions.
    slopes = np.concatenate([scale, -rate * scale, *([] if is_full else [rate])])
    per_list = columns @ slopes + (rate.sum() if is_full else 0.0)
    return MeanEstimate(value, per_list, columns, combine)


@compiled
def fill_ratio_columns(
    weights: Floats, clicks: Floats, weight: Floats, shown: Bools, is_full: bool, columns: Floats, sums: Floats
) -> None:
    """Fill weighted clicks, weights and, unless all lists are full, which positions they have; sum all, in one pass."""
    lists, width = weights.shape
    for row in range(lists):
        here, many = columns[row], weight[row]
        for place in range(width):
            used = weights[row, place] if is_full or shown[row, place] else 0.0
            here[place], here[width + place] = used * clicks[row, place], used
            if not is_full:
                here[2 * width + place] = 1.0 if shown[row, place] else 0.0
        for column in range(len(sums)):
            sums[column] += many * here[column]
