"""The store in PostgreSQL: one owner at a time, whose every commit proves that nobody has taken over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import psycopg

from toplist.service.errors import NotOwner
from toplist.service.store.postgres.database import LEASE_SECONDS, Database
from toplist.service.store.postgres.divided import commit_change
from toplist.service.store.postgres.members import check_undivided
from toplist.service.store.postgres.reader import PostgresReader
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.shared_writer import Share
from toplist.service.store.postgres.writing import statements_of
from toplist.service.store.protocol import LogReader
from toplist.service.store.queries import IMPRESSION
from toplist.service.store.row_kinds import EventRow, ImpressionChange, Row, SharedChange, ShiftWindows

T = TypeVar("T")
logger = logging.getLogger("toplist.service")

ASK_EVERY = 0.25  # seconds between attempts to take over


class PostgresStore:
    """A store in PostgreSQL, which this process owns as long as it renews its lease.

    The owner has an epoch, which grows with every owner. Each commit begins with an update of the row that holds the
    epoch and the number of the last event; if either is not what this owner knows, nothing is written. After a commit
    that failed, whose outcome may be unknown, the owner takes a new epoch before anything is read again: a commit that
    was on its way is then either committed, and read, or fenced.

    Parameters
    ----------
    address : str or Database
        Address of the database, as libpq takes it, or the database that several parts of this process share.
    part : int, default 0
        Part of the store.
    lease : float, default 10
        Seconds after which another server may take over, unless the lease was renewed.

    Attributes
    ----------
    epoch : int or None
        The epoch of this owner; None: somebody else may be the owner.
    renewed : float
        When the lease was last renewed, on the monotonic clock and from before the database was asked.
    released : Future or None
        Done when the part is given back, after `close`.
    """

    def __init__(self, address: str | Database, part: int = 0, lease: float = LEASE_SECONDS) -> None:
        self._is_alone = isinstance(address, str)
        self._is_closed = False
        self._database = Database(address, lease) if isinstance(address, str) else address
        self._part = part
        self._taking = Lock()
        self.epoch: int | None = None
        self.renewed = monotonic()
        self.released: Future[None] | None = None
        self._last_seq = self._last_epoch = 0  # as far as this server knows
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_doubt: Callable[[], None] = lambda: None
        self._ask_again = 0.0
        self._statements: list[Statement] = []  # of the next commit
        self._shifts: list[ShiftWindows] = []
        self._changes: list[SharedChange] = []
        self._written_seq = 0  # of the last event among its rows
        try:
            if self._is_alone:
                check_undivided(self._database)
            with suppress(NotOwner):  # it takes over later
                self._own()
        except BaseException:
            if self._is_alone:
                self._database.close()
            raise
        self._database.add(part, self)

    def _own(self) -> None:
        """Take a new epoch, unless this server has one or another one owns the store."""
        with self._taking:
            if self.epoch is not None:
                return
            asked = monotonic()
            if self._is_closed or asked < self._ask_again:
                raise self._not_owner()
            taken = self._database.take(self._part)
            if taken is None:
                self._ask_again = asked + ASK_EVERY
                raise self._not_owner()
            self.renewed = asked
            if taken.last_seq < self._last_seq or taken.epoch <= self._last_epoch:
                logger.warning(
                    "The database is older than memory: part %d ends with event %d of epoch %d, and this server knew "
                    "event %d of epoch %d; memory is dropped.",
                    self._part, taken.last_seq, taken.epoch - 1, self._last_seq, self._last_epoch,
                )  # fmt: skip
            self.epoch, self._last_seq = taken
            self._last_epoch = taken.epoch
            if self._is_closed:  # meanwhile, perhaps without having seen this epoch
                self.epoch = None
                self._database.release(self._part, taken.epoch)
                raise self._not_owner()

    def watch(self, on_doubt: Callable[[], None]) -> None:
        """Call this on the event loop when the database seems to be older than what this server wrote."""
        self._loop, self._on_doubt = asyncio.get_running_loop(), on_doubt

    def compare(self, last_seq: int) -> None:
        """Compare the number of the last event in the database with what this server wrote; in any thread.

        It is smaller in a database that was restored, and larger after a change of a divided ranking.
        """
        if last_seq != self._last_seq and self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._on_doubt)

    def _not_owner(self) -> NotOwner:
        return NotOwner("Another server serves this store; this one takes over when the other ends.", ASK_EVERY)

    @property
    def last_seq(self) -> int:
        """Number of the last event, as far as this server knows."""
        return self._last_seq

    @property
    def part(self) -> int:
        """Which part of the database this is."""
        return self._part

    @property
    def parts(self) -> int:
        """Number of parts of the database."""
        return self._database.parts

    @property
    def is_owner(self) -> bool:
        """Whether this server has an epoch, as far as it knows."""
        return self.epoch is not None

    @property
    def is_far(self) -> bool:
        """The database is elsewhere, or shares the processor."""
        return True

    @property
    def silent_since(self) -> float | None:
        """When the lease was last renewed, if it is over."""
        renewed = self.renewed
        return renewed if monotonic() > renewed + self._database.lease else None

    def write(self, rows: Sequence[Row]) -> None:
        """Take the rows of the next commit.

        They are encoded here, on the thread of the event loop: another one would contend with it for the interpreter.
        """
        self._shifts = [row for row in rows if type(row) is ShiftWindows]
        self._changes = [row for row in rows if type(row) is SharedChange]
        self._statements = statements_of(rows, self._part)
        self._written_seq = max((row.seq for row in rows if type(row) is EventRow), default=0)

    def commit(self) -> None:
        """Write the rows in one transaction and one round trip; durable when this returns."""
        statements, self._statements = self._statements, []
        shifts, changes, epoch = self._shifts, self._changes, self.epoch
        if epoch is None:
            raise self._not_owner()
        last = max(self._written_seq, self._last_seq)
        owner, lease = self._database.name, self._database.lease
        values = self._part, owner, epoch, self._last_seq, last, lease
        fence = Statement("SELECT fence(%s, %s, %s, %s, %s, %s)", values)
        asked = monotonic()
        try:
            share = Share(self._part, [fence, *statements])
            if changes:
                commit_change(self._database, self._part, share.statements, changes, partial(self._shift, shifts))
            elif shifts:
                self._database.writer.run_alone(share, partial(self._shift, shifts))
            else:
                self._database.writer.commit(share)
        except BaseException:
            self.epoch = None  # the outcome may be unknown
            raise
        self._last_seq, self.renewed = last, asked

    def _shift(self, shifts: list[ShiftWindows], connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """Move the windows of open impressions, whose digests the database cannot compute."""
        query = f"{IMPRESSION} WHERE part = %s AND state < 2 AND seq > %s"
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
        return await asyncio.get_running_loop().run_in_executor(self._database.reading, self.read_blocking, work)

    def read_blocking(self, work: Callable[[LogReader], T]) -> T:
        """Run reads in this thread."""
        if self.epoch is None:
            self._own()
        with self._database.read_session() as session:
            return work(PostgresReader(session, self._part))

    def reader(self) -> PostgresReader:
        """A reader with a connection of its own, for another thread, where it waits while too many are open."""
        return self._database.long_reader(self._part)

    def backup(self, path: Path) -> None:
        """Refuse: a database is backed up by its own tools."""
        with closing(self.reader()) as reader:
            reader.backup(path)

    def close(self) -> None:
        """Give the part back, so that another server takes it at once; close connections that no other part shares."""
        self._is_closed = True
        self._database.remove(self._part, self)
        epoch, self.epoch = self.epoch, None
        if epoch is not None:
            self.released = self._database.moving.submit(self._database.release, self._part, epoch)
        if self._is_alone:
            self._database.close()
