"""What does a simulated list cost in machine code, with the public API of numba alone, and in plain Python?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.contenders import Size, engine
from benchmarks.measure import Effort, repeats_for, rough, steps_for, timed
from benchmarks.report import Show, Table, nanoseconds, times

POLICIES = ("cascade-ucb1", "cascade-kl-ucb", "dcm-ts")
SIZES = (Size(16, 4), Size(1000, 10))
MOST_SECONDS = 900  # of a process; a longer one is stuck
ROOT = Path(__file__).resolve().parents[2]


class Mode(NamedTuple):
    """A way to run the engine; the way to compile is chosen when a process begins."""

    compiled: bool
    numba: str  # TOPLIST_NUMBA


class Cost(NamedTuple):
    """CPU seconds of a policy on a problem."""

    first: float  # up to the first list: compiling, and one sample of each item
    each: float  # list


COMPILED, PUBLIC, PLAIN = Mode(True, "private"), Mode(True, "public"), Mode(False, "private")
CHILD = "from benchmarks.sections.modes import print_costs; print_costs({compiled}, {effort!r})"


def measure(effort: Effort) -> Sequence[Table]:
    """One row per policy and size, with a process for each column."""
    # The public API compiles anew each time, so that a quick run plays plain Python there, once for both columns.
    compiled, public = (costs(mode, effort) for mode in (COMPILED, PUBLIC._replace(compiled=not effort.quick)))
    plain = public if effort.quick else costs(PLAIN, effort)
    rows: list[dict[str, Any]] = [
        {
            "algorithm": policy,
            "size": str(size),
            "compiled": compiled[policy, size].each,
            "public API": public[policy, size].each,
            "plain": plain[policy, size].each,
            "public / compiled": public[policy, size].each / compiled[policy, size].each,
            "plain / compiled": plain[policy, size].each / compiled[policy, size].each,
            "first": compiled[policy, size].first,
            "first, public API": public[policy, size].first,
            "first, plain": plain[policy, size].first,
        }
        for policy, size in problems(effort)
    ]
    shows: list[Show] = [str, str, *[nanoseconds] * 3, times, times, *[nanoseconds] * 3]
    notes = [
        f"CPU time of a simulated list, cascade users: the median of {effort.rounds} measurements.",
        "All are measured for about the same time, so plain Python over fewer lists; the first ones cost most.",
        "public API: TOPLIST_NUMBA=public, as where numba's private parts have changed; plain: compiled=False.",
        "first: CPU time up to the first list with an empty cache, where a policy is compiled for the smaller size.",
    ]
    return [
        Table(
            "Machine code, the public API of numba, and plain Python",
            dict(zip(rows[0], shows, strict=True)),
            rows,
            notes,
        )
    ]


def problems(effort: Effort) -> Sequence[tuple[str, Size]]:
    """The policies and sizes; of a quick run the first of both."""
    return [(policy, size) for policy in POLICIES for size in SIZES][: 1 if effort.quick else None]


def costs(mode: Mode, effort: Effort) -> Mapping[tuple[str, Size], Cost]:
    """The cost of all policies in a process of that mode; it has an empty cache, unless it is a quick run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        variables = {"TOPLIST_NUMBA": mode.numba, "PYTHONPATH": path}
        ended = subprocess.run(
            [sys.executable, "-c", CHILD.format(compiled=mode.compiled, effort=tuple(effort))],
            check=True,
            stdout=subprocess.PIPE,
            env=os.environ | variables | ({} if effort.quick else {"TOPLIST_CACHE_DIR": folder}),
            timeout=MOST_SECONDS,
        )
    return {(policy, Size(*size)): Cost(*cost) for policy, size, cost in json.loads(ended.stdout)}


def print_costs(compiled: bool, effort: Sequence[Any]) -> None:
    """Print what each policy costs in this process, as JSON."""
    given = Effort(*effort)
    found = [(policy, tuple(size), tuple(cost_of(policy, size, compiled, given))) for policy, size in problems(given)]
    print(json.dumps(found))


def cost_of(policy: str, size: Size, compiled: bool, effort: Effort) -> Cost:
    """What a policy costs."""
    contender = engine(policy, size, compiled)
    begun = time.process_time()
    contender(2, 0)  # plays the first list
    first = time.process_time() - begun
    roughly = rough(contender, effort.seconds)
    steps = steps_for(roughly, effort.seconds)
    repeats = repeats_for(roughly, steps, effort.seconds)
    return Cost(first, median(timed(contender, steps, repeats, turn)[0] for turn in range(effort.rounds)))
