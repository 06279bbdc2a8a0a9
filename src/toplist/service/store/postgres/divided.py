"""Commits of changes of divided rankings: one transaction writes to the logs of all their parts, whoever owns them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from toplist.service.store.divisions import division_parts
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.schema import DIVIDED_RANKINGS
from toplist.service.store.postgres.session import Fenced
from toplist.service.store.postgres.writing import statements_of
from toplist.service.store.queries import RANKING
from toplist.service.store.row_kinds import EventRow, PartBefore, RankingRow, SharedChange

# All rows of parts are locked in the same order as commits of several parts lock them, before anything is written.
_LOCK = "SELECT part FROM parts WHERE part = ANY (%s::smallint[]) ORDER BY part FOR UPDATE"
_LAST = """SELECT last_seq,
    coalesce((SELECT at FROM events WHERE events.part = parts.part ORDER BY seq DESC LIMIT 1), 0)
    FROM parts WHERE part = %s"""
_NAMED = f"{RANKING} WHERE part = %s AND name = %s"
_MOVE_ON = "UPDATE parts SET last_seq = %s WHERE part = %s"
FOR_LATER_RELEASES = Statement(
    "UPDATE versions SET works_with = %s WHERE version >= %s AND works_with < %s", (DIVIDED_RANKINGS,) * 3
)

_Connection = psycopg.Connection[tuple[Any, ...]]


def commit_change(
    database: Database, part: int, statements: Sequence[Statement], changes: Sequence[SharedChange],
    work: Callable[[psycopg.Connection[tuple[Any, ...]]], None],
) -> None:  # fmt: skip
    """Commit what a part writes, with changes of its divided rankings in all their other parts.

    The owners of these parts find at their next commit that their log has moved on, and read it again: whatever they
    acknowledge from then on knows of the change.

    Parameters
    ----------
    database : Database
        The database.
    part : int
        The part that decides: it has division 0 of these rankings.
    statements : sequence of Statement
        What is written there; the first one is its fence.
    changes : sequence of SharedChange
        The changes, in their order.
    work : callable
        What else is written in that part, by several round trips.
    """
    others = {number for change in changes for number in division_parts(part, change.divisions, database.parts)}
    try:
        with database.changing.transaction() as connection:
            connection.execute(_LOCK, (sorted(others | {part}),))
            _run(connection, statements)
            work(connection)
            for change in changes:
                parts = division_parts(part, change.divisions, database.parts)
                for division, other in enumerate(parts[1:], 1):
                    _change(connection, other, division, change)
            _run(connection, [FOR_LATER_RELEASES])
    except Fenced as fenced:
        database.writer.count(fenced)
        raise
    database.on_change()


def _change(connection: _Connection, part: int, division: int, change: SharedChange) -> None:
    """Write a change to the log of another part."""
    last = connection.execute(_LAST, (part,)).fetchone()
    assert last is not None, part
    named = connection.execute(_NAMED, (part, change.name)).fetchone()
    last_seq, last_time = last
    before = PartBefore(division, last_seq, last_time, None if named is None else RankingRow(*named))
    rows: list[Any] = change.rows_for(before)
    _run(connection, statements_of(rows, part))
    connection.execute(_MOVE_ON, (max(row.seq for row in rows if type(row) is EventRow), part))


def _run(connection: _Connection, statements: Sequence[Statement]) -> None:
    for statement in statements:
        connection.execute(statement.text, statement.values or None)
