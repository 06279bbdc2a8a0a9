"""The store in one SQLite file: write-ahead log, full sync, one connection that writes and one that reads."""

from __future__ import annotations

import fcntl
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import apsw

from toplist.core.problem import InvalidInput
from toplist.service.errors import StoreUnavailable
from toplist.service.store import protocol
from toplist.service.store.migrations import migrate
from toplist.service.store.protocol import (
    DeletedRanking,
    EventRow,
    ForgetImpressions,
    ImpressionChange,
    ImpressionRow,
    ItemRow,
    LearnerRow,
    LogReader,
    RankingRow,
    RequestRow,
    Row,
    SnapshotRow,
)

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])

BUSY_TIMEOUT = 10_000  # milliseconds to wait for a file that another process has locked
PAGE_BYTES = 4 << 20  # of the bodies of events that are in memory at a time
READ_ERRORS = (apsw.Error, UnicodeDecodeError)  # the latter for damaged text

# Rows of these kinds come by the hundred, in any order among the others: one statement for all rows of a kind.
_BULK: dict[type, str] = {
    EventRow: "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
    ImpressionRow: "INSERT INTO impressions VALUES (?, ?, ?, ?, ?, ?, ?)",
    ImpressionChange: "UPDATE impressions SET state = ?, due = ?, report = ? WHERE id = ?",
    RequestRow: "INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?)",
}
_CLOSED = f"kind IN ('{protocol.LEARN}', '{protocol.DROP}', '{protocol.QUARANTINED}') AND impression IS NOT NULL"
_OLD = "learner = :learner AND learner > 0 AND seq <= :seq"  # both conditions on learner, so that the index is used
_FORGOTTEN = f"(SELECT impression FROM events WHERE {_OLD} AND {_CLOSED})"
# A body that is no JSON is one damaged row, and must not fail the statement.
_TEXT = "CAST(body AS TEXT)"
_REQUEST = f"CASE WHEN json_valid({_TEXT}) THEN json_extract({_TEXT}, '$.request_id') END"
_PURGED = "ranking = :ranking AND seq > :after AND seq <= :until"
# All other rows are written in their order.
_IN_ORDER: dict[type, str] = {
    LearnerRow: "INSERT INTO learners VALUES (?, ?, ?)",
    SnapshotRow: "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)",
    RankingRow: "INSERT OR REPLACE INTO rankings VALUES (?, ?, ?, ?, ?)",
    ItemRow: "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)",
    protocol.DeleteItem: "DELETE FROM items WHERE ranking = ? AND id = ?",
}
_SCRIPTS: dict[type, tuple[str, ...]] = {
    protocol.DeleteRanking: (
        "DELETE FROM rankings WHERE id = :id",
        "INSERT INTO gone VALUES (:id, :id - 1, :seq)",  # a ranking's id is the seq of its first event
    ),
    # Events are found by their seq: there is no index of all events by ranking, and those of others are skipped.
    protocol.PurgeEvents: (
        f"""DELETE FROM requests WHERE ranking = :ranking AND request IN (
            SELECT {_REQUEST} FROM events WHERE {_PURGED} AND kind = '{protocol.LIST}')""",
        f"""DELETE FROM impressions WHERE id IN (
            SELECT impression FROM events WHERE {_PURGED} AND kind = '{protocol.LIST}')""",
        f"DELETE FROM snapshots WHERE learner IN (SELECT seq FROM events WHERE {_PURGED})",
        f"DELETE FROM learners WHERE id IN (SELECT seq FROM events WHERE {_PURGED})",
        f"DELETE FROM events WHERE {_PURGED}",
        """DELETE FROM items WHERE ranking = :ranking AND id IN (
            SELECT id FROM items WHERE ranking = :ranking LIMIT :items)""",
        "UPDATE gone SET seq = :until WHERE ranking = :ranking",
    ),
    protocol.ShiftWindows: ("UPDATE impressions SET due = due + :milliseconds WHERE state < 2 AND seq > :after",),
    protocol.PurgeDone: ("DELETE FROM gone WHERE ranking = :ranking",),
    protocol.DeleteSnapshots: (
        "DELETE FROM snapshots WHERE learner IN (SELECT id FROM learners WHERE ranking = :ranking)",
    ),
    ForgetImpressions: (
        f"""DELETE FROM requests WHERE ranking = :ranking AND request IN (
            SELECT {_REQUEST} FROM events
            WHERE {_OLD} AND kind = '{protocol.LIST}' AND impression IN {_FORGOTTEN})""",
        f"DELETE FROM impressions WHERE id IN {_FORGOTTEN}",
        f"DELETE FROM events WHERE {_OLD} AND impression IN {_FORGOTTEN}",
    ),
}


