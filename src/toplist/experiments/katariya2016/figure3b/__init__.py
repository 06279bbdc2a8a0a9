"""Figure 3b of katariya2016: dcmKL-UCB and a ranked bandit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.katariya2016 import figure3_problem
from toplist.experiments.katariya2016.regret_bounds import DCM_KL_UCB
from toplist.experiments.verdicts import (
    final_regret,
    is_about_three_times,
    ratio_text,
    regret_ratio,
    undecided_if_short,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RANKED = "RankedKL-UCB"


def jobs(size: Size, _: DataSet | None) -> Sequence[Play]:
    """One play, both on the same visitors."""
    return [figure3_problem.play({RANKED: "ranked-kl-ucb"}, size)]


def judge(found: Findings) -> Sequence[Claim]:
    """The claim: about three times the regret."""
    result = found.results[figure3_problem.LABEL]
    more = regret_ratio(final_regret(result, RANKED), final_regret(result, DCM_KL_UCB))
    holds = undecided_if_short(is_about_three_times(more), result.steps, figure3_problem.FULL.steps)
    text = f"{RANKED} has three times the regret of {DCM_KL_UCB}"
    number = f"{ratio_text(more)} times; 2 to 4 required"
    return [Claim(text, found.outcome(holds), number, figure3_problem.PROBLEM.remark(result.steps))]


def draw(found: Findings, figure: Figure) -> None:
    """Draw the curves."""
    (axes,) = drawing.panels(figure)
    result = found.results[figure3_problem.LABEL]
    drawing.curves(axes, result)
    figure3_problem.PROBLEM.draw(axes, result)
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 3b: dcmKL-UCB and RankedKL-UCB",
    setting=figure3_problem.SETTING,
    full=figure3_problem.FULL,
    quick=figure3_problem.QUICK,
    jobs=jobs,
    judge=judge,
    draw=draw,
    deviations=(
        "The bandits of RankedKL-UCB choose among the items not placed above them. If they may propose any item, "
        "and a proposal already placed is replaced at random, it has about 19 times the regret of dcmKL-UCB.",
    ),
    seconds=3.0,
)
