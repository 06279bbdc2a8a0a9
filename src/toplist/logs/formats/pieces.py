"""What every format gives: pieces of a table with the number of each row, and the lines that it could not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toplist.core.slate import Ints
from toplist.logs.report import Rejected


@dataclass
class Piece:
    """Some rows of a file."""

    table: Any  # Arrow record batch
    numbers: Ints  # line or row of each
    rejected: list[Rejected] = field(default_factory=list)
    has_marks: bool = False  # whether texts of ids that begin with a mark are integers


class LogSource(Protocol):
    """A file or a frame that holds a log, or a part of one."""

    name: str
    unit: str  # "line" or "row"

    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""

    def first_line(self) -> str:
        """The first line of a text that is not blank; empty for tables."""

    def pieces(self, columns: Mapping[str, str], rows: int) -> Iterator[Piece]:
        """Some columns, given with their roles, in pieces of at most about this many rows."""

    def done(self) -> tuple[int, int]:
        """How much was read, and how much there is."""


def sliced(pieces: Iterator[Piece], rows: int) -> Iterator[Piece]:
    """The same rows in pieces of at most this many."""
    for piece in pieces:
        for begin in range(0, max(len(piece.numbers), 1), rows):
            rejected = piece.rejected if begin == 0 else []
            yield Piece(piece.table.slice(begin, rows), piece.numbers[begin : begin + rows], rejected, piece.has_marks)
