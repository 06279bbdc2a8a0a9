"""What a sweep of a policy's parameters found: settings compared pair by pair, tabulated, plotted and saved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.engine.result import PALETTE, Result, as_csv, draw_and_save
from toplist.engine.statistics import Difference, decimals, finite_or_none, number_texts
from toplist.support.files import AnyPath, import_optional, write_text
from toplist.support.tables import aligned_lines, count_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = {"format": "toplist.Tuning", "format_version": 1}
SHOWN = 20  # rows of a printed table
WIDE = 30.0  # how far apart the ends of an axis must be for a logarithmic scale


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """The settings that were tried, what each one lost, and how the best did against the default on fresh visitors.

    >>> sweep = Result([9], {"p": [[5], [7]], "p(a=2)": [[2], [3]]}, {"p": [[1], [1]], "p(a=2)": [[2], [2]]})
    >>> print(Tuning({"p": {"a": 1}, "p(a=2)": {"a": 2}}, sweep))
    2 settings, 9 steps, 2 runs
    a       regret  against best [95% paired]  against default [95% paired]
    2  2.50 ± 0.50                          -          -3.50 [-9.85, +2.85]
    1  6.00 ± 1.00       +3.50 [-2.85, +9.85]                       default
    """

    settings: dict[str, dict[str, Any]]  # by label, the values of what was tuned; the first is the default
    sweep: Result  # every setting, on the same visitors
    again: Result | None = None  # the best and the default on fresh visitors; None where the default is the best

    @property
    def default(self) -> str:
        """The label of the policy as it was given."""
        return next(iter(self.settings))

    @property
    def best(self) -> str:
        """The label of the setting that lost least; the default, where none lost less."""
        return self.order[0]

    @property
    def order(self) -> list[str]:
        """All labels, the least regret first."""
        return sorted(self.settings, key=self.regret)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that were tuned."""
        return tuple(self.settings[self.default])

    @property
    def confirmed(self) -> Difference | None:
        """The regret of the best less that of the default, on fresh visitors; None where they are the same."""
        return None if self.again is None else self.again.difference(self.best, self.default)

    def regret(self, label: str) -> float:
        """The mean regret of a setting, at the end of the sweep."""
        return float(self.sweep.mean(label)[-1])

    def __repr__(self) -> str:
        """What it is, without the numbers."""
        return f"<Tuning of {self.default}: {self._size()}>"

    def __str__(self) -> str:
        """The table, and what came of it."""
        return "\n".join(filter(None, [self.table(), self.verdict()]))

    def table(self, most: int = SHOWN) -> str:
        """The best settings, and in any case the default, as aligned plain text."""
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
        """How the best did against the default on fresh visitors."""
        if self.best == self.default:
            return "No setting lost less than the default."
        if self.again is None or self.confirmed is None:
            return ""
        found = self.confirmed
        judged = f"clearly better, with {found.ratio:.2f} of the regret" if found.high < 0 else "not clearly better"
        again = self.again.table()
        return f"\nBest and default again, on fresh visitors: {again}\nThere {self.best} is {judged}."

    def rows(self) -> list[dict[str, Any]]:
        """One dict per setting, the least regret first; what cannot be known, as an interval of one run, is None."""
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
        """The rows as comma-separated values, with a column per parameter and per end of an interval."""
        flat = []
        for row in self.rows():
            cells = {"setting": row["setting"], **row["parameters"]}
            cells |= {name: row[name] for name in ("regret", "standard_error", "clicks_per_step")}
            for other in ("against_best", "against_default"):
                cells |= {f"{other}_{name}" if name != "mean" else other: value for name, value in row[other].items()}
            flat.append(cells)
        return as_csv(flat, list(flat[0]))

    def json_text(self) -> str:
        """Everything, for programs."""
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
        """Write the rows as comma-separated values."""
        write_text(path, "The csv file", self.csv_text())

    def to_json(self, path: AnyPath) -> None:
        """Write everything, for programs."""
        write_text(path, "The json file", self.json_text())

    def plot(self, path: AnyPath | None = None) -> Figure:
        """The regret over every parameter, saved to a png, svg or pdf file if there is a path."""
        return draw_and_save(self._figure, path)

    def _figure(self) -> Figure:
        figures = import_optional("matplotlib.figure", "plots")
        figure: Figure = figures.Figure(figsize=(1 + 4.5 * len(self.parameters), 4.2), dpi=150, layout="constrained")
        import_optional("matplotlib.backends.backend_agg", "plots").FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(self.parameters), squeeze=False, sharey=True)[0]
        for axes, name in zip(panels, self.parameters, strict=True):
            self._draw(axes, name)
        panels[0].set_ylabel(f"regret after {count_text(self.sweep.steps, 'step')}")
        panels[0].legend(frameon=False)
        figure.suptitle(f"{self.default}: {self._size()}", parse_math=False, fontsize="medium", x=0.02, ha="left")
        return figure

    def _draw(self, axes: Any, name: str) -> None:
        """One panel: the default and the best stand out."""
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
