"""Logged lists as matrices, a row per list and a column per position, with what is known of their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.slate import Bools, Floats, Ints
from toplist.evaluation.refusals import CannotEstimate
from toplist.logs import ClickLog
from toplist.logs.report import no_lists

NO_ITEM = -1
SAME = 1e-6  # relative difference up to which a propensity counts as that of a uniform draw


@dataclass(frozen=True, eq=False)
class LoggedLists:
    """The lists of a log, with empty cells after the end of short ones.

    Parameters
    ----------
    log : ClickLog
        The log, whose codes `item` and `query` use.
    query : ndarray of int
        Query of each list, as a code of the log.
    item : ndarray of int, shape (lists, positions)
        Items, as codes of the log; -1 in empty cells.
    click : ndarray of float, shape (lists, positions)
        1 for a click, else 0.
    length : ndarray of int
        Number of positions of each list.
    weight : ndarray of float
        How many equal lists each row stands for.
    propensity : ndarray of float or None, shape (lists, positions)
        Probability of the item given those above; 1 in empty cells.
    marginal : ndarray of float or None, shape (lists, positions)
        Probability of the item at its position; 1 in empty cells.
    """

    log: ClickLog
    query: Ints
    item: Ints
    click: Floats
    length: Ints
    weight: Floats
    propensity: Floats | None
    marginal: Floats | None

    @classmethod
    def of(cls, log: ClickLog) -> LoggedLists:
        """The lists of a log.

        Parameters
        ----------
        log : ClickLog
            The log; it must have lists.

        Returns
        -------
        LoggedLists
            Its lists.

        Raises
        ------
        InvalidInput
            If the log is empty.
        """
        if not len(log):
            raise no_lists("an evaluation needs some", log.report)
        return cls(
            log, log.query.astype(np.int64), as_matrix(log, log.item, NO_ITEM),
            as_matrix(log, log.click.astype(np.float64), 0.0), log.lengths, np.asarray(log.weights, dtype=np.float64),
            None if log.propensity is None else as_matrix(log, log.propensity, 1.0),
            None if log.marginal is None else as_matrix(log, log.marginal, 1.0),
        )  # fmt: skip

    def __len__(self) -> int:
        """Number of lists, each row counted once whatever its weight."""
        return len(self.length)

    @property
    def positions(self) -> int:
        """Length of the longest list."""
        return int(self.item.shape[1])

    @property
    def is_shown(self) -> Bools:
        """Which cells are positions of a list."""
        return np.arange(self.positions) < self.length[:, None]

    def take(self, rows: NDArray[np.int64]) -> LoggedLists:
        """Some of the lists, in matrices of the same width; the log stays the whole one."""
        return LoggedLists(
            self.log, self.query[rows], self.item[rows], self.click[rows], self.length[rows], self.weight[rows],
            None if self.propensity is None else self.propensity[rows],
            None if self.marginal is None else self.marginal[rows],
        )  # fmt: skip

    def known_propensity(self) -> Floats:
        """The propensities, if all are known.

        Returns
        -------
        ndarray of float
            Probability of each item given those above.

        Raises
        ------
        CannotEstimate
            If the log has none, or not for all lists.
        """
        if self.propensity is None:
            but = ", only those of each item at its position" if self.marginal is not None else ""
            raise CannotEstimate(
                f"the log has no propensities of items given those above{but}; log them, or use an estimator that does "
                f"without"
            )
        return _complete(self.propensity, "propensity", len(self))

    def known_marginal(self) -> Floats:
        """The marginal probabilities: those of the log, or those of uniformly random lists.

        Returns
        -------
        ndarray of float
            Probability of each item at its position.

        Raises
        ------
        CannotEstimate
            If they are not known.
        """
        if self.marginal is not None:
            return _complete(self.marginal, "marginal probability", len(self))
        candidates = self.uniform_candidates()
        if candidates is not None:
            return np.where(self.is_shown, 1.0 / candidates[:, None], 1.0)
        if self.positions == 1:
            return self.known_propensity()  # nothing stands above
        raise CannotEstimate(
            "the log has no marginal probabilities of items at their positions (column `marginal`); log them, or use "
            "an estimator that does without"
        )

    def uniform_candidates(self) -> Ints | None:
        """Number of items from which each list was drawn, if its propensities are those of a uniform draw."""
        if self.propensity is None or np.isnan(self.propensity).any():
            return None
        candidates = np.rint(1.0 / self.propensity[:, 0])
        left = candidates[:, None] - np.arange(self.positions)
        fits = ~self.is_shown | ((np.abs(self.propensity * left - 1.0) < SAME) & (left > 0))
        return candidates.astype(np.int64) if fits.all() else None


def as_matrix(log: ClickLog, column: NDArray[Any], empty: float) -> NDArray[Any]:
    """A column per position as a matrix, with a value for the empty cells."""
    lists, width = len(log), log.positions
    if len(column) == lists * width:
        return column.reshape(lists, width)
    found = np.full((lists, width), empty, dtype=column.dtype)
    found[np.arange(width) < log.lengths[:, None]] = column
    return found


def _complete(values: Floats, what: str, lists: int) -> Floats:
    """The values, unless some are unknown."""
    if np.isnan(values.min()):
        unknown = int(np.isnan(values).any(axis=1).sum())
        raise CannotEstimate(
            f"{unknown:,} of {lists:,} lists lack a {what}; leave these lists out only if nothing else tells them apart"
        )
    return values
