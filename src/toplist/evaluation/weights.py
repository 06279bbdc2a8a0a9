"""Importance weights: how much likelier a target policy is to show what a log shows, by list, prefix or position."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from toplist.core.compiling import compiled
from toplist.core.slate import Floats
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.units import IndependentUnits
from toplist.logs.patterns import speed

CERTAIN = 0.999  # level of the intervals of mean weights, which must contain 1
SMALL_SAMPLE = 200.0  # an effective sample below this is warned of
ROUNDING = 1e-9
OF_LISTS, OF_PREFIXES, OF_POSITIONS = 0, 1, 2  # what a weight is a ratio of


class ImportanceWeights(NamedTuple):
    """ImportanceWeights of a log's lists and what they say about it.

    Parameters
    ----------
    value : ndarray of float, shape (lists, columns)
        A weight per list (one column), or per position.
    effective : float
        Effective sample size (sum of w)^2 / sum of w^2; the smallest of the columns.
    unsupported : float
        Share of lists that the target never shows, whose weight is 0 in the last column; of positions if a column is a
        position by itself.
    mean : ndarray of float
        Mean weight of each column, 1 if the log can answer.
    error : ndarray of float
        Standard error of each mean.
    """

    value: Floats
    effective: float
    unsupported: float
    mean: Floats
    error: Floats

    @property
    def worst_mean(self) -> float:
        """The mean that is farthest from 1, in standard errors."""
        off = np.abs(self.mean - 1.0) / np.maximum(self.error, ROUNDING)
        return float(self.mean[int(np.argmax(off))])

    @property
    def is_low(self) -> bool:
        """Whether a mean is below 1 beyond doubt: the target shows what the log hardly does."""
        return bool((self.mean + self._half() < 1.0).any())

    def _half(self) -> Floats:
        """Half the length of the intervals of the means, which hold all at once."""
        level = 1.0 - (1.0 - CERTAIN) / len(self.mean)
        return NormalDist().inv_cdf(0.5 + level / 2.0) * np.nan_to_num(self.error) + ROUNDING

    def check(self, lower_bound: bool = False) -> None:
        """Refuse weights whose mean is not 1: wrong propensities, or a target that shows what the log never does.

        Parameters
        ----------
        lower_bound : bool, default False
            Whether a mean below 1 is accepted, for an estimate that is a lower bound anyway.

        Raises
        ------
        CannotEstimate
            If the interval of a mean weight does not contain 1.
        """
        half = self._half()
        high, low = self.mean - half > 1.0, self.mean + half < 1.0
        wrong = high if lower_bound else high | low
        if wrong.any():
            at = int(np.argmax(wrong))
            if not self.mean.any():
                raise CannotEstimate(
                    "no list of the log is one that the policy would show, so that all weights are 0; log some, as "
                    "exploring does"
                )
            reason = (
                "the propensities of the log or of the policy are wrong"
                if high[at]
                else "the log hardly shows what the policy would, or the propensities are wrong"
            )
            raise CannotEstimate(
                f"the mean weight{f' of position {at + 1}' if len(self.mean) > 1 else ''} is {self.mean[at]:.3g}, and "
                f"its {CERTAIN:.1%} interval [{self.mean[at] - half[at]:.3g}, {self.mean[at] + half[at]:.3g}] does not "
                f"contain 1: {reason}"
            )


def list_weights(target: Floats, logged: Floats, units: IndependentUnits) -> ImportanceWeights:
    """One weight per list: the ratio of the probabilities of the whole list.

    Parameters
    ----------
    target, logged : ndarray of float, shape (lists, positions)
        Probability of each item given those above.
    units : IndependentUnits
        Which lists belong together.

    Returns
    -------
    ImportanceWeights
        One column.
    """
    return _weighed(target, logged, units, OF_LISTS)


def prefix_weights(target: Floats, logged: Floats, units: IndependentUnits) -> ImportanceWeights:
    """A weight per position: the ratio of the probabilities of all items down to it.

    Parameters
    ----------
    target, logged : ndarray of float, shape (lists, positions)
        Probability of each item given those above; 1 in empty cells, so that a short list keeps its weight.
    units : IndependentUnits
        Which lists belong together.

    Returns
    -------
    ImportanceWeights
        A column per position.
    """
    return _weighed(target, logged, units, OF_PREFIXES)


def position_weights(target: Floats, logged: Floats, units: IndependentUnits) -> ImportanceWeights:
    """A weight per position: the ratio of the marginal probabilities of its item there.

    Parameters
    ----------
    target, logged : ndarray of float, shape (lists, positions)
        Probability of each item at its position; 1 in empty cells.
    units : IndependentUnits
        Which lists belong together.

    Returns
    -------
    ImportanceWeights
        A column per position.
    """
    return _weighed(target, logged, units, OF_POSITIONS)


@compiled
def fill_weights(
    target: Floats, logged: Floats, weight: Floats, kind: int, ratio: Floats, total: Floats, square: Floats,
    without: Floats,
) -> None:  # fmt: skip
    """Fill the weights in one pass, with their sums, the sums of their squares, and the lists or cells without any."""
    lists, positions = target.shape
    for row in range(lists):
        product = 1.0
        for place in range(positions):
            here = target[row, place] / logged[row, place]
            product *= here
            if kind == OF_LISTS and place < positions - 1:
                continue
            value = here if kind == OF_POSITIONS else product
            column = 0 if kind == OF_LISTS else place
            ratio[row, column] = value
            total[column] += weight[row] * value
            square[column] += weight[row] * value * value
            if value == 0.0 and (kind == OF_POSITIONS or place == positions - 1):
                without[0] += weight[row]


def _weighed(target: Floats, logged: Floats, units: IndependentUnits, kind: int) -> ImportanceWeights:
    """Weights of a kind, with their summaries."""
    width = 1 if kind == OF_LISTS else target.shape[1]
    ratio = np.empty((len(target), width))
    total, square, without = np.zeros(width), np.zeros(width), np.zeros(1)
    speed(fill_weights, target.size)(target, logged, units.weight, kind, ratio, total, square, without)
    cells = float(target.shape[1] if kind == OF_POSITIONS else 1)
    return _summarised(ratio, units, total, square, float(without[0]) / cells / units.lists)


def described(ratio: Floats, units: IndependentUnits, without: Floats) -> ImportanceWeights:
    """Weights with their summaries; `without` marks what has no support, per list or per position of it."""
    unsupported = float((units.weight @ without).mean() / units.lists)
    return _summarised(ratio, units, units.weight @ ratio, units.weight @ ratio**2, unsupported)


def _summarised(
    ratio: Floats, units: IndependentUnits, total: Floats, square: Floats, unsupported: float
) -> ImportanceWeights:
    """Weights with what their sums and the sums of their squares say."""
    lists = units.lists
    effective = np.where(square > 0, total**2 / np.where(square > 0, square, 1.0), 0.0)
    mean = total / lists
    if units.unit is None:
        error = np.sqrt(np.maximum(square / lists - mean**2, 0.0) / max(lists - 1.0, 1.0))
    else:
        error = np.array([units.standard_error(column) for column in ratio.T])
    return ImportanceWeights(ratio, float(effective.min()), unsupported, mean, error)
