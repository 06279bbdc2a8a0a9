"""A connection to PostgreSQL that is opened when it is needed, and transactions that take one round trip."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from toplist.core.problem import InvalidInput
from toplist.service.errors import LogMoved, NotOwner, StoreUnavailable
from toplist.service.store.postgres.round_trip import RoundTrip, Statement

SCHEMA = "toplist"
SNAPSHOT_SECONDS = 3600.0  # that a snapshot may wait for its reader, which holds no locks that others wait for
STATEMENT_SECONDS = 30.0  # a statement that takes longer is cancelled by the server
CONNECT_SECONDS = 3
SILENT_SECONDS = 4.0  # a peer that acknowledges nothing for so long is taken for gone
FIRST_WITH_TRANSACTION_TIMEOUT = 17_00_00  # version of PostgreSQL
FENCED = "TL001"  # SQLSTATE of a commit under an epoch that is over
MOVED = "TL002"  # and of one by the owner, after a change of a divided ranking that another server decided
ONE_LIST = "requests_of_divided"  # the unique index over all partitions of request ids of divided rankings
_BEGIN, _BEGIN_READ, _COMMIT, _ROLLBACK = map(Statement, ("BEGIN", "BEGIN READ ONLY", "COMMIT", "ROLLBACK"))
_BEGIN_SNAPSHOT = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
# The database notices within a minute, not after hours, that a server has lost its network: else its connections would
# add up. These settings last as long as the connection; PgBouncer's own connection comes to no harm by them.
_SET_TCP = Statement(
    "SELECT set_config('tcp_keepalives_idle', '20', false), set_config('tcp_keepalives_interval', '5', false), "
    "set_config('tcp_keepalives_count', '4', false), set_config('tcp_user_timeout', '40000', false)"
)
_PART = re.compile(r"of part (\d+) (?:is over|has moved)").search  # in the message of the function `fence`


class Fenced(NotOwner):
    """Another server has taken over a part: nothing was written."""

    def __init__(self, message: str, part: int | None = None) -> None:
        super().__init__(message)
        self.part = part


class MovedOn(Fenced, LogMoved):
    """The owner of a divided ranking has written to the log of a part: nothing of this commit was."""


class Refusal(StoreUnavailable):
    """The database refused a statement: nothing was written."""


class RequestTaken(Refusal, LogMoved):
    """Another part has a list for one of the request ids: nothing was written."""


def check_address(address: str) -> dict[str, Any]:
    """The parts of an address; a bad one is refused without its password."""
    try:
        return conninfo_to_dict(address)
    except psycopg.Error:  # its message has the whole address
        raise InvalidInput(
            "The store is an address of a database that cannot be read; write postgresql://user@host:port/database, "
            "and the password in PGPASSWORD or the file that PGPASSFILE names."
        ) from None


def shown_address(address: str) -> str:
    """An address without its password, for messages and logs."""
    parts = check_address(address)
    host, port = parts.get("host", "localhost"), parts.get("port", "5432")
    return f"postgresql://{host}:{port}/{parts.get('dbname', '')}"


class Session:
    """One connection, used by one thread at a time; after an error it is opened anew.

    A transaction sets what it needs for itself, and no statement is prepared under a name, so that the connection may
    go through PgBouncer in its transaction mode.

    Parameters
    ----------
    address : str
        Address of the database.
    seconds : float, default 30
        After which the database cancels a statement.
    idle : float, default 30
        After which the database ends a transaction that waits for its next statement.
    waiting : float or None
        After which the database cancels a statement that waits for a lock; None: `seconds`.
    """

    def __init__(
        self, address: str, seconds: float = STATEMENT_SECONDS, idle: float = STATEMENT_SECONDS,
        waiting: float | None = None,
    ) -> None:  # fmt: skip
        self._address = address
        self._seconds, self._waiting = seconds, seconds if waiting is None else waiting
        self._idle = min(idle, seconds)
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._round_trip: RoundTrip
        self._version = 0  # of PostgreSQL
        self._is_new = True  # whether the connection had no transaction yet
        self._socket: socket.socket | None = None  # of the connection, for other threads
        self._called: float | None = None  # when the call began that is under way
        self.longest = 2 * seconds + SILENT_SECONDS  # of a call: the database itself ends its statements earlier
        self._lock = Lock()
        self._in_snapshot = False

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def run(self, statements: Sequence[Statement], *, read_only: bool = False) -> list[list[Any]]:
        """Run statements in one transaction and one round trip; the rows of each.

        A failure may leave unknown whether the transaction was committed: `StoreUnavailable` says nothing of it.
        """
        with self._lock:
            try:
                with self._call():
                    if self._in_snapshot:
                        return self._round_trip.run(statements)
                    begin = _BEGIN_READ if read_only else _BEGIN
                    return self._round_trip.run(statements, (begin, *self._settings()), (_COMMIT,))
            except psycopg.Error as problem:
                self._drop()
                raise explain(problem) from problem
            except BaseException:  # Ctrl-C, for one: the connection is in the middle of a reply
                self._drop()
                raise

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A transaction statement by statement, for what one round trip cannot do."""
        with self._lock:
            try:
                with self._call() as connection, connection.transaction():
                    for statement in self._settings():
                        connection.execute(statement.text)
                    yield connection
            except psycopg.Error as problem:
                self._drop()
                raise explain(problem) from problem

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Context in which all statements see the same moment."""
        with self._lock:
            try:
                with self._call():
                    self._round_trip.run([_BEGIN_SNAPSHOT, *self._settings(SNAPSHOT_SECONDS, longest=0.0)])
            except psycopg.Error as problem:
                self._drop()
                raise explain(problem) from problem
            self._in_snapshot = True
        try:
            yield
        finally:
            with self._lock:
                self._in_snapshot = False
                try:
                    if self._connection is not None:
                        with self._call():
                            self._round_trip.run([_ROLLBACK])
                except psycopg.Error:
                    self._drop()

    def _settings(self, idle: float | None = None, longest: float | None = None) -> tuple[Statement, ...]:
        """The statements that a transaction begins with."""
        idle, longest = self._idle if idle is None else idle, self.longest if longest is None else longest
        limits = transaction_settings(self._seconds, idle, self._waiting, longest, self._version)
        is_new, self._is_new = self._is_new, False
        return (_SET_TCP, limits) if is_new else (limits,)

    @contextmanager
    def _call(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """Context of a call, with the open connection."""
        connection = self._open()
        self._called = monotonic()
        try:
            yield connection
        finally:
            self._called = None

    def end_if_stuck(self) -> None:
        """End a call that takes too long, from another thread: a proxy may keep a connection to nobody open."""
        called, connected = self._called, self._socket
        if called is not None and connected is not None and monotonic() - called > self.longest:
            with suppress(OSError):  # it has just ended
                connected.shutdown(socket.SHUT_RDWR)

    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            if self._in_snapshot:
                raise psycopg.OperationalError("the connection was lost during a snapshot")
            self._drop()
            self._connection = psycopg.connect(
                self._address, autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_SECONDS,
                tcp_user_timeout=round(SILENT_SECONDS * 1000), keepalives_idle=2, keepalives_interval=1,
                keepalives_count=2, application_name="toplist", client_encoding="UTF8",
            )  # fmt: skip
            self._version, self._is_new = self._connection.info.server_version, True
            self._round_trip = RoundTrip(self._connection)
            self._socket = socket.socket(fileno=os.dup(self._connection.fileno()))
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        connected, self._socket = self._socket, None
        if connected is not None:
            connected.close()
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()


@lru_cache
def transaction_settings(seconds: float, idle: float, waiting: float, longest: float, version: int) -> Statement:
    """Settings of one transaction; those of a session would be left to others behind PgBouncer.

    The first three limits do not end a transaction that its client has sent in part: it waits in the middle of a
    statement. Before version 17 the takeover alone ends it.
    """
    limits = {"statement_timeout": seconds, "lock_timeout": waiting, "idle_in_transaction_session_timeout": idle}
    if version >= FIRST_WITH_TRANSACTION_TIMEOUT:
        limits["transaction_timeout"] = longest
    settings = {"search_path": SCHEMA, **{name: str(round(1000 * limit)) for name, limit in limits.items()}}
    return Statement(
        "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    )


def explain(problem: psycopg.Error) -> StoreUnavailable:
    """An error of PostgreSQL in the words of the service."""
    if problem.sqlstate in (FENCED, MOVED):
        named = _PART(problem.diag.message_primary or "")
        part = None if named is None else int(named[1])
        if problem.sqlstate == MOVED:
            return MovedOn("Another server has changed a ranking of this store; nothing was written.", part)
        return Fenced("Another server has taken over this store; nothing was written.", part)
    if problem.sqlstate == "3F000" or isinstance(problem, psycopg.errors.UndefinedTable):
        return StoreUnavailable(
            "The database has no store of toplist; start toplist serve with it once, or name another one."
        )
    if isinstance(problem, psycopg.errors.ReadOnlySqlTransaction):
        return StoreUnavailable("The database can only be read now; the service goes on when it can be written to.")
    if isinstance(problem, psycopg.errors.UniqueViolation) and problem.diag.constraint_name == ONE_LIST:
        return RequestTaken("Another list was made for a request id; nothing was written.")
    kind = Refusal if isinstance(problem, psycopg.DataError | psycopg.IntegrityError) else StoreUnavailable
    return kind(f"The database does not answer as it should: {_one_line(problem)}.")


def _one_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].strip().rstrip(".") if lines else type(problem).__name__
