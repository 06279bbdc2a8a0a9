"""Hashes of lists by their content, and a digest of a log that adds up over its parts."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import compiled
from toplist.core.randomness import branch
from toplist.core.slate import Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.id_table import Codes, IdTable
from toplist.logs.patterns import speed
from toplist.support.tables import count_text


class ListHasher:
    """Hashes lists; remembers the hashes of ids, so that parts of one scan hash each id once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[IdTable, Ints]] = {}

    def hashes(self, log: ClickLog) -> Ints:
        """A hash of the content of each list: query, items, clicks, and time and visitor if the log has them."""
        query = self._ids(log.queries)[log.query]
        found = np.zeros(len(log), dtype=np.int64)
        speed(hash_lists, len(log.item))(query, log.start, log.item, log.click, self._ids(log.items), found)
        for extra in (
            None if log.time is None else np.ascontiguousarray(log.time, dtype=np.float64).view(np.int64),
            None if log.visitor is None or log.visitors is None else self._ids(log.visitors)[log.visitor],
        ):
            if extra is not None:
                speed(mix, len(log))(found, extra)
        return found

    def digest(self, log: ClickLog) -> LogDigest:
        """The digest of a log or of a part."""
        weighed = self.hashes(log)
        speed(mix, len(log))(weighed, np.ascontiguousarray(log.weights, dtype=np.float64).view(np.int64))
        with np.errstate(over="ignore"):
            total = int(weighed.sum(dtype=np.int64)) & (2**64 - 1)
        clicks = log.clicks_per_list()
        return LogDigest(len(log), total, log.positions, int(clicks.sum()), int((clicks == 0).sum()))

    def _ids(self, table: IdTable) -> Ints:
        """A hash per id, the same on every machine; texts and numbers differ."""
        _, known = self._known.get(id(table), (table, np.zeros(0, dtype=np.int64)))
        new = [
            int.from_bytes(hashlib.blake2b(repr(table[code]).encode(), digest_size=8).digest(), "little", signed=True)
            for code in range(len(known), len(table))
        ]
        if new:
            known = np.concatenate([known, np.array(new, dtype=np.int64)])
        self._known[id(table)] = table, known  # the table too: its address is not used again while it is here
        return known


class LogDigest(NamedTuple):
    """Counts of a log and a sum of hashes that is the same for the same lists, in whatever order.

    Parameters
    ----------
    lists : int
        Number of lists.
    total : int
        Sum of the hashes of lists with their weights, modulo 2^64.
    positions : int
        Length of the longest list.
    clicks : int
        Number of clicks.
    silent : int
        Number of lists without clicks.
    """

    lists: int = 0
    total: int = 0
    positions: int = 0
    clicks: int = 0
    silent: int = 0

    def plus(self, other: LogDigest) -> LogDigest:
        """The digest of two logs together."""
        return LogDigest(
            self.lists + other.lists, (self.total + other.total) & (2**64 - 1), max(self.positions, other.positions),
            self.clicks + other.clicks, self.silent + other.silent,
        )  # fmt: skip

    def fingerprint(self) -> str:
        """A text that differs for other lists."""
        return f"{self.lists}-{self.total:016x}"

    def line(self, queries: int, items: int) -> str:
        """A line of counts."""
        return (
            f"{count_text(self.lists, 'list')} of up to {count_text(self.positions, 'position')}, "
            f"{queries:,} {'query' if queries == 1 else 'queries'}, {count_text(items, 'item')}, "
            f"{count_text(self.clicks, 'click')}, {count_text(self.silent, 'list')} without clicks"
        )


@compiled
def hash_lists(query: Ints, start: Ints, item: Codes, click: NDArray[np.uint8], items: Ints, hashes: Ints) -> None:
    """Fill the hash of each list."""
    for row in range(len(hashes)):
        key = query[row]
        for at in range(start[row], start[row + 1]):
            key = branch(branch(key, items[item[at]]), click[at])
        hashes[row] = key


@compiled
def mix(hashes: Ints, extra: Ints) -> None:
    """Add a number to each hash."""
    for row in range(len(hashes)):
        hashes[row] = branch(hashes[row], extra[row])
