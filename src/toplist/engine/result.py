"""What a simulation found: curves per policy and run, compared pair by pair, tabulated, plotted and saved."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from toplist.core.problem import nearest, refuse, whole
from toplist.core.slate import Floats, Ints
from toplist.engine.plot_marks import StepsByRun, checked_steps_by_run, draw_breakpoints, draw_detections
from toplist.engine.statistics import Difference, decimals, number_texts, paired_difference, standard_error
from toplist.support.files import AnyPath, check_writable, import_optional, read_json, replace_file, write_text
from toplist.support.tables import aligned_lines, count_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["PLOT_SUFFIXES", "Difference", "Result", "check_plot"]

What = Literal["regret", "clicks"]

FORMAT = {"format": "toplist.Result", "format_version": 1}
COLUMNS = ("policy", "run", "step", "regret", "clicks")
PLOT_SUFFIXES = (".png", ".svg", ".pdf")
# Okabe and Ito's colours, told apart by colour-blind readers; their yellow is left out, it is too pale for a line.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 4)))


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The cumulative regret and clicks of every policy, run and checkpoint; run r of all policies met the same users.

    The result keeps copies of its own, and its arrays cannot be written to.

    >>> result = Result([1, 10], {"a": [[0, 3], [1, 5]], "b": [[1, 6], [1, 9]]}, {"a": [[1, 9]] * 2, "b": [[0, 5]] * 2})
    >>> result.difference("b", "a").ratio
    1.875
    >>> print(result)
    10 steps, 2 runs
    policy     regret  clicks/step  difference [95% paired]  ratio
    a       4.0 ± 1.0       0.9000                        -   1.00
    b       7.5 ± 1.5       0.5000        +3.5 [-2.9, +9.9]   1.88
    """

    checkpoints: Ints  # steps played, counted from 1, ascending; the last is n
    regret: dict[str, Floats]  # per policy (runs, checkpoints), cumulative
    clicks: dict[str, Floats]  # likewise
    settings: dict[str, Any] = field(default_factory=dict)  # carried along, as JSON would give it back
    breakpoints: StepsByRun = field(
        default_factory=list
    )  # per run, after how many steps the world changed; none: unknown
    detections: dict[str, StepsByRun] = field(
        default_factory=dict
    )  # per policy that looks: per run, when it found a change

    def __post_init__(self) -> None:
        """Take copies, after checking that everything fits together."""
        steps = _steps(self.checkpoints)
        regret = _curves("regret", self.regret, len(steps))
        clicks = _curves("clicks", self.clicks, len(steps))
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
        object.__setattr__(
            self, "breakpoints", checked_steps_by_run("breakpoints", self.breakpoints, self.runs, self.steps)
        )
        object.__setattr__(self, "detections", self._checked_detections())

    def _checked_detections(self) -> dict[str, StepsByRun]:
        if not isinstance(self.detections, Mapping) or not set(self.detections) <= set(self.regret):
            raise refuse("detections", self.detections, "a dict by policies of the result", "or leave it out")
        return {
            name: checked_steps_by_run(f"detections of {name!r}", marks, self.runs, self.steps)
            for name, marks in self.detections.items()
        }

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, in the order they were given."""
        return tuple(self.regret)

    @property
    def runs(self) -> int:
        """How often each policy was run."""
        return len(next(iter(self.regret.values())))

    @property
    def steps(self) -> int:
        """How many steps each run played."""
        return int(self.checkpoints[-1])

    def __eq__(self, other: object) -> bool:
        """Whether the other result holds the same numbers and settings."""
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

    __hash__ = None  # type: ignore[assignment]  # as for everything that holds arrays

    def __repr__(self) -> str:
        """What it is, without the numbers."""
        return f"<Result of {', '.join(self.policies)}: {self._size()}>"

    def __str__(self) -> str:
        """The table."""
        return self.table()

    def mean(self, policy: str, what: What = "regret") -> Floats:
        """The mean over runs at every checkpoint."""
        return np.asarray(self._of(policy, what).mean(axis=0), dtype=np.float64)

    def standard_error(self, policy: str, what: What = "regret") -> Floats:
        """The standard error of that mean at every checkpoint; nan with one run."""
        return standard_error(self._of(policy, what))

    def difference(
        self, a: str, b: str, what: What = "regret", at: int | None = None, confidence: float = 0.95
    ) -> Difference:
        """The mean of (a - b) at a checkpoint (else the last), with Student's interval, paired by run."""
        place = -1 if at is None else self._place(at)
        return paired_difference(self._of(a, what)[:, place], self._of(b, what)[:, place], confidence)

    def table(self) -> str:
        """One row per policy, the least final regret first, as aligned plain text."""
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
            # Against the greedy list regret may be below 0, and then a ratio says nothing.
            ["ratio", *number_texts([difference.ratio if means[0] >= 0 else math.nan for difference in behind], 2)],
        ]
        title = self._size() + (f", seed {self.settings['seed']}" if "seed" in self.settings else "")
        return "\n".join([title, *aligned_lines(columns)])

    def rows(self) -> list[dict[str, Any]]:
        """One dict per policy, run (counted from 1) and checkpoint, with its step, regret and clicks."""
        steps = self.checkpoints.tolist()
        return [
            dict(zip(COLUMNS, (name, run, *values), strict=True))
            for name in self.policies
            for run, (regret, clicks) in enumerate(zip(self.regret[name], self.clicks[name], strict=True), start=1)
            for values in zip(steps, regret.tolist(), clicks.tolist(), strict=True)
        ]

    def csv_text(self) -> str:
        """The rows as comma-separated values; every number reads back exactly."""
        return as_csv(self.rows(), COLUMNS)

    def json_text(self) -> str:
        """Everything, in the form that `Result.from_json` reads."""
        everything = FORMAT | {"settings": self.settings, "checkpoints": self.checkpoints.tolist()}
        everything |= {"breakpoints": self.breakpoints} if self.breakpoints else {}
        everything |= {"detections": self.detections} if self.detections else {}
        for what, curves in (("regret", self.regret), ("clicks", self.clicks)):
            everything[what] = {name: array.tolist() for name, array in curves.items()}
        return json.dumps(everything, allow_nan=False) + "\n"

    def to_csv(self, path: AnyPath) -> None:
        """Write the rows as comma-separated values."""
        write_text(path, "The csv file", self.csv_text())

    def to_json(self, path: AnyPath) -> None:
        """Write everything, so that `Result.from_json` gives an equal result."""
        write_text(path, "The json file", self.json_text())

    @classmethod
    def from_json(cls, path: AnyPath) -> Result:
        """The result that `to_json` wrote."""
        fields = ("checkpoints", "regret", "clicks", "settings")
        return cls(**read_json(path, FORMAT, fields, ("breakpoints", "detections")))

    def to_frame(self) -> DataFrame:
        """The rows as a pandas data frame."""
        frame: DataFrame = import_optional("pandas", "frames").DataFrame(self.rows(), columns=list(COLUMNS))
        return frame

    def plot(self, path: AnyPath | None = None, what: What = "regret") -> Figure:
        """The mean curves with bands of one standard error, saved to a png, svg or pdf file if there is a path.

        Breakpoints are thin lines, where they are the same in all runs. What policies found to have changed, in any
        run, are ticks of their colour at the bottom.
        """
        return draw_and_save(lambda: self._figure(what), path)

    def _figure(self, what: What) -> Figure:
        means = {name: self.mean(name, what) for name in self.policies}
        order = sorted(means, key=lambda name: float(means[name][-1]), reverse=True)
        # No pyplot: it would keep the figure for ever and might open a window.
        figures, ticker = import_optional("matplotlib.figure", "plots"), import_optional("matplotlib.ticker", "plots")
        size = (6.5 + 0.09 * max(map(len, order)), max(4.2, 0.8 + 0.24 * len(order)))  # room for the legend
        figure: Figure = figures.Figure(figsize=size, dpi=150, layout="constrained")
        import_optional("matplotlib.backends.backend_agg", "plots").FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        marker = "o" if len(self.checkpoints) == 1 else None  # a line through one point cannot be seen
        lines = {}
        looks = itertools.cycle(itertools.product(STYLES, PALETTE))
        for name, (style, colour) in zip(self.policies, looks, strict=False):
            mean, error = means[name], self.standard_error(name, what)
            (lines[name],) = axes.plot(self.checkpoints, mean, color=colour, linestyle=style, marker=marker)
            if self.runs > 1:
                axes.fill_between(self.checkpoints, mean - error, mean + error, color=colour, alpha=0.18, linewidth=0)
        colours = {name: lines[name].get_color() for name in self.policies}
        marks = draw_breakpoints(axes, self.breakpoints) | draw_detections(axes, self.detections, colours)
        names = [*order, *marks]
        # The names are set afterwards, as they are: matplotlib would hide a label that begins with _ and typeset $.
        places = [str(place) for place in range(len(names))]
        handles = [*(lines[name] for name in order), *marks.values()]
        legend = figure.legend(handles, places, loc="outside right upper", frameon=False)
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set(text=name, parse_math=False)
        axes.set_title(self._title(), fontsize="medium", loc="left", parse_math=False)
        axes.set_xlabel("steps")
        axes.set_ylabel(f"cumulative {what}, {'mean of ' if self.runs > 1 else ''}{count_text(self.runs, 'run')}")
        axes.set_xlim(left=0)
        if all(mean.min() >= 0 for mean in means.values()):
            axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(ticker.MaxNLocator(nbins=6, integer=True))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.12g}"))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.6)
        return figure

    def _size(self) -> str:
        return f"{count_text(self.steps, 'step')}, {count_text(self.runs, 'run')}"

    def _title(self) -> str:
        keys = ("title",) if "title" in self.settings else ("world", "users")
        return textwrap.fill("; ".join(str(self.settings[key]) for key in keys if key in self.settings), 72)

    def _of(self, policy: str, what: What) -> Floats:
        if what not in ("regret", "clicks"):
            raise refuse("what", what, "'regret' or 'clicks'", "choose one of them")
        if not isinstance(policy, str) or policy not in self.regret:
            advice = nearest(policy, self.policies, "choose one of them")
            raise refuse("policy", policy, f"one of {', '.join(map(repr, self.policies))}", advice)
        curves: dict[str, Floats] = getattr(self, what)
        return curves[policy]

    def _place(self, at: int) -> int:
        step = whole("at", at, 1, "give a checkpoint")
        kept: list[int] = self.checkpoints.tolist()
        closest = min(kept, key=lambda checkpoint: abs(checkpoint - step))
        if closest != step:
            accepted = f"one of the {len(kept):,} checkpoints from {kept[0]:,} to {kept[-1]:,}"
            raise refuse("at", at, accepted, f"the nearest is {closest}")
        return kept.index(step)


