"""Figure 2b of katariya2016: the regret of dcmKL-UCB for different probabilities g that a click satisfies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from toplist.clicks import DCM
from toplist.engine.statistics import Ratio
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.katariya2016.regret_bounds import DCM_KL_UCB, RegretBounds
from toplist.experiments.problem_grid import ATTRACTION, Cell
from toplist.experiments.verdicts import (
    STRAIGHT,
    all_of,
    final_regret,
    is_below,
    is_below_unpaired,
    mean_with_error,
    negation,
    percent_text,
    straightness,
    undecided_if_short,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = Size(steps=100_000, runs=20)
TERMINATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CELLS = tuple(Cell(16, K, 0.15) for K in (2, 4, 8))
FEW = tuple(cell for cell in CELLS if cell.positions * ATTRACTION < 1.0)  # p < 1/K
MANY = tuple(cell for cell in CELLS if cell not in FEW)


def label(cell: Cell, termination: float) -> str:
    """The label of a play.

    >>> label(Cell(16, 2, 0.15), 0.1)
    'K = 2, g = 0.1'
    """
    return f"K = {cell.positions}, g = {termination:g}"


def jobs(size: Size, _: DataSet | None) -> Sequence[Play]:
    """A play per point."""
    return [
        Play(
            label(cell, termination), {DCM_KL_UCB: "dcm-kl-ucb"}, cell.world, DCM(termination), size.steps, size.runs,
            size.seed, checkpoints=1,
        )
        for cell in CELLS
        for termination in TERMINATIONS
    ]  # fmt: skip


def straight(found: Findings, cell: Cell) -> Ratio:
    """How close to a straight line the regret is over g."""
    regrets = [final_regret(found.results[label(cell, termination)], DCM_KL_UCB) for termination in TERMINATIONS]
    return straightness(np.array(TERMINATIONS), np.column_stack(regrets))


def judge(found: Findings) -> Sequence[Claim]:
    """The claims: linear for p < 1/K, and less so for larger p."""
    lines, steps = {cell: straight(found, cell) for cell in CELLS}, found.size.steps
    claims = []
    for cell in FEW:
        holds = undecided_if_short(negation(is_below(lines[cell], STRAIGHT)), steps, FULL.steps)
        number = f"a line explains {percent_text(lines[cell])} of the variance; {STRAIGHT:.0%} required"
        remark = f"With g = 1: {RegretBounds(cell, 1.0).remark(steps)}"
        text = f"K = {cell.positions}, p < 1/K: regret grows linearly with g"
        claims.append(Claim(text, found.outcome(holds), number, remark))
    for cell in MANY:
        holds = undecided_if_short(
            all_of(is_below_unpaired(lines[cell], lines[other]) for other in FEW), steps, FULL.steps
        )
        number = f"a line explains {percent_text(lines[cell])} of the variance; less than with fewer positions required"
        remark = f"With g = 1: {RegretBounds(cell, 1.0).remark(steps)}"
        claims.append(Claim(f"K = {cell.positions}, p > 1/K: less linear", found.outcome(holds), number, remark))
    return claims


def draw(found: Findings, figure: Figure) -> None:
    """Draw the regret as in the paper, and again between its bounds on a logarithmic axis."""
    steps = found.size.steps
    plain, bounded = drawing.panels(figure, 1, 2)
    bounded.set_yscale("log")
    for place, cell in enumerate(CELLS):
        ours = [
            mean_with_error(final_regret(found.results[label(cell, termination)], DCM_KL_UCB))
            for termination in TERMINATIONS
        ]
        proved = [RegretBounds(cell, termination) for termination in TERMINATIONS]
        for axes in (plain, bounded):
            drawing.points(axes, TERMINATIONS, ours, f"K = {cell.positions}", place, join="-")
        for bound in (RegretBounds.upper_bound, RegretBounds.lower_bound):
            drawing.bound(bounded, TERMINATIONS, [bound(one, steps) for one in proved], place=place)
    drawing.frame(plain, DCM_KL_UCB, "g", f"regret after {steps:,} steps")
    drawing.frame(bounded, "the same, between what is proved (broken)", "g")
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 2b: regret of dcmKL-UCB as the termination probability varies",
    setting=(
        "L = 16, attraction p = 0.2 of the K best items and 0.05 of the others; every click satisfies with probability "
        "g, from 0.1 to 1; 100,000 steps, 20 runs."
    ),
    full=FULL,
    quick=FULL._replace(runs=5, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(9.0, 4.5),
    seconds=14.0,
)
