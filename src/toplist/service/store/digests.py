"""Digests of rows: one per row over all its columns, and per owner the number and the sum of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import add, itemgetter
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from toplist.service.store.row_kinds import (
    DeletedLearnerRow,
    DeletedRow,
    EventRow,
    ImpressionRow,
    ItemRow,
    LearnerRow,
    RankingRow,
    RequestRow,
    SnapshotRow,
    TallyRow,
)

_SUM_BITS = 63  # of a sum of digests, which SQLite keeps in 63 bits
_ONE_ROW = 1 << _SUM_BITS
STORE = 0  # owner of the rows that belong to no ranking

_encode = msgspec.msgpack.Encoder().encode


class RowTable(NamedTuple):
    """A table whose rows have digests, in its last column."""

    name: str
    columns: tuple[str, ...]  # without the digest, in the order of the row
    texts: tuple[str, ...]  # columns with text
    key: tuple[str, ...]  # columns that name a row
    owner: str  # learner or ranking of a row, in SQL
    owner_of: Callable[[Any], int]  # the same of a row

    @property
    def selected(self) -> str:
        """The columns, for a query."""
        return ", ".join(self.columns)

    @property
    def values(self) -> str:
        """A row of an insertion, with a place for each value."""
        return f"({', '.join('?' * (len(self.columns) + 1))})"


# An owner is a learner or, for rows of a whole ranking, the ranking: both are named by the seq of their first event.
TABLES: dict[type, RowTable] = {
    EventRow: RowTable(
        "events", ("seq", "at", "ranking", "learner", "kind", "impression", "body"), ("kind",), ("seq",),
        "CASE learner WHEN 0 THEN ranking ELSE learner END", lambda row: row[3] or row[2],
    ),
    ImpressionRow: RowTable(
        "impressions", ("id", "seq", "ranking", "learner", "state", "due", "report"), (), ("id",),
        "learner", itemgetter(3),
    ),
    RequestRow: RowTable(
        "requests", ("ranking", "request", "digest", "impression", "at"), ("request",), ("ranking", "request"),
        "ranking", lambda row: row.ranking,
    ),
    LearnerRow: RowTable(
        "learners", ("id", "ranking", "key"), ("key",), ("id",),
        "ranking", lambda row: row.ranking,
    ),
    SnapshotRow: RowTable(
        "snapshots", ("learner", "base", "seq", "policy", "body"), (), ("learner", "base"),
        "learner", lambda row: row.learner,
    ),
    RankingRow: RowTable(
        "rankings", ("id", "name", "created", "policy", "spec"), ("name",), ("id",),
        str(STORE), lambda _: STORE,
    ),
    ItemRow: RowTable(
        "items", ("ranking", "id", "place", "features", "hidden", "prior"), ("id",), ("ranking", "id"),
        "ranking", lambda row: row.ranking,
    ),
    DeletedRow: RowTable(
        "gone", ("ranking", "seq", "last"), (), ("ranking",),
        str(STORE), lambda _: STORE,
    ),
    DeletedLearnerRow: RowTable(
        "gone_learners", ("learner", "ranking"), (), ("learner",),
        str(STORE), lambda _: STORE,
    ),
    TallyRow: RowTable(
        "tallies", ("ranking", "measured", "slice", "visitor", "body"), ("slice",),
        ("ranking", "slice", "visitor", "measured"), "ranking", lambda row: row.ranking,
    ),
}  # fmt: skip


def row_digest(*values: Any) -> int:
    """The digest of a row: any flipped bit changes it.

    It finds accidents, not forgeries: whoever can write the file can write digests. A CRC is the cheapest code that
    surely finds a flipped bit, and MessagePack a fixed form of the values.

    >>> row_digest(1, "tea", None) == row_digest(1, b"tea", None)
    False
    """
    return crc32(_encode(values))


class DigestSums:
    """Number and sum of the digests of new rows, by owner."""

    def __init__(self) -> None:
        self._sums: dict[int, int] = {}  # the number of rows in the upper bits: one sum is cheaper than two

    def with_digests(self, kind: type, rows: Iterable[Any]) -> list[tuple[Any, ...]]:
        """Rows of a kind with their digests, which are added to the sums."""
        sums, sum_of = self._sums, self._sums.get
        given = list(rows)
        complete = with_digests(given)
        for owner, row in zip(map(TABLES[kind].owner_of, given), complete, strict=True):
            sums[owner] = sum_of(owner, 0) + row[-1] + _ONE_ROW
        return complete

    def totals(self) -> list[tuple[int, int, int]]:
        """Owner, number of rows and sum of their digests."""
        return [(owner, total >> _SUM_BITS, total & (_ONE_ROW - 1)) for owner, total in self._sums.items()]


def with_digests(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows with their digests."""
    digests = zip(map(crc32, map(_encode, rows)))  # each in a tuple: to join two is the quickest way to add a value
    return list(map(add, rows, digests))


def last_by_key(table: RowTable, rows: Iterable[Any]) -> list[Any]:
    """Of rows with the same key, the last."""
    places = [table.columns.index(column) for column in table.key]
    return list({tuple(row[place] for place in places): row for row in rows}.values())
