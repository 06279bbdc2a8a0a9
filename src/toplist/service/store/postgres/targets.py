"""A database that a whole store is copied to, with all its parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from toplist.service.store.copy import Target
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.divided import FOR_LATER_RELEASES
from toplist.service.store.postgres.members import check_undivided, divide, part_count
from toplist.service.store.postgres.reader import PostgresReader
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.session import Session
from toplist.service.store.postgres.store import PostgresStore


@contextmanager
def open_targets(address: str, partitions: int | None) -> Iterator[list[Target]]:
    """All parts of a database, which is divided where that is asked for, or where servers have divided it."""
    with closing(Database(address)) as database, ExitStack() as opened:
        if partitions is None and part_count(database) == 1:
            check_undivided(database)
            count = 1
        else:
            count = divide(database, partitions)
        yield [
            Target(
                opened.enter_context(closing(PostgresStore(database, part))),
                opened.enter_context(closing(PostgresReader(address, part))),
            )
            for part in range(count)
        ]


def note_divided(address: str) -> None:
    """Older releases cannot use a database with divided rankings."""
    with closing(Session(address)) as session:
        session.run([FOR_LATER_RELEASES])


def note_copied(address: str, until: int) -> None:
    """Impressions made up to this moment, in milliseconds, may have ids that do not tell their part."""
    with closing(Session(address)) as session:
        session.run([Statement("UPDATE cluster SET copied_until = greatest(copied_until, %s)", (until,))])
