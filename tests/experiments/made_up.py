"""Findings for tests of experiments: simulations at any size, and synthetic curves."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

import toplist
from toplist.core.slate import Floats
from toplist.engine.simulate import WatchedResult, simulate_with_watch
from toplist.experiments.experiment import DataSet, Experiment, Findings, Measure, Play, Size

Curve = Callable[[Floats], Floats] | float  # of steps, or the regret at the end


def played(experiment: Experiment, size: Size, data: DataSet | None = None) -> Findings:
    """The findings of an experiment at a size."""
    results, measures, watched = {}, {}, {}
    for job in experiment.jobs(size, data):
        if isinstance(job, Measure):
            measures[job.label] = job.find()
        else:
            assert job.label not in results
            results[job.label], watched[job.label] = watched_play(job)
    return Findings(size, results, measures, watched, data)


def simulated(play: Play) -> toplist.Result:
    return watched_play(play).result


def watched_play(play: Play) -> WatchedResult:
    return simulate_with_watch(
        play.policies, play.world, play.users, play.steps, play.runs, play.seed,
        start=play.start, checkpoints=play.checkpoints, watch=play.watch,
    )  # fmt: skip


def drawn(experiment: Experiment, found: Findings) -> Figure:
    """The figure, rendered as for a file."""
    figure = Figure(figsize=experiment.inches)
    experiment.draw(found, figure)
    figure.draw_without_rendering()
    return figure


def result(curves: Mapping[str, Curve], size: Size, errors: float | Mapping[str, float] = 0.01) -> toplist.Result:
    """Synthetic curves whose runs differ so that the standard error of the final regret is `errors` times its mean."""
    steps = np.linspace(size.steps / 100, size.steps, 100).round().astype(np.int64)
    spread = np.linspace(-1.0, 1.0, size.runs) if size.runs > 1 else np.zeros(1)
    regret = {}
    for place, (name, curve) in enumerate(curves.items()):
        mean = curve(steps.astype(np.float64)) if callable(curve) else curve * np.log(steps) / np.log(size.steps)
        share = errors if isinstance(errors, float) else errors[name]
        factors = np.roll(spread, place * 7)  # runs of different policies are not alike
        if size.runs > 1:
            factors = factors / (factors.std(ddof=1) / np.sqrt(size.runs)) * share
        regret[name] = (1.0 + factors)[:, None] * mean
    return toplist.Result(steps, regret, regret)


def outcomes(experiment: Experiment, found: Findings) -> list[str]:
    """The outcome of each claim, by name."""
    return [claim.outcome.name for claim in experiment.judge(found)]


def only(names: Sequence[str]) -> str:
    """The common outcome of all."""
    (name,) = set(names)
    return name
