"""The result of `toplist.fit`: models compared on held-out lists, as text, tables, JSON, a folder and a page."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toplist.logs.comparison.calibration import EDGES, Rates
from toplist.logs.comparison.folder import FitFolder
from toplist.logs.comparison.page import write_page
from toplist.logs.comparison.paired import PairedDifference
from toplist.logs.comparison.split_result import SPLIT_TEXTS, ScoredModel, SplitResult, drift
from toplist.logs.fitted import FittedModel
from toplist.logs.score_model import Scores
from toplist.support.files import AnyPath, write_text
from toplist.support.tables import Table

SEEN = "{}, seen pairs"  # name of the second row of a model
COLUMNS = (
    "model", "per list", "against best", "low", "high", "perplexity", "marginal", "parameters", "seconds", "impossible",
)  # fmt: skip
FIRST_CLICK = ("model", "per list", "against best", "low", "high", "perplexity")
DECIMALS = 4  # models often differ in the third
DRIFT = ("model", "per list", "low", "high")


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Click models fitted to some lists of a log and scored on others; `toplist.fit` makes one.

    Parameters
    ----------
    log : str
        A line of counts of the log.
    reading : str
        What was read and skipped; empty for a log that was not read from a file.
    settings : mapping
        Holdout, seed, priors and so on.
    splits : mapping of str to SplitResult
        The results by split; the main split is the first.

    Examples
    --------
    >>> import toplist
    >>> from toplist.logs import ClickLog
    >>> log = ClickLog.from_lists(["q"] * 40, [["a", "b"], ["b", "a"]] * 20, clicked=[[1], [2], [1], []] * 10)
    >>> found = toplist.fit(log, ["global-ctr", "pbm"], seed=1)
    >>> found.best
    'pbm'
    >>> found.table()["pbm"]["parameters"]
    3
    """

    log: str
    reading: str
    settings: Mapping[str, Any]
    splits: Mapping[str, SplitResult] = field(repr=False)

    @property
    def main(self) -> SplitResult:
        """The main split."""
        return next(iter(self.splits.values()))

    @property
    def models(self) -> dict[str, FittedModel]:
        """The fitted models of the main split, by name."""
        return {name: scored.fitted for name, scored in self.main.models.items()}

    @property
    def best(self) -> str:
        """The model with the highest log-likelihood per held-out list."""
        return self.main.ranking()[0]

    def table(self, split: str | None = None) -> Table:
        """The comparison, the best model first.

        Parameters
        ----------
        split : str, optional
            The split; by default the main one.

        Returns
        -------
        Table
            A row per model: log-likelihood per list; its difference to the best model with a 95% interval, paired by
            list or visitor; perplexity given the clicks above and marginal; number of parameters; seconds of the fit;
            lists of probability 0. A second row leaves out (query, item) pairs that the fit has never seen, if any.
        """
        result = self.main if split is None else self.splits[split]
        rows = []
        for name, difference in result.differences().items():
            scored = result.models[name]
            rows.append((*_scores(name, scored.scores.every, difference), *_size(scored)))
            if scored.scores.unseen:
                rows.append((*_scores(SEEN.format(name), scored.scores.seen_pairs, None), None, None, None))
        held = f"{result.held_lists:,.0f} lists {SPLIT_TEXTS[result.split]}"
        return Table(f"{result.fitted_lists:,.0f} lists fitted, {held}", COLUMNS, rows, DECIMALS)

    def first_click_table(self, split: str | None = None) -> Table:
        """The comparison of lists cut after their first click, which also the cascade model can explain.

        Parameters
        ----------
        split : str, optional
            The split; by default the main one.

        Returns
        -------
        Table
            As `table`, up to the first click.
        """
        result = self.main if split is None else self.splits[split]
        rows = [
            _scores(name, result.scores(name, first_click=True), difference)[:6]
            for name, difference in result.differences(first_click=True).items()
        ]
        return Table("Up to the first click", FIRST_CLICK, rows, DECIMALS)

    def drift_table(self) -> Table | None:
        """What it costs to predict late lists from early ones, on the late lists that both splits hold out.

        Returns
        -------
        Table or None
            Log-likelihood per list of the model of the early lists minus that of the model of lists of all times, with
            a 95% interval; None without both splits.
        """
        found = drift(self.splits["random"], self.splits["time"]) if len(self.splits) > 1 else {}
        if not found:
            return None
        rows = [(name, *each) for name, each in found.items()]
        return Table("Models of early lists against models of lists of all times", DRIFT, rows, DECIMALS)

    def notes(self) -> list[str]:
        """Sentences on what to keep in mind."""
        notes = []
        result = self.main
        equals = result.best()
        best = f"Best: {equals[0]}" + (f"; not clearly worse: {', '.join(equals[1:])}" if equals[1:] else "")
        notes.append(f"{best} ({len(result.models)} models).")
        for name, scored in result.models.items():
            if scored.scores.every.impossible:
                notes.append(
                    f"{name} gives {scored.scores.every.impossible:,.0f} of {result.held_lists:,.0f} lists "
                    "probability 0; compare it up to the first click."
                )
            if not scored.fitted.converged:
                notes.append(f"{name} did not converge in {len(scored.fitted.history)} iterations.")
        some = next(iter(result.models.values())).scores
        if some.too_long:
            notes.append(f"{some.too_long:,.0f} lists longer than any list fitted are left out.")
        if some.unseen:
            notes.append(
                f"{some.unseen:,.0f} shown items were never shown for their query in the lists fitted: they have the "
                "prior mean, and second rows leave them out."
            )
        return notes

    def __str__(self) -> str:
        tables = [self.table()]
        if self.main.has_impossible():
            tables.append(self.first_click_table())
        tables += [self.table("time")] if len(self.splits) > 1 else []
        changed = self.drift_table()
        tables += [] if changed is None else [changed]
        return "\n\n".join([*map(str, tables), "\n".join(self.notes())])

    def as_json(self) -> dict[str, Any]:
        """All figures as plain values; numbers that are not finite are None."""
        found: dict[str, Any] = {
            "log": self.log, "reading": self.reading, "settings": dict(self.settings), "best": self.best,
            "splits": {name: _split_json(result) for name, result in self.splits.items()},
        }  # fmt: skip
        changed = self.drift_table()
        found["drift"] = None if changed is None else changed.rows()
        plain: dict[str, Any] = _finite(found)
        return plain

    def json_text(self) -> str:
        """All figures as JSON."""
        return json.dumps(self.as_json(), indent=1) + "\n"

    def to_json(self, path: AnyPath) -> None:
        """Write all figures as JSON.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        write_text(path, "The json file", self.json_text())

    def save(self, folder: AnyPath) -> None:
        """Write all models and figures into a folder, from which `toplist.fit(..., folder=folder)` goes on.

        Parameters
        ----------
        folder : str or path-like
            The folder; it is made if it is missing.
        """
        kept = FitFolder(folder, self.settings)
        for split, result in self.splits.items():
            for name, scored in result.models.items():
                kept.keep(split, name, scored.fitted, scored.seconds)
        kept.write_figures(self.json_text())

    def to_html(self, path: AnyPath, command: str = "") -> None:
        """Write everything as one HTML page with pictures (needs the extras `report` and `plots`).

        Parameters
        ----------
        path : str or path-like
            The file.
        command : str, optional
            The command that made the comparison, to be shown on the page.
        """
        write_page(self, path, command)


def _scores(name: str, scores: Scores, difference: PairedDifference | None) -> tuple[Any, ...]:
    """The first columns of a row."""
    against = (None, None, None) if difference is None else (difference.mean, difference.low, difference.high)
    return name, scores.per_list, *against, scores.perplexity, scores.marginal_perplexity


def _size(scored: ScoredModel) -> tuple[Any, ...]:
    """The last columns of a row."""
    return scored.fitted.parameters, scored.seconds, scored.scores.every.impossible


def _split_json(result: SplitResult) -> dict[str, Any]:
    """One split as plain values."""
    apart = result.differences(), result.differences(first_click=True)
    return {
        "fitted_lists": result.fitted_lists,
        "held_lists": result.held_lists,
        "paired_by": "list" if result.visitor is None else "visitor",
        "models": {name: _model_json(scored, apart[0][name], apart[1][name]) for name, scored in result.models.items()},
    }


def _model_json(scored: ScoredModel, apart: PairedDifference, apart_first: PairedDifference) -> dict[str, Any]:
    """One model as plain values."""
    found = scored.scores
    return {
        "parameters": scored.fitted.parameters,
        "seconds": scored.seconds,
        "iterations": len(scored.fitted.history),
        "converged": scored.fitted.converged,
        "every": _scores_json(found.every) | {"against_best": apart._asdict()},
        "seen_pairs": _scores_json(found.seen_pairs),
        "to_first_click": _scores_json(found.to_first_click) | {"against_best": apart_first._asdict()},
        "unseen_pairs": found.unseen,
        "too_long": found.too_long,
        "by_position": _rates_json(found.by_position),
        "by_probability": {"edges": EDGES.tolist()} | _rates_json(found.by_probability),
        "calibration_error": found.by_probability.error(),
    }


def _scores_json(scores: Scores) -> dict[str, Any]:
    return {
        "lists": scores.lists,
        "impossible": scores.impossible,
        "log_likelihood": scores.log_likelihood,
        "per_list": scores.per_list,
        "perplexity": scores.perplexity,
        "marginal_perplexity": scores.marginal_perplexity,
        "perplexity_by_position": scores.perplexity_by_position.tolist(),
        "marginal_perplexity_by_position": scores.marginal_perplexity_by_position.tolist(),
    }


def _rates_json(rates: Rates) -> dict[str, Any]:
    low, high = rates.interval()
    return {
        "shown": rates.shown.tolist(),
        "predicted": rates.predicted.tolist(),
        "observed": rates.observed.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _finite(value: Any) -> Any:
    """A value without numbers that JSON lacks."""
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
