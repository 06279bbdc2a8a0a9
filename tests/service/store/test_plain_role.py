"""A role that is no superuser and owns nothing but its database, as managed services give it: it can do all."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from postgres_server import database, server
from test_postgres import COMMITS, content
from test_stopped_commits import LEASE, PARTS, stopped_in_a_commit, taken_by

from toplist.service.store.postgres import PostgresReader, PostgresStore, check_address
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.members import be_seen, divide, lags

ROLE = "plain"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Address of an empty database of the role."""
    name = check_address(database(tmp_path / "db"))["dbname"] + "_plain"
    server().run(f"CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION")
    server().run(f"CREATE DATABASE {name} OWNER {ROLE}")
    yield server().address(name).replace("toplist@", f"{ROLE}@")
    server().run(f"DROP DATABASE {name} WITH (FORCE)")
    server().run(f"DROP ROLE {ROLE}")


def test_tables_are_made_and_rows_are_written_and_read(address: str, tmp_path: Path) -> None:
    with closing(PostgresStore(address)) as store, closing(PostgresReader(address)) as reader:
        with closing(PostgresStore(database(tmp_path / "db"))) as other, closing(other.reader()) as expected:
            for rows in COMMITS:
                for written in (store, other):
                    written.write(rows)
                    written.commit()
                assert content(reader) == content(expected)
        assert list(reader.find_damage()) == []
    with psycopg.connect(address) as connection:
        found = connection.execute("SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
        assert found == (ROLE, False)


def test_servers_share_a_database_and_end_commits_of_stopped_owners(address: str) -> None:
    with closing(Database(address, lease=LEASE)) as second:
        divide(second, PARTS)
        assert [row.name for row in be_seen(second, "127.0.0.1:1", False).servers] == [second.name]
        with second.read_session() as session:
            assert lags(session) == dict.fromkeys(range(PARTS), 0.0)
        with stopped_in_a_commit(address):
            taken, _ = taken_by(second)
        assert taken == (2, 0)
