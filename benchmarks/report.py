"""Benchmark tables as aligned text and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from toplist.support.machine import processor_name

Show = Callable[[Any], str]


class Table(NamedTuple):
    """A table; a cell of None is shown as a dash."""

    title: str
    columns: dict[str, Show]  # headings, and how their cells are formatted
    rows: list[dict[str, Any]]
    notes: Sequence[str] = ()


class Target(NamedTuple):
    """A number that a measurement must reach."""

    number: float
    at_most: bool = False

    def reached(self, measured: float) -> bool:
        """Whether the measurement reaches it."""
        return measured <= self.number if self.at_most else measured >= self.number


END = "<!-- end -->"
WORDS = ("algorithm", "size", "baseline", "what")  # columns that identify a row in the summary


def verdict_cells(measured: float, target: Target | None, unit: str = "") -> dict[str, Any]:
    """Cells with the target and the verdict."""
    if target is None:
        return {"target": None, "verdict": None}
    sign = "<=" if target.at_most else ">="
    verdict = "reached" if target.reached(measured) else "MISSED"
    return {"target": f"{sign} {target.number:g}{unit}", "verdict": verdict}


def per_second(value: float) -> str:
    """A rate with three digits and a prefix."""
    for limit, prefix in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {prefix}/s"
    return f"{value:.3g} /s"


def nanoseconds(seconds: float) -> str:
    """A duration with three digits in the unit that suits it."""
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= limit:
            return f"{seconds / limit:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def times(value: float) -> str:
    """A ratio."""
    return f"{value:.3g} x"


def decimals(digits: int) -> Show:
    """Format with a number of digits after the point."""
    return lambda value: f"{value:.{digits}f}"


def render(table: Table) -> str:
    """The table as text."""
    lines = [[("-" if row.get(name) is None else show(row[name])) for name, show in table.columns.items()]
             for row in table.rows]  # fmt: skip
    widths = [max(len(cell) for cell in column) for column in zip(table.columns, *lines, strict=True)]
    text = [table.title, ""]
    for line in [list(table.columns), ["-" * width for width in widths], *lines]:
        # The first column, of words, is flush left; numbers are flush right.
        first, *others = (cell.ljust(widths[0]) if index == 0 else cell.rjust(widths[index])
                          for index, cell in enumerate(line))  # fmt: skip
        text.append("  ".join(["  " + first, *others]).rstrip())
    return "\n".join([*text, *(f"  {note}" for note in table.notes)])


def markdown(table: Table) -> str:
    """The table in Markdown, for a document."""
    lines = [list(table.columns), ["---"] * len(table.columns)]
    lines += [[("-" if row.get(name) is None else show(row[name])) for name, show in table.columns.items()]
              for row in table.rows]  # fmt: skip
    return "\n".join([f"### {table.title}", "", *(f"| {' | '.join(line)} |" for line in lines), "", *table.notes])


def mark(table: Table) -> str:
    """The line before a table in a document."""
    return f"<!-- {table.title} -->\n"


def insert_tables(document: str, tables: Sequence[Table]) -> str:
    """A document with new tables, each between its mark and the next END; tables without a mark are left out."""
    for table in tables:
        before, found, after = document.partition(mark(table))
        if found:
            body = markdown(table).split("\n", 2)[2]  # the document has headings of its own
            document = f"{before}{found}{body}\n{END}{after.partition(END)[2]}"
    return document


def summary(tables: Sequence[Table]) -> str:
    """Number of targets reached, and those missed."""
    judgements = [row for table in tables for row in table.rows if row.get("verdict") is not None]
    missed = [row for row in judgements if row["verdict"] == "MISSED"]
    lines = [f"{len(judgements) - len(missed)} of {len(judgements)} targets reached."]
    for row in missed:
        words = [value for name, value in row.items() if isinstance(value, str) and name in WORDS]
        lines.append(f"  MISSED {', '.join(words)}: wanted {row['target']}")
    return "\n".join(lines)


def as_json(table: Table) -> dict[str, Any]:
    """The table as plain data."""
    return {"title": table.title, "rows": table.rows, "notes": list(table.notes)}


def machine() -> dict[str, Any]:
    """The machine and versions of the measurement."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "processor": processor_name(),
        "cores": cores,
        "load": load,
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "llvmlite", "toplist")},
    }
