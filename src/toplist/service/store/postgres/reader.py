"""Reads of a store in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from toplist.core.problem import InvalidInput
from toplist.service.store import row_kinds
from toplist.service.store.digests import TABLES, row_digest
from toplist.service.store.integrity import Damage, differing_totals
from toplist.service.store.postgres.arrays import encode_array
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.session import Session
from toplist.service.store.protocol import LogMark
from toplist.service.store.queries import PAGE_BYTES, TableReader
from toplist.service.store.row_kinds import EventRow, RequestRow

PAGE_EVENTS = 2000  # at most: of so many the sizes are summed to find the end of a page

_REQUESTS = f"""SELECT {TABLES[RequestRow].selected} FROM unnest(%b::bigint[], %b::text[]) AS asked (ranking, request)
    JOIN requests USING (ranking, request) WHERE part = ?"""


_CLAIMED = """SELECT scope, request FROM unnest(%b::bigint[], %b::text[]) AS asked (scope, request)
    JOIN requests USING (scope, request)"""


class _Listed(msgspec.Struct):
    """What is read of a list's event."""

    items: list[msgspec.Raw] = []


class PostgresReader(TableReader):
    """Blocking reads of one part of a store in PostgreSQL.

    Parameters
    ----------
    address : str or Session
        Address of the database, or a connection to it.
    part : int, default 0
        Part of the store that is read.
    on_close : callable, optional
        Called once when it is closed.
    """

    def __init__(
        self, address: str | Session, part: int = 0, on_close: Callable[[], None] = lambda: None
    ) -> None:  # fmt: skip
        super().__init__(f"part = {int(part)}")
        self._part = part
        self._session = Session(address) if isinstance(address, str) else address
        self._on_close = on_close

    def close(self) -> None:
        """Close the connection."""
        self._session.close()
        on_close, self._on_close = self._on_close, lambda: None
        on_close()

    def snapshot_reads(self) -> AbstractContextManager[None]:
        """Context in which all reads see the same moment."""
        return self._session.snapshot()

    def _rows(self, query: str, *given: Any) -> list[Any]:
        return self._session.run([Statement(query.replace("?", "%s"), given)], read_only=True)[0]

    def _event_page(self, query: str, *given: Any) -> tuple[list[EventRow], bool]:
        columns = TABLES[EventRow].selected
        page = f"""SELECT {columns}, size FROM (
            SELECT *, sum(octet_length(body)) OVER (ORDER BY seq) AS size FROM ({query} LIMIT {PAGE_EVENTS}) AS first
            ) AS sized WHERE size - octet_length(body) <= {PAGE_BYTES} ORDER BY seq"""
        rows = self._rows(page, *given)
        is_cut = len(rows) == PAGE_EVENTS or (bool(rows) and rows[-1][-1] > PAGE_BYTES)
        return [EventRow._make(row[:-1]) for row in rows], is_cut

    def requests(self, asked: Sequence[tuple[int, str]]) -> list[RequestRow]:
        """The lists that were made for request ids, each with its ranking; unknown ones are left out."""
        rankings, requests = zip(*asked, strict=True)
        rows = self._rows(_REQUESTS, encode_array("bigint", rankings), encode_array("text", requests), self._part)
        return list(map(RequestRow._make, rows))

    def sibling(self, part: int) -> PostgresReader:
        """A reader of another part, over the same connection and in its snapshot."""
        return PostgresReader(self._session, part)

    def claimed(self, asked: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
        """Of request ids, each with the scope of its ranking, those for which any part has a list."""
        scopes, requests = zip(*asked, strict=True)
        return set(self._rows(_CLAIMED, encode_array("bigint", scopes), encode_array("text", requests)))

    def longest_list(self, ranking: int, after: int, until: int) -> int:
        """Length of the longest list of a ranking among events with after < seq <= until."""
        decode = msgspec.json.Decoder(_Listed).decode
        longest = 0
        for event in self._events("ranking = ? AND seq <= ? AND kind = ?", (ranking, until, row_kinds.LIST), after):
            try:
                longest = max(longest, len(decode(event.body).items))
            except msgspec.MsgspecError:  # one damaged row
                continue
        return longest

    def last_seq(self) -> int:
        """Seq of the last event; 0 before the first."""
        row = self._first("SELECT last_seq FROM parts WHERE part = ?", self._part)
        return 0 if row is None else int(row[0])

    def mark(self) -> LogMark:
        """What tells this state of the log from others."""
        row = self._first(
            """SELECT last_seq, epoch,
                coalesce((SELECT row_digest FROM events WHERE events.part = parts.part AND seq = last_seq), 0)
            FROM parts WHERE part = ?""",
            self._part,
        )
        return LogMark(0, 0, 0) if row is None else LogMark._make(row)

    def find_damage(self) -> Iterator[Damage]:
        """Every row that differs from its digest, and owners that have other rows than were written."""
        with self.snapshot_reads():
            counts: dict[int, int] = {}
            sums: dict[int, int] = {}
            for kind, table in TABLES.items():
                for owner, digest, row in self.all_rows(kind):
                    counts[owner] = counts.get(owner, 0) + 1
                    sums[owner] = sums.get(owner, 0) + digest
                    if row_digest(*row) != digest:
                        named = ", ".join(repr(row[table.columns.index(column)]) for column in table.key)
                        yield Damage(f"The row {named} of {table.name} differs from its digest.", owner)
            totals = self._rows(f"SELECT owner, row_count, digest_sum FROM totals WHERE {self._where}")
            learners = {id for (id,) in self._rows(f"SELECT id FROM learners WHERE {self._where}")}
            written = {owner: (count, total) for owner, count, total in totals if count or total}
            yield from differing_totals(written, learners, counts, sums)

    def backup(self, path: Path) -> None:
        """Refuse: a database is backed up by its own tools."""
        raise InvalidInput(
            f"A store in PostgreSQL is not copied to the file {path}; back it up with pg_dump, or as its host does it."
        )
