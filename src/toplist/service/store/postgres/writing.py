"""The statements that write the rows of one commit: one per kind of row, however many rows there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from toplist.service.store import row_kinds
from toplist.service.store.digests import TABLES, DigestSums, RowTable, last_by_key, row_digest
from toplist.service.store.postgres.arrays import EncodedArray, encode_array
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.queries import CLOSED
from toplist.service.store.row_kinds import (
    ClaimedRequest,
    EventRow,
    ImpressionChange,
    ImpressionRow,
    RequestRow,
    Row,
)

_TYPES = {
    "kind": "text", "impression": "bytea", "body": "bytea", "report": "bytea", "request": "text", "digest": "bytea",
    "key": "text", "name": "text", "spec": "bytea", "features": "bytea", "state": "smallint", "base": "smallint",
    "hidden": "smallint", "prior": "bytea", "slice": "text", "visitor": "bytea",
}  # fmt: skip  # of columns that are no bigint; `id` is another one in each table
_IDS = {"impressions": "bytea", "items": "text"}
# The row of a request id is replaced: it gets another list where its first one was dropped, since its caller had got
# one from memory meanwhile, or its segment was deleted. The owner knows the row before, and the fence admits no other.
_NEVER_REPLACED = (EventRow, ImpressionRow, row_kinds.LearnerRow)
# Rows of these kinds come by the hundred, in any order among the others.
_BULK = (EventRow, ImpressionRow, ImpressionChange, RequestRow, ClaimedRequest)

# There is no file to overwrite, the fence is enough to check the owner, and the others take several round trips.
_NOTHING = (row_kinds.WipeLog, row_kinds.CheckOwner, row_kinds.ShiftWindows, row_kinds.SharedChange)

_OLD = "part = %(part)s AND learner = %(learner)s AND learner > 0 AND seq <= %(seq)s"
_FORGOTTEN = f"SELECT impression FROM events WHERE {_OLD} AND {CLOSED}"
_PURGED = "part = %(part)s AND ranking = %(ranking)s AND seq > %(after)s AND seq <= %(until)s"
_LISTS_PURGED = f"SELECT impression FROM events WHERE {_PURGED} AND kind = '{row_kinds.LIST}'"
_OF_LEARNER = """SELECT seq FROM events WHERE part = %(part)s AND learner = %(learner)s AND learner > 0
    ORDER BY seq LIMIT %(events)s"""
_LISTS_OF_LEARNER = f"""SELECT impression FROM events
    WHERE part = %(part)s AND kind = '{row_kinds.LIST}' AND seq IN ({_OF_LEARNER})"""
_MINE = "part = %(part)s"
_OF_SEGMENT = f"""{_MINE} AND ranking = %(ranking)s AND slice IN (
    '{row_kinds.SEGMENT_SLICE}' || %(learner)s::bigint, '{row_kinds.VISITORS_SLICE}' || %(learner)s::bigint)"""
_SCRIPTS: dict[type, tuple[str, ...]] = {
    row_kinds.DeleteItem: (f"DELETE FROM items WHERE {_MINE} AND ranking = %(ranking)s AND id = %(id)s",),
    row_kinds.DeleteRanking: (f"DELETE FROM rankings WHERE {_MINE} AND id = %(id)s",),
    row_kinds.PurgeEvents: (
        f"DELETE FROM requests WHERE {_MINE} AND impression IN ({_LISTS_PURGED})",
        f"DELETE FROM impressions WHERE {_MINE} AND id IN ({_LISTS_PURGED})",
        f"DELETE FROM snapshots WHERE {_MINE} AND learner IN (SELECT seq FROM events WHERE {_PURGED})",
        f"DELETE FROM learners WHERE {_MINE} AND id IN (SELECT seq FROM events WHERE {_PURGED})",
        f"DELETE FROM events WHERE {_PURGED}",
        f"""DELETE FROM items WHERE {_MINE} AND ranking = %(ranking)s AND id IN (
            SELECT id FROM items WHERE {_MINE} AND ranking = %(ranking)s LIMIT %(items)s)""",
        f"""DELETE FROM tallies WHERE {_MINE} AND ranking = %(ranking)s AND (slice, visitor, measured) IN (
            SELECT slice, visitor, measured FROM tallies
            WHERE {_MINE} AND ranking = %(ranking)s LIMIT %(items)s)""",
    ),
    row_kinds.PurgeDone: (f"DELETE FROM gone WHERE {_MINE} AND ranking = %(ranking)s",),
    # The first event of a learner has its segment.
    row_kinds.DeleteLearner: (
        f"DELETE FROM learners WHERE {_MINE} AND id = %(learner)s",
        f"DELETE FROM snapshots WHERE {_MINE} AND learner = %(learner)s",
        f"DELETE FROM events WHERE {_MINE} AND seq = %(learner)s AND learner = %(learner)s",
    ),
    row_kinds.PurgeLearner: (
        f"DELETE FROM requests WHERE {_MINE} AND impression IN ({_LISTS_OF_LEARNER})",
        f"DELETE FROM impressions WHERE {_MINE} AND id IN ({_LISTS_OF_LEARNER})",
        f"DELETE FROM events WHERE {_MINE} AND seq IN ({_OF_LEARNER})",
        f"""DELETE FROM tallies WHERE {_OF_SEGMENT} AND (slice, visitor, measured) IN (
            SELECT slice, visitor, measured FROM tallies WHERE {_OF_SEGMENT} LIMIT %(events)s)""",
    ),
    row_kinds.DeleteTallies: (
        f"""DELETE FROM tallies WHERE {_MINE} AND ranking = %(ranking)s AND measured < %(measured)s
            AND (slice, visitor) > (%(after_slice)s, %(after_visitor)s)
            AND (slice, visitor) <= (%(until_slice)s, %(until_visitor)s)""",
    ),
    row_kinds.PurgeLearnerDone: (f"DELETE FROM gone_learners WHERE {_MINE} AND learner = %(learner)s",),
    row_kinds.ForgetImpressions: (
        f"DELETE FROM requests WHERE {_MINE} AND impression IN ({_FORGOTTEN})",
        f"DELETE FROM impressions WHERE {_MINE} AND id IN ({_FORGOTTEN})",
        f"DELETE FROM events WHERE {_OLD} AND impression IN ({_FORGOTTEN})",
    ),
    row_kinds.DeleteSnapshots: (
        f"""DELETE FROM snapshots WHERE {_MINE} AND learner IN (
            SELECT id FROM learners WHERE {_MINE} AND ranking = %(ranking)s)""",
    ),
}


def statements_of(rows: Sequence[Row], part: int) -> list[Statement]:
    """The statements that write rows, in their order as far as it matters."""
    bulk: dict[type, list[Any]] = {kind: [] for kind in _BULK}
    others: list[Any] = []
    for row in rows:
        if type(row) not in _NOTHING:
            bulk.get(type(row), others).append(row)
    sums = DigestSums()
    statements = [_write(kind, several, sums, part) for kind, several in bulk.items() if several]
    for kind, alike in groupby(others, type):
        if kind in TABLES:
            statements.append(_insert(kind, list(map(_without_flags, alike)), sums, part))
        else:
            for row in alike:
                statements += [Statement(text, {"part": part} | row._asdict()) for text in _SCRIPTS[kind]]
    if totals := sums.totals():
        statements.append(_add_totals(totals, part))
    return statements


def _write(kind: type, rows: list[Any], sums: DigestSums, part: int) -> Statement:
    """Write rows of a kind that come by the hundred."""
    if kind is ImpressionChange:
        return _change(rows, part)
    return _claim(rows, sums, part) if kind is ClaimedRequest else _insert(kind, rows, sums, part)


def _insert(kind: type, rows: list[Any], sums: DigestSums, part: int) -> Statement:
    """Insert rows of one kind; those of some kinds replace the row that has the same key."""
    table = TABLES[kind]
    if kind not in _NEVER_REPLACED:
        rows = last_by_key(table, rows)  # PostgreSQL replaces a row only once in a statement
    return Statement(_INSERTS[kind], (part, *_columns(_TYPES_OF[kind], sums.with_digests(kind, rows))))


def _claim(rows: list[ClaimedRequest], sums: DigestSums, part: int) -> Statement:
    """Insert requests of divided rankings; the database refuses them where another part has a list for one."""
    last = last_by_key(TABLES[RequestRow], rows)
    written = sums.with_digests(RequestRow, [row.row for row in last])
    scopes = encode_array("bigint", [row.scope for row in last])
    return Statement(_CLAIM, (part, *_columns(_TYPES_OF[RequestRow], written), scopes))


def _change(rows: list[ImpressionChange], part: int) -> Statement:
    """Change impressions, each to its last state."""
    last = list({row.id: row for row in rows}.values())
    changed = [(row.id, row.state, row.due, row.outcome, row_digest(*row)) for row in last]
    return Statement(_CHANGE, (*_columns(_CHANGED.values(), changed), part))


def _add_totals(totals: list[tuple[int, int, int]], part: int) -> Statement:
    return Statement(_ADD_TOTALS, (part, *_columns(("bigint",) * 3, totals)))


def _columns(types: Iterable[str], rows: Iterable[Sequence[Any]]) -> list[EncodedArray]:
    """The values by column, each an array of PostgreSQL."""
    return [encode_array(kind, column) for kind, column in zip(types, zip(*rows, strict=True), strict=True)]


def _without_flags(row: Any) -> Any:
    """A row with numbers instead of truth values, of which the digest is."""
    return row._make(int(value) if isinstance(value, bool) else value for value in row)


def _types(table: RowTable) -> tuple[str, ...]:
    """The type of each column and of the digest."""
    types = [_IDS.get(table.name, "bigint") if name == "id" else _TYPES.get(name, "bigint") for name in table.columns]
    if table.name == "requests":
        types[table.columns.index("impression")] = "bytea"
    return (*types, "bigint")


def _places(types: Iterable[str]) -> str:
    """A place for each column's array."""
    return ", ".join(f"%b::{name}[]" for name in types)


