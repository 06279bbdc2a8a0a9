"""How long does a start take, how much memory a long simulation, and how long the tables of a paper?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.contenders import ATTRACTION, GAP, KL_UCB, Size
from benchmarks.measure import Effort
from benchmarks.report import Show, Table, Target, verdict_cells
from toplist.experiments.kveton2015.table_rows import FULL, NAMES
from toplist.experiments.problem_grid import NINE

SIZE = Size(16, 4)
PROCESSES = 5
FIRST_STEPS = 10_000  # more than what is played in plain Python
MOST_SECONDS = 900  # of a process; a longer one is stuck

# Each child reports wall-clock and CPU seconds from its first line on, and its peak memory in MB. On Linux, ru_maxrss
# of a child includes its parent's memory before exec, so the status file is read instead.
CHILD = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{work}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
import json, pathlib, re, resource, sys
status = pathlib.Path("/proc/self/status")
if status.exists():
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) / 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
print(json.dumps(dict(wall=wall, cpu=cpu, memory=peak)))
"""
IMPORT = "import toplist"
SIMULATE = """
import toplist
world, users = toplist.worlds.b_top_k({items}, {positions}, {attraction}, {gap}), toplist.clicks.Cascade()
toplist.simulate({policy!r}, world, users, {steps}, {runs})
"""
TABLES = """
import toplist
from toplist.experiments.experiment import Size
from toplist.experiments.kveton2015 import table2
for play in table2.jobs(Size({steps}, {runs}, quick=True), None):
    toplist.simulate(play.policies, play.world, play.users, play.steps, play.runs, checkpoints=play.checkpoints)
"""


def measure(effort: Effort) -> Sequence[Table]:
    """One row per kind of start, each in a process of its own."""
    policy = KL_UCB.policy
    long_steps, long_runs = 1_000_000, 20
    table_steps, table_runs = (5, 1) if effort.quick else FULL[:2]
    processes = 1 if effort.quick else PROCESSES
    with tempfile.TemporaryDirectory() as folder:
        imports = [child(IMPORT, folder) for _ in range(processes)]
        short = child(simulation(policy, 1000, 1), folder)
        if effort.quick:  # the others take the same code with more steps, and compile it
            cold, warm, long = short, [short], short
        else:
            cold = child(simulation(policy, FIRST_STEPS, 1), folder)
            warm = [child(simulation(policy, FIRST_STEPS, 1), folder) for _ in range(processes)]
            long = child(simulation(policy, long_steps, long_runs), folder)
        # A quick run uses the existing cache: compiling would take longer than everything else.
        both = child(TABLES.format(steps=table_steps, runs=table_runs), None if effort.quick else folder)
    numbers = 2 * len(NINE) * len(NAMES)
    rows = [
        row("import toplist", middle(imports), "wall", Target(0.5, at_most=True)),
        row("a short simulation, in plain Python", short, "wall", Target(2.0, at_most=True)),
        row("first simulation, nothing compiled yet", cold, "wall", Target(20.0, at_most=True)),
        row("first simulation, compiled by another process", middle(warm), "wall", Target(2.0, at_most=True)),
        row(f"{long_runs} runs of {long_steps} steps", long, "memory", Target(300.0, at_most=True)),
        row(f"{numbers} numbers of kveton2015's tables", both, "wall", Target(120.0, at_most=True)),
    ]
    columns: dict[str, Show] = {
        "what": str,
        "wall": lambda value: f"{value:.2f} s",
        "cpu": lambda value: f"{value:.2f} s",
        "memory": lambda value: f"{value:.0f} MB",
        "target": str,
        "verdict": str,
    }
    notes = [
        f"Each in a fresh interpreter, without its own start; simulations: {policy}, {SIZE}.",
        f"Steps of the short simulation: 1000, of the first ones: {FIRST_STEPS}.",
        f"Import and warm start: median of {processes}. Memory: the peak of the whole process, with all its libraries.",
        f"Tables 1 and 2: {table_runs} runs of {table_steps} steps for each number, on all cores; compiles on the way.",
    ]
    return [Table("Start, memory, and the tables of a paper", columns, rows, notes)]


def simulation(policy: str, steps: int, runs: int) -> str:
    """Code of one simulation."""
    return SIMULATE.format(
        items=SIZE.items,
        positions=SIZE.positions,
        attraction=ATTRACTION,
        gap=GAP,
        policy=policy,
        steps=steps,
        runs=runs,
    )


def child(work: str, cache_folder: str | None, **variables: str) -> dict[str, float]:
    """Report of a process that does this work, with its compile cache in that folder or in the usual one.

    Further variables of its environment may be given.
    """
    ended = subprocess.run(
        [sys.executable, "-c", CHILD.format(work=work)],
        check=True,
        stdout=subprocess.PIPE,
        env=os.environ | variables | ({} if cache_folder is None else {"TOPLIST_CACHE_DIR": cache_folder}),
        timeout=MOST_SECONDS,
    )
    report: dict[str, float] = json.loads(ended.stdout)
    return report


def middle(several: Sequence[dict[str, float]]) -> dict[str, float]:
    """The median of each number."""
    return {name: median(one[name] for one in several) for name in several[0]}


def row(what: str, report: dict[str, float], judged_by: str, target: Target) -> dict[str, Any]:
    """One row, judged by one of its numbers."""
    unit = " MB" if judged_by == "memory" else " s"
    return {"what": what, **report, **verdict_cells(report[judged_by], target, unit)}
