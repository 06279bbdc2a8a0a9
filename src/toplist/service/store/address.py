"""Where a store lies, a file or a PostgreSQL database, and how it is opened."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist.service.store.copy import Target
from toplist.service.store.protocol import Store
from toplist.service.store.reader import SQLiteReader
from toplist.service.store.sqlite import SQLiteStore
from toplist.support.files import check_writable, import_optional

if TYPE_CHECKING:
    from toplist.service.store.postgres import PostgresReader

SCHEMES = ("postgresql://", "postgres://")


def is_database(store: Path | str) -> bool:
    """Whether a store is named by the address of a PostgreSQL database."""
    return isinstance(store, str) and store.startswith(SCHEMES)


def checked_store(setting: str) -> Path | str:
    """The store of a setting, before it is opened: a file that can be written, or the address of a database."""
    if not is_database(setting):
        return check_writable(setting, "The store")
    _postgres().check_address(setting)
    return setting


def shown_store(setting: str) -> str:
    """The store in messages and logs, without a password."""
    return str(_postgres().shown_address(setting)) if is_database(setting) else setting


def open_store(store: Path | str, lease: float = 10.0) -> Store:
    """Open a store to serve it; another server may take over a database when the lease has ended."""
    if is_database(store):
        opened: Store = _postgres().PostgresStore(store, lease=lease)
        return opened
    return SQLiteStore(Path(store))


def open_reader(store: Path | str) -> SQLiteReader | PostgresReader:
    """Open a store to read it; a service may be using it."""
    if is_database(store):
        reader: PostgresReader = _postgres().PostgresReader(store)
        return reader
    return SQLiteReader(Path(store))


def open_parts(store: Path | str) -> list[SQLiteReader | PostgresReader]:
    """Open all parts of a store to read them; a file has one part, and so has a database that one server serves."""
    if not is_database(store):
        return [SQLiteReader(Path(store))]
    postgres = _postgres()
    return [postgres.PostgresReader(store, part) for part in range(postgres.parts_of(store))]


@contextmanager
def open_targets(store: Path | str, partitions: int | None = None) -> Iterator[list[Target]]:
    """Open all parts of a store that another one is copied to; a new database is divided where that is asked for."""
    if is_database(store):
        with _postgres().open_targets(store, partitions) as targets:
            yield targets
    else:
        with closing(SQLiteStore(Path(store))) as written, closing(SQLiteReader(Path(store))) as reader:
            yield [Target(written, reader)]


def note_copied(store: Path | str, until: int) -> None:
    """Impressions of a divided database made up to this moment may have ids that do not tell their part."""
    _postgres().note_copied(store, until)


def note_divided(store: Path | str) -> None:
    """Older releases cannot use a database with divided rankings."""
    _postgres().note_divided(store)


def _postgres() -> Any:
    """The store in PostgreSQL, whose driver is optional."""
    import_optional("psycopg", "postgres")
    return importlib.import_module("toplist.service.store.postgres")
