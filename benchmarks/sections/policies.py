"""How many steps per second does each policy of the catalogue make?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.contenders import Contender, Size, engine
from benchmarks.measure import Effort, rough, rounds_of, steps_for
from benchmarks.report import Show, Table, per_second
from toplist import catalogue
from toplist.core.problem import InvalidInput

SIZES = (Size(16, 4), Size(32, 8), Size(1000, 10), Size(100_000, 10))
QUICK_SIZES = (Size(16, 4), Size(32, 5))  # in plain Python
QUICK_EVERY = 5
ROUNDS = 3
SECONDS = 60.0  # for all measurements together, however long the catalogue is


def measure(effort: Effort) -> Sequence[Table]:
    """One row per policy, two columns per size; a quick run, for tests, takes some of the policies."""
    sizes = QUICK_SIZES if effort.quick else SIZES
    names = list(catalogue())[:: QUICK_EVERY if effort.quick else 1]
    turns = min(effort.rounds, ROUNDS)
    seconds = min(effort.seconds, SECONDS / (len(names) * len(sizes) * turns))
    effort = effort._replace(rounds=turns, seconds=seconds)
    rows: dict[str, dict[str, Any]] = {name: {"policy": name} for name in names}
    notes = [
        "Steps per second of CPU time on cascade users; median over rounds, in each of which every policy plays once.",
        "Policies that need features are given topics, two of eighteen per item; the others an attraction per item.",
        "n: steps of a run, from the first on; the same for all policies of a size except the slowest.",
    ]
    for size in sizes:
        contenders, refused = playable(names, size, compiled=not effort.quick)
        roughly = {name: rough(contender, effort.seconds) for name, contender in contenders.items()}
        common = steps_for(median(roughly.values()), effort.seconds)
        steps = {name: min(common, steps_for(each, 2 * effort.seconds)) for name, each in roughly.items()}
        measured = rounds_of(contenders, steps, roughly, effort)
        for name in contenders:
            rows[name] |= {str(size): 1.0 / median(measured[name]), f"n at L={size.items}": steps[name]}
        notes += [f"{name} was not measured at {size}: {why}" for name, why in refused.items()]
    columns: dict[str, Show] = {"policy": str}
    for size in sizes:
        columns |= {str(size): per_second, f"n at L={size.items}": str}
    return [Table("Speed of every policy of the catalogue", columns, list(rows.values()), notes)]


def playable(names: Sequence[str], size: Size, compiled: bool) -> tuple[dict[str, Contender], dict[str, str]]:
    """The policies that take a problem of this size, and why the others do not."""
    contenders: dict[str, Contender] = {}
    refused: dict[str, str] = {}
    for name in names:
        contender = engine(name, size, compiled)
        try:
            contender(2, 0)
        except (InvalidInput, MemoryError) as error:
            refused[name] = str(error)
        else:
            contenders[name] = contender
    return contenders, refused
