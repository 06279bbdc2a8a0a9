"""The independent units of a log, lists or visitors, over which the error of a mean is reckoned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, refuse
from toplist.core.slate import Floats, Ints
from toplist.logs import ClickLog
from toplist.support.tables import count_text

UNITS = ("auto", "list", "visitor")


class IndependentUnits(NamedTuple):
    """Which rows of a log belong together.

    Parameters
    ----------
    weight : ndarray of float
        Number of equal lists that each row stands for.
    unit : ndarray of int or None
        The visitor of each row; None if every list is independent of the others.
    independent : int
        Number of visitors; of rows if lists are independent.
    """

    weight: Floats
    unit: Ints | None
    independent: int

    @property
    def name(self) -> str:
        """What is independent: "list" or "visitor"."""
        return "list" if self.unit is None else "visitor"

    @property
    def lists(self) -> float:
        """Number of lists, weighted."""
        return float(self.weight.sum())

    def sums(self, columns: Floats) -> Floats:
        """Weighted sums of columns by unit, shape (units, columns); of each row if lists are independent."""
        weighted = columns * self.weight[:, None]
        if self.unit is None:
            return weighted
        found = [np.bincount(self.unit, weights=column, minlength=self.independent) for column in weighted.T]
        return np.stack(found, axis=1)

    def mean(self, values: Floats) -> float:
        """Mean over lists."""
        return float(self.weight @ values / self.weight.sum())

    def standard_error(self, values: Floats) -> float:
        """Standard error of the mean over lists; NaN for a single unit."""
        off = values - self.mean(values)
        lists = self.lists
        if self.unit is None:  # a row that stands for several equal lists counts as that number of independent ones
            return float(np.sqrt((self.weight @ off**2) / lists / (lists - 1.0))) if lists > 1 else np.nan
        if self.independent < 2:
            return np.nan
        sums = np.bincount(self.unit, weights=self.weight * off, minlength=self.independent)
        return float(np.sqrt((sums @ sums) * self.independent / (self.independent - 1.0)) / lists)


def units_of(log: ClickLog, by: str = "auto") -> IndependentUnits:
    """The units of a log.

    Parameters
    ----------
    log : ClickLog
        The log.
    by : {"auto", "list", "visitor"}, default "auto"
        What is independent: lists, or visitors; by default visitors if the log has them. A list whose visitor is
        unknown is a visitor of its own.

    Returns
    -------
    IndependentUnits
        Which rows belong together.

    Raises
    ------
    InvalidInput
        If the log has no visitors or less than two units, or `by` is unknown.
    """
    if by not in UNITS:
        raise refuse("by", by, f"one of {', '.join(UNITS)}", "say what is independent")
    weight = np.asarray(log.weights, dtype=np.float64)
    if by == "visitor" and log.visitor is None:
        raise InvalidInput("The log has no visitors, so that intervals cannot be clustered by them; use by='list'.")
    if by == "list" or log.visitor is None:
        if weight.sum() < 2.0:
            raise InvalidInput(
                f"The log has {count_text(round(weight.sum()), 'list')}, but an interval needs at least 2; log more."
            )
        return IndependentUnits(weight, None, len(log))
    visitor = log.visitor.astype(np.int64)
    unknown = np.flatnonzero(visitor < 0)
    visitor[unknown] = int(visitor.max(initial=-1)) + 1 + np.arange(len(unknown))
    people, unit = np.unique(visitor, return_inverse=True)
    if len(people) < 2:
        raise InvalidInput(
            f"All {len(log):,} lists of the log are of one visitor, but an interval over visitors needs at least 2; "
            f"log more, or use by='list' (--by list) if the lists are independent."
        )
    return IndependentUnits(weight, unit.astype(np.int64), len(people))
