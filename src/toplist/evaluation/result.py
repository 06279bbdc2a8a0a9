"""The result of an offline evaluation: estimates with intervals, beside the logged ranking, and what was refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput, nearest, refuse
from toplist.evaluation.intervals import Interval
from toplist.support.files import AnyPath, write_text
from toplist.support.tables import Table

COLUMNS = ("estimator", "clicks", "low", "high", "difference", "diff. low", "diff. high", "effective", "no support")


def without_nan(value: Any) -> Any:
    """A value for JSON, which has no NaN: None instead, also in a list."""
    if isinstance(value, list):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


class PolicyEstimate(NamedTuple):
    """What a policy would have earned, by one estimator.

    Parameters
    ----------
    estimator : str
        Name of the estimator.
    value : float
        Clicks per list.
    interval : Interval
        Its confidence interval.
    difference : float
        Clicks per list more than with the logged ranking, over the same lists.
    difference_interval : Interval
        Its confidence interval.
    effective : float
        Effective sample size; NaN without weights.
    unsupported : float
        Share of logged lists, or positions, that the policy never shows; for the direct method of the policy's
        positions that the log never shows.
    mean_weight : float
        Mean weight, 1 where the log can answer; NaN without weights.
    sampling_error : float
        Standard error because the policy's own probabilities were sampled, part of the intervals; 0 if they are exact.
    notes : tuple of str
        Warnings, and what to keep in mind.
    """

    estimator: str
    value: float
    interval: Interval
    difference: float
    difference_interval: Interval
    effective: float
    unsupported: float
    mean_weight: float
    sampling_error: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, None for what is not known.

        Returns
        -------
        dict
            By name.
        """
        found = self._asdict() | {
            "interval": list(self.interval),
            "difference_interval": list(self.difference_interval),
            "notes": list(self.notes),
        }
        return {name: without_nan(value) for name, value in found.items()}


@dataclass(frozen=True, eq=False)
class PolicyEvaluation:
    """What a policy would have earned on the lists of a log; `toplist.evaluate` makes one.

    Parameters
    ----------
    policy : str
        The policy.
    lists : float
        Number of lists, weighted.
    independent : str
        What is independent: "list" or "visitor".
    units : int
        Number of these.
    interval : str
        Sort of the intervals.
    level : float
        Their confidence level.
    logged : float
        Clicks per list of the logged ranking.
    logged_interval : Interval
        Its interval.
    estimates : dict of str to PolicyEstimate
        The answers by estimator.
    refused : dict of str to str
        Why the log cannot answer, by estimator.
    """

    policy: str
    lists: float
    independent: str
    units: int
    interval: str
    level: float
    logged: float
    logged_interval: Interval
    estimates: Mapping[str, PolicyEstimate]
    refused: Mapping[str, str]

    def __getitem__(self, estimator: str) -> PolicyEstimate:
        """The answer of an estimator; `InvalidInput` with the reason where it was refused."""
        if estimator in self.refused:
            raise InvalidInput(f"{estimator} cannot tell: {self.refused[estimator]}.")
        if estimator not in self.estimates:
            advice = nearest(str(estimator), self.estimates, "choose one of these")
            raise refuse("The estimator", estimator, f"one of {', '.join(self.estimates)}", advice)
        return self.estimates[estimator]

    def table(self) -> Table:
        """The logged ranking and all answers.

        Returns
        -------
        Table
            Per estimator clicks per list with interval, the difference from the logged ranking with interval, the
            effective sample size, and the share without support.
        """
        rows: list[tuple[Any, ...]] = [
            ("the log itself", self.logged, *self.logged_interval, None, None, None, self.lists, None)
        ]
        rows += [
            (
                each.estimator, each.value, *each.interval, each.difference, *each.difference_interval,
                float(round(each.effective)) if math.isfinite(each.effective) else None, each.unsupported,
            )
            for each in self.estimates.values()
        ]  # fmt: skip
        unit = "" if self.independent == "list" else f" of {self.units:,} visitors"
        title = (
            f"{self.policy} on {self.lists:,.0f} lists{unit}: clicks per list, {100 * self.level:g}% {self.interval}"
        )
        return Table(f"{title} intervals", COLUMNS, rows)

    def __str__(self) -> str:
        """The table, notes and refusals."""
        lines = [str(self.table())]
        by_note: dict[str, list[str]] = {}
        for name, each in self.estimates.items():
            for note in each.notes:
                by_note.setdefault(note, []).append(name)
        lines += [f"{', '.join(names)}: {note}" for note, names in by_note.items()]
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.refused.items():
            by_reason.setdefault(reason, []).append(name)
        lines += [f"refused {', '.join(names)}: {reason}" for reason, names in by_reason.items()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values.

        Returns
        -------
        dict
            For JSON.
        """
        return {
            "policy": self.policy, "lists": self.lists, "independent": self.independent, "units": self.units,
            "interval": self.interval, "level": self.level,
            "logged": {"value": self.logged, "interval": without_nan(list(self.logged_interval))},
            "estimates": [each.to_dict() for each in self.estimates.values()],
            "refused": [{"estimator": name, "reason": reason} for name, reason in self.refused.items()],
        }  # fmt: skip

    def json_text(self) -> str:
        """The same as JSON.

        Returns
        -------
        str
            The text.
        """
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def to_json(self, path: AnyPath) -> None:
        """Write it as JSON.

        Parameters
        ----------
        path : str or path-like
            The file; an old one is replaced.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        write_text(path, "The json file", self.json_text())
