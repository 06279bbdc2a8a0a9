"""Plays policies like `simulate`, and looks on the way how near their estimate is to the truth."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np

from toplist.engine.player import Player, Setting
from toplist.engine.result import Result
from toplist.engine.runs import Progress, checked_checkpoints, checked_threads
from toplist.policies import make
from toplist.problem import checked_seed, whole
from toplist.randomness import branch
from toplist.slate import Floats
from toplist.starts import OneSample

POINTS = 100  # of a curve
DISTANCE = 2  # the column of a run's curves that stands beside regret and clicks


class Followed(NamedTuple):
    """Regret and clicks, and per policy that estimates theta* how far it was, (runs, checkpoints)."""

    result: Result
    distance: dict[str, Floats]


def cosine_distance(estimate: Floats, truth: Floats) -> float:
    """1 - cos of the angle between two vectors; 1 where one of them is 0, as at the beginning.

    >>> cosine_distance(np.array([2.0, 0.0]), np.array([1.0, 0.0]))
    0.0
    >>> cosine_distance(np.array([0.0, 0.0]), np.array([1.0, 0.0]))
    1.0
    """
    lengths = float(np.linalg.norm(estimate) * np.linalg.norm(truth))
    return 1.0 - float(estimate @ truth) / lengths if lengths > 0.0 else 1.0


def follow(
    policies: Mapping[str, str],
    world: Any,
    users: Any,
    steps: int,
    runs: int,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Followed:
    """Play every policy, and look at a hundred checkpoints; regret and clicks are those of `simulate`, to the bit."""
    steps = whole("The number of steps", steps, 1, "give how many lists each run shows")
    runs = whole("The number of runs", runs, 1, "give how often each policy starts anew")
    checkpoints = checked_checkpoints(POINTS, steps)
    settings = {label: Setting.of(make(name), world, users, OneSample(), steps) for label, name in policies.items()}
    curves = {label: np.zeros((runs, len(checkpoints), 3)) for label in settings}
    waiting = [(label, run) for run in range(runs) for label in settings]
    begun, stopped = time.monotonic(), threading.Event()

    def play(label: str, run: int) -> None:
        player = Player(settings[label], branch(checked_seed(seed), run), checkpoints)
        for place, step in enumerate(checkpoints.tolist()):
            if stopped.is_set():
                return
            player.play(step)
            curves[label][run, place, DISTANCE] = _distance(player)
        curves[label][run, :, :DISTANCE] = player.run.curves

    pool = ThreadPoolExecutor(checked_threads(threads))
    try:
        for done, future in enumerate(as_completed([pool.submit(play, *each) for each in waiting]), start=1):
            future.result()  # raises what the run raised
            if progress is not None:
                progress(Progress(done * steps, len(waiting) * steps, time.monotonic() - begun))
    finally:
        stopped.set()  # runs stop at their next checkpoint
        pool.shutdown(wait=True, cancel_futures=True)
    result = Result(
        checkpoints,
        {label: each[:, :, 0] for label, each in curves.items()},
        {label: each[:, :, 1] for label, each in curves.items()},
        {"seed": seed},
    )
    distance = {label: each[:, :, DISTANCE] for label, each in curves.items()}
    return Followed(result, {label: each for label, each in distance.items() if np.isfinite(each).all()})


def _distance(player: Player) -> float:
    """How far the estimate is from theta*; nan for a policy that has none."""
    theta = getattr(player.belief, "theta", None)
    return float("nan") if theta is None else cosine_distance(theta, player.run.moment.weights)
