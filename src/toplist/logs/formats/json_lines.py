"""Lines of JSON objects, parsed in blocks; a block that does not parse is split until its bad lines are alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from toplist.core.item_id import INTEGER_MARK
from toplist.core.slate import Ints
from toplist.logs.arrow import arrow
from toplist.logs.columns import PROBABILITIES
from toplist.logs.formats.delimited import has_blank_lines
from toplist.logs.formats.lines import TextFile
from toplist.logs.formats.pieces import Piece
from toplist.logs.report import Rejected

IDS = ("query", "list", "item", "visitor")  # roles
SAMPLED = 1 << 16  # bytes
FIRST_LINES = 1000  # from which the names of fields are known
SAMPLE = 50  # lines from which the types of ids are guessed
PIECES = 8  # of a block that does not parse
NOT_JSON = "the line is not a JSON object"
OTHER_TYPE = "a value has another type than its column: ids are texts or whole numbers, positions whole numbers"

LEAF = 64  # lines that are looked at one by one


class JsonFields(Protocol):
    """The fields to read of JSON objects."""

    def schema(self, text: bytes) -> Any:
        """Their types, as the lines of a text have them."""

    def marked(self, row: dict[str, Any]) -> dict[str, Any]:
        """An object whose ids are all texts, integers with a mark."""


class JsonLinesSource:
    """A text file with a JSON object per line.

    Parameters
    ----------
    path : Path
        The file.
    """

    unit = "line"

    def __init__(self, path: Path) -> None:
        self.text = TextFile(path)
        self.name = str(path)

    def columns(self) -> tuple[str, ...]:
        """Names in the first lines; a field that comes later is unknown."""
        for lines in self.text.blocks(size=1 << 20):
            return tuple(dict.fromkeys(name for row in _sample(lines.split(), FIRST_LINES) for name in row))
        raise self.text.empty_error()

    def first_line(self) -> str:
        """The first line."""
        return self._first_line

    @cached_property
    def _first_line(self) -> str:
        return self.text.first_line()

    def pieces(self, columns: Mapping[str, str], rows: int) -> Iterator[Piece]:
        """Some columns; the types of ids may change from piece to piece."""
        yield from self.pieces_of(RoleFields(columns))

    def pieces_of(self, fields: JsonFields) -> Iterator[Piece]:
        """Some fields of the objects."""
        for lines in self.text.blocks():
            outside = lines.rejected
            for piece in parse_objects(lines.text, fields):
                rejected = [Rejected(lines.numbers(each.numbers), each.reason) for each in piece.rejected]
                yield Piece(piece.table, lines.numbers(piece.numbers), [*outside, *rejected], piece.has_marks)
                outside = []

    def done(self) -> tuple[int, int]:
        """Bytes read, and bytes."""
        return self.text.done()


def parse_objects(text: bytes, fields: JsonFields) -> Iterator[Piece]:
    """Pieces of a text of JSON objects; their numbers are places among the lines, from 0."""
    places: Ints | None = None
    if has_blank_lines(text):
        every = text.split(b"\n")
        places = np.array([place for place, line in enumerate(every) if line.strip()], dtype=np.int64)
        text = b"\n".join(every[place] for place in places)
    count = text.count(b"\n") + (not text.endswith(b"\n")) if text else 0
    if places is None:
        places = np.arange(count)
    table = _table(text, fields.schema(text), count)
    if table is not None:
        yield Piece(table, places)
        return
    lines = text.removesuffix(b"\n").split(b"\n")
    size = -(-count // PIECES)
    for begin in range(0, count, size):
        some = lines[begin : begin + size]
        for piece in parse_objects(b"\n".join(some), fields) if count > LEAF else _one_by_one(some, fields):
            rejected = [Rejected(places[begin + each.numbers], each.reason) for each in piece.rejected]
            yield Piece(piece.table, places[begin + piece.numbers], rejected, piece.has_marks)


def _one_by_one(lines: Sequence[bytes], fields: JsonFields) -> Iterator[Piece]:
    """Lines of which some are wrong, or whose ids are texts and numbers."""
    for place, line in enumerate(lines):
        here = np.array([place])
        rows = _sample([line])
        table = None
        if rows:
            marked = json.dumps(fields.marked(rows[0])).encode()
            table = _table(marked, fields.schema(marked), 1)
        if table is not None:
            yield Piece(table, here, has_marks=True)
        else:
            empty = arrow.lib.RecordBatch.from_pylist([], fields.schema(b""))
            yield Piece(empty, here[:0], [Rejected(here, OTHER_TYPE if rows else NOT_JSON)])


def _table(text: bytes, schema: Any, count: int) -> Any | None:
    """The rows of a text, or None if it does not have this number of objects of the schema."""
    lib, module = arrow.lib, arrow.json
    if count == 0:
        return lib.RecordBatch.from_pylist([], schema)
    options = module.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = module.read_json(
            lib.BufferReader(text), module.ReadOptions(use_threads=False, block_size=len(text) + 1), options
        )
    except lib.ArrowInvalid:
        return None
    if len(table) != count:
        return None
    return table.combine_chunks().to_batches()[0]


def _sample(lines: Sequence[bytes], most: int = SAMPLE) -> list[dict[str, Any]]:
    """The first lines that are JSON objects."""
    found = []
    for line in lines[:most]:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


class RoleFields(NamedTuple):
    """Columns by role, with the types of their roles; those of ids and times are as in the first lines."""

    columns: Mapping[str, str]

    def schema(self, text: bytes) -> Any:
        """Their types, as the lines of a text have them."""
        sample = _sample(text[:SAMPLED].split(b"\n"))
        return arrow.lib.schema([
            (name, _type_of_role(role, [row[name] for row in sample if name in row]))
            for role, name in self.columns.items()
        ])  # fmt: skip

    def marked(self, row: dict[str, Any]) -> dict[str, Any]:
        """An object whose ids are all texts, integers with a mark."""
        ids = {name for role, name in self.columns.items() if role in (*IDS, "items")}
        return {name: marked_ids(value) if name in ids else value for name, value in row.items()}


def marked_ids(value: Any) -> Any:
    """An id, or a list of ids, as text."""
    if isinstance(value, list):
        return [marked_ids(each) for each in value]
    return f"{INTEGER_MARK}{value}" if type(value) is int else value


def _type_of_role(role: str, values: Sequence[Any]) -> Any:
    """The type of a column with such values."""
    lib = arrow.lib
    inner = [each for value in values if isinstance(value, list) for each in value if each is not None]
    if role == "items":
        return lib.list_(id_type(inner))
    if role == "clicked":
        return lib.list_(lib.int64())
    if role in ("click", *PROBABILITIES) and inner:
        return lib.list_(lib.bool_() if isinstance(inner[0], bool) else lib.float64())
    if role == "click" and any(isinstance(value, bool) for value in values):
        return lib.bool_()
    if role in IDS:
        return id_type(values)
    return lib.string() if role == "time" and any(isinstance(value, str) for value in values) else lib.float64()


def id_type(values: Sequence[Any]) -> Any:
    """The type of ids like these."""
    lib, known = arrow.lib, [value for value in values if value is not None]
    return lib.int64() if known and all(type(value) is int for value in known) else lib.string()
