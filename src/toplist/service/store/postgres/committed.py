"""What is committed of a part that another server may own: read, and never written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.reader import PostgresReader
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import Row

T = TypeVar("T")


class CommittedStore:
    """A store that is read only: what a service would write for itself, such as snapshots, is left to the owner.

    Parameters
    ----------
    database : Database
        The database.
    part : int
        Part of the store.
    """

    is_owner, is_far, keeps_deleted = False, True, False
    silent_since: float | None = None

    def __init__(self, database: Database, part: int) -> None:
        self._database, self._part = database, part

    @property
    def part(self) -> int:
        """Which part of the database this is."""
        return self._part

    @property
    def parts(self) -> int:
        """Number of parts of the database."""
        return self._database.parts

    def watch(self, on_doubt: Callable[[], None]) -> None:
        """Nothing is written that could be lost."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write nothing."""

    def commit(self) -> None:
        """Write nothing."""

    async def read(self, work: Callable[[LogReader], T]) -> T:
        """Run reads in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._database.reading, self._read, work)

    def _read(self, work: Callable[[LogReader], T]) -> T:
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
        """The connections are the database's."""
