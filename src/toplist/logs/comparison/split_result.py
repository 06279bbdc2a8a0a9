"""The models fitted to one part of a log and scored on the other part, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.logs.comparison.moments import PairedMoments
from toplist.logs.comparison.paired import PairedDifference, paired_difference
from toplist.logs.fitted import FittedModel
from toplist.logs.id_table import Codes
from toplist.logs.score_model import ModelScores, Scores

IN_SAMPLE = "in-sample"  # the split of a holdout of 0
SPLIT_TEXTS = {
    "random": "held out at random",
    "time": "held out as the latest",
    IN_SAMPLE: "scored, the same lists that were fitted",
}


class ScoredModel(NamedTuple):
    """A fitted model with its scores.

    Parameters
    ----------
    fitted : FittedModel
        The model, fitted to the lists that were not held out.
    scores : ModelScores
        Its scores on the lists held out.
    seconds : float
        Duration of the fit.
    """

    fitted: FittedModel
    scores: ModelScores
    seconds: float


@dataclass(frozen=True, eq=False)
class SplitResult:
    """All models on one split of a log.

    Parameters
    ----------
    split : str
        "random", "time" or "in-sample".
    fitted_lists : float
        Number of lists to which the models were fitted, weighted.
    rows : ndarray of int
        The lists held out, by their number in the log.
    weight : ndarray of float
        Their weights.
    visitor : ndarray of int, optional
        Their visitors.
    models : mapping of str to ScoredModel
        The models by name, in the order of the fit.
    """

    split: str
    fitted_lists: float
    rows: Ints
    weight: Floats
    visitor: Codes | None
    models: Mapping[str, ScoredModel]

    @property
    def held_lists(self) -> float:
        """Number of lists held out, weighted."""
        return float(self.weight.sum())

    def scores(self, model: str, first_click: bool = False) -> Scores:
        """The scores of a model on whole lists, or on lists cut after their first click."""
        found = self.models[model].scores
        return found.to_first_click if first_click else found.every

    def ranking(self, first_click: bool = False) -> list[str]:
        """The models, those with the highest log-likelihood per list first; among equals in the order of the fit."""

        def worth(model: str) -> tuple[float, float]:
            scores = self.scores(model, first_click)
            return scores.per_list, -scores.impossible

        return sorted(self.models, key=worth, reverse=True)

    def differences(self, first_click: bool = False) -> dict[str, PairedDifference]:
        """The log-likelihood per list of each model minus that of the best, paired by list, or by visitor if known.

        Parameters
        ----------
        first_click : bool, default False
            Cut lists after their first click.

        Returns
        -------
        dict of str to PairedDifference
            By model, the best one first.
        """
        order = self.ranking(first_click)
        best = self.per_list(order[0], first_click)
        return {
            name: paired_difference(self.per_list(name, first_click), best, self.weight, self.visitor) for name in order
        }

    def per_list(self, model: str, first_click: bool = False) -> Floats:
        """The log-likelihood of each list held out."""
        found = self.models[model].scores
        return found.per_list_to_first_click if first_click else found.per_list

    def best(self) -> list[str]:
        """The models that are not clearly worse than the best one, which is the first."""
        return [name for name, difference in self.differences().items() if not difference.is_clear]

    def has_impossible(self) -> bool:
        """Whether a model gives a list probability 0, so that whole lists cannot compare it."""
        return any(model.scores.every.impossible for model in self.models.values())


@dataclass(frozen=True, eq=False)
class StreamedSplit(SplitResult):
    """All models on one split of a log that was read part by part: sums over the lists held out, not the lists.

    Parameters
    ----------
    whole, first_click : PairedMoments
        Sums of the log-likelihoods of the models, of whole lists and of lists cut after their first click.
    """

    whole: PairedMoments
    first_click: PairedMoments

    @property
    def held_lists(self) -> float:
        """Number of lists held out, weighted."""
        found = next(iter(self.models.values())).scores
        return found.every.lists + found.too_long

    def differences(self, first_click: bool = False) -> dict[str, PairedDifference]:
        """The log-likelihood per list of each model minus that of the best, paired by list."""
        order, names = self.ranking(first_click), list(self.models)
        moments = self.first_click if first_click else self.whole
        return {name: moments.difference(names.index(name), names.index(order[0])) for name in order}


def drift(random: SplitResult, latest: SplitResult) -> dict[str, PairedDifference]:
    """What it costs to predict late lists from early ones, instead of from lists of all times.

    Both splits fit about as many lists. The lists that both hold out are late ones: on them, the log-likelihood per
    list of the model of the early lists minus that of the model of the lists drawn at random.

    Parameters
    ----------
    random, latest : SplitResult
        The splits.

    Returns
    -------
    dict of str to PairedDifference
        By model; clearly below 0 if visitors, queries or items changed. Empty if the splits share no list.
    """
    _, one, other = np.intersect1d(latest.rows, random.rows, assume_unique=True, return_indices=True)
    if not len(one):
        return {}
    visitor = None if random.visitor is None else random.visitor[other]
    return {
        name: paired_difference(latest.per_list(name)[one], random.per_list(name)[other], random.weight[other], visitor)
        for name in random.models
        if name in latest.models
    }
