"""A log prepared for fits: its lists in partitions, each with all lists of some queries, in memory or on disk."""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from toplist.core.problem import InvalidInput, whole
from toplist.core.slate import Floats, Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.fitting.errors import InformationPart
from toplist.logs.fitting.maximise import LocalWorkers, Workers
from toplist.logs.fitting.prior import Prior, coin_prior
from toplist.logs.id_table import Codes, Id, IdTable
from toplist.logs.models.protocol import Coins
from toplist.logs.patterns import Patterns, compress
from toplist.logs.stored_patterns import PatternWriter, StoredPatterns
from toplist.support.files import AnyPath

PARTITIONS = 16


class ClickCounts(NamedTuple):
    """Weighted counts of a log: clicks, positions shown, those up to the last click, and lists with a click."""

    clicks: float
    shown: float
    examined: float
    clicked_lists: float


class PartitionSummary(NamedTuple):
    """What the result of a fit needs to know of a partition."""

    pair_query: Codes
    pair_item: Codes
    query_codes: Codes
    positions: int
    lists: float
    counts: ClickCounts


class FitData(Protocol):
    """A log prepared for fits; `toplist.logs.fit_model` takes one instead of a log."""

    queries: IdTable
    items: IdTable

    def summaries(self) -> Sequence[PartitionSummary]:
        """The partitions, in their order.

        Returns
        -------
        sequence of PartitionSummary
            One for each partition.
        """
        ...

    def workers(self, model: Any, priors: Mapping[str, Prior], per_query: bool) -> Workers:
        """The partitions at the beginning of a fit.

        Parameters
        ----------
        model : ClickModel
            The model.
        priors : mapping of str to Prior
            Priors by kind.
        per_query : bool
            Whether each query has shared coins of its own.

        Returns
        -------
        Workers
            The partitions.
        """
        ...


class LocalData:
    """Partitions of this machine.

    Parameters
    ----------
    queries, items : IdTable
        The ids behind the codes.
    parts : sequence of Patterns or StoredPatterns
        The partitions.
    folder : Path, optional
        Folder of their files, which `close` deletes.
    """

    def __init__(
        self,
        queries: IdTable,
        items: IdTable,
        parts: Sequence[Patterns | StoredPatterns],
        folder: Path | None = None,
    ) -> None:
        self.queries, self.items = queries, items
        self._parts, self._folder = parts, folder
        self._summaries = [summarise(part) for part in parts]

    def summaries(self) -> Sequence[PartitionSummary]:
        """The partitions."""
        return self._summaries

    def workers(self, model: Any, priors: Mapping[str, Prior], per_query: bool) -> Workers:
        """The partitions at the beginning of a fit."""
        return LocalWorkers([start_partition(part, model, priors, per_query) for part in self._parts])

    def close(self) -> None:
        """Delete the files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> LocalData:
        """Use as a context manager: the files are deleted at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Delete the files."""
        self.close()


def prepare_log(log: ClickLog) -> LocalData:
    """Prepare a log that fits in memory.

    Parameters
    ----------
    log : ClickLog
        The log.

    Returns
    -------
    LocalData
        One partition.
    """
    return LocalData(log.queries, log.items, [compress(log)])


def prepare_parts(parts: Iterable[ClickLog], folder: AnyPath | None = None, partitions: int = PARTITIONS) -> LocalData:
    """Prepare a log that need not fit in memory; only its ids and (query, item) pairs have to.

    Parameters
    ----------
    parts : iterable of ClickLog
        Parts of one scan, read once.
    folder : str or path-like, optional
        Folder for temporary files, about 70 bytes per list of 10; by default the system's.
    partitions : int, default 16
        Number of partitions.

    Returns
    -------
    LocalData
        Partitions on disk; close it, or use it as a context manager, to delete their files.

    Raises
    ------
    InvalidInput
        If there are no parts.
    """
    count = whole("The number of partitions", partitions, 1, "give at least one")
    home = Path(tempfile.mkdtemp(prefix="toplist-fit-", dir=None if folder is None else os.fspath(folder)))
    try:
        writers = [PatternWriter(home / str(number)) for number in range(count)]
        last: ClickLog | None = None
        bucket = np.zeros(0, dtype=np.int64)
        for part in parts:
            last = part
            bucket = np.concatenate([bucket, buckets(part.queries, len(bucket), count)])
            for number, some in enumerate(split_rows(bucket[part.query], count)):
                if len(some):
                    writers[number].add(part.take(some))
        if last is None:
            raise InvalidInput("The log has no parts, but a fit needs lists; read a log that has some.")
        stored = [writer.finish() for writer in writers]
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise
    return LocalData(last.queries, last.items, [part for part in stored if part.number] or stored[:1], home)


def buckets(ids: IdTable, known: int, partitions: int) -> Ints:
    """The partition of each query from code `known` on: a hash of its id, so that it is the same on every machine."""
    return np.array([bucket_of(ids[code], partitions) for code in range(known, len(ids))], dtype=np.int64)


def bucket_of(query: Id, partitions: int) -> int:
    """The partition of a query."""
    return zlib.crc32(repr(query).encode()) % partitions


def split_rows(number: Ints, count: int) -> list[Ints]:
    """Rows by their number, in order."""
    order = np.argsort(number, kind="stable")
    return np.split(order, np.searchsorted(number[order], np.arange(1, count)))


def summarise(part: Patterns | StoredPatterns) -> PartitionSummary:
    """What the result of a fit needs to know of a partition."""
    counts = np.sum([click_counts(each) for each in part.segments()] or [np.zeros(4)], axis=0)
    return PartitionSummary(
        part.query_of_pair(),
        part.item_code,
        part.query_code,
        part.positions,
        part.lists,
        ClickCounts(*map(float, counts)),
    )


def click_counts(patterns: Patterns) -> Floats:
    """The fields of `ClickCounts`."""
    sizes, weight = np.diff(patterns.start), patterns.weight
    rows = np.repeat(np.arange(len(sizes)), sizes)
    last = np.full(len(sizes), -1)
    at = np.flatnonzero(patterns.click)
    last[rows[at]] = at - patterns.start[rows[at]]  # the last of equal rows counts
    examined = np.where(last < 0, sizes, last + 1)
    clicks = np.bincount(rows[at], minlength=len(sizes))
    return np.array([clicks @ weight, sizes @ weight, examined @ weight, (last >= 0) @ weight])


def start_values(coins: Coins) -> Floats:
    """The shared coins at the beginning of a fit."""
    shared = np.full(len(coins.shared), 0.5)
    shared[list(coins.fixed)] = 1.0
    return shared


def start_partition(
    patterns: Patterns | StoredPatterns, model: Any, priors: Mapping[str, Prior], per_query: bool
) -> InformationPart:
    """A partition at the beginning of a fit."""
    coins = model.coins()
    return InformationPart(patterns, model, coin_prior(coins, priors), per_query, start_values(coins))
