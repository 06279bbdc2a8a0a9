"""Device tests: is each policy bit-equal to the CPU, and how fast is it? `make gpu-test`, a line per policy."""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from catalogue_problems import FURTHER, OTHERS, USERS, Problem, policies, problem_of, world_for

import toplist
from toplist.core.randomness import branch
from toplist.engine.batch_scheduler import RunBatch
from toplist.engine.gpu.batch import BatchLayout
from toplist.engine.gpu.cuda_device import gpus
from toplist.engine.player import Player, RunSetup, request_key
from toplist.engine.simulate import checked_threads
from toplist.engine.starts import OneSample
from toplist.experiments.kveton2015 import table1, table2
from toplist.experiments.problem_grid import NINE
from toplist.worlds import b_lb

CHECKED, STEPS = 64, 2000  # runs and steps that are compared
WARM, MEASURED, HORIZON = 1000, 2000, 1_000_000  # steps before a measurement, in it, and those that policies expect
CORES = checked_threads(None)
LEAST_PER_CORE, MOST_PER_CORE = 8, 2000  # runs ...
SECONDS = 0.4  # ... so that a measurement takes about so long
WHOLE = (1000, 4000, 15_000, 20_000, 60_000)  # steps of the parts of a whole play
RUNS = 65_536  # of a measurement on the GPU; twice as many with many items or topics
LARGE = [  # policy, items, positions, topics
    ("cascade-kl-ucb", 1000, 10, 6),
    ("cascade-ucb1", 1000, 10, 6),
    ("cascade-lsb", 16, 4, 18),
]
TABLES = {"table1": table1.POLICIES, "table2": table2.WORST_FIRST}
CELLS = [(name, cell, played) for name, played in TABLES.items() for cell in NINE]
Row = dict[str, Any]


def played(problem: Problem, **where: Any) -> list[Any]:
    """What comes out of the runs of a problem: arrays whose last axis begins with the runs."""
    about = {"steps": STEPS, "runs": CHECKED, "start": problem.start}
    if problem.beside:  # `compare` gives users of all classes a shared type
        columns = {str(number): (problem.world, users) for number, users in enumerate((problem.users, *problem.beside))}
        regret = toplist.compare(problem.policy, columns, **about, **where).regret
        return [runs for cells in regret.values() for runs in cells.values()]
    found = toplist.simulate(problem.policy, problem.world, problem.users, **about, **where)
    return [array for label in found.policies for array in (found.regret[label], found.clicks[label])]


def check(name: str) -> Row:
    """Play the same runs on both engines, and twice on the GPU, since the first time compiles them."""
    problem, begun = problem_of(name), time.monotonic()
    ours, between = played(problem, threads=2), time.monotonic()
    theirs, after = played(problem, engine="gpu"), time.monotonic()
    again, end = played(problem, engine="gpu"), time.monotonic()
    last = [[array.reshape(CHECKED, -1)[:, -1] for array in arrays] for arrays in (ours, theirs)]
    errors = [float(np.std(each, ddof=1)) / CHECKED**0.5 for each in last[0]]
    apart = [abs(float(one.mean() - other.mean())) for one, other in zip(*last, strict=True)]
    return {
        "policy": name,
        "equal": all(
            one.tobytes() == other.tobytes() == third.tobytes()
            for one, other, third in zip(ours, theirs, again, strict=True)
        ),
        "runs_that_differ": int(np.any([one != other for one, other in zip(*last, strict=True)], axis=0).sum()),
        "difference_in_errors": max(
            difference / error if error > 0 else math.inf if difference > 0 else 0.0
            for difference, error in zip(apart, errors, strict=True)
        ),
        "cpu_seconds": between - begun,
        "gpu_seconds": end - after,
        "compile_seconds": (after - between) - (end - after),
    }


def line_of(row: Row) -> str:
    """A line of what was compared."""
    return (
        f"{row['policy']}: {'bit-equal' if row['equal'] else 'DIFFERS'}, {row['runs_that_differ']} of {CHECKED} runs, "
        f"{row['difference_in_errors']:.3f} errors; compiled in {row['compile_seconds']:.1f} s"
    )


