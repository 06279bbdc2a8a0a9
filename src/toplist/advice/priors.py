"""Priors of items from a fitted click model: what a ranker may believe before its first list.

A policy reads clicks in its own way: most take everything down to the last click as examined. Where visitors behave
otherwise, the rates that it will count are not the attraction of the fitted model, and a prior on another scale would
make it turn away from every item that it shows. So means are scaled to what the policy would have counted in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from toplist.advice.drift import NO_DRIFT, Drift, logit
from toplist.core.problem import number
from toplist.logs import ClickLog, FittedModel, Prior
from toplist.logs.id_table import Id
from toplist.policies import make

MOST_STRENGTH = 100.0  # observations: an item that is thought bad must be able to overtake soon
LARGEST_MEAN = 0.99
MOST_READ = 200_000  # lists that tell the scale of a reading


def priors_of_fit(
    fitted: FittedModel,
    query: Id,
    trust: float = 1.0,
    most: float = MOST_STRENGTH,
    scale: float = 1.0,
    drift: Drift = NO_DRIFT,
) -> dict[Id, Prior]:
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
    scale : float, default 1.0
        Factor of the means, for a policy that reads clicks otherwise than the model: see `reading_scales`.
    drift : Drift, optional
        How the log moved: items that did get the attraction that they have now, worth what was seen since.

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
    pair_of = dict(zip((fitted.items[code] for code in fitted.pair_item[rows]), rows.tolist(), strict=True))
    found = {}
    for item, attraction in means.items():
        mean, error = float(attraction), float(fitted.own.error[pair_of[item], 0])
        spread = mean * (1.0 - mean)
        # The error is that of the logit, whose derivative is 1 / (mean (1 - mean)).
        worth = 1.0 / (spread * error**2) - 1.0 if spread > 0.0 and error > 0.0 else 0.0
        moved = drift.moved.get(pair_of[item])
        if moved is not None:
            mean = float(1.0 / (1.0 + np.exp(-(logit(np.array([mean]))[0] + moved.shifts[-1]))))
            worth = min(worth, moved.examined)
        found[item] = Prior(scaled_mean(mean, scale), share * min(max(worth, 0.0), limit))
    return dict(sorted(found.items(), key=lambda each: -each[1].mean)) if drift.moved else found


def scaled_mean(mean: float, scale: float) -> float:
    """A mean on the scale of a reading; a probability in any case."""
    return mean if scale == 1.0 else min(mean * scale, LARGEST_MEAN)


def reading_scales(fitted: FittedModel, log: ClickLog) -> dict[str, float]:
    """What policies count in a log per attraction of the fitted model, by their reading of clicks.

    Parameters
    ----------
    fitted : FittedModel
        The fit.
    log : ClickLog
        The log.

    Returns
    -------
    dict of str to float
        By name of the reading: clicks on the items that it takes as examined, over the sum of their attraction.
    """
    rows = np.flatnonzero((log.lengths > 0) & (log.lengths <= fitted.positions))
    some = log.take(rows[:: max(1, len(rows) // MOST_READ)])
    pair = fitted.pair_numbers(some)
    attraction = np.append(fitted.own.value[:, 0], fitted.prior_mean(fitted.model.coins().own[0]))[pair]
    place, row = some.places(), np.repeat(np.arange(len(some)), some.lengths)
    clicked, weight = some.click > 0, np.repeat(some.weights, some.lengths)
    first, last = np.full(len(some), some.positions), np.full(len(some), -1)
    np.minimum.at(first, row[clicked], place[clicked])
    np.maximum.at(last, row[clicked], place[clicked])
    last[last < 0] = some.positions  # a list without clicks counts as examined to its end
    found = {}
    for name, end in (("ThroughFirstClick", first), ("ThroughLastClick", last)):
        seen = weight * (place <= end[row])
        total = float(seen @ attraction)
        found[name] = float(seen @ clicked) / total if total > 0.0 else 1.0
    return found


def scale_of(policy: Any, scales: Mapping[str, float]) -> float:
    """The scale of a policy's priors, by its reading of clicks; 1 for one that reads otherwise."""
    inner = make(getattr(policy, "policy", policy))  # of a policy that explores, which may name it
    return scales.get(type(getattr(inner, "reading", None)).__name__, 1.0)
