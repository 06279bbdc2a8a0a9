"""What happened on the time axis of a simulation: checked, and drawn on its plot."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from toplist.core.problem import refuse, whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

StepsByRun = list[list[int]]  # per run, ascending numbers of steps

MOST_LINES = 50  # more would hide the curves


def checked_steps_by_run(what: str, given: Any, runs: int, steps: int) -> StepsByRun:
    """A list of steps for every run, or none at all."""
    accepted = f"a list for each of the {runs} runs, of ascending steps from 1 to {steps}"
    try:
        marks = [[whole("A step", step, 1, "steps are counted from 1") for step in run] for run in given]
    except (TypeError, ValueError):
        raise refuse(what, given, accepted, "or leave it out") from None
    ascending = all(before < after for run in marks for before, after in itertools.pairwise(run))
    within = all(run[-1] <= steps for run in marks if run)
    if (marks and len(marks) != runs) or not ascending or not within:
        raise refuse(what, given, accepted, "or leave it out")
    return marks


def draw_breakpoints(axes: Axes, breakpoints: StepsByRun) -> dict[str, Artist]:
    """Draw a thin line where all runs changed alike; what was drawn, by its name in the legend.

    Breakpoints that differ between runs say nothing about a mean curve, and are not drawn.
    """
    drawn: dict[str, Artist] = {}
    common = breakpoints[0] if breakpoints and all(run == breakpoints[0] for run in breakpoints) else []
    if len(common) <= MOST_LINES:
        for step in common:
            drawn["breakpoint"] = axes.axvline(step, color="0.55", linewidth=0.8, linestyle=(0, (1, 2)), zorder=0.9)
    return drawn


def draw_detections(axes: Axes, detections: dict[str, StepsByRun], colours: dict[str, Any]) -> dict[str, Artist]:
    """Draw what each policy found, in whatever run, as a row of ticks in its colour, one above the other."""
    drawn: dict[str, Artist] = {}
    rows = [(name, list(itertools.chain.from_iterable(marks))) for name, marks in detections.items()]
    for row, (name, steps) in enumerate((name, steps) for name, steps in rows if steps):
        height = [0.012 + 0.024 * row] * len(steps)
        (drawn["change found"],) = axes.plot(
            steps, height, linestyle="none", marker="|", markersize=5, color=colours[name], alpha=0.6,
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
    return drawn