def setup_of(policy: str, world: Any = None) -> RunSetup:
    """Everything that runs of a policy have in common."""
    return RunSetup.of(toplist.make(policy), world_for(policy) if world is None else world, USERS, OneSample(), HORIZON)


def cpu_rate(policy: str, threads: int, world: Any = None, expected: float = 0.0) -> float:
    """Steps per second on some threads, of runs that have learned for a while; more runs if many are expected."""
    setup = setup_of(policy, world)
    runs = threads * runs_for(expected)
    players = [Player(setup, branch(7, run), np.array([HORIZON])) for run in range(runs)]
    players[0].play(1)  # compiles
    shares = [players[thread::threads] for thread in range(threads)]

    def play(until: int) -> float:
        begun = time.monotonic()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda share: [player.play(until) for player in share], shares))
        return time.monotonic() - begun

    play(WARM)
    return runs * MEASURED / play(WARM + MEASURED)


def runs_for(expected: float) -> int:
    """Runs of a core, of which these steps per second are expected."""
    return min(MOST_PER_CORE, max(LEAST_PER_CORE, int(SECONDS * expected / MEASURED)))


def gpu_rates(policy: str, runs: int, world: Any, parts: Sequence[int]) -> list[float]:
    """Steps per second of many runs on the first GPU, for each part of the play by itself."""
    setup = setup_of(policy, world).on_gpu()
    layout = BatchLayout(Player(setup, 0, np.array([HORIZON]), compiled=False))
    keys = [request_key(branch(7, run)) for run in range(runs)]
    device = gpus()[0]
    with device.context():
        kernel = device.prepare(layout, runs)
    batch = RunBatch(device, kernel, policy, layout, [(run, None) for run in range(runs)], keys, None)
    rates = []
    for steps in parts:
        batch.chunk = steps
        begun = time.monotonic()
        batch.poll()
        batch.stop()
        rates.append(runs * steps / (time.monotonic() - begun))
    return rates


def gpu_rate(policy: str, runs: int, world: Any = None) -> float:
    """Steps per second of many runs on the first GPU, in the same steps as on the CPU."""
    return gpu_rates(policy, runs, world, (WARM, MEASURED))[-1]


def check_all(names: list[str]) -> list[Row]:
    """A line per policy and per further problem: whether it is equal, and how long compiling took, beside others."""
    rows = []
    with ProcessPoolExecutor(min(14, os.cpu_count() or 1), multiprocessing.get_context("spawn")) as pool:
        for row in pool.map(check, names or [*policies(), *OTHERS, *FURTHER]):
            rows.append(row)
            print(line_of(row), flush=True)
    print(f"{sum(row['equal'] for row in rows)} of {len(rows)} are bit-equal", flush=True)
    return rows


