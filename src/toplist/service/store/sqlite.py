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
    EventRow,
    Forget,
    ImpressionRow,
    ItemRow,
    LearnerRow,
    Left,
    NewImpression,
    RankingRow,
    RequestRow,
    Row,
    SnapshotRow,
)

Method = TypeVar("Method", bound=Callable[..., Any])

PATIENCE = 10_000  # milliseconds for a file that somebody else has locked
UNREADABLE = (apsw.Error, UnicodeDecodeError)  # the latter where a text is damaged

# Rows of these kinds come by the hundred and do not depend on their order among the others: one statement for all.
_MANY: dict[type, str] = {
    EventRow: "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
    NewImpression: "INSERT INTO impressions VALUES (?, ?, ?, ?, ?, ?, ?)",
    ImpressionRow: "UPDATE impressions SET state = ?, due = ?, report = ? WHERE id = ?",
    RequestRow: "INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?)",
}
_CLOSED = f"kind IN ('{protocol.LEARN}', '{protocol.DROP}')"
_OLD = "learner = :learner AND learner > 0 AND seq <= :seq"  # said twice, so that the index is used
_FORGOTTEN = f"(SELECT impression FROM events WHERE {_OLD} AND {_CLOSED})"
_PURGED = "ranking = :ranking AND seq > :after AND seq <= :until"
# The others are written in their order.
_IN_ORDER: dict[type, str] = {
    LearnerRow: "INSERT INTO learners VALUES (?, ?, ?)",
    SnapshotRow: "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)",
    RankingRow: "INSERT OR REPLACE INTO rankings VALUES (?, ?, ?, ?, ?)",
    ItemRow: "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)",
    protocol.ItemGone: "DELETE FROM items WHERE ranking = ? AND id = ?",
}
_SEVERAL: dict[type, tuple[str, ...]] = {
    protocol.RankingGone: (
        "DELETE FROM rankings WHERE id = :id",
        "INSERT INTO gone VALUES (:id, :id - 1, :seq)",  # its own number is that of its first event
    ),
    # Events are found by their numbers, since there is no index of them all by ranking: the others are only passed by.
    protocol.Purge: (
        f"""DELETE FROM requests WHERE ranking = :ranking AND request IN (
            SELECT json_extract(body, '$.request_id') FROM events WHERE {_PURGED} AND kind = '{protocol.LIST}')""",
        f"""DELETE FROM impressions WHERE id IN (
            SELECT impression FROM events WHERE {_PURGED} AND kind = '{protocol.LIST}')""",
        f"DELETE FROM snapshots WHERE learner IN (SELECT seq FROM events WHERE {_PURGED})",
        f"DELETE FROM learners WHERE id IN (SELECT seq FROM events WHERE {_PURGED})",
        f"DELETE FROM events WHERE {_PURGED}",
        """DELETE FROM items WHERE ranking = :ranking AND id IN (
            SELECT id FROM items WHERE ranking = :ranking LIMIT :items)""",
        "UPDATE gone SET seq = :until WHERE ranking = :ranking",
    ),
    protocol.Purged: ("DELETE FROM gone WHERE ranking = :ranking",),
    protocol.SnapshotsGone: (
        "DELETE FROM snapshots WHERE learner IN (SELECT id FROM learners WHERE ranking = :ranking)",
    ),
    Forget: (
        f"""DELETE FROM requests WHERE ranking = :ranking AND request IN (
            SELECT json_extract(body, '$.request_id') FROM events
            WHERE {_OLD} AND kind = '{protocol.LIST}' AND impression IN {_FORGOTTEN})""",
        f"DELETE FROM impressions WHERE id IN {_FORGOTTEN}",
        f"DELETE FROM events WHERE {_OLD} AND impression IN {_FORGOTTEN}",
    ),
}


def _reads(method: Method) -> Method:
    """Say in one sentence that something cannot be read."""

    @functools.wraps(method)
    def reading(*arguments: Any, **more: Any) -> Any:
        try:
            return method(*arguments, **more)
        except UNREADABLE as problem:
            raise _unreadable(problem) from problem

    return reading  # type: ignore[return-value]


def _unreadable(problem: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"The store cannot be read: {problem}; see to its disk.")


