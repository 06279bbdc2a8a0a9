"""Promise 12: servers that start at once make the tables once, and servers of two releases run beside each other."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any
from unittest.mock import patch

import psycopg
from odd_server import LATER_VERSIONS
from postgres_server import PostgresServer

from toplist.cli import Exit
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.schema import VERSIONS, Version, migrate
from toplist.service.store.postgres.session import Session

from . import cluster
from .altered import NO_FAULT
from .broken import Broken
from .cluster_servers import QuickServer
from .takeovers import PATIENCE

NO_LOCK = "tables that are made without the lock"
STARTING = (VERSIONS, LATER_VERSIONS, LATER_VERSIONS, VERSIONS)  # what servers that start at once know
TOO_LATE = (*LATER_VERSIONS, Version("SELECT 1;", works_with=len(LATER_VERSIONS)))
REFUSED = f"which only a toplist that knows version {len(LATER_VERSIONS)} can use"
_MADE = "SELECT version FROM versions ORDER BY version"
_SHAPE = """SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns
    WHERE table_schema = 'toplist' UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes
    WHERE schemaname = 'toplist' UNION ALL SELECT event_object_table, trigger_name, action_statement
    FROM information_schema.triggers WHERE trigger_schema = 'toplist' ORDER BY 1, 2, 3"""


class Lockless(Session):
    """A session that migrates without the lock: the fault."""

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        with super().transaction() as connection:
            execute = connection.execute

            def unlocked(query: Any, *values: Any) -> Any:
                return execute("SELECT 1") if "advisory" in query else execute(query, *values)

            with patch.object(connection, "execute", unlocked):
                yield connection


def check(folder: Path, races: int, episodes: int, seed: int = 9, fault: str = NO_FAULT, **more: Any) -> str:
    """So many starts of several servers at once, then so many changes of the release under load; what was found."""
    database, chance = PostgresServer(), random.Random(seed)
    kind = Lockless if fault == NO_LOCK else Session
    try:
        expected = _shape(_new_database(database, "one_server", LATER_VERSIONS))
        for number in range(races):
            begin = chance.randrange(len(VERSIONS) + 1)
            _race(_new_database(database, f"race_{number}", VERSIONS[:begin]), expected, kind)
        refused = _refused(folder, _new_database(database, "too_late", TOO_LATE))
    finally:
        database.remove()
    return (
        f"{races} times {len(STARTING)} servers of two releases brought the tables from any version to version "
        f"{len(LATER_VERSIONS)} at once, each version once, with the tables that one server makes; a later schema is "
        f'refused: "{refused}"; {cluster.check(folder, episodes, seed, kinds=("upgrade",), fault=fault, **more)}'
    )


def _new_database(server: PostgresServer, name: str, versions: Sequence[Version]) -> str:
    """Address of a database with the tables of some versions, or with none."""
    server.run(f"CREATE DATABASE {name}")
    address = server.address(name)
    if versions:
        with closing(Session(address)) as session:
            migrate(session, tuple(versions))
    return address


def _race(address: str, expected: list[Any], kind: type[Session]) -> None:
    """Servers bring the tables to their latest versions, all at once."""
    barrier = Barrier(len(STARTING))

    def start(versions: tuple[Version, ...]) -> BaseException | None:
        with closing(kind(address)) as session:
            session.run([Statement("SELECT 1")])  # connected, so that all begin at once
            barrier.wait()
            try:
                migrate(session, versions)
            except Exception as problem:
                return problem
            return None

    with ThreadPoolExecutor(len(STARTING)) as threads:
        for problem in filter(None, threads.map(start, STARTING)):
            raise Broken(f"a server that started beside others did not get its tables: {problem}")
    with closing(Session(address)) as session:
        made = [version for (version,) in session.run([Statement(_MADE)])[0]]
    if made != list(range(1, len(LATER_VERSIONS) + 1)):
        raise Broken(f"servers that started at once made the versions {made}")
    if _shape(address) != expected:
        raise Broken("servers that started at once made other tables than one server does")


def _shape(address: str) -> list[Any]:
    """Columns, indexes and triggers."""
    with closing(Session(address)) as session:
        return session.run([Statement(_SHAPE)])[0]


def _refused(folder: Path, address: str) -> str:
    """What a server says that cannot use the tables; it must end."""
    server = QuickServer(folder / "refused.db", database=address).launch()
    code = server.running.wait(PATIENCE)
    said = server.last_words().strip()
    if code != Exit.INPUT or REFUSED not in said:
        raise Broken(f"a server ended with {code} on tables past its range, and said: {said}")
    return said
