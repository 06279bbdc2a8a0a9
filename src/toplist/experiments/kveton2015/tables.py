"""Tables 1 and 2 of kveton2015: the regret of CascadeUCB1 and CascadeKL-UCB, best first and worst of the best first.

Run with `python -m toplist.experiments.kveton2015.tables`, or `make tables`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from toplist.clicks import Cascade
from toplist.engine.result import Result
from toplist.engine.runs import simulate
from toplist.engine.statistics import Difference
from toplist.experiments import commands
from toplist.experiments.verdicts import Measured, Verdict, printed_number
from toplist.worlds import b_top_k

ATTRACTION = 0.2
STEPS, RUNS = 100_000, 20
CONFIDENCE = 0.999  # high, because there are 18 such comparisons and up to four looks at each
MOST_RUNS = 1280  # where twenty do not tell whether Table 2 is under Table 1


class Row(NamedTuple):
    """One problem, and what the paper printed for it: (UCB1, KL-UCB) in Table 1 and in Table 2."""

    items: int
    positions: int
    gap: float
    table1: tuple[Measured, Measured]
    table2: tuple[Measured, Measured]


def _printed(*numbers: float) -> tuple[Measured, Measured]:
    return Measured(*numbers[:2]), Measured(*numbers[2:])


ROWS = (
    Row(16, 2, 0.15, _printed(1290.1, 11.3, 357.9, 5.5), _printed(1160.2, 11.7, 333.3, 6.1)),
    Row(16, 4, 0.15, _printed(986.8, 10.8, 275.1, 5.8), _printed(660.0, 8.3, 209.4, 4.4)),
    Row(16, 8, 0.15, _printed(574.8, 7.9, 149.1, 3.2), _printed(181.4, 3.9, 60.4, 2.0)),
    Row(32, 2, 0.15, _printed(2695.9, 19.8, 761.2, 10.4), _printed(2471.6, 14.1, 716.0, 7.5)),
    Row(32, 4, 0.15, _printed(2256.8, 12.8, 633.2, 7.0), _printed(1615.3, 14.5, 482.3, 6.7)),
    Row(32, 8, 0.15, _printed(1581.0, 20.3, 435.4, 5.7), _printed(595.0, 7.8, 201.9, 5.8)),
    Row(16, 2, 0.075, _printed(2077.0, 32.9, 766.0, 18.0), _printed(1989.8, 31.4, 785.8, 12.2)),
    Row(16, 4, 0.075, _printed(1520.4, 23.4, 538.5, 12.5), _printed(1239.5, 16.2, 484.2, 12.5)),
    Row(16, 8, 0.075, _printed(725.4, 12.0, 321.0, 16.3), _printed(336.4, 10.3, 139.7, 6.6)),
)  # fmt: skip

# Label: the table and column it belongs to, and the policy.
CELLS = {
    "Table 1, CascadeUCB1": (0, 0, "cascade-ucb1"),
    "Table 1, CascadeKL-UCB": (0, 1, "cascade-kl-ucb"),
    "Table 2, CascadeUCB1": (1, 0, "cascade-ucb1(order='last')"),
    "Table 2, CascadeKL-UCB": (1, 1, "cascade-kl-ucb(order='last')"),
}


class Cell(NamedTuple):
    """One number of the tables, ours beside the paper's."""

    label: str
    printed: Measured
    ours: Measured
    verdict: Verdict


def play_row(row: Row, labels: Iterable[str] = CELLS, steps: int = STEPS, runs: int = RUNS, seed: int = 0) -> Result:
    """Cells of a row, on the same visitors."""
    world = b_top_k(row.items, row.positions, ATTRACTION, row.gap)
    policies = {label: CELLS[label][2] for label in labels}
    return simulate(policies, world, Cascade(), steps, runs, seed, checkpoints=1)


def compare_tables(row: Row, name: str, result: Result, seed: int = 0) -> tuple[Difference, int]:
    """Table 2 less Table 1 of an algorithm, paired by run; with four times the runs until it is decided."""
    labels = f"Table 2, {name}", f"Table 1, {name}"
    difference = result.difference(*labels, confidence=CONFIDENCE)
    while difference.low <= 0 <= difference.high and result.runs < MOST_RUNS:
        result = play_row(row, labels, result.steps, 4 * result.runs, seed)
        difference = result.difference(*labels, confidence=CONFIDENCE)
    return difference, result.runs


