"""Generated click logs as arrays: 1,000 queries of 30 items, lists of 10 in perturbed orders."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from toplist.logs import ClickLog, IdTable
from toplist.logs.generated import GeneratedLog


def parts_of(log: GeneratedLog) -> Iterator[ClickLog]:
    """The log in parts that share their ids."""
    queries, items = IdTable(range(log.queries)), IdTable(range(log.queries * log.items))
    for query, shown, click in log.blocks():
        start = np.arange(len(query) + 1, dtype=np.int64) * log.positions
        item = (query[:, None] * log.items + shown).astype(np.int32)
        yield ClickLog(queries, items, query.astype(np.int32), start, item.ravel(), click.ravel().astype(np.uint8))


def in_memory(lists: int, queries: int = 1000, disorder: float = 8.0) -> ClickLog:
    """A generated log as a whole."""
    return ClickLog.concatenate(list(parts_of(GeneratedLog(lists, queries, disorder=disorder))))
