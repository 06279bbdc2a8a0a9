"""Writes a comparison of click models as one HTML page, with pictures and without any other file or network."""

from __future__ import annotations

import base64
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist import __version__
from toplist.logs.comparison import pictures
from toplist.logs.comparison.cell_text import cell_text
from toplist.logs.comparison.split_result import SplitResult
from toplist.logs.fitted import FittedModel
from toplist.logs.fitting.errors import STATUS
from toplist.support.files import AnyPath, write_text
from toplist.support.pages import page_environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from toplist.logs.comparison.result import ModelComparison  # it offers this page itself

COUNTS = " Fitted by the published counts, which overestimate attraction: see the exact fit."
MOST_ROWS = 60  # of the table of a model's parameters


def write_page(comparison: ModelComparison, path: AnyPath, command: str = "") -> None:
    """Write the page of a comparison (needs the extras `report` and `plots`).

    Parameters
    ----------
    comparison : ModelComparison
        The comparison.
    path : str or path-like
        The HTML file.
    command : str, optional
        The command that made it, to be shown.
    """
    write_text(path, "The page", page_text(comparison, command))


def page_text(comparison: ModelComparison, command: str = "") -> str:
    """The whole HTML file."""
    environment = page_environment("toplist.logs")
    environment.filters["cell"] = lambda value, column: cell_text(column, value)
    main = comparison.main
    tables = [comparison.table()]
    if len(comparison.splits) > 1:
        tables.append(comparison.table("time"))
    return environment.get_template("click_models.html").render(
        comparison=comparison,
        main=main,
        tables=tables,
        first_click=comparison.first_click_table() if main.has_impossible() else None,
        drift=comparison.drift_table(),
        equals=main.best(),
        pictures=drawn(main),
        assumptions={name: assumption(main.models[name].fitted) for name in main.ranking()},
        parameters={name: rows for name in main.ranking() if (rows := shared_rows(main.models[name].fitted))},
        calibration={name: main.models[name].evaluation.by_probability.error() for name in main.ranking()},
        most_rows=MOST_ROWS,
        command=command,
        version=__version__,
    )


def drawn(result: SplitResult) -> dict[str, str]:
    """The pictures as data URLs."""
    draw = {
        "rates": pictures.draw_rates,
        "perplexity": pictures.draw_perplexity,
        "calibration": pictures.draw_calibration,
    }
    return {name: data_url(each(result)) for name, each in draw.items()}


def data_url(figure: Figure) -> str:
    """A figure as an image of its own, so that the ids of several SVGs cannot clash."""
    return f"data:image/svg+xml;base64,{base64.b64encode(pictures.svg(figure)).decode()}"


def assumption(fitted: FittedModel) -> str:
    """What a model assumes, in a sentence: the first line of its documentation."""
    text = (inspect.getdoc(type(fitted.model)) or "").partition("\n")[0]
    return text + (COUNTS if fitted.name.endswith("-counts") else "")


def shared_rows(fitted: FittedModel) -> list[dict[str, Any]]:
    """The parameters that all queries share, with their intervals; empty if each query has its own."""
    if fitted.per_query:
        return []
    low, high = fitted.shared.interval()
    return [
        {
            "kind": kind,
            "label": label,
            "value": float(fitted.shared.value[0, place]),
            "low": None if np.isnan(low[0, place]) else float(low[0, place]),
            "high": None if np.isnan(high[0, place]) else float(high[0, place]),
            "status": STATUS[int(fitted.shared.status[0, place])],
        }
        for place, (kind, label) in enumerate(fitted.model.coins().shared)
    ]
