"""`Result` of a simulation: curves per policy and run, with paired differences, tables, plots and files."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from toplist.core.problem import nearest, refuse, whole
from toplist.core.slate import Floats, Ints
from toplist.engine.curves_figure import curves_figure
from toplist.engine.plot_marks import StepsByRun, checked_steps_by_run
from toplist.engine.result_fields import checked_checkpoints, checked_curves, checked_settings
from toplist.engine.statistics import Difference, decimals, number_texts, paired_difference, standard_error
from toplist.support.files import AnyPath, import_optional, read_json, write_text
from toplist.support.plots import PLOT_SUFFIXES, check_plot, draw_and_save
from toplist.support.tables import aligned_lines, as_csv, count_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["PLOT_SUFFIXES", "Difference", "Result", "check_plot"]

What = Literal["regret", "clicks"]

FORMAT = {"format": "toplist.Result", "format_version": 1}
COLUMNS = ("policy", "run", "step", "regret", "clicks")


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Cumulative regret and clicks of every policy, run and checkpoint.

    Run r of every policy met the same visitors, so differences are paired by run. The arrays are read-only copies.

    Parameters
    ----------
    checkpoints : array_like of int
        Steps at which the curves were recorded, counted from 1, ascending; the last is the number of steps.
    regret : mapping of str to array_like of float
        Cumulative regret of each policy, of shape (runs, checkpoints).
    clicks : mapping of str to array_like of float
        Cumulative clicks of each policy, of the same shape.
    settings : mapping, default {}
        Arguments of the simulation, as JSON can hold them.
    breakpoints : list of list of int, default []
        Steps after which the world changed abruptly, for each run; empty if unknown.
    detections : mapping of str to list of list of int, default {}
        Steps at which each policy with change detection found a change, for each run.

    Raises
    ------
    InvalidInput
        If the arguments do not fit each other.

    Examples
    --------
    >>> result = Result([1, 10], {"a": [[0, 3], [1, 5]], "b": [[1, 6], [1, 9]]}, {"a": [[1, 9]] * 2, "b": [[0, 5]] * 2})
    >>> result.difference("b", "a").ratio
    1.875
    >>> print(result)
    10 steps, 2 runs
    policy     regret  clicks/step  difference [95% paired]  ratio
    a       4.0 ± 1.0       0.9000                        -   1.00
    b       7.5 ± 1.5       0.5000        +3.5 [-2.9, +9.9]   1.88
    """

    checkpoints: Ints
    regret: dict[str, Floats]
    clicks: dict[str, Floats]
    settings: dict[str, Any] = field(default_factory=dict)
    breakpoints: StepsByRun = field(default_factory=list)
    detections: dict[str, StepsByRun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that everything fits together, and take copies."""
        steps = checked_checkpoints(self.checkpoints)
        regret = checked_curves("regret", self.regret, len(steps))
        clicks = checked_curves("clicks", self.clicks, len(steps))
        if regret.keys() != clicks.keys():
            raise refuse("clicks", sorted(clicks), f"given for the policies of regret, {sorted(regret)}", "give both")
        shapes = {array.shape for array in itertools.chain(regret.values(), clicks.values())}
        if len(shapes) > 1:
            accepted = "the same for every policy, since policies are compared run by run"
            raise refuse("the number of runs", sorted(runs for runs, _ in shapes), accepted, "give all runs of each")
        object.__setattr__(self, "checkpoints", steps)
        object.__setattr__(self, "regret", regret)
        object.__setattr__(self, "clicks", {name: clicks[name] for name in regret})
        object.__setattr__(self, "settings", checked_settings(self.settings))
        breakpoints = checked_steps_by_run("breakpoints", self.breakpoints, self.runs, self.steps)
        object.__setattr__(self, "breakpoints", breakpoints)
        object.__setattr__(self, "detections", self._checked_detections())

    def _checked_detections(self) -> dict[str, StepsByRun]:
        if not isinstance(self.detections, Mapping) or not set(self.detections) <= set(self.regret):
            raise refuse("detections", self.detections, "a dict by policies of the result", "or leave it out")
        return {
            name: checked_steps_by_run(f"detections of {name!r}", steps, self.runs, self.steps)
            for name, steps in self.detections.items()
        }

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies, in the order given."""
        return tuple(self.regret)

    @property
    def runs(self) -> int:
        """Number of runs of each policy."""
        return len(next(iter(self.regret.values())))

    @property
    def steps(self) -> int:
        """Number of steps of each run."""
        return int(self.checkpoints[-1])

    def __eq__(self, other: object) -> bool:
        """Whether the other result has the same numbers and settings."""
        if not isinstance(other, Result):
            return NotImplemented
        return (
            self.policies == other.policies
            and self.settings == other.settings
            and self.breakpoints == other.breakpoints
            and self.detections == other.detections
            and np.array_equal(self.checkpoints, other.checkpoints)
            and all(np.array_equal(self.regret[name], other.regret[name]) for name in self.regret)
            and all(np.array_equal(self.clicks[name], other.clicks[name]) for name in self.clicks)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays are not hashable

    def __repr__(self) -> str:
        """Policies, steps and runs, without the numbers."""
        return f"<Result of {', '.join(self.policies)}: {self._size()}>"

    def __str__(self) -> str:
        """Return the table."""
        return self.table()

    def mean(self, policy: str, what: What = "regret") -> Floats:
        """Mean over the runs at every checkpoint.

        Parameters
        ----------
        policy : str
            Label of a policy.
        what : {"regret", "clicks"}, default "regret"
            Curve to average.

        Returns
        -------
        ndarray of float
            One value per checkpoint.
        """
        return np.asarray(self._curves(policy, what).mean(axis=0), dtype=np.float64)

    def standard_error(self, policy: str, what: What = "regret") -> Floats:
        """Standard error of the mean at every checkpoint.

        Parameters
        ----------
        policy : str
            Label of a policy.
        what : {"regret", "clicks"}, default "regret"
            Curve to average.

        Returns
        -------
        ndarray of float
            One value per checkpoint; nan with one run.
        """
        return standard_error(self._curves(policy, what))

    def difference(
        self, a: str, b: str, what: What = "regret", at: int | None = None, confidence: float = 0.95
    ) -> Difference:
        """Mean difference of two policies with Student's confidence interval, paired by run.

        Parameters
        ----------
        a, b : str
            Labels of the policies.
        what : {"regret", "clicks"}, default "regret"
            Curve to compare.
        at : int or None, default None
            A checkpoint; None is the last.
        confidence : float, default 0.95
            Confidence level of the interval.

        Returns
        -------
        Difference
            Mean of (a - b), its interval, and the ratio of the means.
        """
        index = -1 if at is None else self._checkpoint_index(at)
        return paired_difference(self._curves(a, what)[:, index], self._curves(b, what)[:, index], confidence)

    def table(self) -> str:
        """Plain-text table with a row per policy, the least final regret first."""
        order = sorted(self.policies, key=lambda name: float(self.mean(name)[-1]))
        means = [float(self.mean(name)[-1]) for name in order]
        errors = [float(self.standard_error(name)[-1]) for name in order]
        rates = [float(self.mean(name, "clicks")[-1]) / self.steps for name in order]
        behind = [self.difference(name, order[0]) for name in order]
        digits = decimals(means, errors)
        apart, low, high = (number_texts([other[part] for other in behind[1:]], digits, "+") for part in range(3))
        spread = map(" ± ".join, zip(number_texts(means, digits), number_texts(errors, digits), strict=True))
        intervals = map("{} [{}, {}]".format, apart, low, high)
        columns = [
            ["policy", *(" ".join(name.split()) for name in order)],
            ["regret", *spread],
            ["clicks/step", *number_texts(rates, 4)],
            ["difference [95% paired]", "-", *intervals],
            # Regret against the greedy list may be below 0; a ratio is then meaningless.
            ["ratio", *number_texts([difference.ratio if means[0] >= 0 else math.nan for difference in behind], 2)],
        ]
        title = self._size() + (f", seed {self.settings['seed']}" if "seed" in self.settings else "")
        return "\n".join([title, *aligned_lines(columns)])

    def rows(self) -> list[dict[str, Any]]:
        """One dict per policy, run (counted from 1) and checkpoint, with step, regret and clicks."""
        steps = self.checkpoints.tolist()
        return [
            dict(zip(COLUMNS, (name, run, *values), strict=True))
            for name in self.policies
            for run, (regret, clicks) in enumerate(zip(self.regret[name], self.clicks[name], strict=True), start=1)
            for values in zip(steps, regret.tolist(), clicks.tolist(), strict=True)
        ]

    def csv_text(self) -> str:
        """`rows` as comma-separated values; every number reads back exactly."""
        return as_csv(self.rows(), COLUMNS)

    def json_text(self) -> str:
        """The whole result as JSON, as read by `from_json`."""
        everything = FORMAT | {"settings": self.settings, "checkpoints": self.checkpoints.tolist()}
        everything |= {"breakpoints": self.breakpoints} if self.breakpoints else {}
        everything |= {"detections": self.detections} if self.detections else {}
        for what, curves in (("regret", self.regret), ("clicks", self.clicks)):
            everything[what] = {name: array.tolist() for name, array in curves.items()}
        return json.dumps(everything, allow_nan=False) + "\n"

    def to_csv(self, path: AnyPath) -> None:
        """Write `csv_text` to a file.

        Parameters
        ----------
        path : path
            File to write; an existing one is replaced.
        """
        write_text(path, "The csv file", self.csv_text())

    def to_json(self, path: AnyPath) -> None:
        """Write `json_text` to a file, from which `from_json` reads an equal result.

        Parameters
        ----------
        path : path
            File to write; an existing one is replaced.
        """
        write_text(path, "The json file", self.json_text())

    @classmethod
    def from_json(cls, path: AnyPath) -> Result:
        """Read a result that `to_json` wrote.

        Parameters
        ----------
        path : path
            File to read.

        Returns
        -------
        Result
            Equal to the one written.

        Raises
        ------
        InvalidInput
            If the file cannot be read or holds something else.
        """
        fields = ("checkpoints", "regret", "clicks", "settings")
        return cls(**read_json(path, FORMAT, fields, ("breakpoints", "detections")))

    def to_frame(self) -> DataFrame:
        """`rows` as a pandas data frame (needs the extra `frames`)."""
        frame: DataFrame = import_optional("pandas", "frames").DataFrame(self.rows(), columns=list(COLUMNS))
        return frame

    def plot(self, path: AnyPath | None = None, what: What = "regret") -> Figure:
        """Plot the mean curves with bands of one standard error (needs the extra `plots`).

        Breakpoints common to all runs are thin lines. Detections, in any run, are ticks at the bottom in the colour of
        the policy.

        Parameters
        ----------
        path : path or None, default None
            A .png, .svg or .pdf file to save the figure to.
        what : {"regret", "clicks"}, default "regret"
            Curve to plot.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return draw_and_save(lambda: curves_figure(self, what), path)

    def _size(self) -> str:
        return f"{count_text(self.steps, 'step')}, {count_text(self.runs, 'run')}"

    def _curves(self, policy: str, what: What) -> Floats:
        if what not in ("regret", "clicks"):
            raise refuse("what", what, "'regret' or 'clicks'", "choose one of them")
        if not isinstance(policy, str) or policy not in self.regret:
            advice = nearest(policy, self.policies, "choose one of them")
            raise refuse("policy", policy, f"one of {', '.join(map(repr, self.policies))}", advice)
        curves: dict[str, Floats] = getattr(self, what)
        return curves[policy]

    def _checkpoint_index(self, at: int) -> int:
        step = whole("at", at, 1, "give a checkpoint")
        steps: list[int] = self.checkpoints.tolist()
        closest = min(steps, key=lambda checkpoint: abs(checkpoint - step))
        if closest != step:
            accepted = f"one of the {len(steps):,} checkpoints from {steps[0]:,} to {steps[-1]:,}"
            raise refuse("at", at, accepted, f"the nearest is {closest}")
        return steps.index(step)
