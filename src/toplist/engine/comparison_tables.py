"""Tables of a comparison: as text, and as rows for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from toplist.engine.statistics import Difference, Ratio, finite_or_none, number_texts, standard_error
from toplist.support.tables import aligned_lines

if TYPE_CHECKING:
    from toplist.engine.comparison import Comparison

BEST, CLOSE = "*", "~"  # the marks of a cell
LEGEND = f"{BEST} least of its column; {CLOSE} not clearly more (95% paired)"


def table_text(found: Comparison) -> str:
    """Plain-text tables: regret in percent of that of random lists, and as a multiple of the column's least."""
    shares = {
        (name, column): 100 * found.relative(name, column).value for name in found.policies for column in found.columns
    }
    digits = 2 if any(0 < share < 1 for share in shares.values()) else 1
    first = _table_lines(
        found,
        lambda column: [
            share + (found.mark(name, column) or " ")
            for name, share in zip(
                found.order, number_texts([shares[n, column] for n in found.order], digits), strict=True
            )
        ],
        after=" ",
    )
    second = _table_lines(
        found, lambda column: number_texts([found.over_best(name, column).value for name in found.order], 2)
    )
    title = f"Regret in % of that of {found.baseline}: {found.size()}"
    return "\n".join([title, *first, LEGEND, "", "Regret over the least of the column", *second])


def _table_lines(found: Comparison, cells: Callable[[str], Sequence[str]], after: str = "") -> list[str]:
    """Lines of a table with a row per policy; `cells` gives the texts of a column."""
    names = ["policy", *(" ".join(name.split()) for name in found.order)]
    return aligned_lines([names, *([" ".join(column.split()) + after, *cells(column)] for column in found.columns)])


def table_rows(found: Comparison) -> list[dict[str, Any]]:
    """One dict per column and policy; values that are undefined, as the interval of one run, are None."""
    rows = []
    for column in found.columns:
        for name in found.order:
            row: dict[str, Any] = {"column": column, "policy": name, "runs": found.runs(column)}
            row |= {
                "regret": found.mean(name, column),
                "standard_error": float(standard_error(found.of(name, column))),
            }
            for what in ("relative", "over_best"):
                ratio: Ratio = getattr(found, what)(name, column)
                row |= {what: ratio.value, f"{what}_low": ratio.low, f"{what}_high": ratio.high}
            for what in ("against_best", "against_random"):
                difference: Difference = getattr(found, what)(name, column)
                row |= {what: difference.mean, f"{what}_low": difference.low, f"{what}_high": difference.high}
            row |= {"best": found.mark(name, column) == BEST, "close": found.mark(name, column) == CLOSE}
            rows.append(
                {key: finite_or_none(value) if isinstance(value, float) else value for key, value in row.items()}
            )
    return rows
