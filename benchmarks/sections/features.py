"""What do the policies over features cost, compared with hand-written loops, and with more and more items?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.contenders import LIN_UCB, LSB, LSB_GREEDY, Topics, engine
from benchmarks.measure import Effort, exponent, ratio, repeats_for, rough, rounds_of, timed
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells
from benchmarks.sections import baselines
from benchmarks.sections.growth import cost_or_exponent
from benchmarks.speedup import COLUMNS

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
GROWING = ((LSB, 2), (LIN_UCB, 0))  # algorithm, and topics of an item

LARGEST = ((LIN_UCB, Topics(100_000, 8, 32, each=0), 10.0), (LSB, Topics(100_000, 8), 20.0))  # most milliseconds
QUICK_LARGEST = ((LIN_UCB, Topics(200, 3, 6, each=0), 10.0), (LSB, Topics(200, 3, 6), 20.0))
LARGEST_STEPS = 100  # of a run at that size
LARGEST_ROUNDS = 5


def measure(effort: Effort) -> Sequence[Table]:
    """Against fused loops, against NumPy, over L and K, and at the largest size."""
    items = QUICK_BY_ITEMS if effort.quick else BY_ITEMS
    positions = QUICK_BY_POSITIONS if effort.quick else BY_POSITIONS
    return [
        *compare(effort),
        growth(f"Features: growth with the number of items L, at K={items[0].positions}", "L", items, effort),
        growth(f"Features: growth with the number of positions K, at L={positions[0].items}", "K", positions, effort),
        largest(effort),
    ]


def compare(effort: Effort) -> list[Table]:
    """One table against the fused loops, one against NumPy."""
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
        "CPU time per step, from the first step on; ratio: speed-up of toplist, median over rounds.",
        f"Topics: {SPARSE.each} of {SPARSE.dimension} per item (sparse), or all of them (dense); cascade users.",
    ]
    tricks = [
        "Sparse: only items that share a topic with the item just placed are scored again. Dense: blocks of items;",
        "CascadeLinUCB stores the widths and subtracts the effect of every observation.",
    ]
    return [
        Table("Features: toplist compared with hand-fused compiled loops", COLUMNS, with_fused, notes + tricks),
        Table("Features: toplist compared with vectorised NumPy loops", COLUMNS, with_numpy, notes),
    ]


def growth(title: str, letter: str, sizes: Sequence[Topics], effort: Effort) -> Table:
    """Cost per size, and the fitted exponents."""
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
        {letter: str(number)} | {f"{name} per step": costs[name][index] for name in names}
        for index, number in enumerate(along)
    ]
    fitted = ", ".join(f"{name} ~ {letter}^{powers[name]:.2f}" for name in names)
    rows.append(
        {letter: "exponent", "what": f"exponents of {letter}"}
        | {f"{name} per step": powers[name] for name in names}
        | verdict_cells(max(powers.values()), LINEAR)
    )
    columns: dict[str, Show] = {
        letter: str,
        **dict.fromkeys([f"{name} per step" for name in names], cost_or_exponent),
        "target": str,
        "verdict": str,
    }
    notes = [
        f"Fitted: {fitted}.",
        f"CPU time per step over the first {steps} steps; exponents by least squares on logarithms, median of rounds.",
    ]
    return Table(title, columns, rows, notes)


def largest(effort: Effort) -> Table:
    """Time of a list with very many items."""
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
                **verdict_cells(each * 1e3, Target(most, at_most=True), " ms"),
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
