"""Table 1 of kveton2015: the regret of CascadeUCB1 and CascadeKL-UCB, with the largest index first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.kveton2015 import table_rows
from toplist.experiments.problem_grid import LESS, NINE
from toplist.experiments.verdicts import DOUBLES, all_of, is_between, regret_ratio, undecided_if_short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POLICIES = {table_rows.UCB1: "cascade-ucb1", table_rows.KL_UCB: "cascade-kl-ucb"}
PRINTED = table_rows.printed_table(
    (1290.1, 11.3, 357.9, 5.5),
    (986.8, 10.8, 275.1, 5.8),
    (574.8, 7.9, 149.1, 3.2),
    (2695.9, 19.8, 761.2, 10.4),
    (2256.8, 12.8, 633.2, 7.0),
    (1581.0, 20.3, 435.4, 5.7),
    (2077.0, 32.9, 766.0, 18.0),
    (1520.4, 23.4, 538.5, 12.5),
    (725.4, 12.0, 321.0, 16.3),
)


def jobs(size: Size, _: DataSet | None) -> Sequence[Play]:
    """A play per row."""
    return [table_rows.play(cell, POLICIES, size) for cell in NINE]


def judge(found: Findings) -> Sequence[Claim]:
    """The claims: all numbers, and the four trends of section 5.1."""
    grown = [regret_ratio(own[more], own[less]) for own in table_rows.regrets(found) for less, more in LESS["L grows"]]
    holds = undecided_if_short(
        all_of(is_between(one, *DOUBLES) for one in grown), found.size.steps, table_rows.FULL.steps
    )
    values = [one.value for one in grown]
    number = f"{min(values):.2f} to {max(values):.2f} times; {DOUBLES[0]} to {DOUBLES[1]} required"
    remark = "The bounds grow with L - K, which more than doubles."
    doubles = Claim("regret doubles when L doubles", found.outcome(holds), number, remark)
    return [*table_rows.printed_claims(found, PRINTED), doubles, *table_rows.trend_claims(found)]


def draw(found: Findings, figure: Figure) -> None:
    """Draw ours beside the print."""
    table_rows.draw(found, figure, PRINTED)


EXPERIMENT = Experiment(
    title="Table 1: regret of CascadeUCB1 and CascadeKL-UCB",
    setting=(
        "K of L items attract with probability 0.2 and the others with 0.2 - D; cascade users; the largest index "
        "first; 100,000 steps, 20 runs."
    ),
    full=table_rows.FULL,
    quick=table_rows.FULL._replace(quick=True),  # it takes seconds, and fewer runs cannot meet a printed number
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(9.0, 4.5),
    seconds=6.0,
)
