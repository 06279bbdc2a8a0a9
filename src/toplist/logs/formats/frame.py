"""Arrow tables, and frames that can be given as one: Polars, pandas and everything with Arrow's protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from toplist.core.problem import refuse
from toplist.logs.arrow import arrow
from toplist.logs.formats.pieces import Piece


class FrameSource:
    """A table in memory.

    Parameters
    ----------
    frame : object
        Arrow table, record batch or reader of batches; Polars or pandas frame.

    Raises
    ------
    InvalidInput
        If it is no table.
    """

    unit = "row"

    def __init__(self, frame: Any) -> None:
        self.name = type(frame).__name__
        lib = arrow.lib
        if not hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "__dataframe__"):
            accepted = "a path, or a table: Arrow, Polars or pandas"
            raise refuse("The log", frame, accepted, "give a file, a folder or a frame")
        try:
            self._table = lib.table(frame)
        except (lib.ArrowInvalid, lib.ArrowTypeError) as problem:
            accepted = "a frame whose columns have one type each"
            raise refuse("The log", self.name, accepted, f"correct this: {problem}") from None
        for place, field in enumerate(self._table.schema):
            if lib.types.is_string_view(field.type):  # as Polars has them; many functions of Arrow lack them
                texts = self._table.column(place).cast(lib.large_string())
                self._table = self._table.set_column(place, field.name, texts)
        self._done = 0

    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        return tuple(self._table.column_names)

    def first_line(self) -> str:
        """Nothing: it is no text."""
        return ""

    def pieces(self, columns: Mapping[str, str], rows: int) -> Iterator[Piece]:
        """Some columns in pieces of at most this many rows."""
        table = self._table.select(list(dict.fromkeys(columns.values())))
        for begin in range(0, len(table), rows):
            some = table.slice(begin, rows).combine_chunks()
            (batch,) = some.to_batches()
            self._done = begin + len(batch)
            yield Piece(batch, np.arange(begin + 1, begin + len(batch) + 1))

    def done(self) -> tuple[int, int]:
        """Rows read, and rows."""
        return self._done, len(self._table)