def connect(path: Path, *, reads: bool) -> apsw.Connection:
    """A connection to a store, for reading or for writing, which one thread at a time may use."""
    flags = apsw.SQLITE_OPEN_READONLY if reads else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    address = path.absolute().as_uri()  # of any bytes that a path may have
    if reads and not path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK):
        address += "?immutable=1"  # nobody writes to it, and no log can be made, not even to be read
    connection = apsw.Connection(address, flags | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(PATIENCE)
    return connection


class SQLiteStore:
    """A file and its log beside it, which one process has for itself."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._lock: int | None = None
        if read_only:
            try:
                self._reader = self._writer = connect(path, reads=True)
            except apsw.Error as problem:
                raise _unreadable(problem) from problem
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(path)
        try:
            self._writer = connect(path, reads=False)
            self._writer.pragma("journal_mode", "wal")
            self._writer.pragma("synchronous", "full")
            self._writer.pragma("wal_autocheckpoint", 4000)
            migrate(self._writer)
            self._reader = connect(path, reads=True)
        except apsw.Error as problem:
            os.close(self._lock)
            raise InvalidInput(f"The store {path} cannot be opened: {problem}; name another file.") from problem
        except BaseException:
            os.close(self._lock)
            raise

    # Writing ----------------------------------------------------------------------------------------------------------

    def write(self, rows: Sequence[Row]) -> None:
        """Begin a transaction and write rows in their order."""
        many: dict[type, list[Row]] = {kind: [] for kind in _MANY}
        others: list[Row] = []
        for row in rows:
            many.get(type(row), others).append(row)
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            for kind, several in many.items():
                if several:
                    self._writer.executemany(_MANY[kind], several)
            for kind, alike in groupby(others, type):
                if kind in _IN_ORDER:
                    self._writer.executemany(_IN_ORDER[kind], alike)
                else:
                    for row in alike:
                        for statement in _SEVERAL[kind]:
                            self._writer.execute(statement, row._asdict())
        except apsw.Error as problem:
            self._roll_back()
            raise StoreUnavailable(f"The store cannot be written to: {problem}; see to its disk.") from problem
        except BaseException:
            self._roll_back()
            raise

    def commit(self) -> None:
        """Make them last."""
        try:
            self._writer.execute("COMMIT")
        except apsw.Error as problem:
            self._roll_back()
            raise StoreUnavailable(f"The store cannot be written to: {problem}; see to its disk.") from problem

    def _roll_back(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def close(self) -> None:
        """Close both connections, and let others have the file."""
        self._reader.close()
        self._writer.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # Reading ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        """For several reads of the same moment, that of the first of them."""
        try:
            self._reader.execute("BEGIN")
            try:
                yield
            finally:
                self._reader.execute("COMMIT")
        except UNREADABLE as problem:
            raise _unreadable(problem) from problem

    def _one(self, query: str, *given: Any) -> Any:
        """The first row that is found, None where there is none."""
        return self._reader.execute(query, given).fetchone()

    @_reads
    def last_seq(self) -> int:
        """The number of the last event."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM events")[0])

    @_reads
    def rankings(self) -> list[RankingRow]:
        """All rankings."""
        return [RankingRow(*row) for row in self._reader.execute("SELECT * FROM rankings ORDER BY id")]

    @_reads
    def left(self) -> Left | None:
        """What is left of a ranking that was deleted."""
        there = "EXISTS (SELECT 1 FROM items WHERE items.ranking = gone.ranking)"
        row = self._one(f"SELECT *, {there} FROM gone ORDER BY ranking LIMIT 1")
        return None if row is None else Left(row[0], row[1], row[2], bool(row[3]))

    @_reads
    def items(self, ranking: int) -> Iterator[ItemRow]:
        """The items of a ranking, by place."""
        rows = self._reader.execute("SELECT * FROM items WHERE ranking = ? ORDER BY place", (ranking,)).fetchall()
        return (row._replace(hidden=bool(row.hidden)) for row in map(ItemRow._make, rows))

    @_reads
    def event(self, seq: int) -> EventRow | None:
        """One event."""
        row = self._one("SELECT * FROM events WHERE seq = ?", seq)
        return None if row is None else EventRow(*row)

    @_reads
    def events(self, ranking: int, after: int, until: int) -> list[EventRow]:
        """Events of a ranking between two numbers, the latter included, in order."""
        query = "SELECT * FROM events WHERE ranking = ? AND seq > ? AND seq <= ? ORDER BY seq"
        return [EventRow(*row) for row in self._reader.execute(query, (ranking, after, until))]

    @_reads
    def longest_list(self, ranking: int, after: int, until: int) -> int:
        """The most items of a ranking's lists between two numbers of events, the latter included."""
        query = f"""SELECT coalesce(max(json_array_length(CAST(body AS TEXT), '$.items')), 0) FROM events
            WHERE ranking = ? AND seq > ? AND seq <= ? AND kind = '{protocol.LIST}'"""
        return int(self._one(query, ranking, after, until)[0])

    @_reads
    def log(self, kind: str) -> Iterator[EventRow]:
        """All events of a kind, in order."""
        rows = self._reader.execute("SELECT * FROM events WHERE kind = ? ORDER BY seq", (kind,)).fetchall()
        return map(EventRow._make, rows)

    @_reads
    def learner_events(self, learner: int, after: int) -> Iterator[EventRow]:
        """Events of a learner, in order."""
        query = "SELECT * FROM events WHERE learner = ? AND learner > 0 AND seq > ? ORDER BY seq"
        return map(EventRow._make, self._reader.execute(query, (learner, after)).fetchall())

    @_reads
    def item_events(self, ranking: int, after: int) -> Iterator[EventRow]:
        """Changes of a ranking's items, in order."""
        return self._ranking_events(ranking, protocol.ITEMS, after)

    @_reads
    def setting_events(self, ranking: int) -> Iterator[EventRow]:
        """How a ranking was created, changed and deleted, in order."""
        return self._ranking_events(ranking, protocol.RANKING, 0)

    def _ranking_events(self, ranking: int, kind: str, after: int) -> Iterator[EventRow]:
        query = "SELECT * FROM events WHERE ranking = ? AND learner = 0 AND seq > ? AND kind = ? ORDER BY seq"
        return map(EventRow._make, self._reader.execute(query, (ranking, after, kind)).fetchall())

    @_reads
    def impression(self, id: bytes) -> NewImpression | None:
        """An impression as it is now."""
        row = self._one("SELECT * FROM impressions WHERE id = ?", id)
        return None if row is None else NewImpression(*row)

    @_reads
    def due(self, now: int, limit: int) -> list[NewImpression]:
        """Impressions whose window has closed and that are not."""
        query = "SELECT * FROM impressions WHERE state < 2 AND due <= ? ORDER BY due LIMIT ?"
        return [NewImpression(*row) for row in self._reader.execute(query, (now, limit))]

    @_reads
    def open_impressions(self) -> int:
        """How many impressions are neither learned nor dropped."""
        return int(self._one("SELECT count(*) FROM impressions WHERE state < 2")[0])

    @_reads
    def request(self, ranking: int, request: str) -> RequestRow | None:
        """What was made for a request."""
        row = self._one("SELECT * FROM requests WHERE ranking = ? AND request = ?", ranking, request)
        return None if row is None else RequestRow(*row)

    @_reads
    def learner(self, ranking: int, key: str | None) -> LearnerRow | None:
        """The learner of a key."""
        row = self._one("SELECT * FROM learners WHERE ranking = ? AND key IS ?", ranking, key)
        return None if row is None else LearnerRow(*row)

    @_reads
    def learners(self, ranking: int, after: int, limit: int) -> list[LearnerRow]:
        """Learners of a ranking, by their number."""
        query = "SELECT * FROM learners WHERE ranking = ? AND id > ? ORDER BY id LIMIT ?"
        return [LearnerRow(*row) for row in self._reader.execute(query, (ranking, after, limit))]

    @_reads
    def learners_with_snapshots(self, ranking: int) -> list[LearnerRow]:
        """Learners of a ranking that have a snapshot."""
        query = "SELECT * FROM learners WHERE ranking = ? AND id IN (SELECT learner FROM snapshots)"
        return [LearnerRow(*row) for row in self._reader.execute(query, (ranking,))]

    @_reads
    def keys(self, ranking: int, after: str, limit: int) -> list[str]:
        """The keys that have learners, in order."""
        query = "SELECT key FROM learners WHERE ranking = ? AND key > ? ORDER BY key LIMIT ?"
        return [key for (key,) in self._reader.execute(query, (ranking, after, limit))]

    @_reads
    def snapshot(self, learner: int, policy: int, base: bool = False) -> SnapshotRow | None:
        """The latest snapshot under a policy, or the base."""
        query = "SELECT * FROM snapshots WHERE learner = ? AND policy = ? AND base >= ? ORDER BY seq DESC LIMIT 1"
        row = self._one(query, learner, policy, base)
        return None if row is None else SnapshotRow(*row)

    @_reads
    def closed_before(self, learner: int, seq: int) -> int:
        """How many impressions of a learner were closed by an event or before."""
        query = f"SELECT count(*) FROM events WHERE learner = ? AND learner > 0 AND seq <= ? AND {_CLOSED}"
        return int(self._one(query, learner, seq)[0])

    @_reads
    def seq_at(self, moment: int) -> int:
        """The last event before a moment, found by halving, since time grows with the log."""
        low, high = 0, self.last_seq()
        while low < high:
            middle = (low + high + 1) // 2
            row = self._one("SELECT at FROM events WHERE seq >= ? ORDER BY seq LIMIT 1", middle)
            if row is not None and row[0] < moment:
                low = middle
            else:
                high = middle - 1
        return low

    @_reads
    def backup(self, path: Path) -> None:
        """Write all that is committed to a new file, in one go, which keeps nobody from writing."""
        source, target = connect(self.path, reads=True), connect(path, reads=False)
        try:
            copying = target.backup("main", source, "main")
            try:
                copying.step()
            finally:
                copying.finish()  # which knows what went wrong
        finally:
            target.close()
            source.close()


def _locked(path: Path) -> int:
    """Keep everybody else from the file for as long as this process lives."""
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise InvalidInput(f"Another process serves {path}; stop it first, or name another file.") from None
    return lock
