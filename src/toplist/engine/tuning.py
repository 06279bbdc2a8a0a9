"""`Tuning`, the outcome of a parameter sweep: paired differences between settings, as tables, plots and files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.engine.result import Result
from toplist.engine.statistics import Difference, decimals, finite_or_none, number_texts
from toplist.support.files import AnyPath, import_optional, write_text
from toplist.support.plots import PALETTE, draw_and_save, wrap_title
from toplist.support.tables import aligned_lines, as_csv, count_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = {"format": "toplist.Tuning", "format_version": 1}
SHOWN = 20  # rows of a printed table
WIDE = 30.0  # ratio of the ends of an axis from which its scale is logarithmic


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """Regret of every setting of a sweep, and of the best against the default on fresh visitors.

    Parameters
    ----------
    settings : dict of str to dict
        Values of the tuned parameters, by label; the first is the default.
    sweep : Result
        Every setting on the same visitors.
    again : Result or None, default None
        The best and the default on fresh visitors; None if the default is the best.

    Examples
    --------
    >>> sweep = Result([9], {"p": [[5], [7]], "p(a=2)": [[2], [3]]}, {"p": [[1], [1]], "p(a=2)": [[2], [2]]})
    >>> print(Tuning({"p": {"a": 1}, "p(a=2)": {"a": 2}}, sweep))
    2 settings, 9 steps, 2 runs
    a       regret  against best [95% paired]  against default [95% paired]
    2  2.50 ± 0.50                          -          -3.50 [-9.85, +2.85]
    1  6.00 ± 1.00       +3.50 [-2.85, +9.85]                       default
    """

    settings: dict[str, dict[str, Any]]
    sweep: Result
    again: Result | None = None

    @property
    def default(self) -> str:
        """Label of the policy as it was given."""
        return next(iter(self.settings))

    @property
    def best(self) -> str:
        """Label of the setting with the least regret; the default, if no other has less."""
        return self.order[0]

    @property
    def order(self) -> list[str]:
        """All labels, the least regret first."""
        return sorted(self.settings, key=self.regret)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the tuned parameters."""
        return tuple(self.settings[self.default])

    @property
    def confirmed(self) -> Difference | None:
        """Regret of the best minus that of the default on fresh visitors; None if they are the same."""
        return None if self.again is None else self.again.difference(self.best, self.default)

    def regret(self, label: str) -> float:
        """Mean regret of a setting at the end of the sweep.

        Parameters
        ----------
        label : str
            Label of a setting.
        """
        return float(self.sweep.mean(label)[-1])

    def __repr__(self) -> str:
        """Policy and size, without the numbers."""
        return f"<Tuning of {self.default}: {self._size()}>"

    def __str__(self) -> str:
        """Return the table and the verdict."""
        return "\n".join(filter(None, [self.table(), self.verdict()]))

    def table(self, most: int = SHOWN) -> str:
        """Plain-text table of the best settings, which always includes the default.

        Parameters
        ----------
        most : int, default 20
            Largest number of rows.
        """
        shown = self.order[:most]
        if self.default not in shown:
            shown = [*shown[: most - 1], self.default]
        means = [self.regret(label) for label in shown]
        errors = [float(self.sweep.standard_error(label)[-1]) for label in shown]
        digits = decimals(means, errors)
        spread = map(" ± ".join, zip(number_texts(means, digits), number_texts(errors, digits), strict=True))
        columns = [[name, *(_text(self.settings[label][name]) for label in shown)] for name in self.parameters]
        columns += [
            ["regret", *spread],
            ["against best [95% paired]", *self._differences(shown, self.best, "-", digits)],
            ["against default [95% paired]", *self._differences(shown, self.default, "default", digits)],
        ]
        left_out = len(self.settings) - len(shown)
        more = [f"... and {count_text(left_out, 'setting')} more"] if left_out else []
        return "\n".join([self._size(), *aligned_lines(columns, left=()), *more])

    def _differences(self, shown: list[str], other: str, itself: str, digits: int) -> list[str]:
        apart = [self.sweep.difference(label, other) for label in shown if label != other]
        means, lows, highs = (
            number_texts([difference[part] for difference in apart], digits, "+") for part in range(3)
        )
        texts = map("{} [{}, {}]".format, means, lows, highs)
        return [itself if label == other else next(texts) for label in shown]

    def verdict(self) -> str:
        """Sentence on the best against the default on fresh visitors, with its table."""
        if self.best == self.default:
            return "No setting lost less than the default."
        if self.again is None or self.confirmed is None:
            return ""
        found = self.confirmed
        judged = f"clearly better, with {found.ratio:.2f} of the regret" if found.high < 0 else "not clearly better"
        again = self.again.table()
        return f"\nBest and default again, on fresh visitors: {again}\nThere {self.best} is {judged}."

    def rows(self) -> list[dict[str, Any]]:
        """One dict per setting, the least regret first; undefined values, as the interval of one run, are None."""
        return [
            {
                "setting": label,
                "parameters": self.settings[label],
                "regret": self.regret(label),
                "standard_error": finite_or_none(float(self.sweep.standard_error(label)[-1])),
                "clicks_per_step": float(self.sweep.mean(label, "clicks")[-1]) / self.sweep.steps,
                "against_best": _plain(self.sweep.difference(label, self.best)),
                "against_default": _plain(self.sweep.difference(label, self.default)),
            }
            for label in self.order
        ]

    def csv_text(self) -> str:
        """`rows` as comma-separated values, with a column per parameter and per end of an interval."""
        flat = []
        for row in self.rows():
            cells = {"setting": row["setting"], **row["parameters"]}
            cells |= {name: row[name] for name in ("regret", "standard_error", "clicks_per_step")}
            for other in ("against_best", "against_default"):
                cells |= {f"{other}_{name}" if name != "mean" else other: value for name, value in row[other].items()}
            flat.append(cells)
        return as_csv(flat, list(flat[0]))

    def json_text(self) -> str:
        """Settings, `rows` and the confirmation as JSON, for other programs."""
        found = self.confirmed
        everything = FORMAT | {
            "settings": self.sweep.settings,
            "best": self.best,
            "default": self.default,
            "tried": self.rows(),
            "confirmed": None if self.again is None or found is None else _plain(found) | self.again.settings,
        }
        return json.dumps(everything, allow_nan=False, default=str) + "\n"

    def to_csv(self, path: AnyPath) -> None:
        """Write `csv_text` to a file.

        Parameters
        ----------
        path : path
            File to write; an existing one is replaced.
        """
        write_text(path, "The csv file", self.csv_text())

    def to_json(self, path: AnyPath) -> None:
        """Write `json_text` to a file.

        Parameters
        ----------
        path : path
            File to write; an existing one is replaced.
        """
        write_text(path, "The json file", self.json_text())

    def plot(self, path: AnyPath | None = None) -> Figure:
        """Plot the regret over every parameter (needs the extra `plots`).

        Parameters
        ----------
        path : path or None, default None
            A .png, .svg or .pdf file to save the figure to.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return draw_and_save(self._figure, path)

    def _figure(self) -> Figure:
        figures = import_optional("matplotlib.figure", "plots")
        width = 1 + 4.5 * len(self.parameters)
        title = wrap_title(f"{self.default}: {self._size()}", width)
        size = (width, 4.2 + 0.17 * title.count("\n"))
        figure: Figure = figures.Figure(figsize=size, dpi=150, layout="constrained")
        import_optional("matplotlib.backends.backend_agg", "plots").FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(self.parameters), squeeze=False, sharey=True)[0]
        for axes, name in zip(panels, self.parameters, strict=True):
            self._draw(axes, name)
        panels[0].set_ylabel(f"regret (reward lost) after {count_text(self.sweep.steps, 'step')}")
        panels[0].legend(frameon=False)
        figure.suptitle(title, parse_math=False, fontsize="medium", x=0.02, ha="left")
        return figure

    def _draw(self, axes: Any, name: str) -> None:
        """Draw the panel of one parameter, with the default and the best highlighted."""
        values = {label: setting[name] for label, setting in self.settings.items()}
        numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values())
        texts = list(dict.fromkeys(map(_text, values.values())))
        where = values if numeric else {label: texts.index(_text(value)) for label, value in values.items()}
        roles = {"others": [label for label in values if label not in (self.best, self.default)]}
        roles |= {"default": [self.default], "best": [] if self.best == self.default else [self.best]}
        for (role, labels), colour in zip(roles.items(), PALETTE, strict=False):
            if labels:
                errors = None
                if self.sweep.runs > 1:
                    errors = [float(self.sweep.standard_error(label)[-1]) for label in labels]
                means = [self.regret(label) for label in labels]
                axes.errorbar([where[label] for label in labels], means, errors, fmt="o", color=colour, label=role)
        axes.set_xlabel(name, parse_math=False)
        if not numeric:
            axes.set_xticks(range(len(texts)), texts, parse_math=False)
        elif min(values.values()) > 0 and max(values.values()) > WIDE * min(values.values()):
            axes.set_xscale("log")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.6)

    def _size(self) -> str:
        seed = f", seed {self.sweep.settings['seed']}" if "seed" in self.sweep.settings else ""
        sizes = (count_text(len(self.settings), "setting"), count_text(self.sweep.steps, "step"))
        return f"{', '.join(sizes)}, {count_text(self.sweep.runs, 'run')}{seed}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _plain(difference: Difference) -> dict[str, float | None]:
    return {name: finite_or_none(value) for name, value in difference._asdict().items()}
