"""The direct method: a click model fitted to the log predicts the clicks of the lists that the target shows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats, Ints
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.targets import TargetPolicy
from toplist.logs import ClickLog, FittedModel, IdTable
from toplist.logs.fit_value import fit_value


class TargetPages(NamedTuple):
    """The lists that a target shows for the queries of a log.

    Parameters
    ----------
    lists : ClickLog
        The lists, each with the share of all traffic that sees it as weight.
    page : ndarray of int
        Per list the number of its page: a query with a set of lists.
    probability : ndarray of float
        Per list its probability on the page.
    page_of : ndarray of int
        Per list of the log the number of its page.
    """

    lists: ClickLog
    page: Ints
    probability: Floats
    page_of: Ints

    def clicks(self, of_lists: Floats) -> Floats:
        """Expected clicks for each list of the log, from those of the target's lists."""
        by_page = np.bincount(self.page, weights=self.probability * of_lists, minlength=int(self.page_of.max()) + 1)
        return np.asarray(by_page[self.page_of])


def target_pages(target: TargetPolicy, lists: LoggedLists) -> TargetPages:
    """The lists that a target shows instead of the logged ones.

    Parameters
    ----------
    target : TargetPolicy
        The target.
    lists : LoggedLists
        The log.

    Returns
    -------
    TargetPages
        The lists with their weights.

    Raises
    ------
    CannotEstimate
        If the target does not say which lists it shows, or shows none of some length.
    """
    page_of = np.full(len(lists), -1, dtype=np.int64)
    items, queries, page, probability, weight = [], [], [], [], []
    total, number = float(lists.weight.sum()), 0
    for rows, shown in target.shown(lists):
        codes, query = np.unique(lists.query[rows], return_inverse=True)
        page_of[rows] = number + query
        traffic = np.bincount(query, weights=lists.weight[rows]) / total
        several = len(shown.item)
        items += [shown.item] * len(codes)
        queries.append(np.repeat(codes, several))
        page.append(number + np.repeat(np.arange(len(codes)), several))
        probability.append(np.tile(shown.probability, len(codes)))
        weight.append(np.repeat(traffic, several) * probability[-1])
        number += len(codes)
    if (page_of < 0).any():
        missing = sorted(set(lists.length[page_of < 0].tolist()))
        raise CannotEstimate(f"the policy shows no lists of {', '.join(map(str, missing))} positions, as the log has")
    lengths = np.concatenate([np.full(len(each), each.shape[1]) for each in items])
    flat = np.concatenate([each.ravel() for each in items])
    table = lists.log.items
    if (flat < 0).any():  # items that the log has not: unknown to the model as well
        table = IdTable([*table, _unused(table)])
        flat = np.where(flat < 0, len(table) - 1, flat)
    log = ClickLog(
        lists.log.queries, table, np.concatenate(queries).astype(np.int32),
        np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)]), flat.astype(np.int32),
        np.zeros(len(flat), dtype=np.uint8), weight=np.concatenate(weight),
    )  # fmt: skip
    return TargetPages(log, np.concatenate(page), np.concatenate(probability), page_of)


def _unused(table: IdTable) -> str:
    """An id that a table has not."""
    name = "an item that the log has not"
    while name in table:
        name += "'"
    return name


class DirectEstimate(NamedTuple):
    """The direct estimate, and what the log lacks for it.

    Parameters
    ----------
    estimate : MeanEstimate
        Clicks per list, with the error of the fit.
    unknown : float
        Share of positions for which the target wants an item that the log never shows for the query.
    """

    estimate: MeanEstimate
    unknown: float


def direct_clicks(target: TargetPolicy, lists: LoggedLists, model: str) -> DirectEstimate:
    """Fit a model, and predict the clicks of the target's lists.

    Parameters
    ----------
    target : TargetPolicy
        The target.
    lists : LoggedLists
        The log.
    model : str
        Name of the click model.

    Returns
    -------
    DirectEstimate
        The estimate: right if users click as the model says. Its error is that of the traffic and of the fit, by the
        influence of each list on the fitted parameters.

    Raises
    ------
    CannotEstimate
        If the target does not say what it shows, or the fit does not converge.
    """
    pages = target_pages(target, lists)
    bare = replace(lists.log, weight=lists.weight)
    try:
        found = fit_value(bare, model, pages.lists)
    except InvalidInput as error:
        raise CannotEstimate(str(error)) from error
    clicks = pages.clicks(found.clicks)
    total = lists.weight.sum()
    moved = total * (found.influence - lists.weight @ found.influence / total)  # a prior pulls against all lists
    return DirectEstimate(MeanEstimate.plain(clicks + moved, lists.weight), found.unknown)


def predicted_clicks(fitted: FittedModel, pages: TargetPages) -> Floats:
    """Expected clicks of the target for each list of a log, by a fitted model.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    pages : TargetPages
        What the target shows.

    Returns
    -------
    ndarray of float
        Clicks per list.
    """
    marginal = fitted.predict(pages.lists).marginal
    return pages.clicks(np.add.reduceat(marginal, pages.lists.start[:-1]))
