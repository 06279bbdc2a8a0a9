"""The lists of some queries on disk, in segments of bounded size: what a fit needs of a log larger than memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.slate import Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.id_table import Codes
from toplist.logs.pair_table import PairTable
from toplist.logs.patterns import Patterns, RowColumns, merge_equal

SEGMENT = 500_000  # rows that are in memory at once
ROW_COLUMNS = ("start", "pair", "click", "weight", "query")


class StoredPatterns(NamedTuple):
    """Patterns whose rows lie in files.

    Parameters
    ----------
    folder : Path
        Folder of the segments.
    number : int
        Number of segments.
    first_pair : ndarray of int64, one more than queries
        Where the pairs of each query begin.
    query_code : ndarray of int32, per query
        Its code in the log.
    item_code : ndarray of int32, per pair
        Code of its item in the log.
    longest : int
        Length of the longest row.
    lists : float
        Number of lists, weighted.
    """

    folder: Path
    number: int
    first_pair: Ints
    query_code: Codes
    item_code: Codes
    longest: int
    lists: float

    @property
    def positions(self) -> int:
        """Length of the longest row."""
        return self.longest

    def query_of_pair(self) -> Codes:
        """The code of the query of each pair."""
        return np.repeat(self.query_code, np.diff(self.first_pair))

    def segments(self) -> Iterator[Patterns]:
        """The rows, one segment after the other."""
        for segment in range(self.number):
            start, pair, click, weight, query = (np.load(self.folder / f"{segment}.{name}.npy") for name in ROW_COLUMNS)
            yield Patterns(start, pair, click, weight, query, self.first_pair, self.query_code, self.item_code)


class PatternWriter:
    """Takes the lists of some queries in any order, and stores them as patterns.

    Parameters
    ----------
    folder : Path
        Folder to create; nothing else must write to it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder, self._pairs = folder, PairTable()
        self._segments, self._rows = 0, 0
        self._longest, self._lists = 0, 0.0

    def add(self, log: ClickLog) -> None:
        """Add lists.

        Parameters
        ----------
        log : ClickLog
            The lists; empty ones are left out.
        """
        sizes = log.lengths
        if (sizes == 0).any():
            log = log.take(sizes > 0)
            sizes = log.lengths
        if not len(log):
            return
        self._longest = max(self._longest, int(sizes.max()))
        self._lists += float(log.weights.sum())
        if self._rows >= SEGMENT:
            self._segments, self._rows = self._segments + 1, 0
        self._rows += len(log)
        columns = {
            "query": log.query, "size": sizes.astype(np.int32), "weight": log.weights.astype(np.float64),
            "pair": self._pairs.number(np.repeat(log.query, sizes), log.item), "click": log.click,
        }  # fmt: skip
        for name, column in columns.items():
            with open(self._folder / f"{self._segments}.{name}", "ab") as file:
                np.ascontiguousarray(column).tofile(file)

    def finish(self) -> StoredPatterns:
        """Sort and merge the rows of each segment.

        Returns
        -------
        StoredPatterns
            The stored patterns.
        """
        queries, items = self._pairs.queries(), self._pairs.items()
        order = np.argsort(queries, kind="stable")
        number = np.empty(len(order), dtype=np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        query_code, counts = np.unique(queries, return_counts=True)
        first_pair = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        segments = self._segments + 1 if self._rows else 0
        for segment in range(segments):
            rows = self._sorted_rows(segment, query_code, number)
            for place, name in enumerate(ROW_COLUMNS):
                np.save(self._folder / f"{segment}.{name}.npy", rows[place])
        return StoredPatterns(
            self._folder, segments, first_pair, query_code.astype(np.int32), items[order], self._longest, self._lists
        )

    def _sorted_rows(self, segment: int, query_code: Codes, number: NDArray[np.int32]) -> RowColumns:
        """The rows of a segment sorted by query, equal ones merged; deletes its files."""
        kinds = {"query": np.int32, "size": np.int32, "weight": np.float64, "pair": np.int32, "click": np.uint8}
        files = {name: self._folder / f"{segment}.{name}" for name in kinds}
        query, size, weight, pair, click = (np.fromfile(files[name], dtype=kind) for name, kind in kinds.items())
        for file in files.values():
            file.unlink()
        order = np.argsort(query, kind="stable")
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(size, dtype=np.int64)])
        sizes = size[order].astype(np.int64)
        new_start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        at = np.arange(len(pair)) + np.repeat(start[order] - new_start[:-1], sizes)
        place = np.searchsorted(query_code, query[order]).astype(np.int32)
        return merge_equal(new_start, number[pair[at]], click[at], weight[order], place)

    def discard(self) -> None:
        """Delete everything."""
        shutil.rmtree(self._folder, ignore_errors=True)
