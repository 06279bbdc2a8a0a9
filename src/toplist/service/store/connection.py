"""Connections to a store's file, and the errors of SQLite in the words of the service."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import apsw

from toplist.service.errors import StoreUnavailable

Method = TypeVar("Method", bound=Callable[..., Any])

BUSY_TIMEOUT = 10_000  # milliseconds to wait for a file that another process has locked
READ_ERRORS = (apsw.Error, UnicodeDecodeError)  # the latter for damaged text


def reads(method: Method) -> Method:
    """Turn errors of SQLite into `StoreUnavailable`."""

    @functools.wraps(method)
    def reading(*arguments: Any, **more: Any) -> Any:
        try:
            return method(*arguments, **more)
        except READ_ERRORS as problem:
            raise cannot_read(problem) from problem

    return reading  # type: ignore[return-value]


def cannot_read(problem: Exception) -> StoreUnavailable:
    """The error of a read."""
    # An SQL error is a missing table: another program's database.
    foreign = isinstance(problem, apsw.NotADBError | apsw.SQLError)
    advice = "name a file that toplist serve wrote, or restore a backup" if foreign else "check its disk"
    return StoreUnavailable(f"The store cannot be read: {problem}; {advice}.")


def cannot_write(problem: Exception) -> StoreUnavailable:
    """The error of a write."""
    return StoreUnavailable(f"The store cannot be written to: {problem}; check its disk.")


def connect(path: Path, *, read_only: bool) -> apsw.Connection:
    """Connect to a store; one thread at a time may use the connection."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    address = path.absolute().as_uri()  # a path may have any bytes
    if read_only and not path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK):
        address += "?immutable=1"  # no process writes to it, and the log file needed for reading cannot be created
    connection = apsw.Connection(address, flags | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(BUSY_TIMEOUT)
    connection.pragma("recursive_triggers", True)  # so that triggers see the rows that INSERT OR REPLACE replaces
    return connection
