"""Owners that are stopped in the middle of what they send: the database waits for the rest, with a row locked."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from time import monotonic

import psycopg
import pytest
from pgbouncer import pgbouncer
from postgres_server import database, server

from toplist.service.errors import StoreUnavailable
from toplist.service.store.postgres import PostgresReader, check_address
from toplist.service.store.postgres.database import Database, Taken
from toplist.service.store.postgres.members import be_seen, divide
from toplist.service.store.postgres.session import transaction_settings

LEASE = 0.5  # seconds
LONGEST = 20 * LEASE  # that a takeover may take on a busy machine; without an end of the transaction it takes for ever
PARTS = 4
# Commits four megabytes, and stops itself as soon as the system takes no more of them: a moment that SIGSTOP may hit.
COMMIT = f"""
import os, signal, sys
from toplist.service.errors import StoreUnavailable
from toplist.service.store.postgres import PostgresStore
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.round_trip import RoundTrip
from toplist.service.store.row_kinds import EventRow

store = PostgresStore(Database(sys.argv[1], lease={LEASE}), 0)
results = RoundTrip._results

def stopped(self):
    if self._libpq.flush():
        print("stopped", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    return results(self)

RoundTrip._results = stopped
store.write([EventRow(n, 1000 + n, 1, 0, "items", None, b"x" * 2000) for n in range(1, 2001)])
try:
    store.commit()
except StoreUnavailable as problem:
    print(type(problem).__name__, flush=True)
"""


@pytest.fixture
def address(tmp_path: Path) -> str:
    return database(tmp_path / "db")


@contextmanager
def stopped_in_a_commit(address: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", COMMIT, address], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "stopped\n"
            yield child
        finally:
            child.kill()


def taken_by(shared: Database) -> tuple[Taken, float]:
    """A takeover as servers try it, and how long it took."""
    begun = monotonic()
    while monotonic() < begun + LONGEST:
        with suppress(StoreUnavailable):
            if (taken := shared.take(0)) is not None:
                return taken, monotonic() - begun
        signal.sigtimedwait([], LEASE / 5)
    pytest.fail(f"The partition was not taken within {LONGEST:g} s.")


@pytest.mark.parametrize("through", ["nothing", "pgbouncer"])
def test_an_owner_that_is_stopped_within_a_commit_does_not_block_a_takeover(
    address: str, through: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Database(address, lease=LEASE)) as second:
        divide(second, PARTS)
        between = (
            pgbouncer(server(), check_address(address)["dbname"]) if through == "pgbouncer" else nullcontext(address)
        )
        with between as used, stopped_in_a_commit(used) as child:
            taken, seconds = taken_by(second)
            assert taken == (2, 0)
            with closing(PostgresReader(address)) as reader:
                assert list(reader.events(1, 0, 9999)) == []
            os.kill(child.pid, signal.SIGCONT)
            assert child.stdout is not None
            assert child.stdout.readline() == "StoreUnavailable\n"  # it takes a new epoch before it reads or writes
    with capsys.disabled():
        print(f"\ntaken {seconds:.1f} s after the owner was stopped, with a lease of {LEASE} s")


def test_a_commit_under_way_is_not_ended(address: str) -> None:
    """A transaction that is younger than the lease may be waiting for its client for a moment only."""
    with closing(Database(address, lease=60.0)) as shared, psycopg.connect(address) as owner:
        divide(shared, PARTS)
        owner.execute("UPDATE toplist.parts SET lease_until = clock_timestamp() - interval '1 s' WHERE part = 0")
        owner.commit()
        owner.execute("UPDATE toplist.parts SET last_seq = last_seq + 7 WHERE part = 0")
        with ThreadPoolExecutor(1) as thread:
            taking = thread.submit(shared.take, 0)
            # While the takeover waits for the commit, the server goes on to say that it lives.
            assert [row.name for row in be_seen(shared, "127.0.0.1:1", False).servers] == [shared.name]
            assert not taking.done()
            owner.commit()
            taken = taking.result(LONGEST)
        assert taken == (1, 7)


def test_from_version_17_on_the_database_ends_transactions_that_take_too_long() -> None:
    before, later = (transaction_settings(30.0, 10.0, 2.5, 64.0, version).text for version in (16_09_00, 17_00_00))
    assert later == f"{before}, set_config('transaction_timeout', '64000', true)"
    assert "set_config('lock_timeout', '2500', true)" in before
