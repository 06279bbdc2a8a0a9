"""A click model fitted to a log: its parameters with errors, and what it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import InvalidInput, refuse, whole
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
from toplist.worlds import Fixed


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

    @classmethod
    def from_values(
        cls,
        model: ClickModel,
        own: Mapping[Any, Mapping[Any, Sequence[float]]],
        shared: Sequence[float] | Mapping[Any, Sequence[float]] = (),
    ) -> Self:
        """A model with known parameters instead of fitted ones; it has no errors.

        Parameters
        ----------
        model : ClickModel
            The model, with its number of positions.
        own : mapping
            By query and item, the parameters of the pair in the order of `model.coins().own`.
        shared : sequence of float, or mapping of query to sequence of float, optional
            The shared parameters in the order of `model.coins().shared`, or those of each query.

        Returns
        -------
        FittedModel
            The model.

        Raises
        ------
        InvalidInput
            If a parameter is missing or no probability.

        Examples
        --------
        >>> from toplist.logs.models import DBNModel
        >>> own = {"shoes": {"a": [0.3, 0.5], "b": [0.4, 0.9]}}
        >>> FittedModel.from_values(DBNModel(positions=2), own, [0.8]).attraction("shoes")
        {'b': 0.4, 'a': 0.3}
        """
        coins = model.coins()
        queries, items = IdTable(own), IdTable(item for each in own.values() for item in each)
        rows = [(q, i, own[q][i]) for q in own for i in own[q]]
        several = [shared[query] for query in own] if isinstance(shared, Mapping) else [shared]
        return cls(
            model=model, queries=queries, items=items,
            pair_query=queries.encode([query for query, _, _ in rows]),
            pair_item=items.encode([item for _, item, _ in rows]),
            own=known_parameters("of an item", [values for _, _, values in rows], len(coins.own)),
            shared=known_parameters("that queries share", several, len(coins.shared)),
            query_codes=np.arange(len(queries), dtype=np.int32), priors={}, lists=0.0, log_likelihood=np.nan,
            history=(), converged=True, slope=np.nan,
        )  # fmt: skip

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
        """The value that a pair has before it is seen: the mean of its prior, or without one of all known values.

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
        column = self.model.coins().own.index(kind)
        known = self.own.value[np.isin(self.own.status[:, column], (ESTIMATED, BOUNDARY)), column]
        return float(known.mean()) if len(known) else 0.5

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
        rows = self.pairs_of(query)
        values = self.own.value[rows, 0]
        return {self.items[self.pair_item[rows[i]]]: float(values[i]) for i in np.argsort(-values, kind="stable")}

    def pairs_of(self, query: Id) -> NDArray[np.int64]:
        """The numbers of the (query, item) pairs of a query.

        Parameters
        ----------
        query : str or int
            Id of the query.

        Returns
        -------
        ndarray of int
            Rows of `own`.

        Raises
        ------
        InvalidInput
            If the query is unknown.
        """
        return np.flatnonzero(self.pair_query == self.queries.code(query))

    def items_of(self, query: Id) -> list[Id]:
        """The items of a query, in the order in which `world` and `users` number them.

        Parameters
        ----------
        query : str or int
            Id of the query.

        Returns
        -------
        list
            Ids of the items, by first appearance in the log.

        Raises
        ------
        InvalidInput
            If the query is unknown.
        """
        return [self.items[code] for code in self.pair_item[self.pairs_of(query)]]

    def shared_of(self, query: Id) -> Floats:
        """The shared parameters of a query: its own with `per_query`, else those of all.

        Parameters
        ----------
        query : str or int
            Id of the query.

        Returns
        -------
        ndarray of float
            Probabilities, in the order of `model.coins().shared`.

        Raises
        ------
        InvalidInput
            If the query is unknown.
        """
        code = self.queries.code(query)
        row = int(np.flatnonzero(self.query_codes == code)[0]) if self.per_query else 0
        shared: Floats = self.shared.value[row]
        return shared

    def world(self, query: Id, positions: int) -> Fixed:
        """The items of a query as a world of `toplist.simulate`.

        Parameters
        ----------
        query : str or int
            Id of the query.
        positions : int
            Number of positions of the page.

        Returns
        -------
        Fixed
            Its items are `items_of(query)`, with the attraction of the fit; always attractive in a model whose items
            have no parameters.

        Raises
        ------
        InvalidInput
            If the query is unknown, or there are fewer items or positions.
        """
        own = self.own.value[self.pairs_of(query)]
        return Fixed(own[:, 0] if own.shape[1] else np.ones(len(own)), self._page(query, positions))

    def users(self, query: Id, positions: int) -> Any:
        """The users of a query for `toplist.simulate`, who click as the model says.

        Parameters
        ----------
        query : str or int
            Id of the query.
        positions : int
            Number of positions of the page.

        Returns
        -------
        click model
            A part of `toplist.clicks`, which belongs to `world(query, positions)`.

        Raises
        ------
        InvalidInput
            If the query is unknown, there are fewer items or positions, or the model has no users.

        Examples
        --------
        >>> from toplist.logs.models import DCMModel
        >>> fitted = FittedModel.from_values(DCMModel(positions=2), {"shoes": {"a": [0.3], "b": [0.1]}}, [0.6, 0.5])
        >>> fitted.world("shoes", 2).attraction, fitted.users("shoes", 2).termination
        (array([0.3, 0.1]), array([0.6, 0.5]))
        """
        own, places = self.own.value[self.pairs_of(query)], self._page(query, positions)
        return self.model.users(own, self.shared_of(query), places)

    def _page(self, query: Id, positions: int) -> int:
        """The number of positions, which the fit must know and the items of the query must fill."""
        places = whole("The number of positions", positions, 1, "give the length of the list")
        items = len(self.pairs_of(query))
        if places > min(items, self.positions):
            lists = f"{self.positions}, the length of the longest list"
            accepted = f"at most {lists if self.positions < items else f'{items}, the number of items of {query!r}'}"
            raise refuse("The number of positions", places, accepted, "show fewer")
        return places


def _translate(table: IdTable, known: IdTable) -> NDArray[np.int64]:
    """Per code of one table the code of the same id in another; -1 if unknown there."""
    if table is known:
        return np.arange(len(table) + 1)
    return np.array([known.code(each) if each in known else -1 for each in table] + [-1], dtype=np.int64)


def known_parameters(what: str, rows: Sequence[Sequence[float]], width: int) -> Parameters:
    """Given probabilities, without errors."""
    for row in rows:
        if len(row) != width or not all(0.0 <= each <= 1.0 for each in row):
            raise refuse(f"The parameters {what}", list(row), f"{width} numbers in [0, 1]", "correct them")
    values = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    return result_parameters(values, np.full(values.shape, np.nan), np.zeros(values.shape))


def result_parameters(value: Any, error: Any, status: Any) -> Parameters:
    """Parameters of plain arrays."""
    return Parameters(np.asarray(value, dtype=np.float64), np.asarray(error), np.asarray(status, dtype=np.int8))
