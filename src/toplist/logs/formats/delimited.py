"""Comma- and tab-separated text with a header; every value is a text."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toplist.core.slate import Ints
from toplist.logs.arrow import arrow
from toplist.logs.formats.lines import Lines, TextFile
from toplist.logs.formats.pieces import Piece
from toplist.logs.report import Rejected

DELIMITERS = "\t,;|"


class DelimitedSource:
    """A text file with a header, separated by the first of tab, comma, semicolon and bar that is in the header.

    Values may be quoted by " unless tabs separate them.

    Parameters
    ----------
    path : Path
        The file.
    """

    unit = "line"

    def __init__(self, path: Path) -> None:
        self.text = TextFile(path)
        self.name = str(path)

    @cached_property
    def _delimiter(self) -> str:
        return next((mark for mark in DELIMITERS if mark in self.first_line()), ",")

    @cached_property
    def _quote(self) -> str:
        return "" if self._delimiter == "\t" else '"'

    def columns(self) -> tuple[str, ...]:
        """Names in its header."""
        line = self.first_line()
        if not line:
            raise self.text.empty_error()
        if not self._quote:
            return tuple(line.split(self._delimiter))
        return tuple(next(csv.reader([line], delimiter=self._delimiter)))

    def first_line(self) -> str:
        """The first line."""
        return self._first_line

    @cached_property
    def _first_line(self) -> str:
        return self.text.first_line()

    def pieces(self, columns: Mapping[str, str], rows: int) -> Iterator[Piece]:
        """Some columns, as texts."""
        names, is_first = list(dict.fromkeys(columns.values())), True
        for lines in self.text.blocks(self._quote.encode()):
            yield self._piece(_without_header(lines) if is_first else lines, names)
            is_first = False

    def done(self) -> tuple[int, int]:
        """Bytes read, and bytes."""
        return self.text.done()

    def _piece(self, lines: Lines, names: list[str]) -> Piece:
        """The rows of a block, and the lines with too few or too many values."""
        lib, wrong = arrow.lib, []

        def skip(row: Any) -> str:
            wrong.append(row)
            return "skip"

        if not lines.text:
            empty = lib.record_batch({name: lib.array([], lib.string()) for name in names})
            return Piece(empty, np.zeros(0, dtype=np.int64), lines.rejected)
        batch = self._parse(lines.text, names, skip)
        bad = np.array([row.number - 1 for row in wrong], dtype=np.int64)
        total = len(batch) + len(bad)
        good = np.setdiff1d(np.arange(total), bad, assume_unique=True) if len(bad) else np.arange(total)
        line = np.arange(total)
        if self._quote and lines.text.count(b"\n") + (not lines.text.endswith(b"\n")) != total:  # line ends in values
            line = self._lines_of_rows(lines.text, good, {row.number - 1: row.text.count("\n") for row in wrong})
        if has_blank_lines(lines.text):
            is_blank = np.ones(len(batch), dtype=np.bool_)
            for column in batch.columns:
                is_blank &= arrow.compute.equal(column, "").to_numpy(zero_copy_only=False)
            batch, good = batch.filter(lib.array(~is_blank)), good[~is_blank]
        fields = len(self.columns())
        faults = [Rejected(lines.numbers(line[bad]), f"the line does not have the {fields} values that the header has")]
        return Piece(batch, lines.numbers(line[good]), [*lines.rejected, *faults])

    def _parse(self, text: bytes, names: list[str], skip: Callable[[Any], str]) -> Any:
        """The columns of a block of lines."""
        lib, module = arrow.lib, arrow.csv
        table = module.read_csv(
            lib.BufferReader(text),
            module.ReadOptions(use_threads=False, column_names=self.columns(), block_size=len(text) + 1),
            module.ParseOptions(
                delimiter=self._delimiter, quote_char=self._quote or False, newlines_in_values=bool(self._quote),
                ignore_empty_lines=False, invalid_row_handler=skip,
            ),
            module.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, lib.string())),
        )  # fmt: skip
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else lib.record_batch({name: lib.array([], lib.string()) for name in names})

    def _lines_of_rows(self, text: bytes, good: Ints, bad: Mapping[int, int]) -> Ints:
        """The line on which each row begins, if values contain line ends; `bad` has those of rows that are skipped."""
        within = np.zeros(len(good) + len(bad), dtype=np.int64)
        whole = self._parse(text, list(dict.fromkeys(self.columns())), lambda _: "skip")
        for column in whole.columns:
            within[good] += arrow.compute.count_substring(column, "\n").to_numpy(zero_copy_only=False)
        for row, ends in bad.items():
            within[row] = ends
        begin: Ints = np.arange(len(within)) + np.cumsum(within) - within
        return begin


def _without_header(lines: Lines) -> Lines:
    """The lines after the first that is not blank."""
    blank = len(lines.text) - len(lines.text.lstrip(b"\r\n"))
    end = lines.text.find(b"\n", blank) + 1 or len(lines.text)
    return Lines(lines.text[end:], lines.first + lines.text.count(b"\n", 0, end), lines.rejected)


def has_blank_lines(text: bytes) -> bool:
    """Whether lines of a text may be blank."""
    return text.startswith((b"\n", b"\r")) or b"\n\n" in text or b"\n\r" in text
