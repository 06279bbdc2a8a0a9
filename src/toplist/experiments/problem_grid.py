"""The nine problems that kveton2015 and katariya2016 vary L, K and D over, and what both read in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from toplist.core.slate import Floats
from toplist.engine.statistics import Difference
from toplist.experiments.experiment import Claim, Found
from toplist.experiments.verdicts import all_of, difference, settled, under
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
        """The items."""
        return b_top_k(self.items, self.positions, ATTRACTION, self.gap)

    @property
    def attraction(self) -> list[float]:
        """Of each item."""
        return [float(own) for own in self.world.attraction]


NINE = tuple(Cell(items, K, gap) for items, gap in ((16, 0.15), (32, 0.15), (16, 0.075)) for K in (2, 4, 8))

# Pairs of problems of which the first has less regret, by what is between them.
LESS = {
    "L grows": [(Cell(16, K, 0.15), Cell(32, K, 0.15)) for K in (2, 4, 8)],
    "K falls": [
        (Cell(items, 2 * K, gap), Cell(items, K, gap)) for items, K, gap in NINE if Cell(items, 2 * K, gap) in NINE
    ],
    "D falls": [(Cell(16, K, 0.15), Cell(16, K, 0.075)) for K in (2, 4, 8)],
}

Regrets = Sequence[Mapping[Cell, Floats]]  # per algorithm and problem, of each run


def trend(found: Found, claimed: int, when: str, regrets: Regrets, remark: str = "") -> Claim:
    """That regret grows when `when` does what it says, in all pairs and for all algorithms."""
    compared = [difference(own[less], own[more]) for own in regrets for less, more in LESS[when]]
    return under_claim(found, claimed, f"regret grows when {when}", compared, remark)


def under_claim(found: Found, claimed: int, text: str, compared: Sequence[Difference], remark: str = "") -> Claim:
    """That the first is under the second in all comparisons, about so many steps; the least clear of them is named."""
    tests = [under(one, 0.0) for one in compared]
    least = max(compared, key=lambda one: one.high)
    several = f"in {tests.count(True)} of {len(tests)} comparisons; the least clear: " if len(tests) > 1 else ""
    number = f"{several}{least.mean:+,.1f} [{least.low:+,.1f}, {least.high:+,.1f}]; under 0 asked"
    return Claim(text, found.outcome(settled(all_of(tests), found.size.steps, claimed)), number, remark)


def label(axes: Axes) -> None:
    """Name the problems under an axis that has one at each of 0, 1, ..., 8."""
    axes.set_xticks(range(len(NINE)), [f"{cell.items}\n{cell.positions}\n{cell.gap:g}" for cell in NINE])
    axes.set_xlim(-0.5, len(NINE) - 0.5)
    axes.annotate(
        "L\nK\nD", (0, 0), (-8, -7), xycoords="axes fraction", textcoords="offset points", ha="right", va="top"
    )
