"""Marks on the time axis of a plot: breakpoints of the world, and changes that policies detected."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from toplist.core.problem import refuse, whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

StepsByRun = list[list[int]]  # ascending steps of each run

MOST_LINES = 50  # more would hide the curves


def checked_steps_by_run(what: str, given: Any, runs: int, steps: int) -> StepsByRun:
    """`given` as a list of steps for each run, or an empty list."""
    accepted = f"a list for each of the {runs} runs, of ascending steps from 1 to {steps}"
    try:
        by_run = [[whole("A step", step, 1, "steps are counted from 1") for step in run] for run in given]
    except (TypeError, ValueError):
        raise refuse(what, given, accepted, "or leave it out") from None
    ascending = all(before < after for run in by_run for before, after in itertools.pairwise(run))
    within = all(run[-1] <= steps for run in by_run if run)
    if (by_run and len(by_run) != runs) or not ascending or not within:
        raise refuse(what, given, accepted, "or leave it out")
    return by_run


def draw_breakpoints(axes: Axes, breakpoints: StepsByRun) -> dict[str, Artist]:
    """Draw a thin line at each breakpoint common to all runs; return the artist by its name in the legend.

    Breakpoints that differ between runs say nothing about a mean curve and are not drawn.
    """
    artists: dict[str, Artist] = {}
    common = breakpoints[0] if breakpoints and all(run == breakpoints[0] for run in breakpoints) else []
    if len(common) <= MOST_LINES:
        for step in common:
            artists["breakpoint"] = axes.axvline(step, color="0.55", linewidth=0.8, linestyle=(0, (1, 2)), zorder=0.9)
    return artists


def draw_detections(axes: Axes, detections: dict[str, StepsByRun], colours: dict[str, Any]) -> dict[str, Artist]:
    """Draw the detections of each policy, in all runs, as a row of ticks in its colour, one row above the other."""
    artists: dict[str, Artist] = {}
    rows = [(name, list(itertools.chain.from_iterable(by_run))) for name, by_run in detections.items()]
    for row, (name, steps) in enumerate((name, steps) for name, steps in rows if steps):
        height = [0.012 + 0.024 * row] * len(steps)
        (artists["change found"],) = axes.plot(
            steps, height, linestyle="none", marker="|", markersize=5, color=colours[name], alpha=0.6,
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
    return artists
