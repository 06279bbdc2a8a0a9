"""The nine problems of kveton2015 and katariya2016, with different L, K and D, and the trends both papers claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from toplist.core.slate import Floats
from toplist.engine.statistics import Difference
from toplist.experiments.experiment import Claim, Findings
from toplist.experiments.verdicts import all_of, difference, is_below, undecided_if_short
from toplist.worlds import Fixed, b_top_k

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ATTRACTION = 0.2  # of the K best items, in all nine


class Cell(NamedTuple):
    """A problem: K of L items attract with 0.2 and the others with 0.2 - D.

    >>> str(Cell(16, 2, 0.075))
    'L = 16, K = 2, D = 0.075'
    """

    items: int
    positions: int
    gap: float

    def __str__(self) -> str:
        return f"L = {self.items}, K = {self.positions}, D = {self.gap:g}"

    @property
    def world(self) -> Fixed:
        """The world of this problem."""
        return b_top_k(self.items, self.positions, ATTRACTION, self.gap)

    @property
    def attraction(self) -> list[float]:
        """The attraction of each item."""
        return [float(own) for own in self.world.attraction]


NINE = tuple(Cell(items, K, gap) for items, gap in ((16, 0.15), (32, 0.15), (16, 0.075)) for K in (2, 4, 8))

# Pairs of problems, of which the first has less regret, by the difference between the two.
LESS = {
    "L grows": [(Cell(16, K, 0.15), Cell(32, K, 0.15)) for K in (2, 4, 8)],
    "K falls": [
        (Cell(items, 2 * K, gap), Cell(items, K, gap)) for items, K, gap in NINE if Cell(items, 2 * K, gap) in NINE
    ],
    "D falls": [(Cell(16, K, 0.15), Cell(16, K, 0.075)) for K in (2, 4, 8)],
}

Regrets = Sequence[Mapping[Cell, Floats]]  # per algorithm and problem, the regret of each run


def trend_claim(found: Findings, claimed: int, when: str, regrets: Regrets, remark: str = "") -> Claim:
    """The claim that regret grows when `when` happens, in all pairs and for all algorithms."""
    compared = [difference(own[less], own[more]) for own in regrets for less, more in LESS[when]]
    return below_claim(found, claimed, f"regret grows when {when}", compared, remark)


def below_claim(found: Findings, claimed: int, text: str, compared: Sequence[Difference], remark: str = "") -> Claim:
    """The claim, about `claimed` steps, that all differences are below 0; its number gives the least clear one."""
    tests = [is_below(one, 0.0) for one in compared]
    least = max(compared, key=lambda one: one.high)
    several = f"in {tests.count(True)} of {len(tests)} comparisons; the least clear: " if len(tests) > 1 else ""
    number = f"{several}{least.mean:+,.1f} [{least.low:+,.1f}, {least.high:+,.1f}]; under 0 required"
    return Claim(text, found.outcome(undecided_if_short(all_of(tests), found.size.steps, claimed)), number, remark)


def label_axis(axes: Axes) -> None:
    """Label the x axis, where 0, 1, ..., 8 stand for the nine problems."""
    axes.set_xticks(range(len(NINE)), [f"{cell.items}\n{cell.positions}\n{cell.gap:g}" for cell in NINE])
    axes.set_xlim(-0.5, len(NINE) - 0.5)
    axes.annotate(
        "L\nK\nD", (0, 0), (-8, -7), xycoords="axes fraction", textcoords="offset points", ha="right", va="top"
    )