def as_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as comma-separated values under their header.

    >>> as_csv([{"policy": "a", "regret": 0.5}], ("policy", "regret"))
    '"policy","regret"\\n"a",0.5\\n'
    """
    file = io.StringIO()
    # Texts are quoted: otherwise a carriage return in a name would end the line for a reader.
    writer = csv.DictWriter(file, columns, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def check_plot(path: AnyPath) -> None:
    """Refuse what could not be drawn in the end: a path that cannot be written, or no matplotlib."""
    check_writable(path, "The plot", PLOT_SUFFIXES)
    import_optional("matplotlib", "plots")


def draw_and_save(draw: Callable[[], Figure], path: AnyPath | None) -> Figure:
    """A figure, saved to a png, svg or pdf file if there is a path, which is checked before anything is drawn."""
    if path is not None:
        check_plot(path)
    figure = draw()
    if path is not None:
        with replace_file(path, "The plot", PLOT_SUFFIXES) as new:
            figure.savefig(new, format=Path(path).suffix[1:].lower())
    return figure


def _steps(given: Any) -> Ints:
    """The checkpoints as a read-only array of their own."""
    try:
        steps = np.array(given)
    except ValueError:  # rows of different lengths
        steps = np.empty(0)
    fine = steps.ndim == 1 and steps.size > 0 and steps.dtype.kind in "iu"
    if fine:
        steps = steps.astype(np.int64)
        fine = bool(steps[0] >= 1 and (np.diff(steps) > 0).all())
    if not fine:
        accepted = "ascending whole numbers of at least 1"
        raise refuse("checkpoints", given, accepted, "give the numbers of steps after which the curves were kept")
    steps.flags.writeable = False
    return steps


def _curves(what: str, given: Any, checkpoints: int) -> dict[str, Floats]:
    """The curves of every policy as read-only arrays of their own."""
    if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
        raise refuse(what, given, "a dict from the name of each policy to its curves", "name at least one policy")
    curves = {}
    for name, values in given.items():
        label, shape = f"{what}[{name!r}]", f"an array of shape (runs, {checkpoints})"
        advice = "give one row per run and one column per checkpoint"
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise refuse(label, values, shape, advice) from None
        if array.ndim != 2 or not len(array) or array.shape[1] != checkpoints:
            raise refuse(f"the shape of {label}", array.shape, f"(runs, {checkpoints})", advice)
        if not np.isfinite(array).all():
            raise refuse(label, values, "finite throughout", "leave out runs that were not played to the end")
        array.flags.writeable = False
        curves[name] = array
    return curves


def checked_settings(settings: Any) -> dict[str, Any]:
    """The settings as JSON gives them back, so that a saved result equals the one in memory."""
    try:
        if not isinstance(settings, Mapping):
            raise TypeError("it is no dict")
        text = json.dumps(dict(settings), allow_nan=False, default=lambda value: value.tolist())  # numpy's own values
    except (AttributeError, TypeError, ValueError, RecursionError) as problem:
        advice = f"give texts, finite numbers, lists and dicts ({problem})"
        raise refuse("settings", settings, "a dict that JSON can hold", advice) from None
    plain: dict[str, Any] = json.loads(text)
    return plain
