"""The most frequent queries of a click log, each as users and a world: click models fitted to the log."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import refuse, whole
from toplist.core.slate import Floats
from toplist.logs import ClickLog, FittedModel, Prior, fit_model
from toplist.logs.id_table import Id
from toplist.worlds import Fixed

DOUBT = 4.0  # clicks added to each position, half of them the last: few clicks are never certain
PRIORS = {"attraction": Prior(0.1, 2.0), "termination": Prior(0.5, DOUBT)}
# By the name of a model in files of click models; "DCM" is fitted by counts, as the papers do.
FITTED_AS = {"CM": "cascade", "PBM": "pbm", "DCM": "dcm-counts", "exact DCM": "dcm"}


def frequent_queries(log: ClickLog, queries: int) -> list[Id]:
    """The queries with the most lists.

    Parameters
    ----------
    log : ClickLog
        The log.
    queries : int
        Number of queries.

    Returns
    -------
    list
        Ids, the most frequent first; among equals, the one that appeared first in the log.

    Raises
    ------
    InvalidInput
        If the log has fewer queries.
    """
    count = whole("The number of queries", queries, 1, "give at least one")
    lists = np.bincount(log.query, weights=log.weights, minlength=len(log.queries))
    known = int((lists > 0).sum())
    if count > known:
        raise refuse("The number of queries", count, f"at most {known}, the number in the log", "ask for fewer")
    return [log.queries[code] for code in np.argsort(-lists, kind="stable")[:count]]


def lists_of(log: ClickLog, queries: list[Id]) -> ClickLog:
    """The lists of some queries."""
    return log.take(np.isin(log.query, [log.queries.code(query) for query in queries]))


def kept_priors(model: str) -> dict[str, Prior]:
    """The priors of the parameters that a model has."""
    return {
        kind: PRIORS[kind] for kind in (("attraction", "termination") if model.startswith("dcm") else ("attraction",))
    }


class LoggedQueries(NamedTuple):
    """The most frequent queries of a log with the items that each shows most, as `ClickModels` has those of a file.

    Parameters
    ----------
    log : ClickLog
        The log.
    queries : int, default 100
        Number of queries at most; those with fewer items are left out.
    documents : int, default 10
        Number of items of a query.
    """

    log: ClickLog
    queries: int = 100
    documents: int = 10

    def fitted(self, model: str) -> FittedModel:
        """A model fitted to the lists of each query, with the items that it shows most.

        Parameters
        ----------
        model : str
            "CM", "PBM", "DCM" (by the published counts) or "exact DCM".

        Returns
        -------
        FittedModel
            The model, with shared parameters of its own for each query.
        """
        name = FITTED_AS[model]
        lists = lists_of(self.log, frequent_queries(self.log, min(self.queries, len(np.unique(self.log.query)))))
        whole_fit = fit_model(lists, name, priors=kept_priors(name), per_query=name != "cascade", errors="none")
        shown = np.bincount(whole_fit.pair_numbers(lists), minlength=len(whole_fit.pair_item))
        own: dict[Id, dict[Id, Floats]] = {}
        for query in frequent_queries(lists, len(whole_fit.query_codes)):
            pairs = np.flatnonzero(whole_fit.pair_query == whole_fit.queries.code(query))
            if len(pairs) >= self.documents:
                most = np.sort(pairs[np.argsort(-shown[pairs], kind="stable")[: self.documents]])
                own[query] = {whole_fit.items[whole_fit.pair_item[pair]]: whole_fit.own.value[pair] for pair in most}
        return FittedModel.from_values(whole_fit.model, own, {query: whole_fit.shared_of(query) for query in own})

    def people(self, model: str, positions: int) -> dict[str, tuple[Fixed, Any]]:
        """A world and users of each query; see `ClickModels.people`."""
        found = self.fitted(model)
        return {str(query): (found.world(query, positions), found.users(query, positions)) for query in found.queries}

    def attraction(self, model: str = "CM") -> dict[str, Floats]:
        """The attraction of the items by query; see `ClickModels.attraction`."""
        found = self.fitted(model)
        return {str(query): np.array(found.world(query, 1).attraction) for query in found.queries}

    def __str__(self) -> str:
        """A line of counts."""
        return f"click models fitted to a log of {self.log}"
