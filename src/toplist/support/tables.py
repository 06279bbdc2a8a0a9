"""Tables as aligned text, as comma-separated values, as rows and as a data frame."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from toplist.core.problem import nearest, refuse
from toplist.support.files import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame

IDS = ("item", "query")  # columns of ids, which are printed as they are, also integers
LONGEST = 40  # rows of a printed table; rows() and to_frame() have all


def aligned_lines(columns: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Lines of a table, given by columns; columns whose index is in `left` are flush left, the others right."""
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for cells in zip(*columns, strict=True):
        padded = [
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def series(words: Sequence[str], last: str = "and") -> str:
    """Words one after the other, as in a sentence.

    >>> series(["segment", "limit", "person"]), series(["port"], "or")
    ('segment, limit and person', 'port')
    """
    return f" {last} ".join([*([", ".join(words[:-1])] if words[1:] else []), *words[-1:]])


def count_text(count: int, word: str) -> str:
    """A count with its noun in the singular or plural.

    >>> count_text(1, "run"), count_text(20_000, "step")
    ('1 run', '20,000 steps')
    """
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def as_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as comma-separated values with a header.

    >>> as_csv([{"policy": "a", "regret": 0.5}], ("policy", "regret"))
    '"policy","regret"\\n"a",0.5\\n'
    """
    file = io.StringIO()
    # Texts are quoted: a carriage return in a name must not end the line.
    writer = csv.DictWriter(file, columns, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


class LazyRows(Protocol):
    """Rows that are made when they are read."""

    def __len__(self) -> int: ...

    def first(self, count: int) -> list[tuple[Any, ...]]:
        """The first rows, at most `count`."""
        ...

    def named(self, name: Any) -> tuple[Any, ...] | None:
        """The row whose first value is this name, or None."""
        ...


class Table:
    """An ordered table whose rows have names; prints as aligned text, of at most 40 rows.

    Parameters
    ----------
    title : str
        First line of the printed table.
    columns : sequence of str
        Names of the columns; the first column has the names of the rows.
    rows : sequence of sequence, or LazyRows
        Values of each row; None and NaN print as "-".
    decimals : int, default 3
        Decimals of printed numbers.

    Examples
    --------
    >>> table = Table("Two items", ("item", "mean", "why"), [("a", 0.5, "it was seen"), ("b", None, "")])
    >>> print(table)
    Two items
    item   mean  why
    a     0.500  it was seen
    b         -
    >>> table["a"]["mean"]
    0.5
    """

    def __init__(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]] | LazyRows, decimals: int = 3
    ) -> None:
        self.title, self._decimals = title, decimals
        self.columns = tuple(columns)
        given: Any = rows
        self._lazy: Any = given if hasattr(rows, "first") else None
        self._made: list[tuple[Any, ...]] | None = None if self._lazy is not None else [tuple(row) for row in given]

    @property
    def _rows(self) -> list[tuple[Any, ...]]:
        if self._made is None:
            self._made, self._lazy = self._lazy.first(len(self._lazy)), None
        return self._made

    def _first(self, count: int) -> list[tuple[Any, ...]]:
        return self._lazy.first(count) if self._made is None else self._made[:count]

    def rows(self, count: int | None = None) -> list[dict[str, Any]]:
        """One dict per row, from columns to values; the first `count` rows are made faster than all."""
        rows = self._rows if count is None else self._first(count)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]

    def __len__(self) -> int:
        return len(self._lazy if self._made is None else self._made)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __getitem__(self, name: Any) -> dict[str, Any]:
        """The row whose first value is this name."""
        if self._made is None:
            found = self._lazy.named(name)
        else:
            found = next((row for row in self._made if row[0] == name), None)
        if found is not None:
            return dict(zip(self.columns, found, strict=True))
        advice = nearest(name, [str(row[0]) for row in self._rows], "choose a name in the table")
        raise refuse(f"The {self.columns[0]}", name, "in the table", advice)

    def cells(self) -> list[list[str]]:
        """The texts of all rows, as they are printed."""
        columns = [_cells([row[index] for row in self._rows], self._decimals) for index in range(len(self.columns))]
        return [list(row) for row in zip(*columns, strict=True)]

    def __str__(self) -> str:
        shown = self._first(LONGEST)
        columns = [[row[index] for row in shown] for index in range(len(self.columns))]
        columns = [
            [None if value is None else str(value) for value in column] if name in IDS else column
            for name, column in zip(self.columns, columns, strict=True)
        ]
        texts = [index for index, column in enumerate(columns) if any(isinstance(value, str) for value in column)]
        cells = [[name, *_cells(column, self._decimals)] for name, column in zip(self.columns, columns, strict=True)]
        more = [f"... and {count_text(len(self) - LONGEST, 'row')} more"] if len(self) > LONGEST else []
        return "\n".join([self.title, *aligned_lines(cells, texts), *more])

    __repr__ = __str__  # so that a bare call in a notebook or shell shows the table

    def to_frame(self) -> DataFrame:
        """The rows as a pandas data frame (needs the extra `frames`)."""
        frame: DataFrame = import_optional("pandas", "frames").DataFrame(self._rows, columns=list(self.columns))
        return frame


def _cells(values: Sequence[Any], decimals: int) -> list[str]:
    """Texts of a column: no decimals if all numbers are whole, and - for None and NaN."""
    finite = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    kind = ",.0f" if all(value.is_integer() for value in finite) else f",.{decimals}f"
    texts = []
    for value in values:
        if isinstance(value, str):
            texts.append(" ".join(value.split()))  # a line break in a name must not break the table
        elif value is None or math.isnan(value):
            texts.append("-")
        elif math.isinf(value):
            texts.append("infinite" if value > 0 else "-infinite")
        else:
            texts.append(format(value, kind if isinstance(value, float) else ","))
    return texts
