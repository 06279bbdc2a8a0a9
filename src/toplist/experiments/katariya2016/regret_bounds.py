"""The bounds of katariya2016 on the regret of its problem B_LB, as numbers, in words and in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toplist.bounds import katariya2016_theorem1, katariya2016_theorem3, vacuous
from toplist.engine.result import Result
from toplist.experiments import drawing
from toplist.experiments.problem_grid import ATTRACTION, Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DCM_KL_UCB = "dcmKL-UCB"
AT_LEAST, AT_MOST = "at least, for large n (Theorem 3)", "at most (Theorem 1)"


class RegretBounds(NamedTuple):
    """Bounds on the regret of a problem in which every click satisfies with the same probability."""

    cell: Cell
    termination: float

    def lower_bound(self, steps: int) -> float:
        """Theorem 3, for any consistent policy and large n."""
        return katariya2016_theorem3(*self.cell[:2], ATTRACTION, self.cell.gap, self.termination, steps)

    def upper_bound(self, steps: int) -> float:
        """Theorem 1, for dcmKL-UCB."""
        return katariya2016_theorem1(self.cell.attraction, self.cell.positions, self.termination, steps)

    def remark(self, steps: int) -> str:
        """Both bounds in a sentence.

        >>> RegretBounds(Cell(16, 4, 0.15), 0.5).remark(100_000)
        'Proved: at least 56 for large n (Theorem 3), and at most 2,320 for dcmKL-UCB (Theorem 1).'
        """
        most = self.upper_bound(steps)
        empty = f", which is vacuous at {steps:,} steps" if vacuous(most, steps) else ""
        least = self.lower_bound(steps)
        return (
            f"Proved: at least {least:,.0f} for large n (Theorem 3), and at most {most:,.0f} for {DCM_KL_UCB} "
            f"(Theorem 1){empty}."
        )

    def draw(self, axes: Axes, result: Result) -> None:
        """Draw the lower bound, and write the upper one as text, since drawn it would flatten the curves."""
        steps = result.checkpoints.tolist()
        drawing.bound(axes, steps, [self.lower_bound(step) for step in steps], AT_LEAST)
        text = f"{AT_MOST}: {self.upper_bound(result.steps):,.0f}, beyond the axis"
        axes.text(0.98, 0.02, text, transform=axes.transAxes, ha="right", va="bottom", fontsize="small", color="0.35")
