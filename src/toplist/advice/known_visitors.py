"""Visitors whose behaviour is known, and the log of an old ranking that they saw: to check an advice against truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toplist.core.problem import checked_seed, nearest, refuse
from toplist.core.slate import Floats, Ints
from toplist.logs import ClickLog, FittedModel, IdTable
from toplist.logs.models import MODELS

VISITORS = ("cascade", "dcm", "sdbn", "dbn", "ccm", "pbm", "ubm")
CONTINUATION = (0.95, 0.8, 0.4)  # of the click chain model: after nothing, an irrelevant and a relevant item
DAY = 86_400.0


def known_visitors(model: str, attraction: Floats, positions: int, seed: int) -> FittedModel:
    """Visitors of a click model with given attraction.

    Parameters
    ----------
    model : str
        The click model.
    attraction : ndarray of float, shape (queries, items)
        Attraction of the items of each query; NaN for no item.
    positions : int
        Number of positions.
    seed : int
        Seed of the other parameters of items, such as satisfaction.

    Returns
    -------
    FittedModel
        The visitors, as a fit would describe them.

    Raises
    ------
    InvalidInput
        If the model is unknown.
    """
    if model not in VISITORS:
        raise refuse("The visitors", model, f"one of {', '.join(VISITORS)}", nearest(model, VISITORS, "choose one"))
    random = np.random.default_rng([checked_seed(seed), 7])
    sized: Any = MODELS[model]._replace(positions=positions)  # type: ignore[attr-defined]  # a NamedTuple
    coins = sized.coins()
    satisfaction = random.uniform(0.2, 0.8, attraction.shape)
    own = {
        query_id(query): {
            item_id(query, item): [attraction[query, item], satisfaction[query, item]][: len(coins.own)]
            for item in np.flatnonzero(~np.isnan(attraction[query])).tolist()
        }
        for query in range(len(attraction))
    }
    return FittedModel.from_values(sized, own, [shared_value(kind, label) for kind, label in coins.shared])


def shared_value(kind: str, label: str) -> float:
    """A plausible value of a shared parameter.

    >>> shared_value("examination", "3 after 2"), shared_value("examination", "4")
    (1.0, 0.5)
    """
    if kind == "termination":
        return 0.6
    if kind == "persistence":
        return 0.85
    if kind == "continuation":
        return CONTINUATION[("after nothing", "after an irrelevant item", "after a relevant item").index(label)]
    place, *words = label.split()
    last = int(words[1]) if words and words[0] == "after" else 0
    return float((int(place) - last) ** -0.5)


def query_id(query: int) -> str:
    """Id of a query."""
    return f"q{query}"


def item_id(query: int, item: int) -> str:
    """Id of an item of a query."""
    return f"q{query}-{item}"


def old_lists(
    scores: Floats, positions: int, lists: int, disorder: float, seed: int, days: float = 28.0, head: float = 0.5
) -> ClickLog:
    """Lists of an old ranking, without clicks: by its scores, with some disorder.

    Parameters
    ----------
    scores : ndarray of float, shape (queries, items)
        Scores of the old ranking; NaN for no item.
    positions : int
        Number of positions.
    lists : int
        Number of lists.
    disorder : float
        Standard deviation of the noise of the scores of each list, in standard deviations of the scores.
    seed : int
        Seed.
    days : float, default 28
        Duration of the log.
    head : float, default 0.5
        How much traffic falls with the rank of a query: a query of rank r has r^-head.

    Returns
    -------
    ClickLog
        The lists, in the order of time.
    """
    random = np.random.default_rng([checked_seed(seed), 8])
    queries, items = scores.shape
    common = np.arange(1.0, queries + 1.0) ** -head
    query = random.choice(queries, lists, p=common / common.sum())
    spread = np.nanstd(scores, axis=1, keepdims=True)
    noisy = scores[query] + disorder * spread[query] * random.standard_normal((lists, items))
    shown: Ints = np.argsort(-np.where(np.isnan(noisy), -np.inf, noisy), axis=1)[:, :positions]
    sizes = np.minimum((~np.isnan(scores)).sum(axis=1), positions)[query]
    kept = np.arange(positions) < sizes[:, None]
    ids = IdTable(item_id(each, item) for each in range(queries) for item in range(items))
    return ClickLog(
        IdTable(map(query_id, range(queries))), ids, query.astype(np.int32),
        np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]),
        (query[:, None] * items + shown)[kept].astype(np.int32), np.zeros(int(sizes.sum()), dtype=np.uint8),
        time=np.arange(lists) * days * DAY / lists,
    )  # fmt: skip


def clicked_by(epochs: Sequence[FittedModel], lists: ClickLog, seed: int) -> ClickLog:
    """The lists with the clicks of visitors, who may be others in each epoch of equal length."""
    edges = np.linspace(0, len(lists), len(epochs) + 1).astype(np.int64)
    parts = [
        visitors.sample(lists.take(np.arange(begin, end)), seed + number)
        for number, (visitors, begin, end) in enumerate(zip(epochs, edges[:-1], edges[1:], strict=True))
    ]
    return ClickLog.concatenate(parts)
