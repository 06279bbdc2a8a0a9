"""Draws clicks from click models: for the lists of a log, or for lists in random order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import compiled, helper
from toplist.core.problem import InvalidInput, checked_seed, refuse, whole
from toplist.core.randomness import branch, toss, uniform
from toplist.core.slate import Floats, Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.fitting.loops import FitRows
from toplist.logs.id_table import IdTable
from toplist.logs.models.protocol import ClickModel, ListWorkspace, Row, workspace
from toplist.logs.patterns import speed

ORDERS = -1  # the branch of a seed for the order of items; lists have numbers from 0 on


def sample_log(model: ClickModel, own: Floats, shared: Floats, lists: ClickLog, seed: int) -> ClickLog:
    """Draw the clicks of a log from a click model with known parameters.

    Parameters
    ----------
    model : ClickModel
        The model, such as `MODELS["dbn"]`.
    own : ndarray of float, shape (queries, items, kinds)
        The parameters of each (query, item) pair, by code, in the order of the model's kinds.
    shared : ndarray of float
        The shared parameters, for lists as long as the longest one.
    lists : ClickLog
        The lists; their clicks do not matter.
    seed : int
        Seed; the same one draws the same clicks.

    Returns
    -------
    ClickLog
        The lists with new clicks, one draw per row whatever its weight.

    Raises
    ------
    InvalidInput
        If the parameters do not fit the model and the lists.

    Examples
    --------
    >>> from toplist.logs.models import MODELS
    >>> lists = shuffled_lists(queries=1, items=3, positions=2, lists=1000, seed=1)
    >>> log = sample_log(MODELS["pbm"], np.full((1, 3, 1), 0.5), np.array([1.0, 0.5]), lists, seed=2)
    >>> log.clicks_by_position()
    array([508., 268.])
    """
    sized: Any = model._replace(positions=max(lists.positions, 1))  # type: ignore[attr-defined]  # a NamedTuple
    coins = sized.coins()
    wanted = (len(lists.queries), len(lists.items), len(coins.own)), (len(coins.shared),)
    own, shared = np.asarray(own, dtype=np.float64), np.asarray(shared, dtype=np.float64)
    if (own.shape, shared.shape) != wanted:
        raise InvalidInput(
            f"The parameters have shapes {own.shape} and {shared.shape}, but {sized.name} takes {wanted[0]} "
            f"(queries, items, kinds) and {wanted[1]} (shared) for these lists; reshape them."
        )
    pairs = np.repeat(lists.query, lists.lengths).astype(np.int64) * wanted[0][1] + lists.item
    query = np.zeros(len(lists), dtype=np.int32)
    rows = FitRows(lists.start, pairs.astype(np.int32), lists.click, lists.weights, query, own.size, 0)
    click = sample_clicks(sized, np.concatenate([own.ravel(), shared]), rows, seed)
    return replace(lists, click=click, left=None, weight=None)


def sample_clicks(model: ClickModel, theta: Floats, rows: FitRows, seed: int) -> NDArray[np.uint8]:
    """Draw the clicks of rows.

    Parameters
    ----------
    model : ClickModel
        The model, with the number of positions of its fit.
    theta : ndarray of float
        Probability of heads of each coin, those of the pairs first.
    rows : FitRows
        The lists.
    seed : int
        Seed.

    Returns
    -------
    ndarray of uint8
        1 for a click, per position.
    """
    key = checked_seed(seed)
    positions = int(model.positions)  # type: ignore[attr-defined]  # a field of every model
    click, scratch = np.zeros(len(rows.pair), dtype=np.uint8), np.zeros((2, max(positions, 1)))
    # Every position asks for the predictions of those above again.
    loop = speed(sample_rows, len(rows.pair) * max(positions, 1) // 2)
    loop(model, theta, rows, key, click, scratch[0], scratch[1], workspace(positions))
    return click


@compiled
def sample_rows(
    model: Any,
    theta: Floats,
    rows: FitRows,
    key: int,
    click: NDArray[np.uint8],
    given: Floats,
    marginal: Floats,
    work: ListWorkspace,
) -> None:
    """Draw the clicks of all rows from the top, each given those above."""
    for number in range(len(rows.weight)):
        begin, end = rows.start[number], rows.start[number + 1]
        shared = rows.first_shared + rows.shared_per_query * rows.query[number]
        visitor = branch(key, number)
        for place in range(end - begin):
            above = Row(rows.pair[begin : begin + place + 1], click[begin : begin + place + 1], shared, 1.0)
            model.predict_clicks(theta, above, given, marginal, work)
            if toss(visitor, place, given[place]):
                click[begin + place] = 1


def shuffled_lists(queries: int, items: int, positions: int, lists: int, seed: int) -> ClickLog:
    """Lists without clicks, each of some items of a random query in random order.

    Parameters
    ----------
    queries : int
        Number of queries, all equally frequent.
    items : int
        Number of items of each query.
    positions : int
        Length of the lists, at most the number of items.
    lists : int
        Number of lists.
    seed : int
        Seed.

    Returns
    -------
    ClickLog
        The lists, with the numbers from 0 on as ids.

    Raises
    ------
    InvalidInput
        If a number is below 1, or lists are longer than there are items.
    """
    for what, given in (("queries", queries), ("items", items), ("positions", positions), ("lists", lists)):
        whole(f"The number of {what}", given, 1, "give a larger one")
    if positions > items:
        raise refuse("The number of positions", positions, f"1 to {items}, the number of items", "show fewer")
    query, item = np.zeros(lists, dtype=np.int32), np.zeros(lists * positions, dtype=np.int32)
    key = checked_seed(seed)
    speed(shuffle_rows, len(item))(key, queries, positions, np.arange(items), query, item)
    return ClickLog(
        queries=IdTable(range(queries)), items=IdTable(range(items)), query=query,
        start=np.arange(lists + 1, dtype=np.int64) * positions, item=item, click=np.zeros(len(item), dtype=np.uint8),
    )  # fmt: skip


@helper
def below(key: int, number: int, end: int) -> int:
    """A random whole number from 0 to below `end`."""
    return min(int(uniform(key, number) * end), end - 1)


@compiled
def shuffle_rows(
    key: int, queries: int, positions: int, deck: Ints, query: NDArray[np.int32], item: NDArray[np.int32]
) -> None:
    """Draw a query and the items of each list; `deck` is any order of the items, and is changed."""
    for number in range(len(query)):
        own = branch(branch(key, ORDERS), number)
        query[number] = below(own, 0, queries)
        for place in range(positions):
            other = place + below(own, place + 1, len(deck) - place)
            deck[place], deck[other] = deck[other], deck[place]
            item[number * positions + place] = deck[place]