def _insertion(kind: type) -> str:
    table = TABLES[kind]
    columns = f"part, {table.selected}, row_digest"
    text = f"INSERT INTO {table.name} ({columns}) SELECT %s::smallint, * FROM unnest({_places(_TYPES_OF[kind])})"
    if kind in _NEVER_REPLACED:
        return text
    values = ", ".join(f"{name} = excluded.{name}" for name in (*table.columns, "row_digest") if name not in table.key)
    return f"{text} ON CONFLICT (part, {', '.join(table.key)}) DO UPDATE SET {values}"


_TYPES_OF = {kind: _types(table) for kind, table in TABLES.items()}
_INSERTS = {kind: _insertion(kind) for kind in TABLES}
_CLAIM = (
    _INSERTS[RequestRow]
    .replace("row_digest)", "row_digest, scope)", 1)
    .replace(f"unnest({_places(_TYPES_OF[RequestRow])})", f"unnest({_places((*_TYPES_OF[RequestRow], 'bigint'))})")
)
_CHANGED = {"id": "bytea", "state": "smallint", "due": "bigint", "report": "bytea", "row_digest": "bigint"}
_CHANGE = f"""UPDATE impressions SET state = new.state, due = new.due, report = new.report, row_digest = new.row_digest
    FROM unnest({_places(_CHANGED.values())}) AS new ({", ".join(_CHANGED)})
    WHERE impressions.part = %s AND impressions.id = new.id"""
_ADD_TOTALS = """INSERT INTO totals AS kept SELECT %s::smallint, * FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[])
    ON CONFLICT (part, owner) DO UPDATE
    SET row_count = kept.row_count + excluded.row_count, digest_sum = kept.digest_sum + excluded.digest_sum"""
