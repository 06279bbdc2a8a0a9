"""What does toplist cost at the edges of its range, compared with baselines in the same run?

The tables come from the modules `edges_*` beside this one, each with a function `measure` and a section by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial

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
    names = sorted(each.name for each in pkgutil.iter_modules(benchmarks.sections.__path__))
    return {name: partial(measure_piece, name) for name in names if name.startswith(PREFIX)}


def measure_piece(name: str, effort: Effort) -> Iterable[Table]:
    """The tables of one module, which is imported only now."""
    tables: Iterable[Table] = importlib.import_module(f"benchmarks.sections.{name}").measure(effort)
    return tables
