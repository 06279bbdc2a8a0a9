"""Pictures of a comparison of click models: a small panel per model, drawn with matplotlib (extra `plots`)."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.core.slate import Floats
from toplist.logs.comparison.calibration import Rates
from toplist.logs.comparison.split_result import SplitResult
from toplist.support.files import import_optional
from toplist.support.plots import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = PALETTE[0], PALETTE[1], "0.75"
COLUMNS = 5
PANEL = 2.1  # inches


def panels(names: list[str], draw: Callable[[Axes, str], None], x_label: str, y_label: str) -> Figure:
    """A figure with a panel per model, best first, on shared axes."""
    figure_class = import_optional("matplotlib.figure", "plots").Figure
    columns = min(COLUMNS, len(names))
    rows = math.ceil(len(names) / columns)
    figure: Figure = figure_class(figsize=(PANEL * columns + 0.6, PANEL * rows + 0.6), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, name in zip(grid, names, strict=False):
        draw(axes, name)
        axes.set_title(name, fontsize="medium", loc="left", parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
    for place, axes in enumerate(grid):
        if place >= len(names):
            axes.set_visible(False)
        axes.tick_params(labelbottom=place + columns >= len(names))  # also above an empty panel
    figure.supxlabel(x_label, fontsize="medium")
    figure.supylabel(y_label, fontsize="medium")
    return figure


def draw_rates(result: SplitResult) -> Figure:
    """Observed against predicted click-through by position."""

    def draw(axes: Axes, name: str) -> None:
        rates = result.models[name].scores.by_position
        kept = rates.shown > 0
        places = np.arange(1, len(kept) + 1)[kept]
        observed(axes, places, rates, kept, "observed, with 95% interval")
        axes.plot(places, rates.predicted[kept], color=ORANGE, linewidth=1.5, label="predicted")
        number_positions(axes, len(kept))
        axes.set_ylim(bottom=0)

    figure = panels(result.ranking(), draw, "position", "click-through rate")
    return with_legend(figure)


def draw_perplexity(result: SplitResult) -> Figure:
    """Perplexity by position of each model, before those of all others in grey."""
    curves = {name: result.scores(name).perplexity_by_position for name in result.models}
    first_click = {name: result.scores(name, first_click=True).perplexity_by_position for name in result.models}

    def draw(axes: Axes, name: str) -> None:
        is_finite = bool(np.isfinite(curves[name][~np.isnan(curves[name])]).all())
        shown = curves if is_finite else first_click  # models are compared on the same positions
        for other in shown:
            if other != name:
                line(axes, shown[other], GREY, 0.7, "all other models")
        if is_finite:
            line(axes, shown[name], BLUE, 1.8, "this model")
        else:
            line(axes, shown[name], ORANGE, 1.8, "this model, like the others up to the first click", style="--")
        number_positions(axes, len(curves[name]))

    return with_legend(panels(result.ranking(), draw, "position", "perplexity, given the clicks above"))


def draw_calibration(result: SplitResult) -> Figure:
    """Observed click-through rate of positions with about the same predicted one."""

    def draw(axes: Axes, name: str) -> None:
        rates = result.models[name].scores.by_probability
        kept = rates.shown > 0
        axes.plot([0, 1], [0, 1], color="0.5", linewidth=0.8, linestyle="--", label="perfect")
        observed(axes, rates.predicted[kept], rates, kept, "observed, with 95% interval")
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_aspect("equal")

    figure = panels(result.ranking(), draw, "predicted probability, given the clicks above", "observed rate")
    return with_legend(figure)


def observed(axes: Axes, x: Any, rates: Rates, kept: Any, label: str) -> None:
    """Draw observed rates with their intervals."""
    low, high = rates.interval()
    middle = rates.observed[kept]
    around = np.clip([middle - low[kept], high[kept] - middle], 0.0, None)
    axes.errorbar(x, middle, yerr=around, color=BLUE, fmt="o", markersize=3, linewidth=1, label=label)


def line(axes: Axes, curve: Floats, colour: str, width: float, label: str, style: str = "-") -> None:
    """Draw one curve over positions, where it is finite."""
    shown = np.where(np.isfinite(curve), curve, np.nan)
    axes.plot(np.arange(1, len(curve) + 1), shown, color=colour, linewidth=width, linestyle=style, label=label or "_")


def number_positions(axes: Axes, positions: int) -> None:
    """Whole numbers below the axis of positions."""
    ticker = import_optional("matplotlib.ticker", "plots")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(nbins=min(positions, 5), integer=True))
    axes.set_xlim(0.5, positions + 0.5)


def with_legend(figure: Figure) -> Figure:
    """The figure with one legend for all panels."""
    named: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    figure.legend(named.values(), named.keys(), loc="outside upper right", ncols=len(named), frameon=False)
    return figure


def svg(figure: Figure) -> bytes:
    """The figure as SVG, the same for the same figure."""
    file = io.BytesIO()
    with import_optional("matplotlib", "plots").rc_context({"svg.hashsalt": "toplist", "svg.fonttype": "path"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
