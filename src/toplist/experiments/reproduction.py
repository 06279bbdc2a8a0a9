"""Plays experiments of the papers again, one after the other, and judges each: the work of `toplist reproduce`.

`reproduce` is exported by `toplist.experiments`; a module called `reproduce` would shadow the function there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from toplist.core.problem import checked_seed, whole
from toplist.engine.simulate import scheduler_of
from toplist.experiments import library
from toplist.experiments.experiment import Claim, Experiment, Outcome, Size
from toplist.experiments.remaining_time import TimeEstimator, expected_seconds
from toplist.experiments.report import write_report
from toplist.experiments.required_data import KINDS, DataFolder, check_data_folder, locate
from toplist.experiments.results_folder import FOLDER, make_results_folder
from toplist.experiments.run_experiment import (
    ExperimentProgress,
    Verdict,
    Workspace,
    read_verdict,
    run_experiment,
    write_verdict,
)
from toplist.support.files import AnyPath, Unwritable


class ReproductionProgress(NamedTuple):
    """How far a call of `reproduce` is.

    Parameters
    ----------
    experiment : str
        Name of the experiment being played.
    share : float
        Finished share of this experiment, from 0 to 1.
    total_share : float
        Finished share of all experiments of the call, weighted by their expected time.
    rate : float
        Steps per second; 0 while unknown.
    seconds_left : float
        Estimated seconds until the call ends; infinite while unknown.
    """

    experiment: str
    share: float
    total_share: float
    rate: float
    seconds_left: float


OnProgress = Callable[[ReproductionProgress], None]
OnVerdict = Callable[[Verdict], None]
OnError = Callable[[str, Exception], None]


def reproduce(
    names: str | Sequence[str] | None = None,
    results: AnyPath = FOLDER,
    data: AnyPath | None = None,
    *,
    quick: bool = False,
    steps: int | None = None,
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    pool: Executor | None = None,
    engine: str = "cpu",
    progress: OnProgress | None = None,
    on_verdict: OnVerdict | None = None,
    on_error: OnError | None = None,
) -> dict[str, Verdict]:
    """Play experiments of the papers again, and judge every claim.

    Finished runs are kept in the folder of results, so the same call continues after an interruption and plays nothing
    when everything is finished. The folder also receives a verdict and a figure per experiment, and `report.html`;
    figures need the extra `plots` and the report the extra `report`, and are left out without.

    Parameters
    ----------
    names : str or sequence of str or None, default None
        Experiments, as `"kveton2015/table1"`, or papers, as `"kveton2015"`; None plays all.
    results : path_like, default "reproduction"
        Folder of results; created if missing.
    data : path_like or None, default None
        Folder with the data sets. An experiment without its data set gets the outcome "needs data", or keeps its
        earlier verdict.
    quick : bool, default False
        Play smaller sizes with the same tests; some claims are then undecided.
    steps, runs : int or None, default None
        Steps and runs of every experiment instead of its own. With `runs`, panels of hiranandani2019 that usually have
        more or fewer runs than others have as many.
    seed : int, default 0
        Equal seeds give equal numbers.
    threads : int or None, default None
        Number of threads; None uses one per core. It is not for `engine="gpu"`.
    pool : concurrent.futures.Executor or None, default None
        Plays the runs on this pool instead of on threads.
    engine : {"cpu", "gpu"}, default "cpu"
        Where to play without a pool, as for `simulate`.
    progress : callable or None, default None
        Called with a `ReproductionProgress` now and then.
    on_verdict : callable or None, default None
        Called with the verdict of each experiment as soon as it is known.
    on_error : callable or None, default None
        Called with the name and the exception when one of several experiments fails; the others are still played.
        Without it the exception is raised. A failure that would hit every experiment (full disk, missing module, out
        of memory) and the failure of a single experiment are always raised.

    Returns
    -------
    dict of str to Verdict
        The verdicts by name of the experiment, in the order played. A verdict has the `claims`, each with its own
        `outcome`, `number` and `remark`, and `outcome`, the worst of theirs.

    Raises
    ------
    InvalidInput
        If an experiment is unknown, a number is out of range, or a folder cannot be used.

    See Also
    --------
    toplist.simulate : Plays policies on a world and users of your own.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from toplist.experiments import reproduce
    >>> with TemporaryDirectory() as folder:
    ...     verdicts = reproduce("katariya2016/figure3b", folder, steps=200, runs=2)
    >>> str(verdicts["katariya2016/figure3b"].outcome)
    'undecided at this size'
    """
    for what, given in (("steps", steps), ("runs", runs), ("threads", threads)):
        if given is not None:
            whole(f"The number of {what}", given, 1, "or leave it out")
    scheduler_of(engine, None, threads)  # refuses what cannot play
    data_folder = check_data_folder(data)
    chosen = library.choose([names] if isinstance(names, str) else names)
    sizes = {name: size_of(experiment, quick, steps, runs, checked_seed(seed)) for name, experiment in chosen.items()}
    workspace = Workspace(make_results_folder(results), threads, pool, engine)
    try:
        verdicts = _play_all(chosen, sizes, data_folder, workspace, progress, on_verdict, on_error)
    except BaseException:
        with suppress(Exception):  # the report of what is finished must not hide the error
            write_report(workspace.folder)
        raise
    with suppress(ImportError):  # without Jinja2; the results are complete all the same
        write_report(workspace.folder)
    return verdicts


def size_of(experiment: Experiment, quick: bool, steps: int | None, runs: int | None, seed: int) -> Size:
    """The size to play: the experiment's own, unless steps or runs are given."""
    usual = experiment.quick if quick else experiment.full
    size = Size(usual.steps if steps is None else steps, usual.runs, seed, quick)
    return size if runs is None else size._replace(runs=runs, runs_given=True)


