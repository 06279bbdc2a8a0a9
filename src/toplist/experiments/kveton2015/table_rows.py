"""The rows of Tables 1 and 2 of kveton2015: what is printed, whether it is met, and their picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from toplist.bounds import kveton2015_theorem2, kveton2015_theorem3, kveton2015_theorem4
from toplist.clicks import Cascade
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, Found, Play, Size
from toplist.experiments.problem_grid import ATTRACTION, NINE, Cell, Regrets, label, trend, under_claim
from toplist.experiments.verdicts import Measured, all_of, difference, final, measured, met_by, printed_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = Size(steps=100_000, runs=20)
UCB1, KL_UCB = NAMES = ("CascadeUCB1", "CascadeKL-UCB")  # the columns of both tables

Table = Mapping[Cell, Mapping[str, Measured]]  # what is printed, by problem and algorithm


class Bounds(NamedTuple):
    """What the paper proves of a row."""

    least: float  # for large n (Theorem 4)
    most: dict[str, float]  # by algorithm (Theorems 2 and 3)


def table(*rows: tuple[float, float, float, float]) -> Table:
    """A table as printed: per problem, the mean and the standard error of both algorithms."""
    return {
        cell: {UCB1: Measured(*numbers[:2]), KL_UCB: Measured(*numbers[2:])}
        for cell, numbers in zip(NINE, rows, strict=True)
    }


def play(cell: Cell, policies: Mapping[str, str], size: Size) -> Play:
    """Policies on the problem of a row, all on the same visitors."""
    return Play(str(cell), policies, cell.world, Cascade(), size.steps, size.runs, size.seed, checkpoints=1)


def bounds(cell: Cell, steps: int) -> Bounds:
    """What is proved of a row."""
    most = {
        UCB1: kveton2015_theorem2(cell.attraction, cell.positions, steps),
        KL_UCB: kveton2015_theorem3(cell.attraction, cell.positions, steps),
    }
    return Bounds(kveton2015_theorem4(*cell[:2], ATTRACTION, cell.gap, steps), most)


def printed_claims(found: Found, printed: Table) -> list[Claim]:
    """Every row's two numbers, and all of them together, with how far they are from the print on average."""
    claims, tests, shares = [], [], []
    for cell, numbers in printed.items():
        result = found.results[str(cell)]
        ours = {name: measured(final(result, name)) for name in NAMES}
        verdicts = {name: printed_number(ours[name], numbers[name]) for name in NAMES}
        holds = all_of(met_by(verdict, result.runs) for verdict in verdicts.values())
        # Regret grows with the steps, so that the print says nothing of any other number of them.
        tests.append(holds if result.steps == FULL.steps else None)
        shares += [verdict.share for verdict in verdicts.values()]
        text = ", ".join(f"{name} {numbers[name]}" for name in NAMES)
        number = ", ".join(
            f"{ours[name]} ({verdicts[name].share:+.1%}, {verdicts[name].errors:+.1f} errors)" for name in NAMES
        )
        proved = bounds(cell, result.steps)
        remark = (
            f"Proved: at least {proved.least:,.0f} for large n (Theorem 4), and at most {proved.most[UCB1]:,.0f} for "
            f"{UCB1} (Theorem 2) and {proved.most[KL_UCB]:,.0f} for {KL_UCB} (Theorem 3)."
        )
        claims.append(Claim(f"{cell}: {text}", found.outcome(tests[-1]), number, remark))
    number = f"on average ours is {sum(shares) / len(shares):+.1%} of the print away from it"
    claims.append(Claim(f"all {len(shares)} numbers", found.outcome(all_of(tests)), number))
    return claims


def regrets(found: Found) -> Regrets:
    """Of both algorithms, in all rows."""
    return [{cell: final(found.results[str(cell)], name) for cell in NINE} for name in NAMES]


def trend_claims(found: Found) -> list[Claim]:
    """What the text reads in both tables."""
    ucb1, kl_ucb = own = regrets(found)
    slip = 'The paper says "increases when D increases", but its tables have the contrary.'
    better = [difference(kl_ucb[cell], ucb1[cell]) for cell in NINE]
    return [
        trend(found, FULL.steps, "K falls", own),
        trend(found, FULL.steps, "D falls", own, slip),
        under_claim(found, FULL.steps, f"{KL_UCB} is under {UCB1} in all rows", better),
    ]


def draw(found: Found, figure: Figure, printed: Table) -> None:
    """Ours beside the print, between what is proved."""
    places = [float(place) for place in range(len(NINE))]
    for axes, name in zip(drawing.panels(figure, 1, 2, share_y=True), NAMES, strict=True):
        axes.set_yscale("log")
        proved = [bounds(cell, found.size.steps) for cell in NINE]
        drawing.bound(axes, places, [one.most[name] for one in proved], "proved: at most, at least", join=False)
        drawing.bound(axes, places, [one.least for one in proved], "proved: at most, at least", join=False)
        paper = [printed[cell][name] for cell in NINE]
        ours = [measured(final(found.results[str(cell)], name)) for cell in NINE]
        drawing.points(axes, [place - 0.15 for place in places], paper, "the paper", 6, marker="s")
        drawing.points(axes, [place + 0.15 for place in places], ours, "ours", 0)
        drawing.frame(axes, name, y_label=f"regret after {found.size.steps:,} steps")
        label(axes)
    drawing.legend(figure)
