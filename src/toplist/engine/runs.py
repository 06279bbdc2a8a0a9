"""Simulations: several policies, many runs, the same visitors for all, on as many threads as there are cores."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from toplist.engine.player import Player, Setting
from toplist.engine.result import Result, check_plot
from toplist.engine.store import Store, describe
from toplist.policies.entries import make
from toplist.problem import InvalidInput, refuse, whole
from toplist.randomness import branch
from toplist.slate import Ints
from toplist.starts import OneSample

ONE_SAMPLE = OneSample()
CHUNK_SECONDS = 0.05  # how long a run plays on before it looks up: progress and Ctrl-C wait no longer than this


class Progress(NamedTuple):
    """How far a simulation is."""

    done: int  # steps, of all policies and runs together
    total: int
    seconds: float  # since the call

    @property
    def remaining(self) -> float:
        """Seconds left at the rate so far."""
        return (self.total - self.done) * self.seconds / self.done if self.done else float("inf")


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
    called again with it goes on where it stopped, and one that asks for more runs plays only those. `plot` names a
    picture to draw at the end; whether it can be written is checked before the first step.

    >>> from toplist import simulate, worlds
    >>> result = simulate("best", *worlds.b_lb(16, 4, 0.2, 0.15, 0.5), steps=100, runs=2, threads=1)
    >>> float(result.mean("best")[-1])
    0.0
    """
    steps = whole("The number of steps", steps, 1, "give how many lists each run shows")
    runs = whole("The number of runs", runs, 1, "give how often each policy starts anew")
    seed = _seed(seed)
    threads = _threads(threads)
    kept = _checkpoints(checkpoints, steps)
    settings = {label: Setting.of(policy, world, users, start, steps) for label, policy in _labelled(policies).items()}
    if plot is not None:
        check_plot(plot)
    description = describe(settings, kept, seed)
    store = Store(resume, description)

    played = _play_all(settings, kept, runs, seed, threads, progress, store)
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
    )
    if plot is not None:
        result.plot(plot)
    return result


def _play_all(
    settings: dict[str, Setting],
    checkpoints: Ints,
    runs: int,
    seed: int,
    threads: int,
    progress: Callable[[Progress], None] | None,
    store: Store,
) -> dict[str, Any]:
    """Curves of all policies, (runs, checkpoints, 2) each."""
    steps = int(checkpoints[-1])
    curves = {label: np.zeros((runs, len(checkpoints), 2)) for label in settings}
    waiting: list[tuple[str, int]] = []
    # Run by run rather than policy by policy, so that what an interruption leaves behind can be compared.
    for run in range(runs):
        for label in settings:
            finished = store.finished(label, run)
            if finished is None:
                waiting.append((label, run))
            else:
                curves[label][run] = finished
    begun = time.monotonic()
    total = len(settings) * runs * steps
    done = [total - len(waiting) * steps]
    counting, stopped = threading.Lock(), threading.Event()

    def play_one(label: str, run: int, unfinished: dict[str, Any] | None) -> tuple[str, int, Player]:
        player = Player(settings[label], branch(seed, run), checkpoints)
        if unfinished is not None:
            player.take_up(unfinished)
            with counting:
                done[0] += player.step
        chunk = 256
        while player.step < steps and not stopped.is_set():
            before, clock = player.step, time.monotonic()
            player.play(min(steps, player.step + chunk))
            with counting:
                done[0] += player.step - before
            chunk *= 2 if time.monotonic() - clock < CHUNK_SECONDS / 2 else 1
        return label, run, player

    def report() -> None:
        if progress is not None:
            progress(Progress(done[0], total, time.monotonic() - begun))

    def collect(players: Any) -> None:
        for label, run, player in players:
            if player.step == steps:
                curves[label][run] = player.run.curves
                store.keep_finished(label, run, player.run.curves)
            else:
                store.keep_unfinished(label, run, player.put_aside())

    report()
    pool = ThreadPoolExecutor(threads)
    pending = {pool.submit(play_one, label, run, store.unfinished(label, run)) for label, run in waiting}
    try:
        while pending:
            finished_now, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
            collect(future.result() for future in finished_now)
            store.save(at_most_every=2.0)
            report()
    finally:
        # However this ends, what was played is kept: unfinished runs stop after their chunk and are put aside.
        stopped.set()
        pool.shutdown(wait=True, cancel_futures=True)
        left = [future for future in pending if not future.cancelled() and future.exception() is None]
        collect(future.result() for future in left)
        store.save()
    return curves


def _labelled(policies: Any) -> dict[str, Any]:
    """Policies by label: a name labels itself, and a policy made of parts is labelled by its class."""
    if isinstance(policies, Mapping):
        named = {str(label): make(policy) for label, policy in policies.items()}
    else:
        several = policies if isinstance(policies, list | set) or type(policies) is tuple else [policies]
        named = {}
        for policy in several:
            label = policy if isinstance(policy, str) else type(policy).__name__
            while label in named:
                label += "'"
            named[label] = make(policy)
    if not named:
        raise InvalidInput("There are no policies, but a simulation needs at least one; give a name of the catalogue.")
    return named


def _seed(seed: int) -> int:
    seed = whole("The seed", seed, 0, "give any whole number")
    if seed >= 2**63:
        raise refuse("The seed", seed, "below 2**63", "give a smaller number")
    return seed


def _threads(threads: int | None) -> int:
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole("The number of threads", threads, 1, "or leave it out for all cores")


def _checkpoints(given: int | Sequence[int], steps: int) -> Ints:
    """Ascending steps, of which the last is the last of all."""
    if isinstance(given, int | np.integer):
        count = whole("The number of checkpoints", given, 1, "give how many points a curve has")
        return np.unique(np.linspace(steps / min(count, steps), steps, min(count, steps)).round().astype(np.int64))
    wanted = sorted({whole("A checkpoint", step, 1, "give steps after which curves are kept") for step in given})
    if wanted and wanted[-1] > steps:
        raise refuse("A checkpoint", wanted[-1], f"at most the number of steps, {steps}", "leave it out")
    return np.array(sorted({*wanted, steps}), dtype=np.int64)
