"""What does toplist cost at the edges of its range, compared with baselines in the same run?

The tables come from the modules `edges_*` beside this one, each with a function `measure`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

import benchmarks.sections
from benchmarks.measure import Effort
from benchmarks.report import Table

PREFIX = "edges_"


def measure(effort: Effort) -> Sequence[Table]:
    """The tables of all modules, in the order of their names."""
    return [table for name in modules() for table in importlib.import_module(name).measure(effort)]


def modules() -> list[str]:
    """Names of the modules with tables."""
    found = pkgutil.iter_modules(benchmarks.sections.__path__)
    return sorted(f"benchmarks.sections.{each.name}" for each in found if each.name.startswith(PREFIX))
