"""Which experiments there are: every folder `<paper>/<figure>` here that has an `EXPERIMENT`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from toplist import experiments
from toplist.core.problem import InvalidInput, nearest
from toplist.experiments.experiment import Experiment


@cache
def library() -> dict[str, Experiment]:
    """All experiments by name, paper by paper.

    >>> library()["kveton2015/table1"].data
    ''
    """
    found: dict[str, Experiment] = {}
    for paper in pkgutil.iter_modules(experiments.__path__):
        if paper.ispkg:
            package = importlib.import_module(f"{experiments.__name__}.{paper.name}")
            for figure in pkgutil.iter_modules(package.__path__):
                if figure.ispkg:
                    module = importlib.import_module(f"{package.__name__}.{figure.name}")
                    found[f"{paper.name}/{figure.name}"] = module.EXPERIMENT
    return dict(sorted(found.items()))


def chosen(names: list[str]) -> dict[str, Experiment]:
    """The experiments that are named, each by `paper/figure`, or all of a paper by its name."""
    known = library()
    wanted: dict[str, Experiment] = {}
    for name in names:
        own = {each: experiment for each, experiment in known.items() if name in (each, each.partition("/")[0])}
        if not own:
            papers = sorted({each.partition("/")[0] for each in known})
            advice = nearest(name, [*known, *papers], "`toplist reproduce` lists all")
            raise InvalidInput(
                f"There is no experiment {name!r}, but there are those of {', '.join(papers)}; {advice}."
            )
        wanted |= own
    return {name: known[name] for name in known if name in wanted}
