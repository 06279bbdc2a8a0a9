"""The loops over lists of a fit: expected coins, derivatives and predictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import compiled
from toplist.core.slate import Floats, Ints
from toplist.logs.models.protocol import CoinSums, Derivatives, ListWorkspace, Row


class FitRows(NamedTuple):
    """The rows of a fit, and where each finds its shared coins."""

    start: Ints
    pair: NDArray[np.int32]
    clicks: NDArray[np.uint8]
    weight: Floats
    query: NDArray[np.int32]
    first_shared: int  # place of the first shared coin
    shared_per_query: int  # number of coins by which those of the next query follow; 0 if all queries share them


class Information(NamedTuple):
    """Minus the second derivatives of the log-likelihood on the logit scale: a block per query, bordered.

    Parameters
    ----------
    blocks : ndarray of float
        The square matrix of each query's own coins, one after the other, by rows.
    block_start : ndarray of int
        Where the block of each query begins.
    first_coin : ndarray of int
        First own coin of each query, and one more.
    border : ndarray of float, shape (own coins, shared coins)
        Own by shared coins.
    corner : ndarray of float, shape (shared coins, shared coins)
        Shared coins.
    gradient : ndarray of float
        First derivatives, per coin.
    """

    blocks: Floats
    block_start: Ints
    first_coin: Ints
    border: Floats
    corner: Floats
    gradient: Floats


@compiled
def expect_rows(model: Any, theta: Floats, rows: FitRows, sums: CoinSums, work: ListWorkspace) -> float:
    """Add the expected coins of all rows; returns the log-likelihood."""
    total = 0.0
    for number in range(len(rows.weight)):
        begin, end = rows.start[number], rows.start[number + 1]
        shared = rows.first_shared + rows.shared_per_query * rows.query[number]
        row = Row(rows.pair[begin:end], rows.clicks[begin:end], shared, rows.weight[number])
        total += model.expect_coins(theta, row, sums, work)
    return total


@compiled
def predict_rows(
    model: Any, theta: Floats, rows: FitRows, given: Floats, marginal: Floats, work: ListWorkspace
) -> None:
    """Fill the probability of a click at all positions of all rows, given the clicks above and without them."""
    for number in range(len(rows.weight)):
        begin, end = rows.start[number], rows.start[number + 1]
        shared = rows.first_shared + rows.shared_per_query * rows.query[number]
        row = Row(rows.pair[begin:end], rows.clicks[begin:end], shared, rows.weight[number])
        model.predict_clicks(theta, row, given[begin:end], marginal[begin:end], work)


@compiled
def curve_rows(
    model: Any, theta: Floats, rows: FitRows, into: Information, found: Derivatives, work: ListWorkspace
) -> None:
    """Add the derivatives of all rows, on the logit scale."""
    for number in range(len(rows.weight)):
        begin, end = rows.start[number], rows.start[number + 1]
        query, weight = rows.query[number], rows.weight[number]
        shared = rows.first_shared + rows.shared_per_query * query
        row = Row(rows.pair[begin:end], rows.clicks[begin:end], shared, weight)
        count = model.fill_derivatives(theta, row, found, work)
        # Own coins of the query, then, if it does not share them, its other coins.
        first, at = into.first_coin[query], into.block_start[query]
        own = into.first_coin[query + 1] - first
        wide = own + rows.shared_per_query
        for i in range(count):
            coin = found.coins[i]
            chance = theta[coin]
            scale = chance * (1.0 - chance)
            into.gradient[coin] += weight * found.slope[i] * scale
            place = coin - first if coin < rows.first_shared else own + coin - shared
            for j in range(i + 1):
                other = found.coins[j]
                value = -weight * found.bend[i, j] * scale * theta[other] * (1.0 - theta[other])
                if i == j:
                    value -= weight * found.slope[i] * scale * (1.0 - 2.0 * chance)
                elif coin == other:
                    value *= 2.0
                place_2 = other - first if other < rows.first_shared else own + other - shared
                if rows.shared_per_query > 0 or (coin < rows.first_shared and other < rows.first_shared):
                    into.blocks[at + place * wide + place_2] += value
                    if coin != other:
                        into.blocks[at + place_2 * wide + place] += value
                elif coin >= rows.first_shared and other >= rows.first_shared:
                    into.corner[coin - shared, other - shared] += value
                    if coin != other:
                        into.corner[other - shared, coin - shared] += value
                elif coin < rows.first_shared:
                    into.border[coin, other - shared] += value
                else:
                    into.border[other, coin - shared] += value
