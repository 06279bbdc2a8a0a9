"""Writes many rows by few calls of SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import apsw

MOST_ROWS = 16  # of one call


class BulkStatement:
    """A statement for any number of rows.

    A call per row would cost more than the row itself. Numbers of rows are divided into powers of two, so that there
    are few forms of the statement, which the connection keeps compiled.

    Parameters
    ----------
    before
        The text before the rows.
    row
        The text of a row: a place for each of its values.
    after
        The text after the rows.
    """

    def __init__(self, before: str, row: str, after: str = "") -> None:
        counts = [1 << power for power in range(MOST_ROWS.bit_length())]
        self._forms = {count: before + ", ".join([row] * count) + after for count in counts}

    def execute(self, connection: apsw.Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Execute it for rows, in their order."""
        at, left = 0, len(rows)
        while left:
            count = MOST_ROWS if left >= MOST_ROWS else 1 << (left.bit_length() - 1)
            connection.execute(self._forms[count], tuple(chain.from_iterable(rows[at : at + count])))
            at, left = at + count, left - count
