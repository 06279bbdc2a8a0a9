"""Figure 3a of katariya2016: dcmKL-UCB and two policies that learn from a single click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.katariya2016 import figure3_problem
from toplist.experiments.katariya2016.regret_bounds import DCM_KL_UCB
from toplist.experiments.problem_grid import below_claim
from toplist.experiments.verdicts import difference, final_regret

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RIVALS = {"First-Click": "first-click", "Last-Click": "last-click"}


def jobs(size: Size, _: DataSet | None) -> Sequence[Play]:
    """One play, all on the same visitors."""
    return [figure3_problem.play(RIVALS, size)]


def judge(found: Findings) -> Sequence[Claim]:
    """The claims: dcmKL-UCB has the lowest regret of the three."""
    result = found.results[figure3_problem.LABEL]
    claims = []
    for rival in RIVALS:
        compared = difference(final_regret(result, DCM_KL_UCB), final_regret(result, rival))
        text = f"{DCM_KL_UCB} is under {rival}"
        remark = figure3_problem.PROBLEM.remark(result.steps)
        claims.append(below_claim(found, figure3_problem.FULL.steps, text, [compared], remark))
    return claims


def draw(found: Findings, figure: Figure) -> None:
    """Draw the curves."""
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
