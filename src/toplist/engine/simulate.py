"""`simulate`: several policies, many runs, the same visitors for every policy, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from inspect import signature
from os import PathLike
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import toplist
from toplist.core.problem import InvalidInput, checked_seed, refuse, whole
from toplist.core.slate import Floats, Ints
from toplist.engine.player import RunSetup
from toplist.engine.result import Result, check_plot
from toplist.engine.resume_file import ResumeFile, describe
from toplist.engine.scheduler import RunScheduler, Watch
from toplist.engine.simulated_problem import SimulatedProblem
from toplist.engine.starts import OneSample
from toplist.policies.by_name import make
from toplist.support.progress import Progress

__all__ = ["simulate"]

ONE_SAMPLE = OneSample()


def simulate(
    policies: Any,
    world: Any,
    users: Any = None,
    steps: int = 10_000,
    runs: int = 20,
    seed: int = 0,
    *,
    start: Any = ONE_SAMPLE,
    checkpoints: int | Sequence[int] = 100,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    resume: str | PathLike[str] | None = None,
    plot: str | PathLike[str] | None = None,
    compiled: bool | None = None,
    engine: str = "cpu",
) -> Result:
    """Play policies against the same simulated visitors and return their regret and clicks.

    In run r, visitor t is attracted by the same items whichever policy ranks them, so differences between policies
    are paired by run. Equal arguments give equal numbers, for any number of threads.

    Parameters
    ----------
    policies : str, policy, sequence of these, or mapping of str to these
        Names of the catalogue, such as `"cascade-kl-ucb"` or `"cascade-ucb1(scale=0.5)"`, or policies. A mapping
        gives each one a label of your own; otherwise a name is its own label, and a policy is labelled by its class.
    world : world or str
        Attraction of the items, such as `worlds.Fixed([0.5, 0.2, 0.1], positions=2)`, or the name of a world as on the
        command line, such as `"b-lb(items=32)"`; `toplist worlds` lists them.
    users : click model, str or None, default None
        Turns attraction into clicks, such as `clicks.Cascade()` or `"dcm(termination=0.5)"`. None takes the users that
        a world by name comes with, as `"b-lb"` does, or else `"cascade"`.
    steps : int, default 10,000
        Number of lists that each run shows.
    runs : int, default 20
        Number of independent runs of each policy.
    seed : int, default 0
        Seed of all random numbers.
    start : start or str, default OneSample()
        How a policy first sees the items: `starts.OneSample()`, `starts.Forced()` or `starts.NeverSeenFirst()`, or
        their names, such as `"never-seen-first"`.
    checkpoints : int or sequence of int, default 100
        Steps at which the curves are recorded, or the number of evenly spaced ones. The last step always is one.
    threads : int or None, default None
        Number of threads; None uses all cores. It is not for `engine="gpu"`.
    progress : callable or None, default None
        Called with a `Progress` about ten times a second.
    resume : path or None, default None
        An .npz file that stores what was played. An interrupted simulation that is called again with the same file
        continues where it stopped, and one with more `runs` plays only the additional ones. A killed process loses
        seconds of the runs in progress.
    plot : path or None, default None
        A .png, .svg or .pdf file to save the regret curves to. The path is checked before the first step.
    compiled : bool or None, default None
        Whether to play with machine code, which takes seconds to compile the first time, or in plain Python, which a
        debugger can step through; the numbers are the same. None plays short simulations of toplist's own parts in
        plain Python, up to 40,000 lists times items, and compiles all others.
    engine : {"cpu", "gpu"}, default "cpu"
        Where to play: on the cores of this machine, or on its NVIDIA GPUs, one thread per run, which pays for
        thousands of runs of small problems. It needs the extra `toplist[gpu]`.

    Returns
    -------
    Result
        Cumulative regret and clicks of every policy, run and checkpoint.

    Raises
    ------
    InvalidInput
        If an argument cannot be used, a part does not fit the others, or `resume` holds another simulation.

    See Also
    --------
    compare : Play policies on several kinds of users.
    tune : Find good parameters of one policy.

    Examples
    --------
    >>> from toplist import simulate, worlds
    >>> result = simulate("best", *worlds.b_lb(16, 4, 0.2, 0.15, 0.5), steps=100, runs=2, threads=1)
    >>> float(result.mean("best")[-1])
    0.0
    >>> simulate("best", "b-lb(items=16)", "dcm", steps=100, runs=2, threads=1).settings["users"]
    'dcm(termination=0.5)'
    """
    return _play(SimpleNamespace(**locals()), None, None).result


class WatchedResult(NamedTuple):
    """A result, and the values of `watch` per policy, (runs, checkpoints); empty without a `watch`."""

    result: Result
    watched: dict[str, Floats]


def simulate_with_watch(
    *arguments: Any, watch: Watch | None = None, pool: Executor | None = None, **named: Any
) -> WatchedResult:
    """`simulate` that also calls `watch` on every player at each checkpoint, and can play on any pool of workers."""
    given = signature(simulate).bind(*arguments, **named)
    given.apply_defaults()
    return _play(SimpleNamespace(**given.arguments), watch, pool)


def _play(given: SimpleNamespace, watch: Watch | None, pool: Executor | None) -> WatchedResult:
    """Check the arguments of `simulate`, and play."""
    if given.plot is not None:
        check_plot(given.plot)
    schedule = scheduler_of(given.engine, given.compiled, given.threads)
    steps = whole("The number of steps", given.steps, 1, "give the number of lists that each run shows")
    runs = whole("The number of runs", given.runs, 1, "give the number of runs of each policy")
    seed = checked_seed(given.seed)
    threads = checked_threads(given.threads)
    recorded = checked_checkpoints(given.checkpoints, steps)
    simulated = SimulatedProblem.of(given.world, given.users, given.start)
    setups = prepared_setups(given.policies, simulated, steps, runs, given.compiled)
    check_progress(given.progress)
    file = ResumeFile(given.resume, lambda: describe(setups, recorded, seed, watch))
    scheduler = schedule(setups, recorded, runs, seed, file, watch)

    curves = scheduler.play(threads, given.progress, pool)
    problem = next(iter(setups.values())).problem
    result = Result(
        checkpoints=recorded,
        regret={label: curves[label][:, :, 0] for label in setups},
        clicks={label: curves[label][:, :, 1] for label in setups},
        settings=simulated.texts(problem)
        | {"steps": steps, "runs": runs, "seed": seed, "version": toplist.__version__},
        breakpoints=scheduler.breakpoints(),
        detections=scheduler.detections(),
    )
    if given.plot is not None:
        result.plot(given.plot)
    return WatchedResult(result, {} if watch is None else {label: curves[label][:, :, 2] for label in setups})


def prepared_setups(
    policies: Any, simulated: SimulatedProblem, steps: int, runs: int, compiled: bool | None
) -> dict[str, RunSetup]:
    """The setup of each policy by label; `compiled` as for `simulate`."""
    setups = {
        label: RunSetup.of(policy, simulated.world, simulated.users, simulated.start, steps)
        for label, policy in policies_by_label(policies).items()
    }
    for label, setup in setups.items():
        if compiled is None:
            worth, samples_worth = setup.is_worth_compiling(steps * runs), setup.are_samples_worth_compiling(runs)
        else:
            worth = samples_worth = bool(compiled)
        setups[label] = setup._replace(compiled=worth, samples_compiled=samples_worth)
    return setups


def scheduler_of(engine: str, compiled: bool | None, threads: int | None) -> type[RunScheduler]:
    """The scheduler that plays on an engine; raises InvalidInput if the engine cannot be used here."""
    if engine == "cpu":
        return RunScheduler
    if engine != "gpu":
        raise refuse("engine", engine, "'cpu' or 'gpu'", "'cpu' plays everywhere")
    if compiled is False:
        raise InvalidInput("compiled is False, but a GPU plays machine code only; leave one of the two out.")
    if threads is not None:
        raise InvalidInput(f"threads is {threads}, but a GPU plays each run on a thread of its own; leave threads out.")
    from toplist.engine.batch_scheduler import BatchScheduler  # noqa: PLC0415 - imports numba-cuda, if it is there
    from toplist.engine.gpu.cuda_device import gpus  # noqa: PLC0415

    gpus()  # an error before any work
    return BatchScheduler


def policies_by_label(policies: Any) -> dict[str, Any]:
    """Policies by label: a name is its own label, a policy is labelled by its class."""
    if isinstance(policies, Mapping):
        for label in policies:
            if not isinstance(label, str):
                raise refuse("A policy's label", label, "text", "label each policy with a name of your own")
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
        raise InvalidInput("No policies were given, but a simulation needs one; give a name of the catalogue.")
    return named


def check_progress(progress: Any) -> None:
    """Refuse a `progress` that is not callable."""
    if progress is not None and not callable(progress):
        raise refuse("progress", progress, "a function that takes a Progress", "or leave it out")


def checked_threads(threads: int | None) -> int:
    """Number of threads to play on; all cores for None."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole("The number of threads", threads, 1, "or leave it out for all cores")


def checked_checkpoints(given: int | Sequence[int], steps: int) -> Ints:
    """Checkpoints as ascending steps that end with the last step."""
    if isinstance(given, int | np.integer):
        count = whole("The number of checkpoints", given, 1, "give the number of points of a curve")
        return np.unique(np.linspace(steps / min(count, steps), steps, min(count, steps)).round().astype(np.int64))
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise refuse("checkpoints", given, "a number of points or a sequence of steps", "100 is usual")
    wanted = sorted({whole("A checkpoint", step, 1, "give steps at which curves are recorded") for step in given})
    if wanted and wanted[-1] > steps:
        raise refuse("A checkpoint", wanted[-1], f"at most the number of steps, {steps}", "leave it out")
    return np.array(sorted({*wanted, steps}), dtype=np.int64)
