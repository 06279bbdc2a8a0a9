"""What the parts of a store in one process share: its name, its lease, one writer, connections for reads."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import psycopg

from toplist.service.errors import StoreUnavailable
from toplist.service.store.postgres.reader import PostgresReader
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.schema import migrate
from toplist.service.store.postgres.session import Session, check_address
from toplist.service.store.postgres.shared_writer import SharedWriter

if TYPE_CHECKING:
    from toplist.service.store.postgres.store import PostgresStore

LEASE_SECONDS = 10.0  # after which another server may take over, unless it was renewed; each commit renews it
READERS = 4  # connections for reads
LONG_READERS = 4  # connections for reads that take long, each in a thread of its own
MOST_CONNECTIONS = 5 + READERS + LONG_READERS  # of one process, besides one for a moment while it starts
LONGEST_WAIT = 30.0  # seconds that a read waits for one of these connections
START_SECONDS = 600.0  # a server that starts may wait for another one that brings the tables to the latest version
LOCK_SHARE = 0.25  # of a lease: a takeover waits for a commit under way for so long, and is tried again
LOOK_EVERY = 1.0  # seconds between two searches for calls of the database that take too long
ASK_AGAIN = 0.5  # seconds after a failed attempt to renew leases, so that all goes on soon after the database does
# Ends the transaction that holds the row of a part whose lease is over, if it waits for a client that was stopped or
# cut off within what it sends: before version 17, no time-out does. The row names the transaction, whatever its
# connection is called behind PgBouncer; times of other roles' transactions are hidden, and nobody else may end them.
_END_STOPPED = """SELECT pg_terminate_backend(activity.pid) FROM parts
    JOIN pg_locks ON locktype = 'transactionid' AND transactionid = parts.xmax AND granted
    JOIN pg_stat_activity AS activity ON activity.pid = pg_locks.pid
    WHERE part = %s AND (lease_until >= clock_timestamp()) IS NOT TRUE AND wait_event_type = 'Client'
    AND xact_start < clock_timestamp() - make_interval(secs => %s) AND pg_has_role(usesysid, 'USAGE')"""
_TAKE = """UPDATE parts SET epoch = epoch + 1, owner = %s, lease_until = clock_timestamp() + make_interval(secs => %s)
    WHERE part = %s AND (owner IS NULL OR owner = %s OR lease_until < clock_timestamp()) RETURNING epoch, last_seq"""
# A row that is locked now is being renewed by a commit, or taken by another server.
_RENEW = """UPDATE parts SET lease_until = clock_timestamp() + make_interval(secs => %s) WHERE part IN (
    SELECT parts.part FROM parts JOIN unnest(%b::smallint[], %b::bigint[]) AS mine (part, epoch)
    ON parts.part = mine.part AND parts.epoch = mine.epoch AND parts.owner = %s
    ORDER BY 1 FOR UPDATE OF parts SKIP LOCKED)
    RETURNING part, last_seq"""
_RELEASE = "UPDATE parts SET owner = NULL, lease_until = NULL WHERE part = %s AND epoch = %s AND owner = %s"


class Taken(NamedTuple):
    """A part that this server owns now."""

    epoch: int
    last_seq: int


class Database:
    """A PostgreSQL database that one process uses: for one part of the store, or for many.

    Parameters
    ----------
    address : str
        Address of the database, as libpq takes it.
    lease : float, default 10
        Seconds after which another server may take over a part, unless its lease was renewed.
    """

    def __init__(self, address: str, lease: float = LEASE_SECONDS) -> None:
        check_address(address)
        self.address, self.lease = address, lease
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self.writer = SharedWriter(Session(address, idle=lease))
        self.reading = ThreadPoolExecutor(READERS, "toplist-read")
        # Takes parts and gives them back, one by one: reads do not wait behind takeovers that wait for a lock.
        self.moving = ThreadPoolExecutor(1, "toplist-move")
        self._sessions: SimpleQueue[Session] = SimpleQueue()  # for reads, those that nobody uses now
        self._long_readers = BoundedSemaphore(LONG_READERS)
        self._control = Session(address, lease)  # waits for no lock of another server
        self._taking = Session(address, lease, waiting=lease * LOCK_SHARE)  # a takeover may wait for a lock
        # Changes of divided rankings, which write to parts of other servers.
        self.changing = Session(address, lease, waiting=lease * LOCK_SHARE)
        self.parts = 1  # that it is divided into
        self.on_change: Callable[[], object] = lambda: None  # called in any thread after such a change
        self._owned: dict[int, PostgresStore] = {}
        self._owned_lock = Lock()
        self._leasing = Session(address, lease)
        watched = self.writer.session, self._control, self._taking, self._leasing, self.changing
        self._watched = list(watched)  # and all for reads
        self._closed, self._ended = Event(), Event()
        try:
            with closing(Session(address, START_SECONDS)) as patient:
                migrate(patient)
        except BaseException:
            self.reading.shutdown()
            self.moving.shutdown()
            self._control.close()
            self._taking.close()
            raise
        self._renewing = Thread(target=self.renew_leases, name="toplist-lease", daemon=True)
        self._renewing.start()
        self._watching = Thread(target=self._watch, name="toplist-watch", daemon=True)
        self._watching.start()

    def run(self, statements: list[Statement]) -> list[list[Any]]:
        """Run statements about servers and parts, in one transaction and one round trip."""
        return self._control.run(statements)

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A transaction statement by statement, which may wait for servers that start at the same time."""
        with closing(Session(self.address, START_SECONDS)) as patient, patient.transaction() as connection:
            yield connection

    def take(self, part: int) -> Taken | None:
        """Own a part from now on, under a new epoch; None if another server owns it.

        A commit that its owner has not sent to its end is ended once its transaction is older than the lease.
        """
        ending = Statement(_END_STOPPED, (part, self.lease))
        rows = self._taking.run([ending, Statement(_TAKE, (self.name, self.lease, part, self.name))])[1]
        return Taken(*rows[0]) if rows else None

    def release(self, part: int, epoch: int) -> None:
        """Give a part back, so that another server takes it at once."""
        with suppress(StoreUnavailable):  # its lease ends by itself
            self._taking.run([Statement(_RELEASE, (part, epoch, self.name))])

    def add(self, part: int, store: PostgresStore) -> None:
        """Renew the lease of a part from now on, while it is owned."""
        with self._owned_lock:
            self._owned[part] = store

    def remove(self, part: int, store: PostgresStore) -> None:
        """Renew the lease of a part no longer, unless another store has taken it since."""
        with self._owned_lock:
            if self._owned.get(part) is store:
                del self._owned[part]

    def renew_leases(self) -> None:
        """Renew the leases of parts in which nothing is written."""
        session = self._leasing
        try:
            pause = self.lease / 4
            while not self._closed.wait(pause):
                pause = self.lease / 4
                asked = monotonic()
                with self._owned_lock:
                    stores = list(self._owned.items())
                held = [
                    (part, store, store.epoch)
                    for part, store in stores
                    if store.epoch is not None and asked - store.renewed >= self.lease / 4
                ]
                if held:
                    parts, epochs = [part for part, _, _ in held], [epoch for _, _, epoch in held]
                    pause = min(ASK_AGAIN, pause)
                    with suppress(StoreUnavailable):  # a commit will tell
                        renewed = dict(session.run([Statement(_RENEW, (self.lease, parts, epochs, self.name))])[0])
                        for part, store, _ in held:
                            if part in renewed:
                                store.renewed = max(store.renewed, asked)
                            if store.renewed <= asked:  # no commit was faster
                                store.compare(renewed.get(part, -1))
                        pause = self.lease / 4
        finally:
            session.close()

    def _watch(self) -> None:
        """End calls that take too long: while one hangs, nothing is committed or read, and leases may be renewed."""
        while not self._ended.wait(LOOK_EVERY):
            for session in list(self._watched):
                session.end_if_stuck()

    @contextmanager
    def read_session(self) -> Iterator[Session]:
        """A connection for reads, which nobody else uses meanwhile."""
        try:
            session = self._sessions.get_nowait()
        except Empty:
            session = Session(self.address)
            self._watched.append(session)
        try:
            yield session
        finally:
            self._sessions.put(session)

    def long_reader(self, part: int) -> PostgresReader:
        """A reader with a connection of its own, for another thread, where it waits while too many are open."""
        if not self._long_readers.acquire(timeout=LONGEST_WAIT):
            raise StoreUnavailable("Too many reads that take long are under way; try again later.")
        return PostgresReader(self.address, part, self._long_readers.release)

    def close(self) -> None:
        """Close all connections."""
        self._closed.set()
        self._renewing.join()
        self.reading.shutdown()
        self.moving.shutdown()
        self.writer.close()
        self._control.close()
        self._taking.close()
        self.changing.close()
        while not self._sessions.empty():
            self._sessions.get().close()
        self._ended.set()
        self._watching.join()
