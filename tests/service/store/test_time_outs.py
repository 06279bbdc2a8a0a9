"""Time-outs of each transaction on a real PostgreSQL: a slow statement, a lock, a client that waits; none is left."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep

import psycopg
import pytest
from postgres_server import database

from toplist.service.errors import StoreUnavailable
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.session import Session

SHORT, LONG = 0.2, 60.0  # seconds
ROW = "INSERT INTO parts VALUES (0, 0, 0, NULL, NULL)"
CHANGE = "UPDATE parts SET epoch = epoch + 1 WHERE part = 0"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return database(tmp_path / "db")


@pytest.fixture
def locked(address: str) -> Iterator[str]:
    """Address of a database in which somebody keeps a row locked."""
    with psycopg.connect(address, options="-c search_path=toplist") as connection:
        connection.execute(ROW)
        connection.commit()
        connection.execute(CHANGE)
        yield address
        connection.rollback()


def test_a_statement_that_takes_too_long_is_cancelled(address: str) -> None:
    with closing(Session(address, SHORT)) as session:
        with pytest.raises(StoreUnavailable, match="statement timeout"):
            session.run([Statement(ROW), Statement(f"SELECT pg_sleep({LONG})")])
        assert session.run([Statement("SELECT count(*) FROM parts")]) == [[(0,)]]  # nothing of it was written


def test_a_statement_that_waits_for_a_lock_is_cancelled(locked: str) -> None:
    with closing(Session(locked, LONG, waiting=SHORT)) as session:
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            session.run([Statement(CHANGE)])
        assert session.run([Statement("SELECT epoch FROM parts")]) == [[(0,)]]


def test_a_transaction_whose_client_waits_is_ended(address: str) -> None:
    def wait(session: Session) -> None:
        with session.transaction() as connection:
            connection.execute(ROW)
            sleep(5 * SHORT)
            connection.execute("SELECT 1")

    with closing(Session(address, LONG, idle=SHORT)) as session:
        with pytest.raises(StoreUnavailable, match="idle-in-transaction"):
            wait(session)
        assert session.run([Statement("SELECT count(*) FROM parts")]) == [[(0,)]]


def test_no_time_out_outlives_its_transaction(address: str) -> None:
    limits = "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"
    with closing(Session(address, SHORT)) as session:
        with session.transaction() as connection:
            assert [connection.execute(f"SHOW {name}").fetchone() for name in limits] == [("200ms",)] * 3
        assert [connection.execute(f"SHOW {name}").fetchone() for name in limits] == [("0",)] * 3
