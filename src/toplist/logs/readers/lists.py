"""Layout "lists": one row per list, with its items and its clicked positions, or a click flag per item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import InvalidInput
from toplist.core.slate import Bools, Floats, Ints
from toplist.logs.arrow import arrow
from toplist.logs.assemble import BAD_CLICK, BAD_LEFT, BAD_TIME, BAD_WEIGHT, PROBABILITY_CHECKS, ListBatch
from toplist.logs.columns import OPTIONAL, ReadOptions
from toplist.logs.convert import ListColumn, numbers, offsets, times
from toplist.logs.formats.pieces import LogSource, Piece, sliced

NAME = "lists"


def recognizes(source: LogSource, options: ReadOptions) -> bool:
    """Whether there is a column of items."""
    return "items" in options.find(source.columns(), ("items",))


def read(sources: Sequence[LogSource], options: ReadOptions) -> Iterator[ListBatch]:
    """The lists of all sources."""
    for source in sources:
        present = source.columns()
        roles = options.find(present, ("query", "items", "clicked", *OPTIONAL))
        if "clicked" not in roles:
            roles |= options.find(present, ("click",))
        if present and not ("items" in roles and ("clicked" in roles or "click" in roles)):
            raise InvalidInput(
                f"{source.name} has the columns {', '.join(present)[:200]}, but needs one of items, and one of clicked "
                f"positions or of click flags; name them with columns={{'items': ..., 'clicked': ...}}, on the command "
                f"line with --columns items=...,clicked=..."
            )
        for piece in sliced(source.pieces(roles, options.part), options.part):
            yield batch_of(piece, roles, source, options)


def batch_of(piece: Piece, roles: Mapping[str, str], source: LogSource, options: ReadOptions) -> ListBatch:
    """The lists of one piece."""
    columns = {role: piece.table.column(name) for role, name in roles.items()}
    items = ListColumn.of(columns["items"], options.separator, "items")
    reason = np.zeros(len(piece.numbers), dtype=np.uint8)
    if "clicked" in columns:
        found = ListColumn.of(columns["clicked"], options.separator, "clicked")
        clicked_start, clicked = found.start, positions(found.values, options.first_position)
    else:
        flags, wrong = per_position(columns["click"], items.start, options.separator, "click")
        reason[wrong] = BAD_CLICK
        clicked_start, clicked = flagged(flags, items.start, reason)
    batch = ListBatch(
        source.name, source.unit, piece.numbers, columns.get("query"), items.start, items.values, clicked_start,
        clicked, visitor=columns.get("visitor"), reason=reason, rejected=piece.rejected,
        has_marks=piece.has_marks,
    )  # fmt: skip
    add_per_list(batch, columns, options.first_position, reason)
    for role, (code, _) in PROBABILITY_CHECKS.items():
        if role in columns:
            values, wrong = per_position(columns[role], items.start, options.separator, role)
            reason[wrong & (reason == 0)] = code
            setattr(batch, role, values)
    return batch


def add_per_list(batch: ListBatch, columns: Mapping[str, Any], first_position: int, reason: NDArray[np.uint8]) -> None:
    """Add the optional numbers of each list."""
    for role, code in (("time", BAD_TIME), ("left", BAD_LEFT), ("weight", BAD_WEIGHT)):
        if role in columns:
            values, wrong = times(columns[role]) if role == "time" else numbers(columns[role], role)
            reason[wrong & (reason == 0)] = code
            setattr(batch, role, values + (1 - first_position) if role == "left" else values)


def positions(values: Any, first_position: int) -> Ints:
    """Positions counted from 1; 0, which no list has, for a value that is no position."""
    if arrow.lib.types.is_integer(values.type) and not values.null_count:
        found: Ints = values.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    else:
        given, _ = numbers(values, "clicked")
        given = np.where((np.abs(given) < 2**31) & (given % 1 == 0), given, -1)  # also if NaN
        found = given.astype(np.int64)
    return found + 1 if first_position == 0 else found


def flagged(flags: Floats, start: Ints, reason: NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """Where the clicked positions of each list begin, and the positions whose flag is 1."""
    rows = np.repeat(np.arange(len(start) - 1), np.diff(start))
    wrong = ~((flags == 0) | (flags == 1))
    faulty = rows[wrong]
    reason[faulty[reason[faulty] == 0]] = BAD_CLICK
    at = np.flatnonzero(flags == 1)
    clicked: Ints = at - start[rows[at]] + 1
    return offsets(np.bincount(rows[at], minlength=len(start) - 1)), clicked


def per_position(column: Any, start: Ints, separator: str, what: str) -> tuple[Floats, Bools]:
    """A list column as numbers per position, NaN where it is null; and the rows that do not fit their list."""
    lists = ListColumn.of(column, separator, what)
    values, is_wrong = numbers(lists.values, what)
    lengths = np.diff(start)
    known = ~column.is_null().to_numpy(zero_copy_only=False)
    wrong = known & (np.diff(lists.start) != lengths)
    bad = np.flatnonzero(is_wrong | np.isnan(values))
    wrong[np.searchsorted(lists.start, bad, side="right") - 1] = True
    if not wrong.any() and known.all():
        return values, wrong
    found = np.full(int(start[-1]), np.nan)
    usable = np.repeat(known & ~wrong, lengths)
    source = np.repeat(lists.start[:-1] - start[:-1], lengths) + np.arange(len(found))
    found[usable] = values[source[usable]]
    return found, wrong
