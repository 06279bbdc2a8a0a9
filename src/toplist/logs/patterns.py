"""The lists of a log as a fit needs them: sorted by query, equal ones merged, with (query, item) pairs numbered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import compiled, helper, plain
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.id_table import Codes

SHORT = 3000  # positions: plain Python goes through them faster than the compiler starts


class Patterns(NamedTuple):
    """Lists with their clicks, sorted by query; equal lists of a query are one row with their total weight.

    Parameters
    ----------
    start : ndarray of int64, one more than rows
        Where the positions of each row begin.
    pair : ndarray of int32, per position
        The (query, item) pair shown.
    click : ndarray of uint8, per position
        1 for a click.
    weight : ndarray of float64, per row
        Number of equal lists.
    query : ndarray of int32, per row
        Number of the query, ascending.
    first_pair : ndarray of int64, one more than queries
        Where the pairs of each query begin.
    query_code : ndarray of int32, per query
        Its code in the log.
    item_code : ndarray of int32, per pair
        Code of its item in the log.
    """

    start: Ints
    pair: NDArray[np.int32]
    click: NDArray[np.uint8]
    weight: Floats
    query: NDArray[np.int32]
    first_pair: Ints
    query_code: Codes
    item_code: Codes

    @property
    def positions(self) -> int:
        """Length of the longest row."""
        return int(np.diff(self.start).max()) if len(self.weight) else 0

    @property
    def lists(self) -> float:
        """Number of lists, weighted."""
        return float(self.weight.sum())

    def segments(self) -> Iterator[Patterns]:
        """The rows, in one piece; stored patterns have several."""
        yield self

    def query_of_pair(self) -> Codes:
        """The code of the query of each pair."""
        return np.repeat(self.query_code, np.diff(self.first_pair))


def speed(function: Any, positions: int) -> Any:
    """The compiled function, or its source if there is little to do."""
    return function if positions >= SHORT else plain(function)


def list_order(log: ClickLog) -> Ints:
    """The lists with items, by query: the rows of `compress` before equal ones are merged."""
    order = np.argsort(log.query, kind="stable")
    rows: Ints = order[log.lengths[order] > 0]
    return rows


def compress(log: ClickLog, merge: bool = True) -> Patterns:
    """Sort the lists of a log by query, number its pairs, and merge equal lists.

    Parameters
    ----------
    log : ClickLog
        The log; empty lists are left out.
    merge : bool, default True
        Merge equal lists of a query.

    Returns
    -------
    Patterns
        The rows of the fit.
    """
    order = list_order(log)
    codes, query = np.unique(log.query[order], return_inverse=True)
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(log.lengths[order])])
    total = int(start[-1])
    pair, click = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.uint8)
    item_code = np.empty(total, dtype=np.int32)
    first_pair = np.zeros(len(codes) + 1, dtype=np.int64)
    mark = np.full((2, len(log.items)), -1, dtype=np.int64)
    speed(number_pairs, total)(
        order, query, log.start, log.item, log.click, start, mark, pair, click, item_code, first_pair
    )
    rows = start, pair, click, log.weights[order].astype(np.float64), np.asarray(query, dtype=np.int32)
    if merge:
        rows = merge_equal(*rows)
    # A copy of what is used: `item_code` is as long as the log.
    return Patterns(*rows, first_pair, codes.astype(np.int32), item_code[: first_pair[-1]].copy())


RowColumns = tuple[Ints, NDArray[np.int32], NDArray[np.uint8], Floats, NDArray[np.int32]]


def merge_equal(
    start: Ints, pair: NDArray[np.int32], click: NDArray[np.uint8], weight: Floats, query: NDArray[np.int32]
) -> RowColumns:
    """Merge equal rows of a query; `query` is ascending, and `weight` is changed."""
    most = int(np.bincount(query).max()) if len(query) else 1
    size = 1 << max(2 * most - 1, 1).bit_length()
    kept = np.zeros(len(query), dtype=np.bool_)
    speed(merge_rows, len(pair))(query, start, pair, click, weight, np.zeros(size, dtype=np.int64), kept)
    if kept.all():
        return start, pair, click, weight, query
    sizes = np.diff(start)
    at = np.repeat(kept, sizes)
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes[kept])])
    return start, pair[at], click[at], weight[kept], query[kept]


@compiled
def number_pairs(
    order: Ints,
    query: Ints,
    start: Ints,
    item: Codes,
    click: NDArray[np.uint8],
    new_start: Ints,
    mark: Any,
    pair: NDArray[np.int32],
    new_click: NDArray[np.uint8],
    item_code: Codes,
    first_pair: Ints,
) -> None:
    """Number the pairs of each query by first appearance; `mark` has, per item, the query that saw it last."""
    pairs = 0
    for row in range(len(order)):
        own, at = query[row], start[order[row]]
        for place in range(new_start[row + 1] - new_start[row]):
            shown = item[at + place]
            if mark[0, shown] != own:
                mark[0, shown], mark[1, shown] = own, pairs
                item_code[pairs] = shown
                pairs += 1
            pair[new_start[row] + place] = mark[1, shown]
            new_click[new_start[row] + place] = click[at + place]
        first_pair[own + 1] = pairs


@helper
def is_same_row(one: int, other: int, start: Ints, pair: NDArray[np.int32], click: NDArray[np.uint8]) -> bool:
    """Whether two rows show the same pairs with the same clicks."""
    a, b = start[one], start[other]
    size = start[one + 1] - a
    if start[other + 1] - b != size:
        return False
    for place in range(size):
        if pair[a + place] != pair[b + place] or click[a + place] != click[b + place]:
            return False
    return True


@compiled
def merge_rows(
    query: NDArray[np.int32],
    start: Ints,
    pair: NDArray[np.int32],
    click: NDArray[np.uint8],
    weight: Floats,
    table: Ints,
    kept: NDArray[np.bool_],
) -> None:
    """Add the weight of each row to the first equal one of its query, by a hash table per query."""
    rows, begin = len(query), 0
    while begin < rows:
        end = begin
        while end < rows and query[end] == query[begin]:
            end += 1
        size = 2
        while size < 2 * (end - begin):
            size *= 2
        for slot in range(size):
            table[slot] = -1
        for row in range(begin, end):
            key = start[row + 1] - start[row]
            for at in range(start[row], start[row + 1]):
                key = branch(key, 2 * pair[at] + click[at])
            slot = key & (size - 1)
            while table[slot] >= 0 and not is_same_row(row, table[slot], start, pair, click):
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot] = row
                kept[row] = True
            else:
                weight[table[slot]] += weight[row]
        begin = end
