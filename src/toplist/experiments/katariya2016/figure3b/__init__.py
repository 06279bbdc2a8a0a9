"""Figure 3b of katariya2016: dcmKL-UCB beside a ranked bandit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Play, Size
from toplist.experiments.katariya2016 import figure3_problem
from toplist.experiments.katariya2016.regret_bounds import DCM_KL_UCB
from toplist.experiments.verdicts import about_three_times, as_times, final, settled, times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RANKED = "RankedKL-UCB"


def jobs(size: Size, _: Data | None) -> Sequence[Play]:
    """Both on the same visitors."""
    return [figure3_problem.play({RANKED: "ranked-kl-ucb"}, size)]


def judge(found: Found) -> Sequence[Claim]:
    """About three times."""
    result = found.results[figure3_problem.LABEL]
    more = times(final(result, RANKED), final(result, DCM_KL_UCB))
    holds = settled(about_three_times(more), result.steps, figure3_problem.FULL.steps)
    text = f"{RANKED} has three times the regret of {DCM_KL_UCB}"
    number = f"{as_times(more)} times; 2 to 4 asked"
    return [Claim(text, found.outcome(holds), number, figure3_problem.PROBLEM.remark(result.steps))]


def draw(found: Found, figure: Figure) -> None:
    """Their curves."""
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
        "The bandits of RankedKL-UCB choose among the items not placed above them. Where they may propose any, and a "
        "proposal that is taken is replaced at random, it has about 19 times the regret of dcmKL-UCB.",
    ),
    seconds=3.0,
)
