"""Plays an experiment as the command does, but in a few lines, and draws it; and curves to judge that nobody played."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import toplist
from toplist.engine.runs import simulate_and_watch
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Measure, Outcome, Size

STEPS = np.arange(1, 101) / 100  # of made-up curves, as shares of all


def play(experiment: Experiment, size: Size, data: Data | None = None) -> Found:
    """Everything that it plays and measures."""
    results, measures, watched = {}, {}, {}
    for job in experiment.jobs(size, data):
        if isinstance(job, Measure):
            measures[job.label] = job.find()
        else:
            found = simulate_and_watch(
                job.policies, job.world, job.users, job.steps, job.runs, job.seed,
                start=job.start, checkpoints=job.checkpoints, threads=1, watch=job.watch,
            )  # fmt: skip
            assert job.label not in results
            results[job.label], watched[job.label] = found
    return Found(size, results, measures, watched, data)


def draw(experiment: Experiment, found: Found) -> Figure:
    """The figure, as it would be saved."""
    figure = Figure(figsize=experiment.inches)
    FigureCanvasAgg(figure)
    experiment.draw(found, figure)
    file = io.BytesIO()
    figure.savefig(file, format="png")
    assert file.tell() > 5000
    return figure


def outcomes(claims: Any) -> list[Outcome]:
    return [claim.outcome for claim in claims]


def about(claims: Any, words: str) -> Claim:
    """The only claim with these words."""
    (claim,) = [claim for claim in claims if words in claim.text]
    assert isinstance(claim, Claim)
    return claim


def linear(end: float) -> Any:
    """A line to so much regret."""
    return end * STEPS


def flat(end: float) -> Any:
    """A curve that has all its regret after a tenth of the steps."""
    return end * np.minimum(1.0, 10 * STEPS)


def result(curves: Mapping[str, Any], steps: int, runs: int = 20, spread: float = 0.01) -> toplist.Result:
    """Each curve as many runs, every one a little higher or lower."""
    rng = np.random.default_rng(0)
    wide = {name: np.outer(1 + spread * rng.uniform(-1, 1, runs), curve) for name, curve in curves.items()}
    return toplist.Result(np.arange(1, 101) * steps // 100, wide, wide)
