"""Figure 3a of katariya2016: dcmKL-UCB beside two that learn from a single click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Play, Size
from toplist.experiments.katariya2016 import figure3_problem
from toplist.experiments.katariya2016.regret_bounds import DCM_KL_UCB
from toplist.experiments.problem_grid import under_claim
from toplist.experiments.verdicts import difference, final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIVALS = {"First-Click": "first-click", "Last-Click": "last-click"}


def jobs(size: Size, _: Data | None) -> Sequence[Play]:
    """All on the same visitors."""
    return [figure3_problem.play(RIVALS, size)]


def judge(found: Found) -> Sequence[Claim]:
    """The lowest of the three."""
    result = found.results[figure3_problem.LABEL]
    claims = []
    for rival in RIVALS:
        compared = difference(final(result, DCM_KL_UCB), final(result, rival))
        text = f"{DCM_KL_UCB} is under {rival}"
        remark = figure3_problem.PROBLEM.remark(result.steps)
        claims.append(under_claim(found, figure3_problem.FULL.steps, text, [compared], remark))
    return claims


def draw(found: Found, figure: Figure) -> None:
    """Their curves."""
    (axes,) = drawing.panels(figure)
    result = found.results[figure3_problem.LABEL]
    drawing.curves(axes, result)
    figure3_problem.PROBLEM.draw(axes, result)
    drawing.legend(figure, columns=2)


EXPERIMENT = Experiment(
    title="Figure 3a: dcmKL-UCB, First-Click and Last-Click",
    setting=figure3_problem.SETTING,
    full=figure3_problem.FULL,
    quick=figure3_problem.QUICK,
    jobs=jobs,
    judge=judge,
    draw=draw,
    seconds=3.0,
)
