"""Figure 2a of katariya2016: the regret of dcmKL-UCB for different L, K and D."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toplist.clicks import DCM
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.katariya2016.regret_bounds import DCM_KL_UCB, RegretBounds
from toplist.experiments.problem_grid import LESS, NINE, Cell, label_axis, trend_claim
from toplist.experiments.verdicts import final_regret, mean_with_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = Size(steps=100_000, runs=20)
TERMINATION = 0.8


def jobs(size: Size, _: DataSet | None) -> Sequence[Play]:
    """A play per problem."""
    policies, users = {DCM_KL_UCB: "dcm-kl-ucb"}, DCM(TERMINATION)
    return [
        Play(str(cell), policies, cell.world, users, size.steps, size.runs, size.seed, checkpoints=1) for cell in NINE
    ]


def judge(found: Findings) -> Sequence[Claim]:
    """The three trends."""
    regrets = {cell: final_regret(found.results[str(cell)], DCM_KL_UCB) for cell in NINE}
    remarks = dict.fromkeys(LESS, "") | {"L grows": _between(found, [*regrets])}
    return [trend_claim(found, FULL.steps, when, [regrets], remark) for when, remark in remarks.items()]


def _between(found: Findings, cells: Sequence[Cell]) -> str:
    """The regret relative to its bounds, as text."""
    steps = found.size.steps
    ours = [float(final_regret(found.results[str(cell)], DCM_KL_UCB).mean()) for cell in cells]
    least = [own / RegretBounds(cell, TERMINATION).lower_bound(steps) for own, cell in zip(ours, cells, strict=True)]
    most = [own / RegretBounds(cell, TERMINATION).upper_bound(steps) for own, cell in zip(ours, cells, strict=True)]
    return (
        f"In the nine problems regret is {min(least):.1f} to {max(least):.1f} times the lower bound (Theorem 3, for "
        f"large n) and {min(most):.1%} to {max(most):.1%} of the upper one (Theorem 1)."
    )


def draw(found: Findings, figure: Figure) -> None:
    """Draw the regret of every problem, between its bounds."""
    (axes,) = drawing.panels(figure)
    axes.set_yscale("log")
    places = [float(place) for place in range(len(NINE))]
    proved, steps = [RegretBounds(cell, TERMINATION) for cell in NINE], found.size.steps
    drawing.bound(axes, places, [one.upper_bound(steps) for one in proved], "proved: at most, at least", join=False)
    drawing.bound(axes, places, [one.lower_bound(steps) for one in proved], "proved: at most, at least", join=False)
    ours = [mean_with_error(final_regret(found.results[str(cell)], DCM_KL_UCB)) for cell in NINE]
    drawing.points(axes, places, ours, DCM_KL_UCB, 0)
    for place, own in zip(places, ours, strict=True):
        axes.annotate(f"{own.mean:,.0f}", (place, own.mean), (0, 6), textcoords="offset points", ha="center")
    drawing.frame(axes, y_label=f"regret after {steps:,} steps")
    label_axis(axes)
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 2a: regret of dcmKL-UCB as L, K and D vary",
    setting=(
        "K of L items attract with probability 0.2 and the others with 0.2 - D; every click satisfies with probability "
        "0.8; 100,000 steps, 20 runs."
    ),
    full=FULL,
    quick=FULL._replace(runs=5, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    seconds=5.0,
)
