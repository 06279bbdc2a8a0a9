"""`Comparison` of policies on several kinds of users: regret as tables, a heat map, CSV and JSON."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.core.problem import nearest, refuse
from toplist.core.slate import Floats
from toplist.engine.comparison_tables import BEST, CLOSE, table_rows, table_text
from toplist.engine.heatmap import heatmap
from toplist.engine.result_fields import checked_runs, checked_settings
from toplist.engine.statistics import Difference, Ratio, paired_difference, paired_ratio
from toplist.support.files import AnyPath, read_json, write_text
from toplist.support.former_names import accepts_former
from toplist.support.plots import draw_and_save
from toplist.support.tables import as_csv, count_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = {"format": "toplist.Comparison", "format_version": 1}
FIELDS = ("regret", "settings")
FORMER = "yardstick"  # the former name of `baseline`


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Final regret of every policy on every kind of users.

    A column is a kind of users, or a world with its users. In run r of a column, all policies met the same visitors.
    Regret is shown as a share of the `baseline`'s, random lists, and as a multiple of the column's least.

    Parameters
    ----------
    regret : mapping of str to mapping of str to array_like of float
        Final regret of each run, by column and policy.
    baseline : str
        Label of the policy that shows random lists. Its former name, `yardstick`, is still accepted and can be read.
    settings : mapping, default {}
        Arguments of the comparison, as JSON can hold them.

    Raises
    ------
    InvalidInput
        If the columns have different policies, the policies of a column different numbers of runs, or the baseline
        is not among them.

    Examples
    --------
    >>> cascade = {"a": [4, 8], "b": [10, 12], "random": [40, 60]}
    >>> found = Comparison({"cascade": cascade, "pbm": cascade | {"a": [30, 10], "b": [4, 8]}}, "random")
    >>> found.best("pbm"), found.relative("a", "pbm").value
    ('b', 0.4)
    >>> print(found)
    Regret in % of that of random: 2 runs
    policy  cascade     pbm
    a         12.0*   40.0~
    b         22.0~   12.0*
    random   100.0~  100.0~
    * least of its column; ~ not clearly more (95% paired)
    <BLANKLINE>
    Regret over the least of the column
    policy  cascade   pbm
    a          1.00  3.33
    b          1.83  1.00
    random     8.33  8.33
    """

    regret: dict[str, dict[str, Floats]]
    baseline: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that everything fits together, and take copies."""
        given = self.regret
        if not isinstance(given, Mapping) or not given or not all(isinstance(cell, Mapping) for cell in given.values()):
            raise refuse("regret", given, "a dict of columns, each a dict of policies", "give at least one column")
        copies = {
            column: {name: checked_runs(f"regret[{column!r}][{name!r}]", runs) for name, runs in cells.items()}
            for column, cells in given.items()
        }
        object.__setattr__(self, "regret", copies)
        object.__setattr__(self, "settings", checked_settings(self.settings))
        for column, cells in copies.items():
            if cells.keys() != copies[self.columns[0]].keys():
                raise refuse(
                    f"regret[{column!r}]", list(cells), f"of the policies {list(self.policies)}", "give all of them"
                )
            if len({len(runs) for runs in cells.values()}) != 1:
                accepted = "of as many runs for every policy, since they are compared run by run"
                raise refuse(f"regret[{column!r}]", [len(runs) for runs in cells.values()], accepted, "give all runs")
        self._check("The baseline", self.baseline, self.policies)

    @property
    def yardstick(self) -> str:
        """The former name of `baseline`."""
        return self.baseline

    @property
    def columns(self) -> tuple[str, ...]:
        """Labels of the columns, in the order given."""
        return tuple(self.regret)

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies, in the order given."""
        return tuple(self.regret[self.columns[0]])

    @property
    def order(self) -> list[str]:
        """Labels of the policies by mean rank over the columns, the best first and the baseline last.

        Equals share a rank, so policies that are equal in all columns stand together.
        """
        ranks = dict.fromkeys(self.policies, 0)
        for column in self.columns:
            means = {name: self.mean(name, column) for name in self.policies}
            ascending = sorted(means.values())
            for name, mean in means.items():
                ranks[name] += bisect_left(ascending, mean)
        return sorted(self.policies, key=lambda name: (name == self.baseline, ranks[name]))

    def runs(self, column: str) -> int:
        """Number of runs of every policy in a column.

        Parameters
        ----------
        column : str
            Label of a column.
        """
        return len(self.of(self.baseline, column))

    def of(self, policy: str, column: str) -> Floats:
        """Regret of a policy in each run of a column.

        Parameters
        ----------
        policy : str
            Label of a policy.
        column : str
            Label of a column.

        Returns
        -------
        ndarray of float
            One value per run.
        """
        self._check("The column", column, self.columns)
        self._check("The policy", policy, self.policies)
        return self.regret[column][policy]

    def mean(self, policy: str, column: str) -> float:
        """Mean regret of a policy in a column.

        Parameters
        ----------
        policy : str
            Label of a policy.
        column : str
            Label of a column.
        """
        return float(self.of(policy, column).mean())

    def best(self, column: str) -> str:
        """Label of the policy with the least mean regret in a column.

        Parameters
        ----------
        column : str
            Label of a column.
        """
        self._check("The column", column, self.columns)
        return self._best[column]

    @cached_property
    def _best(self) -> dict[str, str]:
        return {
            column: min(cells, key=lambda name, cells=cells: float(cells[name].mean()))  # type: ignore[misc]
            for column, cells in self.regret.items()
        }

    def relative(self, policy: str, column: str, confidence: float = 0.95) -> Ratio:
        """Mean regret over that of random lists.

        Parameters
        ----------
        policy : str
            Label of a policy.
        column : str
            Label of a column.
        confidence : float, default 0.95
            Confidence level of the interval.

        Returns
        -------
        Ratio
            The ratio, with a paired interval by the delta method.
        """
        return paired_ratio(self.of(policy, column), self.of(self.baseline, column), confidence)

    def over_best(self, policy: str, column: str, confidence: float = 0.95) -> Ratio:
        """Mean regret over the least of the column.

        The best is selected on the same runs, so ratios to it are biased upwards a little where several are close.

        Parameters
        ----------
        policy : str
            Label of a policy.
        column : str
            Label of a column.
        confidence : float, default 0.95
            Confidence level of the interval.

        Returns
        -------
        Ratio
            The ratio, with a paired interval by the delta method.
        """
        return paired_ratio(self.of(policy, column), self.of(self.best(column), column), confidence)

    def against_best(self, policy: str, column: str, confidence: float = 0.95) -> Difference:
        """Mean regret minus the least of the column.

        Parameters
        ----------
        policy : str
            Label of a policy.
        column : str
            Label of a column.
        confidence : float, default 0.95
            Confidence level of the interval.

        Returns
        -------
        Difference
            The difference, with Student's interval, paired by run.
        """
        return paired_difference(self.of(policy, column), self.of(self.best(column), column), confidence)

    def against_random(self, policy: str, column: str, confidence: float = 0.95) -> Difference:
        """Mean regret minus that of random lists.

        Parameters
        ----------
        policy : str
            Label of a policy.
        column : str
            Label of a column.
        confidence : float, default 0.95
            Confidence level of the interval.

        Returns
        -------
        Difference
            The difference, with Student's interval, paired by run.
        """
        return paired_difference(self.of(policy, column), self.of(self.baseline, column), confidence)

    def mark(self, policy: str, column: str) -> str:
        """Mark of a cell of the table.

        Parameters
        ----------
        policy : str
            Label of a policy.
        column : str
            Label of a column.

        Returns
        -------
        str
            `"*"` for the best of the column, `"~"` if the interval of the difference from it contains 0, else `""`.
        """
        if policy == self.best(column):
            return BEST
        return CLOSE if self.against_best(policy, column).low <= 0 else ""

    def __eq__(self, other: object) -> bool:
        """Whether the other comparison has the same numbers and settings."""
        if not isinstance(other, Comparison):
            return NotImplemented
        return (
            self.columns == other.columns
            and self.policies == other.policies
            and self.baseline == other.baseline
            and self.settings == other.settings
            and all(np.array_equal(self.of(*cell), other.of(*cell)) for cell in self._cells())
        )

    __hash__ = None  # type: ignore[assignment]  # arrays are not hashable

    def __repr__(self) -> str:
        """Policies, columns and size, without the numbers."""
        return f"<Comparison of {len(self.policies)} policies on {', '.join(self.columns)}: {self.size()}>"

    def __str__(self) -> str:
        """Return both tables."""
        return self.table()

    def table(self) -> str:
        """Plain-text tables: regret in percent of that of random lists, and as a multiple of the column's least."""
        return table_text(self)

    def size(self) -> str:
        """Steps, runs and seed, as text."""
        steps = [count_text(self.settings["steps"], "step")] if "steps" in self.settings else []
        numbers = sorted({self.runs(column) for column in self.columns})
        runs = (
            count_text(numbers[-1], "run")
            if len(numbers) == 1
            else f"{numbers[0]:,} to {count_text(numbers[-1], 'run')}"
        )
        seed = [f"seed {self.settings['seed']}"] if "seed" in self.settings else []
        return ", ".join([*steps, runs, *seed])

    def rows(self) -> list[dict[str, Any]]:
        """One dict per column and policy; values that are undefined, as the interval of one run, are None."""
        return table_rows(self)

    def csv_text(self) -> str:
        """`rows` as comma-separated values."""
        rows = self.rows()
        return as_csv(rows, list(rows[0]))

    def json_text(self) -> str:
        """The whole comparison as JSON, as read by `from_json`, with `rows` for other programs."""
        runs = {column: {name: cell.tolist() for name, cell in cells.items()} for column, cells in self.regret.items()}
        everything = FORMAT | {
            "settings": self.settings,
            "baseline": self.baseline,
            FORMER: self.baseline,
            "regret": runs,
        }
        return json.dumps(everything | {"rows": self.rows()}, allow_nan=False) + "\n"

    def to_csv(self, path: AnyPath) -> None:
        """Write `csv_text` to a file.

        Parameters
        ----------
        path : path
            File to write; an existing one is replaced.
        """
        write_text(path, "The csv file", self.csv_text())

    def to_json(self, path: AnyPath) -> None:
        """Write `json_text` to a file, from which `from_json` reads an equal comparison.

        Parameters
        ----------
        path : path
            File to write; an existing one is replaced.
        """
        write_text(path, "The json file", self.json_text())

    @classmethod
    def from_json(cls, path: AnyPath) -> Comparison:
        """Read a comparison that `to_json` wrote.

        Parameters
        ----------
        path : path
            File to read.

        Returns
        -------
        Comparison
            Equal to the one written.

        Raises
        ------
        InvalidInput
            If the file cannot be read or holds something else.
        """
        found = read_json(path, FORMAT, FIELDS, ("baseline", FORMER))
        former = found.pop(FORMER, None)
        return cls(**{"baseline": former} | found)

    def plot(self, path: AnyPath | None = None) -> Figure:
        """Draw a heat map (needs the extra `plots`).

        Colours are ratios to the least regret of the column, on a logarithmic scale; numbers are percentages of the
        regret of random lists.

        Parameters
        ----------
        path : path or None, default None
            A .png, .svg or .pdf file to save the figure to.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return draw_and_save(lambda: heatmap(self), path)

    def _cells(self) -> list[tuple[str, str]]:
        return [(name, column) for name in self.policies for column in self.columns]

    @staticmethod
    def _check(what: str, given: Any, known: Sequence[str]) -> None:
        if not isinstance(given, str) or given not in known:
            advice = nearest(given, known, "choose one of them")
            raise refuse(what, given, f"one of {', '.join(map(repr, known))}", advice)


Comparison.__init__ = accepts_former(FORMER, "baseline")(Comparison.__init__)  # type: ignore[method-assign]
