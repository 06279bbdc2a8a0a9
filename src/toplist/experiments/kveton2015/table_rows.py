"""The rows of Tables 1 and 2 of kveton2015: printed numbers, claims and figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from toplist.bounds import kveton2015_theorem2, kveton2015_theorem3, kveton2015_theorem4
from toplist.clicks import Cascade
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, Findings, Play, Size
from toplist.experiments.problem_grid import ATTRACTION, NINE, Cell, Regrets, below_claim, label_axis, trend_claim
from toplist.experiments.verdicts import (
    MeanWithError,
    all_of,
    compare_with_print,
    difference,
    final_regret,
    is_met,
    mean_with_error,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = Size(steps=100_000, runs=20)
UCB1, KL_UCB = NAMES = ("CascadeUCB1", "CascadeKL-UCB")  # the columns of both tables

PrintedTable = Mapping[Cell, Mapping[str, MeanWithError]]  # by problem and algorithm


class RowBounds(NamedTuple):
    """The bounds of the paper on the regret of a row."""

    lower: float  # for large n (Theorem 4)
    upper: dict[str, float]  # by algorithm (Theorems 2 and 3)


def printed_table(*rows: tuple[float, float, float, float]) -> PrintedTable:
    """A table as printed: per problem, the mean and its standard error for both algorithms."""
    return {
        cell: {UCB1: MeanWithError(*numbers[:2]), KL_UCB: MeanWithError(*numbers[2:])}
        for cell, numbers in zip(NINE, rows, strict=True)
    }


def play(cell: Cell, policies: Mapping[str, str], size: Size) -> Play:
    """The play of policies on the problem of a row, all on the same visitors."""
    return Play(str(cell), policies, cell.world, Cascade(), size.steps, size.runs, size.seed, checkpoints=1)


def row_bounds(cell: Cell, steps: int) -> RowBounds:
    """The bounds on the regret of a row."""
    upper = {
        UCB1: kveton2015_theorem2(cell.attraction, cell.positions, steps),
        KL_UCB: kveton2015_theorem3(cell.attraction, cell.positions, steps),
    }
    return RowBounds(kveton2015_theorem4(*cell[:2], ATTRACTION, cell.gap, steps), upper)


def printed_claims(found: Findings, printed: PrintedTable) -> list[Claim]:
    """The claims on the two numbers of every row, and on all numbers, with their mean distance from the print."""
    claims, tests, shares = [], [], []
    for cell, numbers in printed.items():
        result = found.results[str(cell)]
        ours = {name: mean_with_error(final_regret(result, name)) for name in NAMES}
        verdicts = {name: compare_with_print(ours[name], numbers[name]) for name in NAMES}
        holds = all_of(is_met(verdict, result.runs) for verdict in verdicts.values())
        # Regret grows with the steps, so the printed numbers hold for their own number of steps only.
        tests.append(holds if result.steps == FULL.steps else None)
        shares += [verdict.share for verdict in verdicts.values()]
        text = ", ".join(f"{name} {numbers[name]}" for name in NAMES)
        number = ", ".join(
            f"{ours[name]} ({verdicts[name].share:+.1%}, {verdicts[name].errors:+.1f} errors)" for name in NAMES
        )
        proved = row_bounds(cell, result.steps)
        remark = (
            f"Proved: at least {proved.lower:,.0f} for large n (Theorem 4), and at most {proved.upper[UCB1]:,.0f} for "
            f"{UCB1} (Theorem 2) and {proved.upper[KL_UCB]:,.0f} for {KL_UCB} (Theorem 3)."
        )
        claims.append(Claim(f"{cell}: {text}", found.outcome(tests[-1]), number, remark))
    number = f"on average ours differ from the print by {sum(shares) / len(shares):+.1%}"
    claims.append(Claim(f"all {len(shares)} numbers", found.outcome(all_of(tests)), number))
    return claims


def regrets(found: Findings) -> Regrets:
    """The regret of each run, of both algorithms in all rows."""
    return [{cell: final_regret(found.results[str(cell)], name) for cell in NINE} for name in NAMES]


def trend_claims(found: Findings) -> list[Claim]:
    """The claims of the text about both tables."""
    ucb1, kl_ucb = own = regrets(found)
    slip = 'The paper says "increases when D increases", but its tables show the opposite.'
    better = [difference(kl_ucb[cell], ucb1[cell]) for cell in NINE]
    return [
        trend_claim(found, FULL.steps, "K falls", own),
        trend_claim(found, FULL.steps, "D falls", own, slip),
        below_claim(found, FULL.steps, f"{KL_UCB} is under {UCB1} in all rows", better),
    ]


def draw(found: Findings, figure: Figure, printed: PrintedTable) -> None:
    """Draw ours beside the print, between the bounds."""
    places = [float(place) for place in range(len(NINE))]
    for axes, name in zip(drawing.panels(figure, 1, 2, share_y=True), NAMES, strict=True):
        axes.set_yscale("log")
        proved = [row_bounds(cell, found.size.steps) for cell in NINE]
        drawing.bound(axes, places, [one.upper[name] for one in proved], "proved: at most, at least", join=False)
        drawing.bound(axes, places, [one.lower for one in proved], "proved: at most, at least", join=False)
        paper = [printed[cell][name] for cell in NINE]
        ours = [mean_with_error(final_regret(found.results[str(cell)], name)) for cell in NINE]
        drawing.points(axes, [place - 0.15 for place in places], paper, "the paper", 6, marker="s")
        drawing.points(axes, [place + 0.15 for place in places], ours, "ours", 0)
        drawing.frame(axes, name, y_label=f"regret after {found.size.steps:,} steps")
        label_axis(axes)
    drawing.legend(figure)
