"""Layout "service": the event log that `toplist store export` wrote, as Parquet or JSON lines.

A list counts as the service learned it: with all reports merged, once it was closed. The segment is the query, or the
name of the ranking where there is no segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Bools, Floats, Ints
from toplist.logs.arrow import arrow
from toplist.logs.assemble import ListBatch
from toplist.logs.columns import ReadOptions
from toplist.logs.convert import ListColumn, numbers, plain_text, times
from toplist.logs.formats.json_lines import JsonLinesSource, marked_ids, parse_objects
from toplist.logs.formats.pieces import LogSource, Piece
from toplist.logs.readers.lists import per_position
from toplist.logs.report import Rejected

NAME = "service"
EVENT = {"seq", "at", "ranking", "kind", "impression", "body"}
TEXTS = ("at", "ranking", "segment", "key", "kind")
LIST, LEARNED, DROPPED = "list", "learned", "dropped"  # kinds
SHOWN_WITH = {"propensity": "propensities", "marginal": "marginals"}  # fields of a list's body by role
STILL_OPEN = "the list is still open"
NEVER_SHOWN = "the list was never shown"
NO_LIST = "the event closes a list that is not in the log"


def recognizes(source: LogSource, _: ReadOptions) -> bool:
    """Whether there are the columns of events."""
    return set(source.columns()) >= EVENT


def read(sources: Sequence[LogSource], options: ReadOptions) -> Iterator[ListBatch]:
    """The closed lists of all sources."""
    opened = UnclosedLists(options)
    for source in sources:
        for piece in events(source, options):
            yield from opened.close(piece, source)
    yield opened.rest(sources[-1])


def events(source: LogSource, options: ReadOptions) -> Iterator[Piece]:
    """Pieces of events, with the fields of their bodies that are needed."""
    if isinstance(source, JsonLinesSource):
        yield from source.pieces_of(EventFields())
        return
    present = source.columns()
    chosen = {name: name for name in ("seq", *TEXTS, "body") if name in present}
    for piece in source.pieces(chosen, options.part):
        lines = arrow.compute.binary_join_element_wise(plain_text(piece.table.column("body")), "\n", "")
        for part in parse_objects(b"".join(lines.cast(arrow.lib.binary()).to_pylist()), BodyFields()):
            rows = piece.table.take(arrow.lib.array(part.numbers))
            columns = {name: rows.column(name) for name in chosen if name != "body"}
            columns["body"] = part.table.to_struct_array()
            rejected = [Rejected(piece.numbers[each.numbers], each.reason) for each in part.rejected]
            batch = arrow.lib.record_batch(columns)
            yield Piece(batch, piece.numbers[part.numbers], rejected, part.has_marks)


class BodyFields:
    """The fields of a body that are read."""

    def schema(self, text: bytes) -> Any:
        """Their types; items are whole numbers if the first of them is one."""
        lib = arrow.lib
        first = re.search(rb'"items"\s*:\s*\[\s*(.)', text)
        item = lib.string() if first is None or first[1] == b'"' else lib.int64()
        merged = [("clicks", lib.list_(lib.int64())), ("left", lib.int64())]
        reported = re.findall(rb'"seen"\s*:\s*{([^}]*)}', text)
        if positions := {int(each) for some in reported for each in re.findall(rb'"(\d+)"', some)}:
            merged.append(("seen", lib.struct([(str(each), lib.float64()) for each in sorted(positions)])))
        fields = [("items", lib.list_(item)), ("merged", lib.struct(merged)), ("list", lib.int64())]
        present = [name for name in SHOWN_WITH.values() if f'"{name}"'.encode() in text]
        fields += [(name, lib.list_(lib.float64())) for name in present]
        return lib.schema(fields)

    def marked(self, row: dict[str, Any]) -> dict[str, Any]:
        """A body whose items are texts."""
        return {name: marked_ids(value) if name == "items" else value for name, value in row.items()}


class EventFields(BodyFields):
    """The fields of an event that are read."""

    def schema(self, text: bytes) -> Any:
        """Their types."""
        lib = arrow.lib
        body = ("body", lib.struct(list(super().schema(text))))
        return lib.schema([("seq", lib.int64()), *((name, lib.string()) for name in TEXTS), body])

    def marked(self, row: dict[str, Any]) -> dict[str, Any]:
        """An event whose items are texts."""
        body = row.get("body")
        return row | {"body": super().marked(body)} if isinstance(body, dict) else row


class ListEvents(NamedTuple):
    """Events of lists, whose items have one type, with their numbers."""

    events: Any
    numbers: Ints
    has_marks: bool

    def take(self, rows: Ints) -> ListEvents:
        """Some of them."""
        return self._replace(events=self.events.take(arrow.lib.array(rows)), numbers=self.numbers[rows])


class UnclosedLists:
    """Lists that wait for the event that closes them.

    Parameters
    ----------
    options : ReadOptions
        Which ranking, and which columns.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._ranking = options.ranking
        self._open: list[ListEvents] = []

    def close(self, piece: Piece, source: LogSource) -> Iterator[ListBatch]:
        """The lists that events of a piece close; the piece may also have new lists."""
        table, rows = self._of_ranking(piece, source)
        is_list, is_learned, is_dropped = (_is_kind(table, kind) for kind in (LIST, LEARNED, DROPPED))
        if is_list.any():
            self._open.append(ListEvents(table.filter(arrow.lib.array(is_list)), rows[is_list], piece.has_marks))
        closing = np.flatnonzero(is_learned | is_dropped)
        outcomes = table.take(arrow.lib.array(closing))
        body = outcomes.column("body")
        wanted = _numbers(body.field("list"))
        waiting = np.ones(len(closing), dtype=np.bool_)
        batches, remaining = [], []
        for waits in self._open:
            seqs = _numbers(waits.events.column("seq"))
            at = np.minimum(np.searchsorted(seqs, wanted), len(seqs) - 1)
            found = np.flatnonzero(seqs[at] == wanted)
            waiting[found] = False
            learned = found[is_learned[closing[found]]]
            if len(learned):
                batches.append(self._batch(waits.take(at[learned]), outcomes.take(arrow.lib.array(learned)), source))
            is_open = np.ones(len(seqs), dtype=np.bool_)
            is_open[at[found]] = False
            if is_open.any():
                remaining.append(waits.take(np.flatnonzero(is_open)))
        self._open = remaining
        left_out = [
            Rejected(rows[is_dropped], NEVER_SHOWN, is_wrong=False),
            Rejected(rows[closing[waiting & is_learned[closing]]], NO_LIST, is_wrong=False),
        ]
        batches = batches or [no_lists(source)]
        batches[0].rejected += [*piece.rejected, *left_out]
        yield from batches

    def rest(self, source: LogSource) -> ListBatch:
        """No list, but the report of those that are still open."""
        batch = no_lists(source)
        batch.rejected += [Rejected(waits.numbers, STILL_OPEN, is_wrong=False) for waits in self._open]
        return batch

    def _of_ranking(self, piece: Piece, source: LogSource) -> tuple[Any, Ints]:
        """The events of the ranking; those of a second one are refused if none was named."""
        ranking = piece.table.column("ranking")
        known = arrow.compute.unique(plain_text(ranking)).drop_null().to_pylist()
        if self._options.ranking is None:
            self._ranking = self._ranking or next(iter(known), None)
            if others := [name for name in known if name != self._ranking]:
                raise InvalidInput(
                    f"{source.name} has events of the rankings {self._ranking!r} and {others[0]!r}, but a log is that "
                    f"of one; choose it with ranking={self._ranking!r}, or --ranking {self._ranking}."
                )
            return piece.table, piece.numbers
        chosen = arrow.compute.fill_null(arrow.compute.equal(ranking, self._ranking), False)
        return piece.table.filter(chosen), piece.numbers[chosen.to_numpy(zero_copy_only=False)]

    def _batch(self, waits: ListEvents, outcomes: Any, source: LogSource) -> ListBatch:
        """Lists with their outcomes."""
        lists, rows = waits.events, waits.numbers
        body, merged = lists.column("body"), outcomes.column("body").field("merged")
        names = [name for name in ("segment", "key", "ranking") if name in lists.schema.names]
        query = arrow.compute.coalesce(*(plain_text(lists.column(name)) for name in names))
        items = ListColumn.of(body.field("items"), "", "items")
        clicked = ListColumn.of(merged.field("clicks"), "", "clicks")
        positions = _numbers(clicked.values)
        batch = ListBatch(
            source.name, source.unit, rows, query, items.start, items.values, clicked.start, positions,
            has_marks=waits.has_marks,
        )  # fmt: skip
        if self._options.wants("time"):
            batch.time, _ = times(lists.column("at"))
        if self._options.wants("left"):
            last = np.zeros(len(rows))
            np.maximum.at(last, np.repeat(np.arange(len(rows)), np.diff(clicked.start)), positions)
            left, _ = numbers(merged.field("left"), "left")
            batch.left = np.fmax(left, np.where(np.isnan(left), np.nan, last))
        if self._options.wants("seen"):
            batch.seen = _seen(merged, items.start)
        for role, name in SHOWN_WITH.items():
            if self._options.wants(role) and name in [field.name for field in body.type]:
                values, _ = per_position(body.field(name), items.start, "", role)
                setattr(batch, role, values)
        return batch


def no_lists(source: LogSource) -> ListBatch:
    """A batch without lists, for a report."""
    none, start = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return ListBatch(source.name, source.unit, none, None, start, arrow.lib.array([], arrow.lib.int64()), start, none)


def _is_kind(table: Any, kind: str) -> Bools:
    found: Bools = arrow.compute.fill_null(arrow.compute.equal(table.column("kind"), kind), False).to_numpy(
        zero_copy_only=False
    )
    return found


def _numbers(column: Any) -> Ints:
    """Whole numbers, 0 for null."""
    found: Ints = arrow.compute.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _seen(merged: Any, start: Ints) -> Floats:
    """Per position the probability that it was seen, NaN where none was reported."""
    found = np.full(int(start[-1]), np.nan)
    fields = [field.name for field in merged.type]
    if "seen" in fields:
        column = merged.field("seen")
        for field in column.type:
            values, _ = numbers(column.field(field.name), "seen")
            place = int(field.name) - 1
            rows = np.flatnonzero(~np.isnan(values) & (np.diff(start) > place))
            found[start[rows] + place] = values[rows]
    return found
