"""Tables for people to read, and for programs: aligned text, rows, a data frame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from toplist.core.problem import nearest, refuse
from toplist.support.files import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame

LONGEST = 40  # rows of a table that is printed; rows() and to_frame() have all


def aligned_lines(columns: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Lines of columns that stand under each other; those named in `left` are flush left, the others right."""
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for cells in zip(*columns, strict=True):
        padded = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def count_text(count: int, word: str) -> str:
    """A count with its word.

    >>> count_text(1, "run"), count_text(20_000, "step")
    ('1 run', '20,000 steps')
    """
    return f"{count:,} {word}" + ("" if count == 1 else "s")


class Table:
    """Rows with names, in an order that matters; prints as aligned text.

    >>> table = Table("Two items", ("item", "mean", "why"), [("a", 0.5, "it was seen"), ("b", None, "")])
    >>> print(table)
    Two items
    item   mean  why
    a     0.500  it was seen
    b         -
    >>> table["a"]["mean"]
    0.5
    """

    def __init__(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.title = title
        self.columns = tuple(columns)
        self._rows = [tuple(row) for row in rows]

    def rows(self) -> list[dict[str, Any]]:
        """One dict per row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __getitem__(self, name: Any) -> dict[str, Any]:
        """The row that begins with this name."""
        for row in self._rows:
            if row[0] == name:
                return dict(zip(self.columns, row, strict=True))
        advice = nearest(name, [str(row[0]) for row in self._rows], "choose one of the table's")
        raise refuse(f"The {self.columns[0]}", name, "in the table", advice)

    def __str__(self) -> str:
        shown = self._rows[:LONGEST]
        columns = [[row[place] for row in shown] for place in range(len(self.columns))]
        texts = [place for place, column in enumerate(columns) if any(isinstance(value, str) for value in column)]
        cells = [[name, *_cells(column)] for name, column in zip(self.columns, columns, strict=True)]
        more = [f"... and {count_text(len(self) - LONGEST, 'row')} more"] if len(self) > LONGEST else []
        return "\n".join([self.title, *aligned_lines(cells, texts), *more])

    __repr__ = __str__  # so that a bare call in a notebook or shell shows the table

    def to_frame(self) -> DataFrame:
        """The rows as a pandas data frame."""
        frame: DataFrame = import_optional("pandas", "frames").DataFrame(self._rows, columns=list(self.columns))
        return frame


def _cells(values: Sequence[Any]) -> list[str]:
    """One column's values: whole numbers without decimals where all are whole, and - for what nobody knows."""
    finite = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    kind = ",.0f" if all(value.is_integer() for value in finite) else ",.3f"
    texts = []
    for value in values:
        if value is None:
            texts.append("-")
        elif isinstance(value, str):
            texts.append(" ".join(value.split()))  # a line break in a name must not break the table
        else:
            texts.append("infinite" if math.isinf(value) else format(value, kind if isinstance(value, float) else ","))
    return texts
