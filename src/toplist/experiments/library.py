"""Finds the experiments: every folder `<paper>/<figure>` here with an `EXPERIMENT`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
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


def choose(names: Sequence[str] | None) -> dict[str, Experiment]:
    """The named experiments; a name is `paper/figure`, or a paper for all of its experiments. None chooses all."""
    known = library()
    if names is None:
        return dict(known)
    chosen: dict[str, Experiment] = {}
    for name in names:
        own = {each: experiment for each, experiment in known.items() if name in (each, each.partition("/")[0])}
        if not own:
            papers = sorted({each.partition("/")[0] for each in known})
            advice = nearest(name, [*known, *papers], "`toplist reproduce` lists all")
            raise InvalidInput(
                f"There is no experiment {name!r}, but there are those of {', '.join(papers)}; {advice}."
            )
        chosen |= own
    return {name: known[name] for name in known if name in chosen}
