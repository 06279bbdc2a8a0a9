"""Probabilities of a fitted click model with their errors and status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import refuse
from toplist.core.slate import Floats


class Parameters(NamedTuple):
    """Probabilities of one sort, with their errors on the logit scale.

    Parameters
    ----------
    value : ndarray of float
        The estimates.
    error : ndarray of float
        Standard error of the logit; NaN if unknown, or unless estimated.
    status : ndarray of int
        Index into `toplist.logs.fitting.errors.STATUS`. Without errors, of the parameters that are not identified only
        those are known that the log says nothing about.
    tosses : ndarray of float
        Expected number of lists that say something about the parameter, such as examinations for attraction; NaN if
        unknown.
    """

    value: Floats
    error: Floats
    status: NDArray[np.int8]
    tosses: Floats

    def interval(self, deviations: float = 1.959963984540054) -> tuple[Floats, Floats]:
        """Confidence limits, 95% by default, from the logit scale.

        Parameters
        ----------
        deviations : float
            Number of standard errors to either side.

        Returns
        -------
        tuple of ndarray
            Lower and upper limits; NaN where there is no error.
        """
        with np.errstate(divide="ignore"):
            logit = np.log(self.value) - np.log1p(-self.value)
        low, high = (1.0 / (1.0 + np.exp(-(logit + side * deviations * self.error))) for side in (-1.0, 1.0))
        return low, high


def known_parameters(what: str, rows: Sequence[Sequence[float] | Floats], width: int) -> Parameters:
    """Given probabilities, without errors."""
    for row in rows:
        if len(row) != width or not all(0.0 <= each <= 1.0 for each in row):
            raise refuse(f"The parameters {what}", list(row), f"{width} numbers in [0, 1]", "correct them")
    values = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    unknown = np.full(values.shape, np.nan)
    return result_parameters(values, unknown, np.zeros(values.shape), unknown)


def result_parameters(value: Any, error: Any, status: Any, tosses: Any) -> Parameters:
    """Parameters of plain arrays."""
    value, error, tosses = (np.asarray(each, dtype=np.float64) for each in (value, error, tosses))
    return Parameters(value, error, np.asarray(status, dtype=np.int8), tosses)