def _play_all(
    chosen: Mapping[str, Experiment],
    sizes: Mapping[str, Size],
    folder: Path | None,
    workspace: Workspace,
    progress: OnProgress | None,
    on_verdict: OnVerdict | None,
    on_error: OnError | None,
) -> dict[str, Verdict]:
    """Play one experiment after the other; a failing one does not stop the others if `on_error` is given."""
    estimator = TimeEstimator(_expected_times(chosen, sizes, folder, workspace))
    data, verdicts = DataFolder(folder), {}
    for name, experiment in chosen.items():
        try:
            verdict = _play_one(name, experiment, sizes[name], data, workspace, progress, estimator)
        except Exception as error:
            if on_error is None or len(chosen) == 1 or _hits_every_experiment(error):
                raise
            on_error(name, error)
            continue
        verdicts[name] = verdict
        if on_verdict is not None:
            on_verdict(verdict)
    return verdicts


def _hits_every_experiment(error: Exception) -> bool:
    """Whether the next experiment would fail as well: full disk, missing permission or module, out of memory."""
    return isinstance(error, OSError | MemoryError | ImportError | Unwritable)


def _expected_times(
    chosen: Mapping[str, Experiment], sizes: Mapping[str, Size], folder: Path | None, workspace: Workspace
) -> dict[str, float]:
    """Expected seconds of each experiment; next to none if it is finished at this size, or lacks its data."""
    seconds = {}
    for name, experiment in chosen.items():
        kept = read_verdict(name, workspace.folder)
        finished = kept is not None and kept.size == sizes[name]
        lacks_data = bool(experiment.data) and locate(experiment.data, folder) is None
        seconds[name] = expected_seconds(experiment, sizes[name], finished or lacks_data)
    return seconds


def _play_one(
    name: str,
    experiment: Experiment,
    size: Size,
    data: DataFolder,
    workspace: Workspace,
    progress: OnProgress | None,
    estimator: TimeEstimator,
) -> Verdict:
    last = ExperimentProgress(0.0, 0.0, 0.0)

    def report(now: ExperimentProgress) -> None:
        nonlocal last
        last = now
        if progress is not None:
            estimate = estimator.estimate(name, now)
            progress(ReproductionProgress(name, now.share, estimate.share, now.rate, estimate.seconds_left))

    report(last)
    try:
        data_set = data.read(experiment.data) if experiment.data else None
        if experiment.data and data_set is None:
            return _verdict_without_data(name, experiment, size, workspace)
        return run_experiment(name, experiment, size, data_set, workspace, report)
    finally:
        estimator.finish(name, last)


def _verdict_without_data(name: str, experiment: Experiment, size: Size, workspace: Workspace) -> Verdict:
    """The earlier verdict if the experiment was played with data before; else a new one that says what to get."""
    earlier = read_verdict(name, workspace.folder)
    if earlier is not None and earlier.outcome != Outcome.NEEDS_DATA:
        return earlier
    claim = Claim(experiment.title, Outcome.NEEDS_DATA, f"get {KINDS[experiment.data].how}")
    verdict = Verdict(name, [claim], size, 0.0)
    home = workspace.home(name)
    home.mkdir(parents=True, exist_ok=True)
    write_verdict(verdict, home)
    return verdict
