"""The store in one SQLite file: write-ahead log, full sync, one connection that writes and one that reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import apsw

from toplist.core.problem import InvalidInput
from toplist.service.store import row_kinds
from toplist.service.store.bulk import BulkStatement
from toplist.service.store.connection import BUSY_TIMEOUT, cannot_write, connect
from toplist.service.store.digests import TABLES, DigestSums, last_by_key, with_digests
from toplist.service.store.lock import StoreLock
from toplist.service.store.migrations import foreign_reason, migrate
from toplist.service.store.protocol import LogReader
from toplist.service.store.queries import CLOSED
from toplist.service.store.reader import BODY_TEXT, SQLiteReader
from toplist.service.store.row_kinds import (
    EventRow,
    ForgetImpressions,
    ImpressionChange,
    ImpressionRow,
    RequestRow,
    Row,
)

__all__ = ["SQLiteReader", "SQLiteStore", "connect"]

T = TypeVar("T")

_INSERT_INTO = {
    kind: f"INSERT {'' if kind in (EventRow, ImpressionRow, row_kinds.LearnerRow) else 'OR REPLACE '}INTO {table.name} "
    "VALUES "
    for kind, table in TABLES.items()
}
# Rows of these kinds come by the hundred, in any order among the others.
_BULK: dict[type, BulkStatement] = {
    EventRow: BulkStatement(_INSERT_INTO[EventRow], TABLES[EventRow].values),
    ImpressionRow: BulkStatement(_INSERT_INTO[ImpressionRow], TABLES[ImpressionRow].values),
    ImpressionChange: BulkStatement(
        """UPDATE impressions SET state = new.column5, due = new.column6, report = new.column7,
            row_digest = new.column8 FROM (VALUES """,
        TABLES[ImpressionRow].values,
        ") AS new WHERE id = new.column1",
    ),
    RequestRow: BulkStatement(_INSERT_INTO[RequestRow], TABLES[RequestRow].values),
}
_INSERT = {kind: into + TABLES[kind].values for kind, into in _INSERT_INTO.items()}
_ADD_TOTAL = """INSERT INTO totals VALUES (?, ?, ?) ON CONFLICT (owner) DO UPDATE
    SET row_count = row_count + excluded.row_count, digest_sum = digest_sum + excluded.digest_sum"""
_OLD = "learner = :learner AND learner > 0 AND seq <= :seq"  # both conditions on learner, so that the index is used
_FORGOTTEN = f"(SELECT impression FROM events WHERE {_OLD} AND {CLOSED})"
# A body that is no JSON is one damaged row, and must not fail the statement.
_REQUEST = f"CASE WHEN json_valid({BODY_TEXT}) THEN json_extract({BODY_TEXT}, '$.request_id') END"
_PURGED = "ranking = :ranking AND seq > :after AND seq <= :until"
_OF_LEARNER = "(SELECT seq FROM events WHERE learner = :learner AND learner > 0 ORDER BY seq LIMIT :events)"
_OF_SEGMENT = f"slice IN ('{row_kinds.SEGMENT_SLICE}' || :learner, '{row_kinds.VISITORS_SLICE}' || :learner)"
# All other rows are inserted, and these deletions made, in their order.
_SCRIPTS: dict[type, tuple[str, ...]] = {
    row_kinds.DeleteItem: ("DELETE FROM items WHERE ranking = :ranking AND id = :id",),
    row_kinds.DeleteRanking: ("DELETE FROM rankings WHERE id = :id",),
    # Events are found by their seq: there is no index of all events by ranking, and those of others are skipped.
    row_kinds.PurgeEvents: (
        f"""DELETE FROM requests WHERE ranking = :ranking AND request IN (
            SELECT {_REQUEST} FROM events WHERE {_PURGED} AND kind = '{row_kinds.LIST}')""",
        f"""DELETE FROM impressions WHERE id IN (
            SELECT impression FROM events WHERE {_PURGED} AND kind = '{row_kinds.LIST}')""",
        f"DELETE FROM snapshots WHERE learner IN (SELECT seq FROM events WHERE {_PURGED})",
        f"DELETE FROM learners WHERE id IN (SELECT seq FROM events WHERE {_PURGED})",
        f"DELETE FROM events WHERE {_PURGED}",
        """DELETE FROM items WHERE ranking = :ranking AND id IN (
            SELECT id FROM items WHERE ranking = :ranking LIMIT :items)""",
        """DELETE FROM tallies WHERE ranking = :ranking AND (slice, visitor, measured) IN (
            SELECT slice, visitor, measured FROM tallies WHERE ranking = :ranking LIMIT :items)""",
    ),
    # The first event of a learner has its segment.
    row_kinds.DeleteLearner: (
        "DELETE FROM learners WHERE id = :learner",
        "DELETE FROM snapshots WHERE learner = :learner",
        "DELETE FROM events WHERE seq = :learner AND learner = :learner",
    ),
    # A request id may have got another list since.
    row_kinds.PurgeLearner: (
        f"""DELETE FROM requests WHERE ranking = :ranking AND (request, impression) IN (
            SELECT {_REQUEST}, impression FROM events
            WHERE seq IN {_OF_LEARNER} AND kind = '{row_kinds.LIST}')""",
        f"""DELETE FROM impressions WHERE id IN (
            SELECT impression FROM events WHERE seq IN {_OF_LEARNER} AND kind = '{row_kinds.LIST}')""",
        f"DELETE FROM events WHERE seq IN {_OF_LEARNER}",
        f"""DELETE FROM tallies WHERE ranking = :ranking AND {_OF_SEGMENT} AND (slice, visitor, measured) IN (
            SELECT slice, visitor, measured FROM tallies WHERE ranking = :ranking AND {_OF_SEGMENT} LIMIT :events)""",
    ),
    row_kinds.DeleteTallies: (
        """DELETE FROM tallies WHERE ranking = :ranking AND measured < :measured
            AND (slice, visitor) > (:after_slice, :after_visitor)
            AND (slice, visitor) <= (:until_slice, :until_visitor)""",
    ),
    row_kinds.PurgeLearnerDone: ("DELETE FROM gone_learners WHERE learner = :learner",),
    row_kinds.ShiftWindows: (
        """UPDATE impressions SET due = due + :milliseconds,
            row_digest = digest_of(id, seq, ranking, learner, state, due + :milliseconds, report)
            WHERE state < 2 AND seq > :after""",
    ),
    row_kinds.PurgeDone: ("DELETE FROM gone WHERE ranking = :ranking",),
    row_kinds.DeleteSnapshots: (
        "DELETE FROM snapshots WHERE learner IN (SELECT id FROM learners WHERE ranking = :ranking)",
    ),
    ForgetImpressions: (
        f"""DELETE FROM requests WHERE ranking = :ranking AND request IN (
            SELECT {_REQUEST} FROM events
            WHERE {_OLD} AND kind = '{row_kinds.LIST}' AND impression IN {_FORGOTTEN})""",
        f"DELETE FROM impressions WHERE id IN {_FORGOTTEN}",
        f"DELETE FROM events WHERE {_OLD} AND impression IN {_FORGOTTEN}",
    ),
}


_ERASES_ALL = (row_kinds.PurgeLearnerDone, row_kinds.PurgeDone)
VACUUMED_BYTES = 16 << 20  # of the file, which is then written anew in a tenth of a second
_ERASES_NOTHING = (
    row_kinds.DeleteItem,
    row_kinds.DeleteSnapshots,
    row_kinds.ShiftWindows,
)  # events keep what they delete


def _no_database(path: Path) -> InvalidInput:
    """The error about a file of another kind, such as one with policies."""
    what, advice = "another kind of file", "name another file"
    if path.suffix == ".py":
        what, advice = "a Python file", "give policies of your own by --policies, and name another store"
    return InvalidInput(f"The store {path} is {what}, but must be a database of toplist, or a new file; {advice}.")


class SQLiteStore:
    """A store file with its write-ahead log, locked by this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._keeps_deleted = True  # perhaps: the log may be of a process that was killed
        self._wipes_log = False
        self._has_gaps = True  # perhaps, with copies of rows that a request deleted
        self._closing = ExitStack()  # closes the connections, then the lock
        try:
            self._closing.callback(StoreLock(path).release)
            self._writer = self._closing.enter_context(closing(connect(path, read_only=False)))
            if (reason := foreign_reason(self._writer)) is not None:
                raise InvalidInput(f"The store {path} cannot be used: {reason}; name another file.")
            self._writer.pragma("journal_mode", "wal")
            self._writer.pragma("synchronous", "full")
            self._writer.pragma("wal_autocheckpoint", 4000)
            self._writer.pragma("secure_delete", True)  # what is deleted is overwritten
            migrate(self._writer)
            self._reader = self._closing.enter_context(closing(SQLiteReader(path)))
        except apsw.NotADBError as problem:
            self._closing.close()
            raise _no_database(path) from problem
        except apsw.Error as problem:
            self._closing.close()
            raise InvalidInput(f"The store {path} cannot be opened: {problem}; name another file.") from problem
        except BaseException:
            self._closing.close()
            raise

    def watch(self, on_doubt: Callable[[], None]) -> None:
        """Nobody else writes to the file."""

    def write(self, rows: Sequence[Row]) -> None:
        """Begin a transaction and write rows in their order."""
        bulk: dict[type, list[Any]] = {kind: [] for kind in _BULK}
        others: list[Row] = []
        for row in rows:
            bulk.get(type(row), others).append(row)
        sums = DigestSums()
        execute, executemany = self._writer.execute, self._writer.executemany
        try:
            execute("BEGIN IMMEDIATE")
            for kind, several in bulk.items():
                if kind is ImpressionChange:  # of several changes of one, the last counts
                    last = {row[0]: row for row in several}
                    _BULK[kind].execute(self._writer, with_digests(list(last.values())))
                elif several:
                    _BULK[kind].execute(self._writer, sums.with_digests(kind, several))
            for kind, same in groupby(others, type):
                alike: Iterable[Row] = same
                if kind is row_kinds.TallyRow:  # many lists of one commit change the same sums
                    alike = last_by_key(TABLES[kind], alike)
                if kind in _INSERT:
                    executemany(_INSERT[kind], sums.with_digests(kind, map(_without_flags, alike)))
                elif kind is row_kinds.WipeLog:
                    self._wipes_log = True
                elif kind is row_kinds.CheckOwner:
                    pass
                else:
                    self._keeps_deleted |= kind not in _ERASES_NOTHING
                    self._has_gaps |= kind in _ERASES_ALL
                    for row in alike:
                        for statement in _SCRIPTS[kind]:
                            execute(statement, row._asdict())
            executemany(_ADD_TOTAL, sums.totals())
        except apsw.Error as problem:
            self.roll_back()
            raise cannot_write(problem) from problem
        except BaseException:
            self.roll_back()
            raise

    def commit(self) -> None:
        """Make the transaction durable."""
        try:
            self._writer.execute("COMMIT")
        except apsw.Error as problem:
            self.roll_back()
            raise cannot_write(problem) from problem
        if self._wipes_log:
            self._wipes_log = False
            self._wipe_log()

    def _wipe_log(self) -> None:
        """Bring the write-ahead log into the file and empty it; those who read from it are not waited for.

        SQLite overwrites what is deleted, but not the copies that it leaves between rows when it divides a page:
        after a deletion by request, a file that is not too large is written anew.
        """
        try:
            self._writer.set_busy_timeout(0)
            if self._has_gaps and self.path.stat().st_size <= VACUUMED_BYTES:
                self._writer.execute("VACUUM")
            self._has_gaps = False
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._keeps_deleted = False
        except apsw.Error:  # everything is committed, and this is tried again
            self._keeps_deleted = True
        finally:
            self._writer.set_busy_timeout(BUSY_TIMEOUT)

    def vacuum(self) -> None:
        """Write the file anew, whatever its size, so that nothing is left in it of what was deleted."""
        try:
            self._writer.execute("VACUUM")
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as problem:
            raise cannot_write(problem) from problem

    @property
    def is_owner(self) -> bool:
        """The file is locked as long as it is open."""
        return True

    @property
    def part(self) -> int:
        """A file has one part."""
        return 0

    @property
    def parts(self) -> int:
        """A file has one part."""
        return 1

    @property
    def is_far(self) -> bool:
        """The file is on this machine."""
        return False

    @property
    def silent_since(self) -> float | None:
        """Never: there is no lease."""
        return None

    @property
    def keeps_deleted(self) -> bool:
        """Whether rows that were deleted can still be found in the file or its write-ahead log."""
        return self._keeps_deleted

    def roll_back(self) -> None:
        """End the transaction, if there is one, without its rows."""
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    @property
    def is_writing(self) -> bool:
        """Whether a transaction is open."""
        return bool(self._writer.in_transaction)

    def pragma(self, name: str) -> Any:
        """A setting of SQLite, as the writing connection has it."""
        return self._writer.pragma(name)

    def limit_growth(self, pages: int) -> None:
        """Let the file grow by this number of pages at most."""
        self._writer.execute(f"PRAGMA max_page_count = {int(self._writer.pragma('page_count')) + pages}")

    async def read(self, work: Callable[[LogReader], T]) -> T:
        """Run reads at once: a file on this machine takes microseconds, and a thread would take longer."""
        return work(self._reader)

    def reader(self) -> SQLiteReader:
        """A reader with a connection of its own, for another thread."""
        return SQLiteReader(self.path)

    def backup(self, path: Path) -> None:
        """Write all that is committed to a new file; may be called from another thread."""
        self._reader.backup(path)

    def close(self) -> None:
        """Close both connections and unlock the file."""
        self._closing.close()


def _without_flags(row: Any) -> Any:
    """A row with numbers instead of truth values, as SQLite keeps them and the digest has them."""
    return row._make(int(value) if isinstance(value, bool) else value for value in row)
