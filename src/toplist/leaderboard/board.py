"""The leaderboard: standings over all problems and per problem, as a table, as JSON and as a page."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toplist import __version__
from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats, Ints
from toplist.leaderboard.contenders import YARDSTICK, Contender
from toplist.leaderboard.play import PlayedCell
from toplist.leaderboard.ranks import PolicyStanding, standings
from toplist.leaderboard.suite import Suite, SuiteProblem
from toplist.leaderboard.tuning import Tuned
from toplist.support.files import AnyPath, write_text
from toplist.support.machine import code_commit, processor_name
from toplist.support.tables import aligned_lines

FORMAT = {"format": "toplist.Leaderboard", "format_version": 1}
TUNED_BY = ("suite", "tuning", "digest", "version", "steps", "runs", "seed")  # what says which tuned parameters
EVERY, FEATURES = "every problem", "problems with features"


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard:
    """What came out of a suite.

    Parameters
    ----------
    problems : sequence of SuiteProblem
        The problems.
    contenders : sequence of Contender
        The policies.
    horizons : ndarray of int
        Steps at which regret was noted; the last is the number of steps.
    cells : dict
        Per problem and label what came out.
    settings : dict
        Suite and its changes, steps, runs, seed, engine and tuned parameters: `settings_of`.
    """

    problems: Sequence[SuiteProblem]
    contenders: Sequence[Contender]
    horizons: Ints
    cells: dict[str, dict[str, PlayedCell]]
    settings: dict[str, Any]

    def divisions(self) -> dict[str, list[SuiteProblem]]:
        """Problems that are ranked together: all, for policies that need no features, and those with features."""
        found = {EVERY: list(self.problems), FEATURES: [problem for problem in self.problems if problem.features]}
        return {name: problems for name, problems in found.items() if problems}

    def normalised(self, problem: str, label: str, horizon: int = -1) -> Floats:
        """Regret per run over the mean regret of random lists, at a horizon."""
        cells = self.cells[problem]
        scale = float(cells[YARDSTICK].regret[:, horizon].mean())
        if scale <= 0.0:
            raise InvalidInput(f"Random lists lose nothing on {problem!r}, so it cannot rank policies; leave it out.")
        return np.asarray(cells[label].regret[:, horizon] / scale, dtype=np.float64)

    def overall(self, division: str, horizon: int = -1) -> list[PolicyStanding]:
        """Standings over the problems of a division: the mean of normalised regret, each problem with equal weight."""
        problems = self.divisions()[division]
        labels = [each.label for each in self.contenders if all(each.label in self.cells[one.name] for one in problems)]
        return standings(
            {
                label: np.mean([self.normalised(problem.name, label, horizon) for problem in problems], axis=0)
                for label in labels
            }
        )

    def on_problem(self, problem: str, horizon: int = -1) -> list[PolicyStanding]:
        """Standings on one problem."""
        return standings({label: self.normalised(problem, label, horizon) for label in self.cells[problem]})

    def cost(self, label: str, division: str) -> tuple[float, int | None]:
        """Mean CPU time of a list in microseconds, and the largest state in bytes, over the problems of a division.

        The size is None if it is unknown on a problem.
        """
        costs = [self.cells[problem.name][label].cost for problem in self.divisions()[division]]
        return float(np.mean([cost.microseconds for cost in costs])), largest_size(cost.size for cost in costs)

    def violated(self, label: str) -> dict[str, tuple[str, ...]]:
        """Per problem the assumptions of a policy that it violates, where there are some."""
        contender = next(each for each in self.contenders if each.label == label)
        found = {
            each.name: contender.violated(each) for each in self.problems if each.name in self.cells
            and label in self.cells[each.name]
        }  # fmt: skip
        return {name: violated for name, violated in found.items() if violated}

    def table(self, division: str = EVERY) -> str:
        """The standings of a division as text."""
        rows = self.overall(division)
        problems = self.divisions()[division]
        heads = ["rank", "rank, 95%", "policy", "regret", "us/list", "KB", "violated on"]
        cells = [heads]
        for each in rows:
            microseconds, size = self.cost(each.label, division)
            broken = sum(problem.name in self.violated(each.label) for problem in problems)
            cells.append(
                [
                    str(each.rank), f"{each.best}-{each.worst}", each.label,
                    f"{each.score:.4f} ± {(each.high - each.low) / 2:.4f}", f"{microseconds:.2f}",
                    kilobytes(size), f"{broken} of {len(problems)}",
                ]
            )  # fmt: skip
        return "\n".join(aligned_lines([list(column) for column in zip(*cells, strict=True)], left=(2,)))

    def __str__(self) -> str:
        """The tables of all divisions."""
        parts = [f"{name[0].upper()}{name[1:]}\n{self.table(name)}" for name in self.divisions()]
        return "\n\n".join(
            [*parts, "regret: that of random lists is 1; us/list: CPU time; KB: size of the state, ? if unknown"]
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {
            **FORMAT,
            "version": __version__,
            "commit": code_commit(),
            "machine": machine(),
            "settings": self.settings,
            "horizons": self.horizons.tolist(),
            "problems": [problem._asdict() for problem in self.problems],
            "policies": [
                {
                    "label": each.label, "own": each.own,
                    "parameters": {kind: repr(policy) for kind, policy in each.policies.items()},
                    "violated": self.violated(each.label),
                }
                for each in self.contenders
            ],
            "standings": {
                division: {
                    str(steps): [each._asdict() for each in self.overall(division, at)]
                    for at, steps in enumerate(self.horizons.tolist())
                }
                for division in self.divisions()
            },
            "results": {
                problem: {
                    label: {"regret": cell.regret.tolist(), **cell.cost._asdict()} for label, cell in cells.items()
                }
                for problem, cells in self.cells.items()
            },
        }  # fmt: skip

    def json_text(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.as_dict(), indent=1) + "\n"

    def to_json(self, path: AnyPath) -> None:
        """Write everything as JSON."""
        write_text(path, "The leaderboard", self.json_text())


def settings_of(
    suite: Suite, steps: int, runs: int, seed: int, engine: str = "cpu", tuned: Tuned | None = None
) -> dict[str, Any]:
    """What a board was played with, as its JSON says it.

    Parameters
    ----------
    suite : Suite
        The problems that are played.
    steps, runs, seed : int
        As for `play_suite`.
    engine : str, default "cpu"
        What played: "cpu", "ray" or "gpu".
    tuned : Tuned, optional
        The tuned parameters, if there are some.

    Returns
    -------
    dict
        The settings. A suite of which something was left out or added is marked as changed.
    """
    return {
        "suite": suite.version, "changes": list(suite.changes), "digest": suite.digest,
        "problems": len(suite.problems), "steps": steps, "runs": runs, "seed": seed, "engine": engine,
        "tuned": None if tuned is None else {name: tuned.settings[name] for name in TUNED_BY if name in tuned.settings},
    }  # fmt: skip


def suite_name(settings: dict[str, Any]) -> str:
    """The version of the suite, and how it was changed.

    >>> suite_name({"suite": 2, "changes": ["3 of 26 problems chosen"]})
    '2, changed: 3 of 26 problems chosen'
    """
    changes = settings.get("changes", [])
    return f"{settings['suite']}, changed: {', '.join(changes)}" if changes else f"{settings['suite']}"


def largest_size(sizes: Iterable[int | None]) -> int | None:
    """The largest number of bytes; None if one is unknown."""
    known = list(sizes)
    return None if None in known else max(size for size in known if size is not None)


def kilobytes(size: int | None) -> str:
    """A number of bytes for a table.

    >>> kilobytes(1536), kilobytes(None)
    ('1.5', '?')
    """
    return "?" if size is None else f"{size / 1024:.1f}"


def machine() -> dict[str, Any]:
    """The machine on which times were measured."""
    return {
        "system": platform.system(), "architecture": platform.machine(), "processor": processor_name(),
        "cores": os.cpu_count() or 1, "python": platform.python_version(),
    }  # fmt: skip
