"""Priors of items from a fitted click model: what a ranker may believe before its first list."""

from __future__ import annotations

import numpy as np

from toplist.core.problem import number
from toplist.logs import FittedModel, Prior
from toplist.logs.id_table import Id

MOST_STRENGTH = 100.0  # observations: an item that is thought bad must be able to overtake soon


def priors_of_fit(fitted: FittedModel, query: Id, trust: float = 1.0, most: float = MOST_STRENGTH) -> dict[Id, Prior]:
    """The fitted attraction of the items of a query as priors, each worth a number of observations.

    The strength is the number of observations whose mean would have the standard error of the fit,
    `mean (1 - mean) / error^2 - 1`, at most `most`, times `trust`.

    Parameters
    ----------
    fitted : FittedModel
        The fit, with errors: an attraction without one gets strength 0.
    query : str or int
        Id of the query.
    trust : float, default 1.0
        How much of the strength to keep, from 0 (a cold start) to 1.
    most : float, default 100
        Largest strength, so that an item that is thought bad can overtake the others within some hundred lists.

    Returns
    -------
    dict
        Mean and strength by item, the most attractive first.

    Raises
    ------
    InvalidInput
        If the query is unknown, the model has no attraction, or a number is out of range.

    Examples
    --------
    >>> from toplist.logs import ClickLog, fit_model
    >>> log = ClickLog.from_lists(["q"] * 40, [["a", "b"]] * 40, clicked=[[1], [2], [2], []] * 10)
    >>> round(priors_of_fit(fit_model(log, "cascade"), "q")["a"].strength, 1)
    41.0
    """
    share = number("The trust", trust, 0.0, 1.0, "give the share of the strength to keep, as 0.5")
    limit = number("The largest strength", most, 0.0, 1e15, "give a number of observations")
    means = fitted.attraction(query)
    rows = np.flatnonzero(fitted.pair_query == fitted.queries.code(query))
    error = dict(zip((fitted.items[code] for code in fitted.pair_item[rows]), fitted.own.error[rows, 0], strict=True))
    found = {}
    for item, mean in means.items():
        spread = mean * (1.0 - mean)
        # The error is that of the logit, whose derivative is 1 / (mean (1 - mean)).
        worth = 1.0 / (spread * error[item] ** 2) - 1.0 if spread > 0.0 and error[item] > 0.0 else 0.0
        found[item] = Prior(float(mean), share * float(min(max(worth, 0.0), limit)))
    return found
