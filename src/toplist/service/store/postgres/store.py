"""The store in PostgreSQL: one owner at a time, whose every commit proves that nobody has taken over."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeVar
from uuid import uuid4

from toplist.service.errors import NotOwner, StoreUnavailable
from toplist.service.store.postgres.reader import PostgresReader
from toplist.service.store.postgres.schema import migrate
from toplist.service.store.postgres.session import Session, Statement, check_address
from toplist.service.store.postgres.writing import statements_of
from toplist.service.store.protocol import EventRow, ImpressionChange, LogReader, Row, ShiftWindows
from toplist.service.store.queries import IMPRESSION

T = TypeVar("T")

LEASE_SECONDS = 10.0  # after which another server may take over, unless it was renewed; each commit renews it
READERS = 4  # connections for reads
ASK_EVERY = 0.25  # seconds between attempts to take over
_TAKE = """UPDATE parts SET epoch = epoch + 1, owner = %s, lease_until = clock_timestamp() + make_interval(secs => %s)
    WHERE part = %s AND (owner IS NULL OR owner = %s OR lease_until < clock_timestamp()) RETURNING epoch, last_seq"""
_RENEW = """UPDATE parts SET lease_until = clock_timestamp() + make_interval(secs => %s)
    WHERE part = %s AND epoch = %s"""
_RELEASE = "UPDATE parts SET owner = NULL, lease_until = NULL WHERE part = %s AND epoch = %s"


class PostgresStore:
    """A store in PostgreSQL, which this process owns as long as it renews its lease.

    The owner has an epoch, which grows with every owner. Each commit begins with an update of the row that holds the
    epoch and the number of the last event; if either is not what this owner knows, nothing is written. After a commit
    that failed, whose outcome may be unknown, the owner takes a new epoch before anything is read again: a commit that
    was on its way is then either committed, and read, or fenced.

    Parameters
    ----------
    address : str
        Address of the database, as libpq takes it.
    part : int, default 0
        Part of the store.
    lease : float, default 10
        Seconds after which another server may take over, unless the lease was renewed.
    """

    def __init__(self, address: str, part: int = 0, lease: float = LEASE_SECONDS) -> None:
        check_address(address)
        self.address, self._part, self._lease = address, part, lease
        self._name = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._writer = Session(address)
        self._readers: SimpleQueue[PostgresReader] = SimpleQueue()
        self._reading = ThreadPoolExecutor(READERS, "toplist-read")
        self._taking = Lock()
        self.epoch: int | None = None  # None: somebody else may be the owner
        self._last_seq = 0
        self._ask_again = 0.0
        self._rows: Sequence[Row] = ()
        self._renewed = monotonic()
        self._closed = Event()
        try:
            migrate(self._writer)
            self._writer.run(
                [Statement("INSERT INTO parts VALUES (%s, 0, 0, NULL, NULL) ON CONFLICT DO NOTHING", (part,))]
            )
            with suppress(NotOwner):  # it takes over later
                self._own()
        except BaseException:
            self._reading.shutdown()
            self._writer.close()
            raise
        self._renewing = Thread(target=self.renew_lease, name="toplist-lease", daemon=True)
        self._renewing.start()

    def _own(self) -> None:
        """Take a new epoch, unless this server has one or another one owns the store."""
        with self._taking:
            if self.epoch is not None:
                return
            asked = monotonic()
            if asked < self._ask_again:
                raise self._not_owner()
            rows = self._writer.run([Statement(_TAKE, (self._name, self._lease, self._part, self._name))])[0]
            if not rows:
                self._ask_again = asked + ASK_EVERY
                raise self._not_owner()
            self._renewed = asked
            self.epoch, self._last_seq = rows[0]

    def _not_owner(self) -> NotOwner:
        return NotOwner("Another server serves this store; this one takes over when the other ends.", ASK_EVERY)

    @property
    def is_owner(self) -> bool:
        """Whether this server has an epoch, as far as it knows."""
        return self.epoch is not None

    def renew_lease(self) -> None:
        """Renew the lease of a store in which nothing is written."""
        session = Session(self.address, self._lease)
        try:
            while not self._closed.wait(self._lease / 4):
                epoch = self.epoch
                if epoch is None or monotonic() - self._renewed < self._lease / 4:
                    continue
                asked = monotonic()
                try:
                    session.run([Statement(_RENEW, (self._lease, self._part, epoch))])
                except StoreUnavailable:
                    continue  # a commit will tell
                self._renewed = asked
        finally:
            session.close()

    def write(self, rows: Sequence[Row]) -> None:
        """Take the rows of the next commit."""
        self._rows = rows

    def commit(self) -> None:
        """Write the rows in one transaction and one round trip; durable when this returns."""
        rows, self._rows = self._rows, ()
        epoch = self.epoch
        if epoch is None:
            raise self._not_owner()
        last = max((row.seq for row in rows if isinstance(row, EventRow)), default=0)
        last = max(last, self._last_seq)
        fence = Statement("SELECT fence(%s, %s, %s, %s, %s)", (self._part, epoch, self._last_seq, last, self._lease))
        asked = monotonic()
        try:
            shifts = [row for row in rows if isinstance(row, ShiftWindows)]
            statements = [fence, *statements_of([row for row in rows if not isinstance(row, ShiftWindows)], self._part)]
            if shifts:
                self._commit_and_shift(statements, shifts)
            else:
                self._writer.run(statements)
        except BaseException:
            self.epoch = None  # the outcome may be unknown
            raise
        self._last_seq, self._renewed = last, asked

    def _commit_and_shift(self, statements: list[Statement], shifts: list[ShiftWindows]) -> None:
        """Commit, and move the windows of open impressions, whose digests the database cannot compute."""
        query = f"{IMPRESSION} WHERE part = %s AND state < 2 AND seq > %s"
        with self._writer.transaction() as connection:
            for statement in statements:
                connection.execute(statement.text, statement.values or None)
            for shift in shifts:
                found = connection.execute(query, (self._part, shift.after), binary=True).fetchall()
                moved = [ImpressionChange(*row) for row in found]
                moved = [row._replace(due=row.due + shift.milliseconds) for row in moved]
                for statement in statements_of(moved, self._part):
                    connection.execute(statement.text, statement.values or None)

    @property
    def keeps_deleted(self) -> bool:
        """The files are the database's."""
        return False

    async def read(self, work: Callable[[LogReader], T]) -> T:
        """Run reads in another thread, after this server has become the owner again where it must."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, self.read_blocking, work)

    def read_blocking(self, work: Callable[[LogReader], T]) -> T:
        """Run reads in this thread."""
        if self.epoch is None:
            self._own()
        try:
            reader = self._readers.get_nowait()
        except Empty:
            reader = self.reader()
        try:
            return work(reader)
        finally:
            self._readers.put(reader)

    def reader(self) -> PostgresReader:
        """A reader with a connection of its own, for another thread."""
        return PostgresReader(self.address, self._part)

    def backup(self, path: Path) -> None:
        """Refuse: a database is backed up by its own tools."""
        with closing(self.reader()) as reader:
            reader.backup(path)

    def close(self) -> None:
        """Give the store back, so that another server takes it at once, and close all connections."""
        self._closed.set()
        self._renewing.join()
        self._reading.shutdown()
        if self.epoch is not None:
            with suppress(StoreUnavailable):  # its lease ends by itself
                self._writer.run([Statement(_RELEASE, (self._part, self.epoch))])
        self._writer.close()
        while not self._readers.empty():
            self._readers.get().close()
