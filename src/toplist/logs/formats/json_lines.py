"""Lines of JSON objects, parsed in blocks; a block that does not parse is split until its bad lines are alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toplist.core.slate import Ints
from toplist.logs.arrow import arrow
from toplist.logs.formats.delimited import has_blank_lines
from toplist.logs.formats.lines import TextFile
from toplist.logs.formats.pieces import Piece
from toplist.logs.report import Rejected

SAMPLE = 50  # lines from which the types of ids are guessed
PIECES = 8  # of a block that does not parse
NOT_JSON = "the line is not a JSON object"
OTHER_TYPE = "a value has another type than its column: ids are texts or whole numbers, positions whole numbers"

MakeSchema = Callable[[Sequence[dict[str, Any]]], Any]


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
        """Names in the first lines."""
        for lines in self.text.blocks(size=1 << 20):
            return tuple(dict.fromkeys(name for row in _sample(lines.split()) for name in row))
        return ()

    def first_line(self) -> str:
        """The first line."""
        return self._first_line

    @cached_property
    def _first_line(self) -> str:
        return self.text.first_line()

    def pieces(self, columns: Mapping[str, str], rows: int) -> Iterator[Piece]:
        """Some columns; the types of ids may change from piece to piece."""
        yield from self.pieces_of(lambda sample: schema_of_roles(columns, sample))

    def pieces_of(self, make_schema: MakeSchema) -> Iterator[Piece]:
        """The fields of a schema, which is made from some rows of each block."""
        for lines in self.text.blocks():
            pieces = list(parse_objects(lines.text, make_schema))
            for place, piece in enumerate(pieces):
                rejected = [Rejected(lines.numbers(each.numbers), each.reason) for each in piece.rejected]
                yield Piece(
                    piece.table, lines.numbers(piece.numbers), [*rejected, *(lines.rejected if place == 0 else [])]
                )

    def done(self) -> tuple[int, int]:
        """Bytes read, and bytes."""
        return self.text.done()


def parse_objects(text: bytes, make_schema: MakeSchema) -> Iterator[Piece]:
    """Pieces of a text of JSON objects; their numbers are places among the lines, from 0."""
    places: Ints | None = None
    lines: list[bytes] = []
    if has_blank_lines(text):
        every = text.split(b"\n")
        places = np.array([place for place, line in enumerate(every) if line.strip()], dtype=np.int64)
        lines = [every[place] for place in places]
        text = b"\n".join(lines)
    count = text.count(b"\n") + (not text.endswith(b"\n")) if text else 0
    if places is None:
        places = np.arange(count)
    table = _table(text, make_schema(_sample(text[: 1 << 16].split(b"\n"))), count) if count else None
    if table is not None or not count:
        yield Piece(table if table is not None else _no_rows(make_schema([])), places)
        return
    if count == 1:
        reason = OTHER_TYPE if _sample([text]) else NOT_JSON
        yield Piece(_no_rows(make_schema([])), np.zeros(0, dtype=np.int64), [Rejected(places, reason)])
        return
    lines = lines or text.removesuffix(b"\n").split(b"\n")
    size = -(-count // PIECES)
    for begin in range(0, count, size):
        for piece in parse_objects(b"\n".join(lines[begin : begin + size]), make_schema):
            rejected = [Rejected(places[begin + each.numbers], each.reason) for each in piece.rejected]
            yield Piece(piece.table, places[begin + piece.numbers], rejected)


def _table(text: bytes, schema: Any, count: int) -> Any | None:
    """The rows of a text, or None if it does not have this number of objects of the schema."""
    lib, module = arrow.lib, arrow.json
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


def _no_rows(schema: Any) -> Any:
    return arrow.lib.RecordBatch.from_pylist([], schema)


def _sample(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """The first lines that are JSON objects."""
    found = []
    for line in lines[:SAMPLE]:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


def schema_of_roles(columns: Mapping[str, str], sample: Sequence[Mapping[str, Any]]) -> Any:
    """Types of columns by their roles; those of ids and times as in the sample."""
    lib = arrow.lib
    many = {"clicked": lib.int64()}

    def kind(role: str, values: list[Any]) -> Any:
        inner = [each for value in values if isinstance(value, list) for each in value if each is not None]
        if role == "items":
            return lib.list_(id_type(inner))
        if role in many:
            return lib.list_(many[role])
        if role in ("click", "propensity", "seen") and inner:
            return lib.list_(lib.bool_() if isinstance(inner[0], bool) else lib.float64())
        if role == "click":
            return lib.bool_() if any(isinstance(value, bool) for value in values) else lib.float64()
        if role in ("query", "list", "item", "visitor"):
            return id_type(values)
        if role == "time" and any(isinstance(value, str) for value in values):
            return lib.string()
        return lib.float64()

    return lib.schema([
        (name, kind(role, [row[name] for row in sample if name in row])) for role, name in columns.items()
    ])  # fmt: skip


def id_type(values: Sequence[Any]) -> Any:
    """The type of ids like these."""
    lib, known = arrow.lib, [value for value in values if value is not None]
    return lib.int64() if known and all(type(value) is int for value in known) else lib.string()
