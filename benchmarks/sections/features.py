"""What do the policies over features cost: beside loops by hand, with ever more items, and after many lists?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contenders import LIN_UCB, LSB, LSB_GREEDY, SEED, Topics, engine
from benchmarks.measure import MOST_REPEATS, Effort, exponent, ratio, repeats_for, rough, rounds_of, timed
from benchmarks.report import Show, Table, Target, judged, nanoseconds, times
from benchmarks.sections import baselines
from benchmarks.sections.growth import cost_or_exponent
from toplist import clicks, worlds
from toplist.engine.player import Player, Setting
from toplist.policies import make
from toplist.randomness import branch
from toplist.starts import OneSample

SPARSE, DENSE = Topics(1000, 8), Topics(1000, 8, each=0)
QUICK_SPARSE, QUICK_DENSE = Topics(60, 3, 6), Topics(60, 3, 6, each=0)
FUSED = 0.8
NUMPY = {(LSB.title, 2): 20.0, (LSB.title, 0): 3.0, (LIN_UCB.title, 2): 10.0, (LIN_UCB.title, 0): 3.0}

STEPS, QUICK_STEPS = 1000, 50
ROUNDS = 3
BY_ITEMS = tuple(Topics(items, 4) for items in (64, 256, 1024, 4096, 16_384))
BY_POSITIONS = tuple(Topics(1024, positions) for positions in (1, 2, 4, 8, 16, 32, 64))
QUICK_BY_ITEMS = tuple(Topics(items, 4, 6) for items in (16, 64, 256))
QUICK_BY_POSITIONS = tuple(Topics(64, positions, 6) for positions in (1, 4, 16))
LINEAR = Target(1.1, at_most=True)
GROWING = ((LSB, 2), (LIN_UCB, 0))  # which algorithm with how many topics of an item

LARGEST = ((LIN_UCB, Topics(100_000, 8, 32, each=0), 10.0), (LSB, Topics(100_000, 8), 20.0))  # most milliseconds
QUICK_LARGEST = ((LIN_UCB, Topics(200, 3, 6, each=0), 10.0), (LSB, Topics(200, 3, 6), 20.0))
LARGEST_STEPS = 100  # of a run at that size
LARGEST_ROUNDS = 5


class Clicked(NamedTuple):
    """A problem for the policies over logistic features."""

    title: str
    policy: str
    world: worlds.Contextual
    steps: int
    most: float | None  # times what a first step costs that a late one may

    def __str__(self) -> str:
        items, positions, dimension = self.world.items, self.world.positions, self.world.dimension
        return f"L={items} K={positions} d={dimension} {'fresh' if self.world.fresh else 'fixed'}"


LOGISTIC = (
    Clicked("GL-CDCM (SGD)", "gl-cdcm-sgd", worlds.Contextual(100, 10, 200), 4000, 1.1),
    Clicked("GL-CDCM", "gl-cdcm", worlds.Contextual(100, 10, 20), 2000, None),
    Clicked("GL-CDCM", "gl-cdcm", worlds.Contextual(100, 10, 200, fresh=False), 1000, None),
)
QUICK_LOGISTIC = tuple(
    each._replace(world=each.world._replace(items=12, positions=3, dimension=5), steps=100) for each in LOGISTIC
)


def measure(effort: Effort) -> Sequence[Table]:
    """Beside fused loops, beside NumPy, over L and K, at the largest size, and over time."""
    items = QUICK_BY_ITEMS if effort.quick else BY_ITEMS
    positions = QUICK_BY_POSITIONS if effort.quick else BY_POSITIONS
    return [
        *compare(effort),
        growth(f"Features: growth with the number of items L, at K={items[0].positions}", "L", items, effort),
        growth(f"Features: growth with the number of positions K, at L={positions[0].items}", "K", positions, effort),
        largest(effort),
        logistic(effort),
    ]


def compare(effort: Effort) -> list[Table]:
    """One table beside the fused loops, one beside NumPy."""
    with_fused: list[dict[str, Any]] = []
    with_numpy: list[dict[str, Any]] = []
    long = effort._replace(
        seconds=baselines.NUMPY_SECONDS * effort.seconds, rounds=min(effort.rounds, baselines.NUMPY_ROUNDS)
    )
    for algorithm in (LSB, LSB_GREEDY, LIN_UCB):
        for size in (QUICK_SPARSE, QUICK_DENSE) if effort.quick else (SPARSE, DENSE):
            wanted = {(algorithm.title, size.items): FUSED}
            with_fused += baselines.compare(algorithm, size, {"fused": algorithm.expert(size)}, wanted, effort)
            number = NUMPY.get((algorithm.title, size.each))
            wanted = {} if number is None else {(algorithm.title, size.items): number}
            with_numpy += baselines.compare(algorithm, size, {"NumPy": algorithm.numpy(size)}, wanted, long)
    notes = [
        "CPU time per step, from the first step on; ratio: how many times faster toplist is, the median over rounds.",
        f"Topics: {SPARSE.each} of {SPARSE.dimension} per item (sparse), or all of them (dense); cascade users.",
    ]
    tricks = [
        "Sparse: only items that share a topic with the item just placed are scored again. Dense: blocks of items;",
        "CascadeLinUCB keeps the widths and takes from them what every observation does.",
    ]
    return [
        Table("Features: toplist beside hand-fused compiled loops", baselines.COLUMNS, with_fused, notes + tricks),
        Table("Features: toplist beside vectorised NumPy loops", baselines.COLUMNS, with_numpy, notes),
    ]


def growth(title: str, letter: str, sizes: Sequence[Topics], effort: Effort) -> Table:
    """Cost per size, and the exponents fitted to it."""
    steps = QUICK_STEPS if effort.quick else STEPS
    along = [size.items if letter == "L" else size.positions for size in sizes]
    names = [f"{algorithm.title} ({'sparse' if each else 'dense'})" for algorithm, each in GROWING]
    seconds: dict[str, list[list[float]]] = {name: [] for name in names}  # per round, per size
    contenders = {
        name: [engine(algorithm.policy, size._replace(each=each)) for size in sizes]
        for name, (algorithm, each) in zip(names, GROWING, strict=True)
    }
    repeats = {
        name: [repeats_for(rough(each, effort.seconds / 5), steps, effort.seconds) for each in contenders[name]]
        for name in names
    }
    for turn in range(min(effort.rounds, ROUNDS)):
        for name in names:
            pairs = zip(contenders[name], repeats[name], strict=True)
            seconds[name].append([timed(contender, steps, often, turn)[0] for contender, often in pairs])
    costs = {name: [median(each) for each in zip(*seconds[name], strict=True)] for name in names}
    powers = {name: median(exponent(along, each) for each in seconds[name]) for name in names}
    rows: list[dict[str, Any]] = [
        {letter: str(number)} | {f"{name} a step": costs[name][place] for name in names}
        for place, number in enumerate(along)
    ]
    fitted = ", ".join(f"{name} ~ {letter}^{powers[name]:.2f}" for name in names)
    rows.append(
        {letter: "exponent", "what": f"exponents of {letter}"}
        | {f"{name} a step": powers[name] for name in names}
        | judged(max(powers.values()), LINEAR)
    )
    columns: dict[str, Show] = {
        letter: str,
        **dict.fromkeys([f"{name} a step" for name in names], cost_or_exponent),
        "target": str,
        "verdict": str,
    }
    notes = [
        f"Fitted: {fitted}.",
        f"CPU time per step over the first {steps} steps; exponents by least squares on logarithms, median of rounds.",
    ]
    return Table(title, columns, rows, notes)


def largest(effort: Effort) -> Table:
    """The time that a list takes with very many items."""
    few = effort._replace(rounds=min(effort.rounds, LARGEST_ROUNDS))
    rows = []
    for algorithm, size, most in QUICK_LARGEST if effort.quick else LARGEST:
        contenders = {"toplist": engine(algorithm.policy, size), "fused": algorithm.expert(size)}
        roughly = {name: rough(contender, effort.seconds) for name, contender in contenders.items()}
        measured = rounds_of(contenders, dict.fromkeys(contenders, LARGEST_STEPS), roughly, few)
        each = median(measured["toplist"])
        rows.append(
            {
                "algorithm": algorithm.title,
                "size": str(size),
                "n": LARGEST_STEPS,
                "a list": each,
                "fused": median(measured["fused"]),
                "ratio": ratio(measured["fused"], measured["toplist"]).middle,
                **judged(each * 1e3, Target(most, at_most=True), " ms"),
            }
        )
    columns: dict[str, Show] = {
        "algorithm": str,
        "size": str,
        "n": str,
        "a list": nanoseconds,
        "fused": nanoseconds,
        "ratio": times,
        "target": str,
        "verdict": str,
    }
    notes = ["CPU time per step: to make a list, to draw its clicks and to learn from them; without the first list."]
    return Table("Features: very many items", columns, rows, notes)


def logistic(effort: Effort) -> Table:
    """The policies over logistic features, and whether they slow down as they learn."""
    rows = []
    for problem in QUICK_LOGISTIC if effort.quick else LOGISTIC:
        turns = [over_time(problem, turn) for turn in range(min(effort.rounds, ROUNDS))]
        early, late, world = ([getattr(turn, name) for turn in turns] for name in ("early", "late", "world"))
        slower = ratio(minus(late, world), minus(early, world)).middle
        wanted = None if problem.most is None else Target(problem.most, at_most=True)
        rows.append(
            {
                "algorithm": problem.title,
                "size": str(problem),
                "n": problem.steps,
                "first tenth": median(early),
                "last tenth": median(late),
                "world alone": median(world),
                "growth": slower,
                **judged(slower, wanted),
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
        "CPU time per step in the first and in the last tenth of a run, the world's own included; both are played by",
        "turns, so that whatever else the machine does strikes both. World alone: a step with random lists. Fresh: the",
        "features are drawn anew at every step. Growth is without the world's share.",
    ]
    return Table("Features: logistic policies, and whether they slow down", columns, rows, notes)


def minus(all_of_it: Sequence[float], part: Sequence[float]) -> list[float]:
    """What is left, in every round."""
    return [whole - less for whole, less in zip(all_of_it, part, strict=True)]


class Tenths(NamedTuple):
    """Seconds of CPU time per step."""

    early: float
    late: float
    world: float


def over_time(problem: Clicked, turn: int) -> Tenths:
    """The first and the last tenth of a run, and random lists in the same world, by turns."""
    tenth = problem.steps // 10

    def player(policy: str, run: int) -> Player:
        setting = Setting.of(make(policy), problem.world, clicks.ChangingDCM(), OneSample(), problem.steps)
        fresh = Player(setting, branch(SEED, turn * MOST_REPEATS + run), np.array([problem.steps]))
        fresh.play(1)
        return fresh

    late = player(problem.policy, 0)
    late.play(problem.steps - tenth)
    several = {"early": player(problem.policy, 1), "late": late, "world": player("random", 1)}
    spent = dict.fromkeys(several, 0.0)
    for _ in range(10):
        for name, each in several.items():
            begun = time.process_time()
            each.play(each.step + tenth // 10)
            spent[name] += time.process_time() - begun
    return Tenths(**{name: seconds / (tenth // 10 * 10) for name, seconds in spent.items()})