def cells(row: Row, result: Result) -> list[Cell]:
    """The row's numbers beside the paper's."""
    found = []
    for label, (table, column, _) in CELLS.items():
        ours = Measured(float(result.mean(label)[-1]), float(result.standard_error(label)[-1]))
        printed = (row.table1, row.table2)[table][column]
        found.append(Cell(label, printed, ours, printed_number(ours, printed)))
    return found


def trends(results: list[Result]) -> dict[str, bool]:
    """What the paper's text reads in its tables, on the means of all rows; the results are in the order of ROWS."""
    by_problem = {row[:3]: result for row, result in zip(ROWS, results, strict=True)}

    def mean(label: str, items: int, positions: int, gap: float) -> float:
        return float(by_problem[items, positions, gap].mean(label)[-1])

    first = [label for label, (table, _, _) in CELLS.items() if table == 0]
    return {
        "regret about doubles when L doubles (between 1.8 and 3.2 times, Table 1)": all(
            1.8 <= mean(label, 32, positions, 0.15) / mean(label, 16, positions, 0.15) <= 3.2
            for label in first
            for positions in (2, 4, 8)
        ),
        "regret falls when K grows": all(
            mean(label, items, 2, gap) > mean(label, items, 4, gap) > mean(label, items, 8, gap)
            for label in CELLS
            for items, gap in ((16, 0.15), (32, 0.15), (16, 0.075))
        ),
        "CascadeKL-UCB under CascadeUCB1": all(
            result.difference(f"Table {table}, CascadeKL-UCB", f"Table {table}, CascadeUCB1").high < 0
            for result in results
            for table in (1, 2)
        ),
        "regret grows when the gap D falls": all(
            mean(label, 16, positions, 0.075) > mean(label, 16, positions, 0.15)
            for label in CELLS
            for positions in (2, 4, 8)
        ),
    }


def main(arguments: list[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Print both tables, ours beside the paper's, with verdicts; 0 if all are met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    write(f"n = {options.steps:,} steps, {options.runs} runs, seed {options.seed}; p = {ATTRACTION}, cascade users")
    write(f"{'L':>3} {'K':>2} {'D':>6}  {'number':<23} {'paper':>16} {'ours':>16} {'errors':>7} {'share':>7}  verdict")
    results, missed, shares = [], 0, []
    for row in ROWS:
        result = play_row(row, CELLS, options.steps, options.runs, options.seed)
        results.append(result)
        for label, printed, ours, verdict in cells(row, result):
            missed += not verdict.met
            shares.append(verdict.share)
            write(
                f"{row.items:>3} {row.positions:>2} {row.gap:>6}  {label:<23} {printed!s:>16} {ours!s:>16} "
                f"{verdict.errors:>+7.1f} {verdict.share:>+7.1%}  {'met' if verdict.met else 'NOT MET'}"
            )
    write(f"On average ours is {sum(shares) / len(shares):+.1%} of the print away from it.")
    write("")
    write("Table 2 less Table 1, paired by run (99.9% interval); more runs where these do not decide")
    for row, result in zip(ROWS, results, strict=True):
        for name in ("CascadeUCB1", "CascadeKL-UCB"):
            difference, runs = compare_tables(row, name, result, options.seed)
            missed += difference.high >= 0
            interval = f"[{difference.low:.1f}, {difference.high:.1f}]"
            write(
                f"{row.items:>3} {row.positions:>2} {row.gap:>6}  {name:<14} {difference.mean:>8.1f} {interval:<18} "
                f"ratio {difference.ratio:.2f}, {runs} runs: {'under' if difference.high < 0 else 'NOT CLEARLY UNDER'}"
            )
    write("")
    for claim, holds in trends(results).items():
        missed += not holds
        write(f"{claim}: {'holds' if holds else 'DOES NOT HOLD'}")
    write(f"{time.monotonic() - begun:.0f} s; {missed} of {len(ROWS) * 6 + 4} statements not met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(commands.run(main))
