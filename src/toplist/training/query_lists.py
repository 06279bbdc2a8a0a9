"""The lists of each query in the order of their times, a few thousand at once, as a ranker learns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Ints
from toplist.logs import ClickLog

PART = 65_536  # lists that are learned at once


class QueryLists(NamedTuple):
    """The lists of one query, or of all of them.

    Parameters
    ----------
    log : ClickLog
        The log.
    code : int
        The query, as a code of the log; -1 for all queries together.
    rows : ndarray of int
        Its lists, in the order of their times.
    positions : int
        Length at which lists are cut.
    """

    log: ClickLog
    code: int
    rows: Ints
    positions: int

    def parts(self, begin: int = 0) -> Iterator[ClickLog]:
        """The lists from the `begin`-th on, some at a time."""
        for first in range(begin, len(self.rows), PART):
            yield cut_lists(self.log.take(self.rows[first : first + PART]), self.positions)

    def items(self) -> Ints:
        """The codes of all items shown, in the order of their first appearance."""
        found: Ints = np.zeros(0, dtype=np.int64)
        for part in self.parts():
            codes, first = np.unique(part.item, return_index=True)
            new = ~np.isin(codes, found)
            found = np.concatenate([found, codes[new][np.argsort(first[new])].astype(np.int64)])
        return found


def lists_by_query(log: ClickLog, positions: int, together: bool) -> list[QueryLists]:
    """The lists of each query, or of all queries together.

    Parameters
    ----------
    log : ClickLog
        The log. Lists without a time come after those with one; without times, the order is that of the log.
    positions : int
        Length at which lists are cut.
    together : bool
        Whether all queries are one.

    Returns
    -------
    list of QueryLists
        By first appearance of the query.

    Raises
    ------
    InvalidInput
        If rows stand for parts of a list.
    """
    rows = np.arange(len(log))
    if log.weight is not None:
        times = np.asarray(log.weight)
        if not np.all(times % 1 == 0):
            raise InvalidInput("Rows of the log stand for parts of a list, but a policy learns whole ones; see weight.")
        rows = np.repeat(rows, times.astype(np.int64))
    query = np.zeros(len(rows), dtype=np.int64) if together else np.asarray(log.query)[rows]
    order = np.argsort(query, kind="stable") if log.time is None else np.lexsort((np.asarray(log.time)[rows], query))
    codes, first = np.unique(query[order], return_index=True)
    several = np.split(rows[order], first[1:])
    if together:
        codes = np.full(len(codes), -1)
    return [QueryLists(log, code, own, positions) for code, own in zip(codes.tolist(), several, strict=True)]


def cut_lists(log: ClickLog, positions: int) -> ClickLog:
    """Lists without the items below a position."""
    sizes = np.minimum(log.lengths, positions)
    if np.array_equal(sizes, log.lengths):
        return log
    kept = log.places() < positions
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    return ClickLog(
        log.queries, log.items, log.query, start, log.item[kept], log.click[kept], time=log.time, weight=log.weight,
        seen=None if log.seen is None else log.seen[kept],
        left=None if log.left is None else np.minimum(log.left, sizes).astype(np.int32),
    )  # fmt: skip
