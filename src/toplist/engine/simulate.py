"""Simulations: several policies, many runs, the same visitors for all, on as many threads as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, checked_seed, refuse, whole
from toplist.core.slate import Floats, Ints
from toplist.engine.player import RunSetup
from toplist.engine.result import Result, check_plot
from toplist.engine.resume_file import ResumeFile, describe
from toplist.engine.scheduler import Progress, RunScheduler, Watch
from toplist.engine.starts import OneSample
from toplist.policies.by_name import make

__all__ = ["Progress", "simulate"]

ONE_SAMPLE = OneSample()


def simulate(
    policies: Any,
    world: Any,
    users: Any,
    steps: int,
    runs: int = 20,
    seed: int = 0,
    *,
    start: Any = ONE_SAMPLE,
    checkpoints: int | Sequence[int] = 100,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    resume: str | PathLike[str] | None = None,
    plot: str | PathLike[str] | None = None,
) -> Result:
    """Play every policy against the same simulated visitors, and tell what each one lost and earned.

    `policies` is a policy or a name of the catalogue, a sequence of these, or a mapping from labels to them. In run r
    of any policy, visitor t is attracted by the same items, so that differences between policies are paired. Equal
    arguments give equal numbers, whatever the number of `threads` (all cores by default).

    `checkpoints` are the steps after which curves are kept: a sequence, or a number of evenly spaced ones. `progress`
    is called about ten times a second. `resume` names a file that keeps what was played: an interrupted simulation
    called again with it goes on where it stopped, and one that asks for more runs plays only those; a killed process
    loses seconds of the runs in progress. `plot` names a picture to draw at the end; whether it can be written is
    checked before the first step.

    >>> from toplist import simulate, worlds
    >>> result = simulate("best", *worlds.b_lb(16, 4, 0.2, 0.15, 0.5), steps=100, runs=2, threads=1)
    >>> float(result.mean("best")[-1])
    0.0
    """
    if plot is not None:
        check_plot(plot)
    result = simulate_with_watch(
        policies, world, users, steps, runs, seed,
        start=start, checkpoints=checkpoints, threads=threads, progress=progress, resume=resume,
    ).result  # fmt: skip
    if plot is not None:
        result.plot(plot)
    return result


class WatchedResult(NamedTuple):
    """What came out, and per policy what was watched, (runs, checkpoints); empty where nothing was."""

    result: Result
    watched: dict[str, Floats]


def simulate_with_watch(
    policies: Any,
    world: Any,
    users: Any,
    steps: int,
    runs: int = 20,
    seed: int = 0,
    *,
    start: Any = ONE_SAMPLE,
    checkpoints: int | Sequence[int] = 100,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    resume: str | PathLike[str] | None = None,
    watch: Watch | None = None,
    pool: Executor | None = None,
) -> WatchedResult:
    """`simulate`, with a look at every player at each checkpoint, and on any pool of workers."""
    steps = whole("The number of steps", steps, 1, "give how many lists each run shows")
    runs = whole("The number of runs", runs, 1, "give how often each policy starts anew")
    seed = checked_seed(seed)
    threads = checked_threads(threads)
    kept = checked_checkpoints(checkpoints, steps)
    settings = {
        label: RunSetup.of(policy, world, users, start, steps) for label, policy in policies_by_label(policies).items()
    }
    check_progress(progress)
    description = describe(settings, kept, seed, watch)
    crew = RunScheduler(settings, kept, runs, seed, ResumeFile(resume, description), watch)

    played = crew.play(threads, progress, pool)
    some = next(iter(settings.values()))
    result = Result(
        checkpoints=kept,
        regret={label: played[label][:, :, 0] for label in settings},
        clicks={label: played[label][:, :, 1] for label in settings},
        settings={
            "world": f"{type(world).__name__}, L = {some.problem.items}, K = {some.problem.positions}",
            "users": type(users).__name__,
            "start": type(start).__name__,
            "steps": steps,
            "runs": runs,
            "seed": seed,
            "version": description["version"],
        },
        breakpoints=crew.breakpoints(),
        detections=crew.detections(),
    )
    return WatchedResult(result, {} if watch is None else {label: played[label][:, :, 2] for label in settings})


def policies_by_label(policies: Any) -> dict[str, Any]:
    """Policies by label: a name labels itself, and a policy made of parts is labelled by its class."""
    if isinstance(policies, Mapping):
        for label in policies:
            if not isinstance(label, str):
                raise refuse("A policy's label", label, "text", "give each policy a name of your own")
        named = {label: make(policy) for label, policy in policies.items()}
    else:
        several = policies if type(policies) in (list, tuple) else [policies]
        named = {}
        for policy in several:
            label = policy if isinstance(policy, str) else type(policy).__name__
            while label in named:
                label += "'"
            named[label] = make(policy)
    if not named:
        raise InvalidInput("There are no policies, but a simulation needs at least one; give a name of the catalogue.")
    return named


def check_progress(progress: Any) -> None:
    """Refuse what cannot be called."""
    if progress is not None and not callable(progress):
        raise refuse("progress", progress, "a function that takes a Progress", "or leave it out")


def checked_threads(threads: int | None) -> int:
    """How many threads to play on; all cores where nothing is said."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole("The number of threads", threads, 1, "or leave it out for all cores")


def checked_checkpoints(given: int | Sequence[int], steps: int) -> Ints:
    """Ascending steps, of which the last is the last of all."""
    if isinstance(given, int | np.integer):
        count = whole("The number of checkpoints", given, 1, "give how many points a curve has")
        return np.unique(np.linspace(steps / min(count, steps), steps, min(count, steps)).round().astype(np.int64))
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise refuse("checkpoints", given, "a number of points or a sequence of steps", "100 is usual")
    wanted = sorted({whole("A checkpoint", step, 1, "give steps after which curves are kept") for step in given})
    if wanted and wanted[-1] > steps:
        raise refuse("A checkpoint", wanted[-1], f"at most the number of steps, {steps}", "leave it out")
    return np.array(sorted({*wanted, steps}), dtype=np.int64)
