"""The text of a cell in a table of models."""

from __future__ import annotations

import math
from typing import Any

WHOLE = ("parameters", "impossible")  # columns without decimals


def cell_text(column: str, value: Any) -> str:
    """A cell of a table.

    >>> cell_text("per list", -1.23456), cell_text("parameters", 1200), cell_text("low", float("nan"))
    ('-1.2346', '1,200', '-')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return " ".join(value.split())
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:,.0f}" if column in WHOLE else f"{value:,.2f}" if column == "seconds" else f"{value:,.4f}"
