"""The modules of pyarrow, imported when a reader first needs one: a log made in Python needs none of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from toplist.support.files import import_optional

EXTRA = "logs"


class ArrowModules:
    """The modules of pyarrow by their short names."""

    @cached_property
    def lib(self) -> Any:
        """Types, arrays and tables."""
        return import_optional("pyarrow", EXTRA)

    @cached_property
    def compute(self) -> Any:
        """Functions of arrays."""
        return import_optional("pyarrow.compute", EXTRA)

    @cached_property
    def csv(self) -> Any:
        """Delimited text."""
        return import_optional("pyarrow.csv", EXTRA)

    @cached_property
    def json(self) -> Any:
        """JSON lines."""
        return import_optional("pyarrow.json", EXTRA)

    @cached_property
    def parquet(self) -> Any:
        """Parquet files."""
        return import_optional("pyarrow.parquet", EXTRA)


arrow = ArrowModules()
