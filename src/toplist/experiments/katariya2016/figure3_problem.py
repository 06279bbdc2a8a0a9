"""The problem of figures 3a and 3b of katariya2016, B_LB(16, 4, 0.2, 0.15, 0.5)."""

from __future__ import annotations

from collections.abc import Mapping

from toplist.experiments.experiment import Play, Size
from toplist.experiments.katariya2016.regret_bounds import DCM_KL_UCB, RegretBounds
from toplist.experiments.problem_grid import ATTRACTION, Cell
from toplist.worlds import b_lb

FULL = Size(steps=100_000, runs=20)
QUICK = Size(steps=100_000, runs=8, quick=True)
PROBLEM = RegretBounds(Cell(16, 4, 0.15), 0.5)
LABEL = str(PROBLEM.cell)
SETTING = (
    "L = 16, K = 4, attraction 0.2 of the best items and 0.05 of the others; every click satisfies with probability "
    "0.5; 100,000 steps, 20 runs."
)


def play(rivals: Mapping[str, str], size: Size) -> Play:
    """The play of dcmKL-UCB and others on the same visitors."""
    world, users = b_lb(*PROBLEM.cell[:2], ATTRACTION, PROBLEM.cell.gap, PROBLEM.termination)
    return Play(LABEL, {DCM_KL_UCB: "dcm-kl-ucb", **rivals}, world, users, size.steps, size.runs, size.seed)
