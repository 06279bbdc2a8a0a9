"""The situation of a log: its size and traffic, the horizon, and a sample of queries weighted by traffic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.problem import refuse, whole
from toplist.core.slate import Floats, Ints
from toplist.logs import ClickLog
from toplist.logs.id_table import Codes
from toplist.logs.repeated_items import check_items_once
from toplist.logs.report import no_lists
from toplist.logs.tallies import DAY

MOST_LOGGED = 200  # logged lists of a query whose mean value stands for all of them


class Situation(NamedTuple):
    """What a log says about the page.

    Parameters
    ----------
    lists : float
        Number of lists, weighted.
    queries : int
        Number of queries.
    items_per_query : float
        Number of items of a query, mean over the traffic.
    positions : int
        Number of positions of the page.
    clicks_per_list : float
        Clicks per list on these positions.
    several_clicks : float
        Share of the clicked lists with more than one click.
    days : float or None
        Time between the first and the last list; None without times.
    horizon : int
        Number of lists for which the advice is given.
    """

    lists: float
    queries: int
    items_per_query: float
    positions: int
    clicks_per_list: float
    several_clicks: float
    days: float | None
    horizon: int

    @property
    def clicks(self) -> float:
        """Number of clicks on these positions, weighted."""
        return self.lists * self.clicks_per_list

    def duration(self, lists: float) -> str:
        """A number of lists in words, with the time that they take at the log's traffic.

        >>> Situation(1000.0, 1, 5.0, 3, 0.4, 0.1, 10.0, 1000).duration(250.0)
        '250 lists (2.5 days)'
        """
        if self.days is None or self.days <= 0.0:
            return f"{lists:,.0f} lists"
        days = lists * self.days / self.lists
        return (
            f"{lists:,.0f} lists ({days:,.1f} days)" if days >= 0.1 else f"{lists:,.0f} lists ({24 * days:,.1f} hours)"
        )


class SampledQueries(NamedTuple):
    """Queries that stand for all.

    Parameters
    ----------
    codes : ndarray of int
        The queries.
    weight : ndarray of float
        The share of all traffic that each stands for.
    traffic : ndarray of float
        The share of all lists that each has itself.
    is_sample : bool
        Whether the log has others.
    """

    codes: Codes
    weight: Floats
    traffic: Floats
    is_sample: bool


def describe_situation(log: ClickLog, positions: int, lists: int | None) -> Situation:
    """Describe the situation of a log.

    Parameters
    ----------
    log : ClickLog
        The log.
    positions : int
        Number of positions of the page.
    lists : int or None
        The horizon; None for as many lists as the log has.

    Returns
    -------
    Situation
        The situation.

    Raises
    ------
    InvalidInput
        If the log is empty, has an item twice in a list, or its lists are shorter than the page.
    """
    places = whole("The number of positions", positions, 1, "give the length of the list")
    if not len(log) or not len(log.item):
        raise no_lists("an advice needs some", log.report, "lists with items")
    check_items_once(log)
    if places > log.positions:
        accepted = f"at most {log.positions}, the length of the longest list of the log"
        raise refuse("The number of positions", places, accepted, "nothing is known of lower ones")
    weight, kept = log.weights, log.places() < places
    row = np.repeat(np.arange(len(log)), log.lengths)
    clicks = np.bincount(row[kept], weights=log.click[kept], minlength=len(log))
    total = float(weight.sum())
    clicked = float(weight[clicks > 0].sum())
    traffic = np.bincount(log.query, weights=weight)
    pairs = np.unique(np.repeat(log.query, log.lengths).astype(np.int64) * (len(log.items) + 1) + log.item)
    items = np.bincount(pairs // (len(log.items) + 1), minlength=len(traffic))
    times = None if log.time is None else log.time[np.isfinite(log.time)]
    days = None if times is None or not len(times) else float(times.max() - times.min()) / DAY
    horizon = (
        round(total) if lists is None else whole("The number of lists", lists, 1, "give the horizon of the advice")
    )
    return Situation(
        total, int((traffic > 0).sum()), float(items @ traffic / total), places, float(clicks @ weight / total),
        float(weight[clicks > 1].sum()) / clicked if clicked else 0.0, days, max(horizon, 1),
    )  # fmt: skip


def sample_queries(log: ClickLog, most: int, seed: int) -> SampledQueries:
    """Queries weighted by traffic: all of them if they are few, else a systematic sample.

    Parameters
    ----------
    log : ClickLog
        The log.
    most : int
        Largest number of queries.
    seed : int
        Seed of the sample.

    Returns
    -------
    SampledQueries
        The queries.
    """
    traffic = np.bincount(log.query, weights=log.weights * (log.lengths > 0))
    traffic = traffic / traffic.sum()
    codes = np.flatnonzero(traffic)
    if len(codes) <= most:
        return SampledQueries(codes.astype(np.int32), traffic[codes], traffic[codes], False)
    points = (np.arange(most) + np.random.default_rng(seed).random()) / most
    reached = np.minimum(np.searchsorted(np.cumsum(traffic[codes]), points), len(codes) - 1)
    drawn, times = np.unique(codes[reached], return_counts=True)
    return SampledQueries(drawn.astype(np.int32), times / most, traffic[drawn], True)


def logged_lists(log: ClickLog, query: int, items: Codes, positions: int, seed: int) -> Ints:
    """Some lists that the log shows for a query, drawn by weight.

    Parameters
    ----------
    log : ClickLog
        The log.
    query : int
        Code of the query.
    items : ndarray of int
        Codes of its items; the lists name them by their place here.
    positions : int
        Length of the lists; longer ones are cut.
    seed : int
        Seed of the draw.

    Returns
    -------
    ndarray of int, shape (lists, positions)
        The lists, with -1 for an empty position.
    """
    rows = np.flatnonzero((log.query == query) & (log.lengths > 0))
    if len(rows) > MOST_LOGGED or log.weight is not None:
        weight = log.weights[rows]
        rows = np.random.default_rng([seed, query]).choice(rows, MOST_LOGGED, p=weight / weight.sum())
    number = np.full(len(log.items) + 1, -1, dtype=np.int64)
    number[items] = np.arange(len(items))
    found = np.full((len(rows), positions), -1, dtype=np.int64)
    for place in range(positions):
        has = log.lengths[rows] > place
        found[has, place] = number[log.item[log.start[rows[has]] + place]]
    return found
