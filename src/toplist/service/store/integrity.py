"""Finds damage of a store's file: SQLite's own check, the tables, and every row by its digest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import apsw

from toplist.service.store.connection import READ_ERRORS
from toplist.service.store.digests import STORE, TABLES, RowTable, row_digest
from toplist.service.store.migrations import SCRIPTS, WITH_DIGESTS, WITH_PRIORS, WITH_TALLIES, migrate

MOST_MESSAGES = 1_000_000  # of SQLite's check, which gives 100 unless it is told otherwise


class Damage(NamedTuple):
    """Something that differs from what was written."""

    text: str
    owner: int | None  # learner or ranking; None for the file as a whole


def find_damage(connection: apsw.Connection) -> Iterator[Damage]:
    """All damage of a store, as of one moment; a service may be writing to it."""
    try:
        connection.execute("BEGIN")
        yield from _in_the_file(connection)
        version = connection.pragma("user_version")
        yield from _in_the_tables(connection, version)
        if version >= WITH_DIGESTS:
            yield from _in_the_rows(connection, version)
    except READ_ERRORS as problem:
        yield Damage(f"The file cannot be read on: {problem}.", None)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _in_the_file(connection: apsw.Connection) -> Iterator[Damage]:
    """What SQLite's check says: pages, indexes, and the form of rows."""
    try:
        for (line,) in connection.execute(f"PRAGMA integrity_check({MOST_MESSAGES})"):
            if line != "ok":
                yield Damage(f"SQLite's check: {line}.", None)
    except READ_ERRORS as problem:
        yield Damage(f"SQLite's check ends with: {problem}.", None)


def _in_the_tables(connection: apsw.Connection, version: int) -> Iterator[Damage]:
    """Tables, indexes and triggers that are not those of the store's version."""
    if not 0 < version <= len(SCRIPTS):
        yield Damage(f"The store has version {version}, but this toplist knows versions 1 to {len(SCRIPTS)}.", None)
        return
    new = apsw.Connection(":memory:")
    try:
        migrate(new, SCRIPTS[:version])
        expected, found = _definitions(new), _definitions(connection)
    finally:
        new.close()
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            how = "is missing" if name not in found else "is unknown" if name not in expected else "was altered"
            yield Damage(f"The definition of {name!r} {how}.", None)


def _definitions(connection: apsw.Connection) -> dict[str, tuple[Any, ...]]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {str(row[1]): row for row in rows}


def _tables(version: int) -> Iterator[RowTable]:
    """The tables whose rows have digests, in a version of the store."""
    for table in TABLES.values():
        if table.name == "tallies" and version < WITH_TALLIES:
            continue
        columns = tuple(column for column in table.columns if column != "prior" or version >= WITH_PRIORS)
        yield table._replace(columns=columns)


def _in_the_rows(connection: apsw.Connection, version: int) -> Iterator[Damage]:
    """Rows that differ from their digests, and owners that have other rows than were written."""
    counts: dict[int, int] = {}
    sums: dict[int, int] = {}
    is_complete = True
    for table in _tables(version):
        try:
            for row in _raw_rows(connection, table):
                owner, digest = row.owner, row.digest
                counts[owner] = counts.get(owner, 0) + 1
                sums[owner] = sums.get(owner, 0) + digest
                if row_digest(*row.values) != digest:
                    key = ", ".join(repr(row.values[table.columns.index(column)]) for column in table.key)
                    yield Damage(f"The row {key} of {table.name} differs from its digest.", owner)
        except READ_ERRORS as problem:
            is_complete = False
            yield Damage(f"The table {table.name} cannot be read on: {problem}.", None)
    if is_complete:
        yield from _in_the_totals(connection, counts, sums)


class _RawRow(NamedTuple):
    """A row as it is on the disk, damaged or not."""

    owner: Any
    digest: Any
    values: list[Any]


def _raw_rows(connection: apsw.Connection, table: RowTable) -> Iterator[_RawRow]:
    """All rows of a table, also those with damaged text or values of other types than the columns'."""
    # Text that is no UTF-8 could not be read: it is read as bytes, with its type beside it.
    columns = [f"CAST({column} AS BLOB)" if column in table.texts else column for column in table.columns]
    types = [f"typeof({column})" for column in table.texts]
    query = f"SELECT {', '.join([table.owner, 'row_digest', *columns, *types])} FROM {table.name} NOT INDEXED"
    width = 2 + len(columns)
    for owner, digest, *rest in connection.execute(query):
        values = rest[: width - 2]
        for column, kind in zip(table.texts, rest[width - 2 :], strict=True):
            n = table.columns.index(column)
            if kind == "text":
                values[n] = _text(values[n])
        number = digest if isinstance(digest, int) else 0
        yield _RawRow(owner if isinstance(owner, int) else -1, number, values)


def _text(value: bytes) -> str | bytes:
    """Text of a column; damaged text as bytes, whose digest is another one."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _in_the_totals(connection: apsw.Connection, counts: dict[int, int], sums: dict[int, int]) -> Iterator[Damage]:
    """Owners whose rows are not those that were written."""
    written = {row[0]: row[1:] for row in connection.execute("SELECT owner, row_count, digest_sum FROM totals")}
    learners = {id for (id,) in connection.execute("SELECT id FROM learners")}
    return differing_totals(written, learners, counts, sums)


def differing_totals(
    written: dict[int, tuple[int, int]], learners: set[int], counts: dict[int, int], sums: dict[int, int]
) -> Iterator[Damage]:
    """Owners whose rows are not those that were written: a row is missing, doubled or exchanged."""
    for owner in sorted(counts.keys() | written.keys()):
        count, (expected, total) = counts.get(owner, 0), written.get(owner, (0, 0))
        if (count, sums.get(owner, 0)) == (expected, total):
            continue
        name = "The store" if owner == STORE else f"The {'learner' if owner in learners else 'ranking'} {owner}"
        if count != expected:
            yield Damage(f"{name} has {count} rows, but {expected} were written.", owner)
        else:
            yield Damage(f"{name} has {count} rows, as many as were written, but not the same.", owner)
