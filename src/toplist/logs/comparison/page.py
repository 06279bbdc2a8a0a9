"""Writes a comparison of click models as one HTML page, with pictures and without any other file or network."""

from __future__ import annotations

import base64
import inspect
from typing import TYPE_CHECKING

from toplist import __version__
from toplist.logs.comparison import pictures
from toplist.logs.comparison.split_result import SplitResult
from toplist.logs.fitted import FittedModel
from toplist.logs.fitting.errors import ESTIMATED, STATUS
from toplist.logs.parameter_table import interval_name
from toplist.support.files import AnyPath, write_text
from toplist.support.pages import page_environment
from toplist.support.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from toplist.logs.comparison.result import ModelComparison  # it offers this page itself

COUNTS = " Fitted by the published counts, which overestimate attraction: see the exact fit."
MOST_ROWS = 60  # of the table of a model's parameters
DECIMALS = 4


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
        parameters={name: found for name in main.ranking() if (found := shared_table(main.models[name].fitted))},
        calibration={name: main.models[name].scores.by_probability.error() for name in main.ranking()},
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


def shared_table(fitted: FittedModel) -> Table | None:
    """The parameters that all queries share, with their intervals; None without, or if each query has its own."""
    coins = fitted.model.coins().shared
    if fitted.per_query or not coins:
        return None
    low, high = fitted.shared.interval()
    rows = []
    for place, (kind, label) in enumerate(coins[:MOST_ROWS]):
        status = STATUS[int(fitted.shared.status[0, place])]
        values = (float(each[0, place]) for each in (fitted.shared.value, low, high))
        rows.append((f"{kind} {label}".strip(), *values, "" if status == STATUS[ESTIMATED] else status))
    intervals = "no errors" if fitted.errors == "none" else interval_name(fitted)
    title = f"{len(coins)} {'probability' if len(coins) == 1 else 'probabilities'}, {intervals}"
    return Table(title, ("parameter", "value", "low", "high", "status"), rows, DECIMALS)
