"""A click model fitted to a log: its parameters with errors, and what it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats
from toplist.logs.click_log import ClickLog
from toplist.logs.fitting.errors import BOUNDARY, ESTIMATED
from toplist.logs.fitting.loops import FitRows, predict_rows
from toplist.logs.fitting.maximise import Iteration
from toplist.logs.fitting.prior import Prior
from toplist.logs.id_table import Codes, Id, IdTable
from toplist.logs.models import ClickModel
from toplist.logs.models.protocol import workspace
from toplist.logs.patterns import speed
from toplist.logs.sampling import sample_clicks


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
    """

    value: Floats
    error: Floats
    status: NDArray[np.int8]

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


class Predictions(NamedTuple):
    """Probabilities of a click at every position of a log's lists.

    Parameters
    ----------
    given : ndarray of float
        Given the clicks above.
    marginal : ndarray of float
        Without knowing any click.
    known : ndarray of bool
        Whether the log of the fit had the (query, item) pair; others use the prior mean.
    """

    given: Floats
    marginal: Floats
    known: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A click model with the parameters that a log gave it; `toplist.logs.fit_model` makes one.

    Parameters
    ----------
    model : ClickModel
        The model, for lists of up to `model.positions` positions.
    queries, items : IdTable
        The ids behind the codes.
    pair_query, pair_item : ndarray of int32
        Codes of the query and the item of each (query, item) pair, sorted by query.
    own : Parameters, shape (pairs, kinds)
        The parameters of each pair, such as attraction.
    shared : Parameters, shape (1 or queries, parameters)
        The parameters that all queries share, or those of each query, in the order of `query_codes`.
    query_codes : ndarray of int32
        Codes of the queries that the log has.
    priors : dict of str to Prior
        Prior of each kind of parameter that has one.
    lists : float
        Number of lists, weighted.
    log_likelihood : float
        Logarithm of the probability of all clicks, as the fit maximised it.
    history : tuple of Iteration
        The iterations; empty for a closed form.
    converged : bool
        Whether the largest derivative is below the tolerance; True for a closed form.
    slope : float
        Largest derivative of the penalised log-likelihood by a probability, per list.
    errors : str
        Where the errors come from: "information", "sandwich", "bootstrap" or "none".
    no_errors : str
        Why there are no errors; empty if there are.
    shared_covariance : ndarray of float, optional
        Covariance of the logits of the shared parameters.
    """

    model: ClickModel
    queries: IdTable
    items: IdTable
    pair_query: Codes
    pair_item: Codes
    own: Parameters
    shared: Parameters
    query_codes: Codes
    priors: Mapping[str, Prior]
    lists: float
    log_likelihood: float
    history: tuple[Iteration, ...]
    converged: bool
    slope: float
    errors: str = "none"
    no_errors: str = ""
    shared_covariance: Floats | None = None

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    @property
    def positions(self) -> int:
        """Length of the longest list of the log."""
        return int(self.model.positions)  # type: ignore[attr-defined]  # a field of every model

    @property
    def per_query(self) -> bool:
        """Whether each query has shared parameters of its own."""
        return len(self.shared.value) > 1

    @property
    def parameters(self) -> int:
        """Number of parameters that the fit has chosen."""
        chosen = (ESTIMATED, BOUNDARY)
        return int(np.isin(self.own.status, chosen).sum() + np.isin(self.shared.status, chosen).sum())

    def pair_numbers(self, log: ClickLog) -> NDArray[np.int32]:
        """Per position of a log, the number of its (query, item) pair; the number of pairs if it is unknown."""
        query, item = _translate(log.queries, self.queries), _translate(log.items, self.items)
        width = max(len(self.items), 1)
        keys = self.pair_query.astype(np.int64) * width + self.pair_item
        order = np.argsort(keys)
        wanted_query, wanted_item = np.repeat(query[log.query], log.lengths), item[log.item]
        wanted = np.where((wanted_query < 0) | (wanted_item < 0), -1, wanted_query * width + wanted_item)
        at = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(len(keys) - 1, 0))
        found = order[at] if len(keys) else np.zeros(len(wanted), dtype=np.int64)
        known = keys[found] == wanted if len(keys) else np.zeros(len(wanted), dtype=np.bool_)
        return np.where(known, found, len(keys)).astype(np.int32)

    def predict(self, log: ClickLog) -> Predictions:
        """Predict the clicks of a log.

        Parameters
        ----------
        log : ClickLog
            Any log; its lists must not be longer than those of the fit.

        Returns
        -------
        Predictions
            Probabilities per position.

        Raises
        ------
        InvalidInput
            If a list is too long.
        """
        theta, rows = self._rows(log)
        given, marginal = np.zeros(len(log.item)), np.zeros(len(log.item))
        loop = speed(predict_rows, len(log.item))
        loop(self.model, theta, rows, given, marginal, workspace(self.positions))
        return Predictions(given, marginal, rows.pair < len(self.own.value))

    def sample(self, log: ClickLog, seed: int) -> ClickLog:
        """Draw new clicks for the lists of a log.

        Parameters
        ----------
        log : ClickLog
            Any log; its lists must not be longer than those of the fit. Its clicks do not matter.
        seed : int
            Seed; the same one draws the same clicks.

        Returns
        -------
        ClickLog
            The lists with new clicks, one draw per row whatever its weight.

        Raises
        ------
        InvalidInput
            If a list is too long.
        """
        theta, rows = self._rows(log)
        return replace(log, click=sample_clicks(self.model, theta, rows, seed), left=None, weight=None)

    def _rows(self, log: ClickLog) -> tuple[Floats, FitRows]:
        """All coins, those of an unknown pair and an unknown query last of their sort, and the lists of a log."""
        if log.positions > self.positions:
            raise InvalidInput(
                f"The log has lists of {log.positions} positions, but the model was fitted to lists of at most "
                f"{self.positions}; leave longer lists out."
            )
        mean = [self.prior_mean(kind) for kind in self.model.coins().own]
        theta = np.concatenate([self.own.value.ravel(), mean, self.shared.value.ravel()])
        first_shared, query, width = (len(self.own.value) + 1) * len(mean), np.zeros(len(log), dtype=np.int32), 0
        if self.per_query:
            place = np.full(len(self.queries) + 1, len(self.query_codes), dtype=np.int32)
            place[self.query_codes] = np.arange(len(self.query_codes))
            query = place[_translate(log.queries, self.queries)[log.query]]
            width = self.shared.value.shape[1]
            theta = np.concatenate([theta, self.shared.value.mean(axis=0)])
        rows = FitRows(log.start, self.pair_numbers(log), log.click, log.weights, query, first_shared, width)
        return theta, rows

    def prior_mean(self, kind: str) -> float:
        """The value that a pair has before it is seen: the mean of its prior, or that of all pairs without one.

        Parameters
        ----------
        kind : str
            Kind of parameter.

        Returns
        -------
        float
            A probability.
        """
        prior = self.priors.get(kind.partition(" at ")[0])
        if prior is not None and prior.strength > 0:
            return prior.mean
        column = self.own.value[:, self.model.coins().own.index(kind)]
        return float(column.mean()) if len(column) else 0.5

    def attraction(self, query: Id) -> dict[Id, float]:
        """The attraction of the items of a query; click-through rates for baselines.

        Parameters
        ----------
        query : str or int
            Id of the query.

        Returns
        -------
        dict
            Attraction by item, the most attractive first; among equals in the order of the log.

        Raises
        ------
        InvalidInput
            If the query is unknown, or the model has no parameters per item.
        """
        if not self.model.coins().own:
            raise InvalidInput(f"{self.name} has no parameters per item; fit a model that has, such as 'dbn'.")
        rows = np.flatnonzero(self.pair_query == self.queries.code(query))
        values = self.own.value[rows, 0]
        return {self.items[self.pair_item[rows[i]]]: float(values[i]) for i in np.argsort(-values, kind="stable")}


def _translate(table: IdTable, known: IdTable) -> NDArray[np.int64]:
    """Per code of one table the code of the same id in another; -1 if unknown there."""
    if table is known:
        return np.arange(len(table) + 1)
    return np.array([known.code(each) if each in known else -1 for each in table] + [-1], dtype=np.int64)


def result_parameters(value: Any, error: Any, status: Any) -> Parameters:
    """Parameters of plain arrays."""
    return Parameters(np.asarray(value, dtype=np.float64), np.asarray(error), np.asarray(status, dtype=np.int8))
