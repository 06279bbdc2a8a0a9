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
from toplist.logs.model_file import read_model, write_model
from toplist.logs.models import ClickModel
from toplist.logs.models.protocol import workspace
from toplist.logs.parameter_table import describe, parameter_frame, parameter_table
from toplist.logs.parameters import Parameters, known_parameters
from toplist.logs.patterns import speed
from toplist.logs.sampling import sample_clicks
from toplist.support.files import AnyPath
from toplist.support.tables import Table
from toplist.worlds import Fixed


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
        own: Mapping[Any, Mapping[Any, Sequence[float] | Floats]],
        shared: Sequence[float] | Floats | Mapping[Any, Sequence[float] | Floats] = (),
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
        theta, rows = prediction_rows(self, log)
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
        theta, rows = prediction_rows(self, log)
        return replace(log, click=sample_clicks(self.model, theta, rows, seed), left=None, weight=None)

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
        rows = self._pairs_of(query)
        values = self.own.value[rows, 0]
        return {self.items[self.pair_item[rows[i]]]: float(values[i]) for i in np.argsort(-values, kind="stable")}

    def _pairs_of(self, query: Id) -> NDArray[np.int64]:
        """The numbers of the (query, item) pairs of a query."""
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
        return [self.items[code] for code in self.pair_item[self._pairs_of(query)]]

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
        own = self.own.value[self._pairs_of(query)]
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
        own, places = self.own.value[self._pairs_of(query)], self._page(query, positions)
        return self.model.users(own, self.shared_of(query), places)

    def table(self) -> Table:
        """All parameters with their intervals, the shared ones first.

        Returns
        -------
        Table
            Columns kind, query, item, label (such as the position), estimate, error (of the logit), low, high, status
            and tosses (expected number of lists that say something about the parameter).

        Examples
        --------
        >>> from toplist.logs.models import DCMModel
        >>> print(FittedModel.from_values(DCMModel(positions=2), {"shoes": {"a": [0.3]}}, [0.6, 0.5]).table())
        dcm: no errors
        kind         query  item  label  estimate  error  low  high  status     tosses
        termination  -      -     1         0.600      -    -     -  estimated       -
        termination  -      -     2         0.500      -    -     -  estimated       -
        attraction   shoes  a     -         0.300      -    -     -  estimated       -
        """
        return parameter_table(self)

    def to_frame(self, library: str = "pandas") -> Any:
        """The rows of `table` as a data frame (needs the extra `frames`).

        Parameters
        ----------
        library : str, default "pandas"
            "pandas" or "polars".

        Returns
        -------
        DataFrame
            A frame of that library; ids of both sorts in one column become texts.

        Raises
        ------
        InvalidInput
            If the library is unknown or not installed.
        """
        return parameter_frame(self, library)

    def save(self, path: AnyPath) -> None:
        """Save the model as readable JSON.

        Parameters
        ----------
        path : str or path-like
            The file; an old one is replaced.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        write_model(self, path)

    @classmethod
    def load(cls, path: AnyPath, model: ClickModel | None = None) -> Self:
        """Load a model that `save` has written; all its numbers are the same to the last bit.

        Parameters
        ----------
        path : str or path-like
            The file.
        model : ClickModel, optional
            The click model, if it is one of your own.

        Returns
        -------
        FittedModel
            The model, with codes of its own for the ids.

        Raises
        ------
        InvalidInput
            If the file is missing or damaged, or the click model is unknown.
        """
        return read_model(cls, path, model)

    def __str__(self) -> str:
        """A few lines: the fit, and the shared parameters if they are few."""
        return describe(self)

    def _page(self, query: Id, positions: int) -> int:
        """The number of positions, which the fit must know and the items of the query must fill."""
        places = whole("The number of positions", positions, 1, "give the length of the list")
        items = len(self._pairs_of(query))
        if places > min(items, self.positions):
            lists = f"{self.positions}, the length of the longest list"
            accepted = f"at most {lists if self.positions < items else f'{items}, the number of items of {query!r}'}"
            raise refuse("The number of positions", places, accepted, "show fewer")
        return places


def prediction_rows(fitted: FittedModel, log: ClickLog) -> tuple[Floats, FitRows]:
    """All coins, those of an unknown pair and an unknown query last of their sort, and the lists of a log."""
    if log.positions > fitted.positions:
        raise InvalidInput(
            f"The log has lists of {log.positions} positions, but the model was fitted to lists of at most "
            f"{fitted.positions}; leave longer lists out."
        )
    mean = [fitted.prior_mean(kind) for kind in fitted.model.coins().own]
    theta = np.concatenate([fitted.own.value.ravel(), mean, fitted.shared.value.ravel()])
    first_shared, query, width = (len(fitted.own.value) + 1) * len(mean), np.zeros(len(log), dtype=np.int32), 0
    if fitted.per_query:
        place = np.full(len(fitted.queries) + 1, len(fitted.query_codes), dtype=np.int32)
        place[fitted.query_codes] = np.arange(len(fitted.query_codes))
        query = place[_translate(log.queries, fitted.queries)[log.query]]
        width = fitted.shared.value.shape[1]
        theta = np.concatenate([theta, fitted.shared.value.mean(axis=0)])
    rows = FitRows(log.start, fitted.pair_numbers(log), log.click, log.weights, query, first_shared, width)
    return theta, rows


def _translate(table: IdTable, known: IdTable) -> NDArray[np.int64]:
    """Per code of one table the code of the same id in another; -1 if unknown there."""
    if table is known:
        return np.arange(len(table) + 1)
    return np.array([known.code(each) if each in known else -1 for each in table] + [-1], dtype=np.int64)
