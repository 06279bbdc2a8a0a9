"""Parquet files, whose texts are read as codes where the file has them so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toplist.core.problem import refuse
from toplist.logs.arrow import arrow
from toplist.logs.formats.pieces import Piece

MAGIC = b"PAR1"


class ParquetSource:
    """A Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    """

    unit = "row"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = str(path)
        self._done = 0

    @cached_property
    def _file(self) -> Any:
        lib = arrow.lib
        try:
            return arrow.parquet.ParquetFile(self._path, memory_map=True)
        except (lib.ArrowInvalid, OSError) as problem:
            accepted = "a whole Parquet file, with its end, where Parquet says what it holds"
            raise refuse("The log", self.name, accepted, f"copy or write it again ({problem})") from None

    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        return tuple(self._file.schema_arrow.names)

    def first_line(self) -> str:
        """Nothing: it is no text."""
        return ""

    def pieces(self, columns: Mapping[str, str], rows: int) -> Iterator[Piece]:
        """Some columns in pieces of at most this many rows."""
        names = list(dict.fromkeys(columns.values()))
        file = self._with_codes(names)
        leaves = [file.schema.column(place).path for place in range(len(file.schema))]
        chosen = [leaf for leaf in leaves if leaf in names or leaf.split(".")[0] in names]
        number = 0
        try:
            # By row group: where one ends, nested texts with other codes begin.
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(rows, row_groups=[group], columns=chosen, use_threads=False):
                    self._done = number + len(batch)
                    yield Piece(batch, np.arange(number + 1, self._done + 1))
                    number = self._done
        except (arrow.lib.ArrowInvalid, OSError) as problem:
            place = f"its rows after {number:,} cannot be read: {problem}"
            raise refuse("The log", self.name, "a whole Parquet file", f"copy or write it again ({place})") from None

    def _with_codes(self, names: list[str]) -> Any:
        """The file, opened so that texts stay the codes as which Parquet usually stores them."""
        schema = self._file.schema
        texts = [
            column.path
            for column in (schema.column(place) for place in range(len(schema)))
            if column.physical_type == "BYTE_ARRAY" and column.path.split(".")[0] in names
        ]
        return arrow.parquet.ParquetFile(self._path, memory_map=True, read_dictionary=texts) if texts else self._file

    def done(self) -> tuple[int, int]:
        """Rows read, and rows."""
        return self._done, self._file.metadata.num_rows
