"""Device tests, one line per policy: is it bit-equal to the CPU, and how fast is it? `make gpu-test`."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from catalogue_problems import USERS, policies, world_for

import toplist
from toplist.core.randomness import branch
from toplist.engine.gpu.batch import BatchLayout
from toplist.engine.gpu.batch_scheduler import RunBatch
from toplist.engine.gpu.cuda_device import gpus
from toplist.engine.player import Player, RunSetup, request_key
from toplist.engine.simulate import checked_threads
from toplist.engine.starts import OneSample

CHECKED, STEPS = 64, 2000  # runs and steps that are compared
WARM, HORIZON = 300, 1_000_000  # steps before a measurement, and those that policies expect


def check(policy: str) -> dict[str, Any]:
    """Play the same runs on both engines; also compiles them."""
    begun = time.monotonic()
    world = world_for(policy)
    cpu = toplist.simulate(policy, world, USERS, steps=STEPS, runs=CHECKED, threads=2, compiled=True)
    between = time.monotonic()
    gpu = toplist.simulate(policy, world, USERS, steps=STEPS, runs=CHECKED, engine="gpu")
    ours, theirs = cpu.regret[policy], gpu.regret[policy]
    error = float(np.std(ours[:, -1], ddof=1)) / CHECKED**0.5
    equal = ours.tobytes() == theirs.tobytes() and cpu.clicks[policy].tobytes() == gpu.clicks[policy].tobytes()
    return {
        "policy": policy,
        "equal": equal,
        "runs_that_differ": int((ours[:, -1] != theirs[:, -1]).sum()),
        "difference_in_errors": abs(float(ours[:, -1].mean() - theirs[:, -1].mean())) / error if error > 0 else 0.0,
        "cpu_seconds": between - begun,
        "gpu_seconds": time.monotonic() - between,
    }


def setup_of(policy: str, world: Any = None) -> RunSetup:
    """Everything that runs of a policy have in common."""
    return RunSetup.of(toplist.make(policy), world_for(policy) if world is None else world, USERS, OneSample(), HORIZON)


def cpu_rate(policy: str, threads: int, world: Any = None, seconds: float = 0.3) -> float:
    """Steps per second of one run on each of some threads."""
    setup = setup_of(policy, world)
    players = [Player(setup, branch(7, run), np.array([HORIZON])) for run in range(threads)]
    with ThreadPoolExecutor(threads) as pool:

        def play(more: int) -> float:
            begun = time.monotonic()
            list(pool.map(lambda player: player.play(player.step + more), players))
            return time.monotonic() - begun

        play(WARM)  # compiles, and learns
        more = 200
        while (taken := play(more)) < seconds and players[0].step + 4 * more <= HORIZON:
            more = min(4 * more, int(more * seconds / taken) + 1)
    return threads * more / taken


def gpu_rate(policy: str, runs: int, world: Any = None, seconds: float = 0.3) -> float:
    """Steps per second of many runs on the first GPU."""
    layout = BatchLayout(Player(setup_of(policy, world), 0, np.array([HORIZON]), compiled=False))
    keys = [request_key(branch(7, run)) for run in range(runs)]
    batch = RunBatch(gpus()[0], policy, layout, [(run, None) for run in range(runs)], keys, None)

    def play(more: int) -> float:
        batch.chunk = more
        begun = time.monotonic()
        batch.poll()
        batch.stop()
        return time.monotonic() - begun

    taken = play(WARM)
    more = max(1, min(HORIZON // 2, int(WARM * seconds / taken)))
    return runs * more / play(more)


def main() -> None:
    """Check and measure the policies named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("policies", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--runs", type=int, default=16_384)
    asked = parser.parse_args()
    names = asked.policies or policies()
    rows = []
    with ProcessPoolExecutor(min(14, os.cpu_count() or 1), multiprocessing.get_context("spawn")) as pool:
        for row in pool.map(check, names):
            rows.append(row)
            print(f"{row['policy']}: {'bit-equal' if row['equal'] else 'DIFFERS'}, "
                  f"{row['runs_that_differ']} of {CHECKED} runs, {row['difference_in_errors']:.3f} errors; "
                  f"compiled in {row['gpu_seconds']:.0f} s", flush=True)  # fmt: skip
    for row in rows:
        policy = row["policy"]
        row["one_core"] = cpu_rate(policy, 1)
        row["all_cores"] = cpu_rate(policy, checked_threads(None))
        row["gpu"] = gpu_rate(policy, asked.runs)
        print(f"{policy}: steps/s {row['one_core']:.3g} on one core, {row['all_cores']:.3g} on all, "
              f"{row['gpu']:.3g} on the GPU ({row['gpu'] / row['all_cores']:.1f} times)", flush=True)  # fmt: skip
        if asked.json is not None:
            asked.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