def _reads(method: Method) -> Method:
    """Turn errors of SQLite into `StoreUnavailable`."""

    @functools.wraps(method)
    def reading(*arguments: Any, **more: Any) -> Any:
        try:
            return method(*arguments, **more)
        except READ_ERRORS as problem:
            raise _cannot_read(problem) from problem

    return reading  # type: ignore[return-value]


def _cannot_read(problem: Exception) -> StoreUnavailable:
    # An SQL error is a missing table: another program's database.
    foreign = isinstance(problem, apsw.NotADBError | apsw.SQLError)
    advice = "name a file that toplist serve wrote, or restore a backup" if foreign else "check its disk"
    return StoreUnavailable(f"The store cannot be read: {problem}; {advice}.")


def _cannot_write(problem: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"The store cannot be written to: {problem}; check its disk.")


def connect(path: Path, *, read_only: bool) -> apsw.Connection:
    """Connect to a store; one thread at a time may use the connection."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    address = path.absolute().as_uri()  # a path may have any bytes
    if read_only and not path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK):
        address += "?immutable=1"  # no process writes to it, and the log file needed for reading cannot be created
    connection = apsw.Connection(address, flags | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(BUSY_TIMEOUT)
    return connection


class SQLiteReader:
    """Blocking reads of a store's file, which a service may be using."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = connect(path, read_only=True)
        except apsw.Error as problem:
            raise _cannot_read(problem) from problem

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

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
            raise _cannot_read(problem) from problem

    def _first(self, query: str, *given: Any) -> Any:
        """First row of a query; None if there is none."""
        return self._connection.execute(query, given).fetchone()

    @_reads
    def last_seq(self) -> int:
        """Seq of the last event; 0 before the first."""
        return int(self._first("SELECT coalesce(max(seq), 0) FROM events")[0])

    @_reads
    def rankings(self) -> list[RankingRow]:
        """All rankings."""
        return [RankingRow(*row) for row in self._connection.execute("SELECT * FROM rankings ORDER BY id")]

    @_reads
    def deleted_ranking(self) -> DeletedRanking | None:
        """A deleted ranking of which rows are left; None if there is none."""
        has_items = "EXISTS (SELECT 1 FROM items WHERE items.ranking = gone.ranking)"
        row = self._first(f"SELECT *, {has_items} FROM gone ORDER BY ranking LIMIT 1")
        return None if row is None else DeletedRanking(row[0], row[1], row[2], bool(row[3]))

    @_reads
    def items(self, ranking: int) -> Iterator[ItemRow]:
        """Items of a ranking, by place."""
        rows = self._connection.execute("SELECT * FROM items WHERE ranking = ? ORDER BY place", (ranking,)).fetchall()
        return (row._replace(hidden=bool(row.hidden)) for row in map(ItemRow._make, rows))

    @_reads
    def event(self, seq: int) -> EventRow | None:
        """One event."""
        row = self._first("SELECT * FROM events WHERE seq = ?", seq)
        return None if row is None else EventRow(*row)

    def events(self, ranking: int, after: int, until: int) -> Iterator[EventRow]:
        """Events of a ranking with after < seq <= until, in order."""
        return self._event_pages("ranking = ? AND seq <= ?", (ranking, until), after)

    def _event_pages(self, condition: str, given: tuple[Any, ...], after: int) -> Iterator[EventRow]:
        """Events with seq > after, in order; some megabytes are in memory at a time, however many events there are."""
        query = f"SELECT * FROM events WHERE {condition} AND seq > ? ORDER BY seq"
        more = True
        while more:
            page: list[EventRow] = []
            size, more = 0, False
            try:
                for row in (cursor := self._connection.execute(query, (*given, after))):
                    page.append(EventRow._make(row))
                    size += len(page[-1].body)
                    if more := size > PAGE_BYTES:
                        cursor.close()  # an open one would keep the write-ahead log from being emptied
                        break
            except READ_ERRORS as problem:
                raise _cannot_read(problem) from problem
            yield from page
            after = page[-1].seq if page else after

    @_reads
    def has_item_events(self, ranking: int, after: int, count: int) -> bool:
        """Whether there are at least so many changes of a ranking's items with seq > after."""
        query = f"""SELECT 1 FROM events WHERE ranking = ? AND learner = 0 AND seq > ? AND kind = '{protocol.ITEMS}'
            LIMIT 1 OFFSET ?"""
        return self._first(query, ranking, after, count - 1) is not None

    @_reads
    def longest_list(self, ranking: int, after: int, until: int) -> int:
        """Length of the longest list of a ranking among events with after < seq <= until."""
        length = f"CASE WHEN json_valid({_TEXT}) THEN json_array_length({_TEXT}, '$.items') END"
        query = f"""SELECT coalesce(max({length}), 0) FROM events
            WHERE ranking = ? AND seq > ? AND seq <= ? AND kind = '{protocol.LIST}'"""
        return int(self._first(query, ranking, after, until)[0])

    @_reads
    def events_of_kind(self, kind: str) -> Iterator[EventRow]:
        """All events of a kind, in order."""
        rows = self._connection.execute("SELECT * FROM events WHERE kind = ? ORDER BY seq", (kind,)).fetchall()
        return map(EventRow._make, rows)

    def learner_events(self, learner: int, after: int) -> Iterator[EventRow]:
        """Events of a learner with seq > after, in order."""
        return self._event_pages("learner = ? AND learner > 0", (learner,), after)

    def item_events(self, ranking: int, after: int) -> Iterator[EventRow]:
        """Changes of a ranking's items with seq > after, in order."""
        return self._ranking_events(ranking, protocol.ITEMS, after)

    def settings_events(self, ranking: int) -> Iterator[EventRow]:
        """Events that created, changed and deleted a ranking, in order."""
        return self._ranking_events(ranking, protocol.RANKING, 0)

    def _ranking_events(self, ranking: int, kind: str, after: int) -> Iterator[EventRow]:
        return self._event_pages("ranking = ? AND learner = 0 AND kind = ?", (ranking, kind), after)

    @_reads
    def impression(self, id: bytes) -> ImpressionRow | None:
        """An impression with its current state."""
        row = self._first("SELECT * FROM impressions WHERE id = ?", id)
        return None if row is None else ImpressionRow(*row)

    @_reads
    def due_impressions(self, now: int, limit: int) -> list[ImpressionRow]:
        """Impressions that are open although their window is over, the most overdue first."""
        query = "SELECT * FROM impressions WHERE state < 2 AND due <= ? ORDER BY due LIMIT ?"
        return [ImpressionRow(*row) for row in self._connection.execute(query, (now, limit))]

    @_reads
    def open_impressions(self) -> int:
        """Number of impressions that are neither learned nor dropped."""
        return int(self._first("SELECT count(*) FROM impressions WHERE state < 2")[0])

    @_reads
    def request(self, ranking: int, request: str) -> RequestRow | None:
        """The list that was made for a request id."""
        row = self._first("SELECT * FROM requests WHERE ranking = ? AND request = ?", ranking, request)
        return None if row is None else RequestRow(*row)

    @_reads
    def learner(self, ranking: int, segment: str | None) -> LearnerRow | None:
        """The learner of a segment."""
        row = self._first("SELECT * FROM learners WHERE ranking = ? AND key IS ?", ranking, segment)
        return None if row is None else LearnerRow(*row)

    @_reads
    def learners(self, ranking: int, after: int, limit: int) -> list[LearnerRow]:
        """Learners of a ranking with id > after, by id."""
        query = "SELECT * FROM learners WHERE ranking = ? AND id > ? ORDER BY id LIMIT ?"
        return [LearnerRow(*row) for row in self._connection.execute(query, (ranking, after, limit))]

    @_reads
    def learners_with_snapshots(self, ranking: int) -> list[LearnerRow]:
        """Learners of a ranking that have a snapshot."""
        query = "SELECT * FROM learners WHERE ranking = ? AND id IN (SELECT learner FROM snapshots)"
        return [LearnerRow(*row) for row in self._connection.execute(query, (ranking,))]

    @_reads
    def segments(self, ranking: int, after: str, limit: int) -> list[str]:
        """Segments that have a learner, in order."""
        query = "SELECT key FROM learners WHERE ranking = ? AND key > ? ORDER BY key LIMIT ?"
        return [segment for (segment,) in self._connection.execute(query, (ranking, after, limit))]

    @_reads
    def snapshot(self, learner: int, policy_seq: int, base: bool = False) -> SnapshotRow | None:
        """The latest snapshot under a policy; with `base`, the one below which events may be forgotten."""
        query = "SELECT * FROM snapshots WHERE learner = ? AND policy = ? AND base >= ? ORDER BY seq DESC LIMIT 1"
        row = self._first(query, learner, policy_seq, base)
        return None if row is None else SnapshotRow(*row)

    @_reads
    def closed_impressions(self, learner: int, until: int) -> int:
        """Number of a learner's impressions that were closed by an event up to `until` and are not forgotten."""
        query = f"SELECT count(*) FROM events WHERE learner = ? AND learner > 0 AND seq <= ? AND {_CLOSED}"
        return int(self._first(query, learner, until)[0])

    @_reads
    def seq_before(self, moment: int) -> int:
        """Seq of the last event before a moment, by bisection: times grow with seq from one correction to the next."""
        query = "SELECT seq FROM events WHERE ranking = ? AND learner = 0 ORDER BY seq"
        corrections = [seq for (seq,) in self._connection.execute(query, (protocol.NO_RANKING,))]
        low = 0
        for high in (*(seq - 1 for seq in corrections), self.last_seq()):
            latest = self._first(
                "SELECT at FROM events WHERE seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1", low, high
            )
            if latest is not None and latest[0] >= moment:
                return self._bisect(moment, low, high)
            low = high
        return low

    def _bisect(self, moment: int, low: int, high: int) -> int:
        """Seq of the last event before a moment, among events whose times grow with seq."""
        while low < high:
            middle = (low + high + 1) // 2
            row = self._first("SELECT at FROM events WHERE seq >= ? ORDER BY seq LIMIT 1", middle)
            if row is not None and row[0] < moment:
                low = middle
            else:
                high = middle - 1
        return low

    @_reads
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


