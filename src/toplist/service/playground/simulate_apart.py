"""The process of a simulation: reads its plan from stdin, and writes a line of JSON per point of the curves."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.engine.side_by_side import play_side_by_side
from toplist.engine.statistics import standard_error
from toplist.logs.fitted import FittedModel
from toplist.policies.own import OwnSources, load_own_policies
from toplist.service.playground.plan import MODEL_FILE, SimulationPlan
from toplist.service.process_apart import end_with_parent

LOOK_EVERY = 0.05  # seconds
ADDRESSES = 4 << 30  # bytes of address space beyond the memory: libraries and threads reserve more than they use
OUT_OF_MEMORY = 77  # exit code
_MEMORY = Path("/proc/self/statm")


def memory_in_use() -> int:
    """Bytes of memory that this process has in use; where the system does not say, the most it ever had."""
    if _MEMORY.exists():  # the other figure begins, on Linux, with that of the process that started this one
        return int(_MEMORY.read_text().split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def limit_memory(megabytes: int) -> None:
    """End this process when it takes more memory; an allocation far beyond fails at once."""
    most = megabytes << 20
    with suppress(ValueError, OSError):  # a system without this limit
        resource.setrlimit(resource.RLIMIT_AS, (most + ADDRESSES, most + ADDRESSES))

    def watch() -> None:
        while memory_in_use() <= most:
            sleep(LOOK_EVERY)
        os._exit(OUT_OF_MEMORY)

    threading.Thread(target=watch, name="toplist-memory", daemon=True).start()


def say(kind: str, **more: Any) -> None:
    """Write one line for the service."""
    print(json.dumps({"event": kind} | more), flush=True)


def play(plan: SimulationPlan, model: str | None) -> None:
    """Play a plan, and say each point of its curves: the means over runs, with standard errors."""
    world: Any = plan.world
    users: Any = plan.users
    if model is not None:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            Path(MODEL_FILE).write_text(model, encoding="utf-8")
            fitted = FittedModel.load(MODEL_FILE)
            os.chdir("/")
        if plan.query is None:
            raise InvalidInput("A model needs a query, whose items are shown; choose one.")
        world, users = fitted.world(plan.query, plan.positions), fitted.users(plan.query, plan.positions)
    points = play_side_by_side(
        plan.policies, world, users, plan.steps, plan.runs, plan.seed, checkpoints=plan.checkpoints,
        on_policy=lambda label: say("policy", policy=label),
    )  # fmt: skip
    for step, curves in points:
        means = {label: runs.mean(axis=0).tolist() for label, runs in curves.items()}
        errors = {label: np.nan_to_num(standard_error(runs)).tolist() for label, runs in curves.items()}
        say("point", step=step, means=means, errors=errors)
    say("done")


def main() -> None:
    """Play what stands on stdin."""
    end_with_parent(int(sys.argv[1]))
    given = json.loads(sys.stdin.buffer.read())
    limit_memory(given["megabytes"])
    modules, installed = given["sources"]
    try:
        load_own_policies(OwnSources(tuple(modules), installed))
        play(SimulationPlan(*given["plan"]), given["model"])
    except InvalidInput as problem:
        say("refused", detail=str(problem))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
