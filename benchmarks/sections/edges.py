"""What does toplist cost at the edges of its range, compared with baselines in the same run?

The tables come from the modules `edges_*` beside this one, each with a function `measure`, and each a section by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator

import benchmarks.sections
from benchmarks.measure import Effort
from benchmarks.report import Table

PREFIX = "edges_"


def measure(effort: Effort) -> Iterator[Table]:
    """The tables of all modules, in the order of their names, each when it is done."""
    for piece in pieces().values():
        yield from piece(effort)


def pieces() -> dict[str, Callable[[Effort], Iterable[Table]]]:
    """What measures the tables of each module, by its name."""
    found = sorted(each.name for each in pkgutil.iter_modules(benchmarks.sections.__path__))
    return {
        name: lambda effort, name=name: importlib.import_module(f"benchmarks.sections.{name}").measure(effort)
        for name in found
        if name.startswith(PREFIX)
    }
