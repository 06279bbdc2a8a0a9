"""Reads of a store's file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toplist.service.errors import StoreUnavailable
from toplist.service.store import row_kinds
from toplist.service.store.connection import READ_ERRORS, cannot_read, connect, reads
from toplist.service.store.integrity import Damage, find_damage
from toplist.service.store.migrations import empty_reason, foreign_reason
from toplist.service.store.queries import PAGE_BYTES, TableReader
from toplist.service.store.row_kinds import EventRow

BODY_TEXT = "CAST(body AS TEXT)"


class SQLiteReader(TableReader):
    """Blocking reads of a store's file, which a service may be using."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        try:
            self._connection = connect(path, read_only=True)
            reason = foreign_reason(self._connection) or empty_reason(self._connection)
        except READ_ERRORS as problem:
            raise cannot_read(problem) from problem
        if reason is not None:
            raise StoreUnavailable(
                f"The store cannot be read: {reason}; name a file that toplist serve wrote, or restore a backup."
            )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def sibling(self, part: int) -> SQLiteReader:
        """A file has one part."""
        return self

    @contextmanager
    def snapshot_reads(self) -> Iterator[None]:
        """Context in which all reads see the moment of the first."""
        try:
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")
        except READ_ERRORS as problem:
            raise cannot_read(problem) from problem

    @reads
    def _rows(self, query: str, *given: Any) -> list[Any]:
        return self._connection.execute(query, given).fetchall()

    @reads
    def _event_page(self, query: str, *given: Any) -> tuple[list[EventRow], bool]:
        page: list[EventRow] = []
        size = 0
        for row in (cursor := self._connection.execute(query, given)):
            page.append(EventRow._make(row))
            size += len(page[-1].body)
            if size > PAGE_BYTES:
                cursor.close()  # an open one would keep the write-ahead log from being emptied
                return page, True
        return page, False

    def longest_list(self, ranking: int, after: int, until: int) -> int:
        """Length of the longest list of a ranking among events with after < seq <= until."""
        length = f"CASE WHEN json_valid({BODY_TEXT}) THEN json_array_length({BODY_TEXT}, '$.items') END"
        query = f"""SELECT coalesce(max({length}), 0) FROM events
            WHERE ranking = ? AND seq > ? AND seq <= ? AND kind = '{row_kinds.LIST}'"""
        return int(self._first(query, ranking, after, until)[0])

    def find_damage(self) -> Iterator[Damage]:
        """Everything in the file that differs from what was written."""
        return find_damage(self._connection)

    @reads
    def backup(self, path: Path) -> None:
        """Write all that is committed to a new file, in one step, beside a service that goes on writing."""
        source, target = connect(self.path, read_only=True), connect(path, read_only=False)
        try:
            copying = target.backup("main", source, "main")
            try:
                copying.step()
            finally:
                copying.finish()  # raises the error of a step that failed
        finally:
            target.close()
            source.close()
