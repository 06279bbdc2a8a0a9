"""What an estimator is asked: the log, the target and the settings, with the weights that several estimators share."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.targets import TargetPolicy
from toplist.evaluation.units import IndependentUnits
from toplist.evaluation.weights import ImportanceWeights, list_weights, position_weights, prefix_weights

MODEL = "dcm"


class EstimatorSettings(NamedTuple):
    """The settings of estimators.

    Parameters
    ----------
    clip : float, optional
        Largest weight of the clipped estimators; by default the root of the number of lists.
    model : str, default "dcm"
        Click model of the direct and the doubly robust estimator.
    folds : int, default 3
        Parts of the log for the doubly robust estimator.
    seed : int, default 0
        Seed of these parts.
    is_uniform : bool, default False
        Whether a log without propensities has uniformly random lists.
    """

    clip: float | None = None
    model: str = MODEL
    folds: int = 3
    seed: int = 0
    is_uniform: bool = False


class EstimatorAnswer(NamedTuple):
    """What an estimator says.

    Parameters
    ----------
    estimate : MeanEstimate
        Clicks per list.
    effective : float
        Effective sample size; NaN for an estimator without weights.
    unsupported : float
        Share of logged lists (or positions) that the target never shows; for the direct method of the target's
        positions that the log never shows.
    mean_weight : float
        The mean weight, 1 if the log can answer; NaN for an estimator without weights.
    notes : tuple of str
        What to keep in mind.
    """

    estimate: MeanEstimate
    effective: float = math.nan
    unsupported: float = math.nan
    mean_weight: float = math.nan
    notes: tuple[str, ...] = ()

    @classmethod
    def weighted(
        cls, estimate: MeanEstimate, weights: ImportanceWeights, notes: tuple[str, ...] = ()
    ) -> EstimatorAnswer:
        """An estimate by weights."""
        return cls(estimate, weights.effective, weights.unsupported, weights.worst_mean, notes)


class Question:
    """A log and a target.

    Parameters
    ----------
    lists : LoggedLists
        The log.
    units : IndependentUnits
        What is independent.
    target : TargetPolicy
        The policy to judge.
    settings : EstimatorSettings
        Settings of the estimators.
    logged_by : TargetPolicy, optional
        The policy of the log, if it is known as a whole.
    """

    def __init__(
        self,
        lists: LoggedLists,
        units: IndependentUnits,
        target: TargetPolicy,
        settings: EstimatorSettings,
        logged_by: TargetPolicy | None = None,
    ) -> None:
        self.lists, self.units, self.target, self.settings = lists, units, target, settings
        self.logged_by = logged_by

    def of_target(self, target: Any) -> Question:
        """The same question about another target."""
        return Question(self.lists, self.units, target, self.settings, self.logged_by)

    @cached_property
    def given(self) -> Floats:
        """The target's probabilities of the logged items, given those above."""
        return self.target.given(self.lists)

    @cached_property
    def by_list(self) -> ImportanceWeights:
        """ImportanceWeights of lists."""
        return list_weights(self.given, self.lists.known_propensity(), self.units)

    @cached_property
    def by_prefix(self) -> ImportanceWeights:
        """ImportanceWeights of prefixes."""
        return prefix_weights(self.given, self.lists.known_propensity(), self.units)

    @cached_property
    def by_position(self) -> ImportanceWeights:
        """ImportanceWeights of positions."""
        logged = self.lists.known_marginal()
        return position_weights(self.target.at_place(self.lists), logged, self.units)

    @cached_property
    def largest_list_weight(self) -> float:
        """The largest weight that any policy could have: 1 over the smallest probability of a logged list."""
        return float(1.0 / np.prod(self.lists.known_propensity(), axis=1).min())

    @cached_property
    def largest_position_weight(self) -> float:
        """The largest weight of a position that any policy could have."""
        return float(1.0 / self.lists.known_marginal().min())

    @property
    def clip(self) -> float:
        """Largest weight of the clipped estimators."""
        return math.sqrt(self.units.lists) if self.settings.clip is None else float(self.settings.clip)
