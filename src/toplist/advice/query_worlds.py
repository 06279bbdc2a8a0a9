"""The world of one query in one draw of the fit: its items, its visitors, its traffic, and how it moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from toplist.advice.browsing import BrowsingUsers, browsing_users, list_values
from toplist.advice.drift import Drift, Moved
from toplist.advice.priors import priors_of_fit
from toplist.advice.situation import SampledQueries, Situation, logged_lists
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints
from toplist.logs import ClickLog, FittedModel
from toplist.worlds import Changing, Epochs

MOST_LISTS = 30_000  # lists of a query that are played; later ones are extrapolated
POINTS = 24
FRACTIONS: Floats = np.geomspace(0.002, 1.0, POINTS)  # of the horizon, at which curves are recorded
STILL = Moved(np.zeros(1), 0.0, 0.0)  # an item that did not clearly change


class QueryPlan(NamedTuple):
    """What all draws of a query share.

    Parameters
    ----------
    query : int
        Its code.
    items : ndarray of int
        Codes of its items, the most attractive by the fit first.
    places : int
        Number of positions of its page.
    mean, strength : ndarray of float
        Prior of each item.
    lists : ndarray of int, shape (lists, positions)
        Lists that the log shows, by the number of an item here.
    horizon : float
        Number of its lists within the horizon.
    epochs : tuple of (int, float)
        The states that the world goes through, each with its number of lists.
    shifts : ndarray of float, shape (states, items)
        How the logit of each attraction is shifted in each state, against the fit to the whole log.
    doubt : ndarray of float
        Standard error of the shift of each item now.
    features : ndarray of float, shape (items, features)
        Features of the items; no columns without.
    scales : mapping of str to float
        Factor of the prior means by the reading of a policy.
    """

    query: int
    items: Any
    places: int
    mean: Floats
    strength: Floats
    lists: Ints
    horizon: float
    epochs: tuple[tuple[int, float], ...]
    shifts: Floats
    doubt: Floats
    features: Floats
    scales: Mapping[str, float]


class QueryWorld(NamedTuple):
    """One query in one draw, ready to be played.

    Parameters
    ----------
    world : Changing
        The items.
    users : BrowsingUsers
        The visitors.
    plan : QueryPlan
        What all draws share.
    steps : int
        Number of lists to play.
    checkpoints : ndarray of int
        After how many lists curves are recorded.
    logged, best : ndarray of float
        Clicks of the logged lists and of the best list up to each fraction of the horizon.
    best_played : ndarray of float
        Clicks of the best list up to each checkpoint.
    """

    world: Changing
    users: BrowsingUsers
    plan: QueryPlan
    steps: int
    checkpoints: Ints
    logged: Floats
    best: Floats
    best_played: Floats


def plan_queries(
    log: ClickLog,
    fitted: FittedModel,
    sampled: SampledQueries,
    situation: Situation,
    drift: Drift,
    features: dict[Any, Floats] | None,
    trust: float,
    seed: int,
    scales: Mapping[str, float],
) -> list[QueryPlan]:
    """The plans of some queries, with priors of a fit, whose visitors stay as they are now.

    Parameters
    ----------
    log : ClickLog
        The log.
    fitted : FittedModel
        The model that gives the priors and the order of the items.
    sampled : SampledQueries
        The queries.
    situation : Situation
        The situation.
    drift : Drift
        How the log moved.
    features : dict or None
        Features by item.
    trust : float
        Share of the priors' strength.
    seed : int
        Seed of the sample of logged lists.
    scales : mapping of str to float
        Factor of the prior means by the reading of a policy.

    Returns
    -------
    list of QueryPlan
        A plan per query.
    """
    plans = []
    for query, traffic in zip(sampled.codes.tolist(), sampled.traffic.tolist(), strict=True):
        priors = priors_of_fit(fitted, fitted.queries[query], trust, drift=drift)
        items = np.array([fitted.items.code(item) for item in priors], dtype=np.int32)
        pairs = np.flatnonzero(fitted.pair_query == query)
        pair_of = {int(fitted.pair_item[pair]): int(pair) for pair in pairs}
        now = [drift.moved.get(pair_of[item], STILL) for item in items.tolist()]
        horizon = situation.horizon * traffic
        rows = np.array([() if features is None else features[item] for item in priors], dtype=np.float64)
        places = min(situation.positions, len(items))
        plans.append(
            QueryPlan(
                query, items, places, np.array([prior.mean for prior in priors.values()]),
                np.array([prior.strength for prior in priors.values()]), logged_lists(log, query, items, places, seed),
                horizon, ((0, horizon),), np.array([[each.shifts[-1] for each in now]]),
                np.array([each.error for each in now]), rows, scales,
            )
        )  # fmt: skip
    return plans


def query_world(drawn: FittedModel, plan: QueryPlan) -> QueryWorld:
    """The world of a query whose visitors behave as a drawn model says.

    Parameters
    ----------
    drawn : FittedModel
        The model.
    plan : QueryPlan
        The query.

    Returns
    -------
    QueryWorld
        The world.
    """
    query = drawn.queries[plan.query]
    known = {int(item): number for number, item in enumerate(drawn.pair_item[drawn.pair_query == plan.query])}
    order = np.array([known[item] for item in plan.items.tolist()])
    attraction = np.asarray(drawn.world(query, plan.places).attraction)
    made = browsing_users(drawn.users(query, plan.places), attraction, plan.places)
    users = made._replace(onward=made.onward[order]).prepare(Problem(len(order), plan.places))
    base = attraction[order]
    used = sorted({epoch for epoch, _ in plan.epochs})
    values = {}
    for epoch in used:
        row = shifted(base, plan.shifts[epoch])
        values[epoch] = row, list_values(users, row, plan.lists)
    at, steps = FRACTIONS * plan.horizon, max(1, min(MOST_LISTS, int(np.ceil(plan.horizon))))
    ends = np.cumsum([size for _, size in plan.epochs])
    knots = np.concatenate([[0.0], ends[:-1], [max(float(ends[-1]), float(steps))]])  # a list is played as a whole

    def reached(rates: list[float], at: Floats) -> Floats:
        """Clicks up to some numbers of lists, from the rate in each epoch."""
        totals = np.concatenate([[0.0], np.cumsum(np.array(rates) * np.diff(knots))])
        found: Floats = np.interp(at, knots, totals)
        return found

    best = [values[epoch][1].best for epoch, _ in plan.epochs]
    logged = [float(values[epoch][1].lists.mean()) for epoch, _ in plan.epochs]
    checkpoints = np.unique(np.clip(np.ceil(at), 1, steps).astype(np.int64))
    breakpoints = np.ceil(ends[:-1]).astype(np.int64)
    kept = [
        place
        for place in range(len(breakpoints))
        if breakpoints[place] < steps and (place + 1 == len(breakpoints) or breakpoints[place] < breakpoints[place + 1])
    ]
    rows = [values[plan.epochs[place + 1][0]][0] for place in kept]
    # One class of worlds for all, so that a policy is compiled once: without changes, one that never comes.
    later, when = (
        (np.array(rows), breakpoints[kept]) if kept else (values[plan.epochs[0][0]][0][None], np.array([steps + 1]))
    )
    world = Changing(
        values[plan.epochs[0][0]][0], plan.places, Epochs(later, when), plan.features if plan.features.shape[1] else ()
    )
    return QueryWorld(
        world, users, plan, steps, checkpoints, reached(logged, at), reached(best, at),
        reached(best, checkpoints.astype(np.float64)),
    )  # fmt: skip


def shifted(attraction: Floats, shift: Floats) -> Floats:
    """Attraction whose logit is shifted; 0 and 1 stay."""
    if not shift.any():
        return attraction
    with np.errstate(divide="ignore"):
        logit = np.log(attraction) - np.log1p(-attraction)
    found: Floats = 1.0 / (1.0 + np.exp(-(logit + shift)))
    return found
