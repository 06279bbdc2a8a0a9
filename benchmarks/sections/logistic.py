"""What do the policies over logistic features cost, compared with hand-written loops, and after many lists?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contenders import GL_CDCM, GL_CDCM_SGD, SEED, ContextAlgorithm, Contexts
from benchmarks.measure import MOST_REPEATS, Effort, ratio
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells
from benchmarks.sections import baselines
from benchmarks.speedup import COLUMNS
from toplist import clicks
from toplist.core.randomness import branch
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.policies import make

FUSED = 0.8
ROUNDS = 3


class Problem(NamedTuple):
    """An algorithm with the size of its problem and the number of steps."""

    algorithm: ContextAlgorithm
    size: Contexts
    steps: int
    most: float | None  # times the cost of a first step that a late one may have


PROBLEMS = (
    Problem(GL_CDCM_SGD, Contexts(100, 10, 200), 4000, 1.1),
    Problem(GL_CDCM, Contexts(100, 10, 20), 2000, None),
    Problem(GL_CDCM, Contexts(100, 10, 200, fresh=False), 1000, None),
)
QUICK = tuple(
    problem._replace(size=problem.size._replace(items=12, positions=3, dimension=5), steps=100) for problem in PROBLEMS
)


def measure(effort: Effort) -> Sequence[Table]:
    """Against fused loops, against NumPy, and over time."""
    problems = QUICK if effort.quick else PROBLEMS
    return [*compare(problems, effort), slowing(problems, effort)]


def compare(problems: Sequence[Problem], effort: Effort) -> list[Table]:
    """One table against the fused loop, one against NumPy."""
    with_fused: list[dict[str, Any]] = []
    with_numpy: list[dict[str, Any]] = []
    long = effort._replace(seconds=baselines.NUMPY_SECONDS * effort.seconds)
    for algorithm, size, _, _ in problems:
        wanted = {(algorithm.title, size.items): FUSED}
        with_fused += baselines.compare(algorithm, size, {"fused": algorithm.expert(size)}, wanted, effort)
        with_numpy += baselines.compare(algorithm, size, {"NumPy": algorithm.numpy(size)}, {}, long)
    notes = [
        "CPU time per step, from the first step on, including the draws of contexts; ratio: speed-up of toplist,",
        "median over rounds. Fresh: features are drawn at every step.",
    ]
    same = ["The fused loop draws the same contexts in the same way, and finds the estimate by the same steps."]
    own = ["NumPy draws its own contexts, keeps every row, and solves Newton's equations with LAPACK."]
    return [
        Table("Contexts: toplist compared with a hand-fused compiled loop", COLUMNS, with_fused, notes + same),
        Table("Contexts: toplist compared with vectorised NumPy loops", COLUMNS, with_numpy, notes + own),
    ]


def slowing(problems: Sequence[Problem], effort: Effort) -> Table:
    """Whether policies slow down as they learn."""
    rows = []
    for problem in problems:
        turns = [over_time(problem, turn) for turn in range(min(effort.rounds, ROUNDS))]
        early, late, world = ([getattr(turn, name) for turn in turns] for name in ("early", "late", "world"))
        slower = ratio(minus(late, world), minus(early, world)).middle
        wanted = None if problem.most is None else Target(problem.most, at_most=True)
        rows.append(
            {
                "algorithm": problem.algorithm.title,
                "size": str(problem.size),
                "n": problem.steps,
                "first tenth": median(early),
                "last tenth": median(late),
                "world alone": median(world),
                "growth": slower,
                **verdict_cells(slower, wanted),
            }
        )
    columns: dict[str, Show] = {
        "algorithm": str,
        "size": str,
        "n": str,
        "first tenth": nanoseconds,
        "last tenth": nanoseconds,
        "world alone": nanoseconds,
        "growth": times,
        "target": str,
        "verdict": str,
    }
    notes = [
        "CPU time per step in the first and in the last tenth of a run, the world's included; both are played in turn,",
        "so that other load on the machine affects both. World alone: a step with random lists. Growth excludes the",
        "world's share.",
    ]
    return Table("Contexts: whether policies slow down", columns, rows, notes)


def minus(all_of_it: Sequence[float], part: Sequence[float]) -> list[float]:
    """Cost without the world's share, in every round."""
    return [whole - less for whole, less in zip(all_of_it, part, strict=True)]


class Tenths(NamedTuple):
    """Seconds of CPU time per step."""

    early: float
    late: float
    world: float


def over_time(problem: Problem, turn: int) -> Tenths:
    """The first and the last tenth of a run, and random lists in the same world, in turn."""
    tenth = problem.steps // 10

    def player(policy: str, run: int) -> Player:
        setup = RunSetup.of(make(policy), problem.size.world(), clicks.ChangingDCM(), OneSample(), problem.steps)
        fresh = Player(setup, branch(SEED, turn * MOST_REPEATS + run), np.array([problem.steps]))
        fresh.play(1)
        return fresh

    policy = problem.algorithm.policy
    late = player(policy, 0)
    late.play(problem.steps - tenth)
    several = {"early": player(policy, 1), "late": late, "world": player("random", 1)}
    spent = dict.fromkeys(several, 0.0)
    for _ in range(10):
        for name, each in several.items():
            begun = time.process_time()
            each.play(each.step + tenth // 10)
            spent[name] += time.process_time() - begun
    return Tenths(**{name: seconds / (tenth // 10 * 10) for name, seconds in spent.items()})
