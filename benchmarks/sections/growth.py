"""How does the cost of a step grow with the number of items and of positions?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.contenders import KL_UCB, UCB1, Size, engine
from benchmarks.measure import Effort, exponent, repeats_for, rough, timed
from benchmarks.report import Show, Table, decimals, nanoseconds

STEPS, QUICK_STEPS = 10_000, 300
ROUNDS = 3
BY_ITEMS = tuple(Size(items, 4) for items in (16, 64, 256, 1024, 4096, 16_384))
BY_POSITIONS = tuple(Size(1024, positions) for positions in (1, 2, 4, 8, 16, 32, 64))
QUICK_BY_ITEMS = tuple(Size(items, 4) for items in (16, 64, 256))
QUICK_BY_POSITIONS = tuple(Size(64, positions) for positions in (1, 4, 16))

COST = {algorithm.policy: f"{algorithm.title} per step" for algorithm in (UCB1, KL_UCB)}
SOLVES = "KL-UCB solves per step"


def measure(effort: Effort) -> Sequence[Table]:
    """One table over L at K = 4, one over K at a fixed L."""
    effort = effort._replace(rounds=min(effort.rounds, ROUNDS))
    items = QUICK_BY_ITEMS if effort.quick else BY_ITEMS
    positions = QUICK_BY_POSITIONS if effort.quick else BY_POSITIONS
    return [
        growth(f"Growth with the number of items L, at K={items[0].positions}", "L", items, effort),
        growth(f"Growth with the number of positions K, at L={positions[0].items}", "K", positions, effort),
    ]


def growth(title: str, letter: str, sizes: Sequence[Size], effort: Effort) -> Table:
    """Cost and solves per size, and the exponents fitted to them."""
    steps = QUICK_STEPS if effort.quick else STEPS
    along = [size.items if letter == "L" else size.positions for size in sizes]
    contenders = {(policy, size): engine(policy, size) for policy in COST for size in sizes}
    repeats = {
        case: repeats_for(rough(contender, effort.seconds / 5), steps, effort.seconds)
        for case, contender in contenders.items()
    }
    seconds: dict[tuple[str, Size], list[float]] = {case: [] for case in contenders}
    solves: dict[Size, float] = {}
    for turn in range(effort.rounds):
        for case, contender in contenders.items():
            each, played = timed(contender, steps, repeats[case], turn)
            seconds[case].append(each)
            if played.solves is not None:
                solves[case[1]] = played.solves / steps
    rows: list[dict[str, Any]] = [
        {letter: str(number)}
        | {COST[policy]: median(seconds[policy, size]) for policy in COST}
        | {SOLVES: solves[size], "solves per position": solves[size] / size.positions}
        for number, size in zip(along, sizes, strict=True)
    ]
    exponents = {
        COST[policy]: median(
            exponent(along, [seconds[policy, size][turn] for size in sizes]) for turn in range(effort.rounds)
        )
        for policy in COST
    } | {SOLVES: exponent(along, [solves[size] for size in sizes])}
    fitted = ", ".join(f"{name} ~ {letter}^{power:.2f}" for name, power in exponents.items())
    rows.append({letter: "exponent"} | exponents)
    columns: dict[str, Show] = {
        letter: str,
        **dict.fromkeys(COST.values(), cost_or_exponent),
        SOLVES: decimals(2),
        "solves per position": decimals(2),
    }
    notes = [
        f"Fitted: {fitted}.",
        f"CPU time per step over the first {steps} steps; exponents by least squares on logarithms, median of rounds.",
    ]
    return Table(title, columns, rows, notes)


def cost_or_exponent(value: float) -> str:
    """A duration, or an exponent in the last row; every exponent is larger than any duration of a step here."""
    return f"{value:.2f}" if value >= 0.05 else nanoseconds(value)
