"""Scores of several models on lists that are read part by part: sums only, so that they add up over parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.logs.click_log import ClickLog
from toplist.logs.comparison.paired import PairedDifference, difference_from_sums
from toplist.logs.fitted import FittedModel
from toplist.logs.score_model import ModelScores, score_lists

NOTHING = np.zeros(0)


class PairedMoments(NamedTuple):
    """Sums over lists of the log-likelihoods of several models, from which their differences follow.

    Parameters
    ----------
    lists : float
        Number of lists, weighted.
    total : ndarray of float, per model
        Sum of the log-likelihood; lists of probability 0 are left out of it.
    products : ndarray of float, (models, models)
        Sums of products of two models' log-likelihoods.
    impossible : ndarray of float, per model
        Number of lists of probability 0.
    """

    lists: float
    total: Floats
    products: Floats
    impossible: Floats

    @classmethod
    def of(cls, per_list: Floats, weight: Floats) -> PairedMoments:
        """The sums of some lists, from a row of log-likelihoods per model."""
        kept = ~np.isnan(per_list).any(axis=0) & (weight > 0)
        values, weight = per_list[:, kept], weight[kept]
        is_impossible = np.isneginf(values)
        values = np.where(is_impossible, 0.0, values)
        return cls(float(weight.sum()), values @ weight, (values * weight) @ values.T, is_impossible @ weight)

    def plus(self, other: PairedMoments) -> PairedMoments:
        """The sums of two sets of lists."""
        return PairedMoments(
            self.lists + other.lists, self.total + other.total, self.products + other.products,
            self.impossible + other.impossible,
        )  # fmt: skip

    def difference(self, one: int, other: int) -> PairedDifference:
        """The first minus the second model per list, paired by list."""
        if not self.lists or self.impossible[other]:
            return PairedDifference(float("nan"), float("nan"), float("nan"))
        if self.impossible[one]:
            return PairedDifference(float("-inf"), float("nan"), float("nan"))
        mean = float(self.total[one] - self.total[other]) / self.lists
        products = self.products
        squares = float(products[one, one] - 2.0 * products[one, other] + products[other, other])
        return difference_from_sums(mean, max(squares - self.lists * mean**2, 0.0), self.lists, self.lists)


class PartScores(NamedTuple):
    """The scores of several models on some lists.

    Parameters
    ----------
    scores : dict of str to ModelScores
        By model, without the columns per list.
    whole, first_click : PairedMoments
        Of whole lists, and of lists cut after their first click; models in the order of `scores`.
    """

    scores: dict[str, ModelScores]
    whole: PairedMoments
    first_click: PairedMoments

    def plus(self, other: PartScores) -> PartScores:
        """The scores of two sets of lists."""
        joined = {name: found.plus(other.scores[name]) for name, found in self.scores.items()}
        return PartScores(joined, self.whole.plus(other.whole), self.first_click.plus(other.first_click))


def score_part(models: Mapping[str, FittedModel], log: ClickLog) -> PartScores:
    """Score models on lists that fit into memory.

    Parameters
    ----------
    models : mapping of str to FittedModel
        The models.
    log : ClickLog
        The lists.

    Returns
    -------
    PartScores
        Their scores.
    """
    found = {name: score_lists(fitted, log) for name, fitted in models.items()}
    moments = [
        PairedMoments.of(np.array([getattr(each, column) for each in found.values()]), log.weights)
        for column in ("per_list", "per_list_to_first_click")
    ]
    bare = {name: replace(each, per_list=NOTHING, per_list_to_first_click=NOTHING) for name, each in found.items()}
    return PartScores(bare, *moments)