def measured(policy: str, world: Any = None, runs: int = RUNS, **about: Any) -> Row:
    """Steps per second of a policy on one core, on all, and on a GPU."""
    one = cpu_rate(policy, 1, world, cpu_rate(policy, 1, world))
    every = cpu_rate(policy, CORES, world, one)
    gpu = gpu_rate(policy, runs if "windowed" not in policy else runs // 4, world)  # a window takes much memory
    print(f"{policy} {about}: steps/s {one:.3g} on one core, {every:.3g} on all, {gpu:.3g} on the GPU "
          f"({gpu / every:.1f} times)", flush=True)  # fmt: skip
    return {"policy": policy, **about, "one_core": one, "all_cores": every, "gpu": gpu}


def measure_rates(names: list[str]) -> list[Row]:
    """The speed of each policy with few items."""
    return [measured(policy) for policy in names or policies()]


def measure_cores(names: list[str]) -> list[Row]:
    """The speed of each policy with few items on the CPU alone, with a process per core.

    Threads, which `simulate` uses, wait for Python between short runs of quick policies. Processes do not, but do not
    all measure at one time either, so that the speed of all cores is rather too high.
    """
    rows = []
    with ProcessPoolExecutor(CORES, multiprocessing.get_context("spawn")) as pool:
        for policy in names or policies():
            one = pool.submit(share_rate, policy, runs_for(pool.submit(share_rate, policy, 1).result())).result()
            every = sum(pool.map(share_rate, [policy] * CORES, [runs_for(one)] * CORES))
            rows.append({"policy": policy, "one_core": one, "all_cores": every})
            print(f"{policy}: steps/s {one:.3g} on one core, {every:.3g} on all", flush=True)
    return rows


def share_rate(policy: str, runs: int) -> float:
    """Steps per second of this process, of runs that have learned for a while."""
    players = [Player(setup_of(policy), branch(7, run), np.array([HORIZON])) for run in range(runs)]
    for player in players:
        player.play(WARM)
    begun = time.monotonic()
    for player in players:
        player.play(WARM + MEASURED)
    return runs * MEASURED / (time.monotonic() - begun)


def measure_large(_: list[str]) -> list[Row]:
    """The speed on the problem B_LB, and with many items or topics."""
    rows = [measured(policy, b_lb()[0], problem="B_LB") for policy in ("cascade-kl-ucb", "cascade-ucb1")]
    return rows + [
        measured(
            policy,
            world_for(policy, items, positions, topics),
            2 * RUNS,
            items=items,
            positions=positions,
            topics=topics,
        )
        for policy, items, positions, topics in LARGE
    ]


def measure_whole(_: list[str]) -> list[Row]:
    """The speed on the problem B_LB over all steps of plays as long as kveton2015's."""
    rows: list[Row] = []
    for policy in ("cascade-ucb1", "cascade-kl-ucb"):
        rates = gpu_rates(policy, RUNS, b_lb()[0], WHOLE)
        whole = sum(WHOLE) / sum(steps / rate for steps, rate in zip(WHOLE, rates, strict=True))
        rows.append({"policy": policy, "parts": dict(zip(WHOLE, rates, strict=True)), "gpu": whole})
        print(f"{policy}: steps/s {whole:.3g} over {sum(WHOLE):,} steps, "
              f"{', '.join(f'{rate:.3g}' for rate in rates)} in parts of {WHOLE}", flush=True)  # fmt: skip
    return rows


def measure_curve(_: list[str]) -> list[Row]:
    """Speed over the number of runs."""
    return [
        {"policy": policy, "runs": runs, "gpu": gpu_rate(policy, runs)}
        for policy in ("cascade-ucb1", "cascade-kl-ucb", "cascade-ts")
        for runs in (32, 256, 1024, 4096, 16_384, 65_536)
    ]


def play_cell(number: int, steps: int) -> toplist.Result:
    """1,000 runs of both policies in a cell."""
    _, cell, played = CELLS[number]
    return toplist.simulate(played, cell.world, "cascade", steps=steps, runs=1000, checkpoints=1, engine="gpu")


def measure_cells(_: list[str]) -> list[Row]:
    """The 36 cells of kveton2015's tables, 1,000 runs of 1e5 steps each; compiled before."""
    rows: list[Row] = []
    with ProcessPoolExecutor(min(14, os.cpu_count() or 1), multiprocessing.get_context("spawn")) as compilers:
        list(compilers.map(play_cell, range(len(CELLS)), [10] * len(CELLS)))
    with ThreadPoolExecutor(len(CELLS)) as pool:
        for steps in (10, 100_000):
            begun = time.monotonic()
            results = list(pool.map(play_cell, range(len(CELLS)), [steps] * len(CELLS)))
            rows.append({"steps": steps, "seconds": time.monotonic() - begun})
            print(f"36 cells, 1,000 runs of {steps:,} steps: {rows[-1]['seconds']:.1f} s", flush=True)
    for (name, cell, __), result in zip(CELLS, results, strict=True):
        rows += [
            {"table": name, "cell": str(cell), "policy": label, "regret": float(result.regret[label][:, -1].mean())}
            for label in result.policies
        ]
    return rows


PARTS: dict[str, Callable[[list[str]], list[Row]]] = {
    "check": check_all,
    "rates": measure_rates,
    "cores": measure_cores,
    "large": measure_large,
    "whole": measure_whole,
    "cells": measure_cells,
    "curve": measure_curve,
}


def main() -> None:
    """Check and measure the policies or problems named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("policies", nargs="*")
    parser.add_argument("--only", default="check,rates,large", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found: dict[str, list[Row]] = {}
    for part in asked.only.split(","):
        found[part] = PARTS[part](asked.policies)
        if asked.json is not None:
            asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