class SQLiteStore:
    """A store file with its write-ahead log, locked by this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock: int | None = _lock_file(path)
        try:
            self._writer = connect(path, read_only=False)
            self._writer.pragma("journal_mode", "wal")
            self._writer.pragma("synchronous", "full")
            self._writer.pragma("wal_autocheckpoint", 4000)
            migrate(self._writer)
            self._reader = SQLiteReader(path)
        except apsw.Error as problem:
            os.close(self._lock)
            raise InvalidInput(f"The store {path} cannot be opened: {problem}; name another file.") from problem
        except BaseException:
            os.close(self._lock)
            raise

    def write(self, rows: Sequence[Row]) -> None:
        """Begin a transaction and write rows in their order."""
        bulk: dict[type, list[Row]] = {kind: [] for kind in _BULK}
        others: list[Row] = []
        for row in rows:
            bulk.get(type(row), others).append(row)
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            for kind, several in bulk.items():
                if several:
                    self._writer.executemany(_BULK[kind], several)
            for kind, alike in groupby(others, type):
                if kind in _IN_ORDER:
                    self._writer.executemany(_IN_ORDER[kind], alike)
                else:
                    for row in alike:
                        for statement in _SCRIPTS[kind]:
                            self._writer.execute(statement, row._asdict())
        except apsw.Error as problem:
            self.roll_back()
            raise _cannot_write(problem) from problem
        except BaseException:
            self.roll_back()
            raise

    def commit(self) -> None:
        """Make the transaction durable."""
        try:
            self._writer.execute("COMMIT")
        except apsw.Error as problem:
            self.roll_back()
            raise _cannot_write(problem) from problem

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
        self._reader.close()
        self._writer.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _lock_file(path: Path) -> int:
    """Keep other processes from serving the file as long as this one lives."""
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise InvalidInput(f"Another process serves {path}; stop it first, or name another file.") from None
    return lock
