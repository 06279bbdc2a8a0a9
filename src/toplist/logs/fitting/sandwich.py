"""Standard errors that hold if the model is wrong or visitors repeat themselves: the sandwich, by visitor or by list.

A list moves the estimates by its influence. With the information of the fit, a block A per query bordered by B and the
shared coins, and the derivatives g of a list, the influence on the shared coins is V (g_shared - B'A^-1 g_own), where V
is their covariance by the information, and that on the own coins A^-1 (g_own - B * influence on the shared coins). The
influences of a visitor's lists are added, and the sum of their squares over visitors is the covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from toplist.core.compiling import compiled
from toplist.core.slate import Floats, Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.fitting.errors import invert, shared_errors
from toplist.logs.fitting.loops import FitRows
from toplist.logs.fitting.maximise import Maximiser
from toplist.logs.fitting.partition import Partition
from toplist.logs.models.protocol import CoinSums, ListWorkspace, Row, workspace
from toplist.logs.patterns import Patterns, compress, list_order, speed

BLOCK = 1 << 22  # numbers in the table of derivatives by visitor that is made at once


class Units(NamedTuple):
    """The lists of a log with what is independent: visitors, or lists.

    Parameters
    ----------
    patterns : Patterns
        The lists; equal ones are merged if lists are independent.
    unit : ndarray of int64, per row
        The visitor, or the row itself.
    scale : ndarray of float, per row
        Factor of the derivatives: how many lists of its visitor the row stands for, or the root of their number if
        they are independent.
    independent : float
        Number of visitors or lists.
    """

    patterns: Patterns
    unit: Ints
    scale: Floats
    independent: float


class RobustErrors(NamedTuple):
    """Variances on the logit scale of all coins, and the covariance of the shared ones."""

    own: Floats
    shared: Floats
    covariance: Floats


class Bread(NamedTuple):
    """The inverse information of some queries with equally many coins."""

    coins: Ints  # (queries, coins)
    inverse: Floats  # (queries, coins, coins)
    pull: Floats  # (queries, coins, shared coins): inverse times border


def independent_units(log: ClickLog) -> Units:
    """The lists of a log by visitor, or each alone if it has none."""
    if log.visitor is None:
        patterns = compress(log)
        return Units(patterns, np.arange(len(patterns.weight)), np.sqrt(patterns.weight), float(patterns.weight.sum()))
    patterns = compress(log, merge=False)
    people, unit = np.unique(log.visitor[list_order(log)], return_inverse=True)
    return Units(patterns, unit.astype(np.int64), patterns.weight, float(len(people)))


def robust_errors(maximiser: Maximiser, part: Partition, units: Units) -> RobustErrors:
    """The sandwich of a fit in one partition, after an E-step at the maximum."""
    shared_free, own_free = maximiser.free(), part.free()
    rows = fit_rows(part, units.patterns)
    kinds, width, copies = part.kinds, part.shared_coins, part.per_query
    own_score = np.zeros((len(rows.pair), kinds))
    shared_score = np.zeros((len(rows.weight), width))
    sums = CoinSums(np.zeros(len(part.theta)), np.zeros(len(part.theta)))
    loop = speed(score_rows, len(rows.pair))
    loop(part.model, part.theta, rows, sums, own_score, shared_score, workspace(part.model.positions))
    sizes = np.diff(rows.start)
    row_of = np.repeat(np.arange(len(sizes)), sizes)
    coin = rows.pair[:, None] * kinds + np.arange(kinds)
    own_score *= units.scale[row_of][:, None] * own_free[coin]
    shared_score *= units.scale[:, None]
    bread, covariance = list(slices(maximiser, part)), shared_bread(maximiser, part)
    # Influence on the shared coins, summed by visitor.
    units_count = int(units.unit.max(initial=-1)) + 1
    moved = np.zeros((units_count, 0 if copies else width))
    if not copies and width:
        shared_score *= shared_free
        pull = np.zeros((part.own, width))
        for piece in bread:
            pull[piece.coins] = piece.pull
        left = shared_score - np.add.reduceat(
            np.concatenate([(own_score[:, :, None] * pull[coin]).sum(axis=1), np.zeros((1, width))]), rows.start[:-1]
        )
        np.add.at(moved, units.unit, left @ covariance)
    enough = units.independent / max(units.independent - 1.0, 1.0)
    meat: Floats = moved.T @ moved
    variance = np.zeros(part.own)
    first = np.searchsorted(rows.query, np.arange(len(units.patterns.query_code) + 1))
    for piece in bread:
        for query_place, coins in enumerate(piece.coins):
            number = query_of(part, coins)
            begin, end = int(first[number]), int(first[number + 1])
            inverse, own_pull = piece.inverse[query_place], piece.pull[query_place]
            alone, together = np.zeros(len(coins)), np.zeros(len(coins))
            for unit, table in by_unit(part, coins, units, rows, own_score, shared_score, begin, end):
                influence = table @ inverse
                alone += (influence**2).sum(axis=0)
                if moved.shape[1]:
                    together += (influence * (moved[unit] @ own_pull.T)).sum(axis=0)
            through = np.einsum("is,st,it->i", own_pull, meat, own_pull) if moved.shape[1] else 0.0
            variance[coins] = alone - 2.0 * together + through
    return RobustErrors(enough * variance, enough * np.diagonal(meat), enough * meat)


def fit_rows(part: Partition, patterns: Patterns) -> FitRows:
    """Rows for the loops, each counted once."""
    width = part.shared_coins if part.per_query else 0
    ones = np.ones(len(patterns.weight))
    return FitRows(patterns.start, patterns.pair, patterns.click, ones, patterns.query, part.pair_coins, width)


def query_of(part: Partition, coins: Ints) -> int:
    """The number of the query whose block has these coins."""
    if part.kinds:
        return int(np.searchsorted(part.patterns.first_pair, coins[0] // part.kinds, side="right")) - 1
    return int((coins[0] - part.pair_coins) // max(part.shared_coins, 1)) if len(coins) else 0


def slices(maximiser: Maximiser, part: Partition) -> Iterator[Bread]:
    """The inverse information of the own coins, queries of equal size together."""
    own, free = part.theta[: part.own], part.free()
    spread = own * (1.0 - own)
    strength = part.prior_heads + part.prior_tails
    if not getattr(part.model, "exact", True):  # published counts: each coin is estimated alone
        information = part.information()
        information.blocks[:] = 0.0
        information.border[:] = 0.0
        extra = (part.sums.tosses[: part.own] + strength) * spread
    else:
        information, extra = part.last_information(keep=True), strength * spread
    shared = information.corner.shape[0]
    shared_free = maximiser.free()
    for coins, blocks in part.stacks(information, extra, free):
        inverse = invert(blocks).inverse * (free[coins][:, :, None] & free[coins][:, None, :])
        border = np.zeros((*coins.shape, shared))
        if shared:
            border = np.where(free[coins][:, :, None] & shared_free, information.border[coins], 0.0)
        yield Bread(coins, inverse, inverse @ border)


def shared_bread(maximiser: Maximiser, part: Partition) -> Floats:
    """The covariance of the shared coins by the information, or by the tosses of the published counts."""
    shared, free = maximiser.found.shared, maximiser.free()
    if getattr(part.model, "exact", True):
        return shared_errors(maximiser)[1].covariance
    information = (maximiser.found.tosses + maximiser.prior_heads + maximiser.prior_tails) * shared * (1.0 - shared)
    return np.diag(np.where(free, 1.0 / np.where(free, information, 1.0), 0.0))


def by_unit(
    part: Partition,
    coins: Ints,
    units: Units,
    rows: FitRows,
    own_score: Floats,
    shared_score: Floats,
    begin: int,
    end: int,
) -> Iterator[tuple[Ints, Floats]]:
    """Derivatives by the coins of a query, summed by visitor: some visitors with a row each at a time."""
    order = begin + np.argsort(units.unit[begin:end], kind="stable")
    at_once = max(BLOCK // max(len(coins), 1), 1)
    own = len(coins) - (part.shared_coins if part.per_query else 0)
    place = 0
    while place < len(order):
        stop = min(place + at_once, len(order))
        while stop < len(order) and units.unit[order[stop]] == units.unit[order[stop - 1]]:
            stop += 1  # a visitor is not divided
        some = order[place:stop]
        people, person = np.unique(units.unit[some], return_inverse=True)
        table = np.zeros((len(people), len(coins)))
        sizes = rows.start[some + 1] - rows.start[some]
        ends = np.cumsum(sizes)
        at = np.arange(int(ends[-1])) + np.repeat(rows.start[some] - (ends - sizes), sizes)
        if own:
            column = rows.pair[at][:, None] * part.kinds + np.arange(part.kinds) - coins[0]
            np.add.at(table, (np.repeat(person, sizes)[:, None], column), own_score[at])
        if part.per_query and part.shared_coins:
            free = part.free()[coins[own:]]
            np.add.at(table[:, own:], person, shared_score[some] * free)
        yield people, table
        place = stop


@compiled
def score_rows(
    model: Any,
    theta: Floats,
    rows: FitRows,
    sums: CoinSums,
    own_score: Floats,
    shared_score: Floats,
    work: ListWorkspace,
) -> None:
    """Fill the derivatives of each list on the logit scale: expected heads minus tosses times probability."""
    kinds, width = own_score.shape[1], shared_score.shape[1]
    heads, tosses = sums
    for number in range(len(rows.weight)):
        begin, end = rows.start[number], rows.start[number + 1]
        shared = rows.first_shared + rows.shared_per_query * rows.query[number]
        row = Row(rows.pair[begin:end], rows.clicks[begin:end], shared, rows.weight[number])
        model.expect_coins(theta, row, sums, work)
        for at in range(begin, end):
            for kind in range(kinds):
                coin = rows.pair[at] * kinds + kind
                own_score[at, kind] = heads[coin] - tosses[coin] * theta[coin]
                heads[coin] = 0.0  # an item that is shown twice counts once
                tosses[coin] = 0.0
        for each in range(width):
            coin = shared + each
            shared_score[number, each] = heads[coin] - tosses[coin] * theta[coin]
            heads[coin] = 0.0
            tosses[coin] = 0.0
