"""Draws the figures of experiments in one style: curves with bands, points with errors, bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.core.slate import Floats
from toplist.engine.result import Result, What
from toplist.experiments.verdicts import MeanWithError
from toplist.support.files import import_optional
from toplist.support.plots import PALETTE, STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = 0.18  # opacity of the band around a curve
OFF_SCALE = 2.0  # a curve is cut at the top if it ends above this multiple of the height of the others
BOUND: dict[str, Any] = {"color": "0.35", "linestyle": (0, (4, 2)), "linewidth": 1.0}  # a style that no policy has
DASH: dict[str, Any] = {"color": "0.35", "linestyle": "", "marker": "_", "markersize": 16}


def panels(figure: Figure, rows: int = 1, columns: int = 1, share_x: bool = True, share_y: bool = False) -> list[Axes]:
    """Axes of small multiples, row by row; shared axes have numbers at the outer panels only."""
    figure.set_layout_engine("constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y)
    return list(grid.ravel())


def line_style(place: int) -> dict[str, Any]:
    """Colour and line style of a series: all colours first, then dashed and so on.

    >>> line_style(0), line_style(8)["linestyle"]
    ({'color': '#0072B2', 'linestyle': '-'}, '--')
    """
    return {"color": PALETTE[place % len(PALETTE)], "linestyle": STYLES[place // len(PALETTE) % len(STYLES)]}


def curves(
    axes: Axes,
    result: Result,
    policies: Sequence[str] | None = None,
    title: str = "",
    what: What = "regret",
    places: Mapping[str, int] | None = None,
) -> None:
    """Draw the mean of each policy (default: all) over steps, with a band of one standard error.

    `places` gives the line style of each, for panels with different policies; by default it is their order.
    """
    names = result.policies if policies is None else policies
    for order, name in enumerate(names):
        mean, error = result.mean(name, what), result.standard_error(name, what)
        place = order if places is None else places[name]
        band(axes, result.checkpoints.astype(np.float64), mean, error, name, place)
    frame(axes, title, "steps", what)
    axes.set_xlim(0, result.steps)
    axes.xaxis.set_major_locator(import_optional("matplotlib.ticker", "plots").MaxNLocator(nbins=4, integer=True))


def band(axes: Axes, x: Floats, mean: Floats, error: Floats, name: str, place: int) -> None:
    """Draw one curve with a band around it; a single point is a dot."""
    axes.plot(x, mean, label=name, marker="o" if len(x) == 1 else None, **line_style(place))
    if np.isfinite(error).all():  # unknown for a single run
        axes.fill_between(x, mean - error, mean + error, color=line_style(place)["color"], alpha=BAND, linewidth=0)


def points(
    axes: Axes,
    x: Sequence[float],
    values: Sequence[MeanWithError],
    name: str,
    place: int,
    marker: str = "o",
    join: str = "",
) -> None:
    """Draw means with bars of one standard error, joined by a line of style `join` if given."""
    means = [value.mean for value in values]
    errors = [value.error if np.isfinite(value.error) else 0.0 for value in values]
    colour = line_style(place)["color"]
    axes.errorbar(
        x, means, yerr=errors, label=name, color=colour, marker=marker, markersize=4, linestyle=join, capsize=2
    )


def off_scale(axes: Axes, result: Result, name: str, others: Sequence[Floats] = ()) -> None:
    """Cut a policy at the top and write its final regret there, if it would flatten all other curves.

    The other curves are the result's other policies and `others`.
    """
    rest = [*others, *(result.mean(other) for other in result.policies if other != name)]
    top, end = 1.25 * max(float(curve.max()) for curve in rest), float(result.mean(name)[-1])
    if end > OFF_SCALE * top:
        axes.set_ylim(min(0.0, *(float(curve.min()) for curve in rest)), top)
        text = f"{name} ends at {end:,.0f}"
        axes.text(0.98, 0.97, text, transform=axes.transAxes, ha="right", va="top", fontsize="small")


def bound(
    axes: Axes,
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    name: str = "",
    join: bool = True,
    place: int = -1,
) -> None:
    """Draw a theorem's bound as a thin broken line, or a dash at each x, in the colour of series `place` if given.

    Drawn after the frame, it does not stretch the axes.
    """
    own = {"color": line_style(place)["color"]} if place >= 0 else {}
    axes.plot(x, y, label=name or "_", zorder=1.5, **((BOUND if join else DASH) | own))


def frame(axes: Axes, title: str = "", x_label: str = "", y_label: str = "") -> None:
    """Apply the common style: y from 0 unless values are negative, thousands with commas, a pale grid."""
    formatter = import_optional("matplotlib.ticker", "plots").StrMethodFormatter
    axes.set_title(title, fontsize="medium", loc="left", parse_math=False)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if axes.get_yscale() == "linear":
        sharing = [axes, *axes.get_shared_y_axes().get_siblings(axes)]
        if min(other.dataLim.ymin for other in sharing) >= 0:
            # Set both ends: with one end set, shared axes would not grow for curves drawn later.
            axes.set_ylim(0, 1.05 * max(other.dataLim.ymax for other in sharing) or 1)
        axes.yaxis.set_major_formatter(formatter("{x:,.12g}"))
    if axes.get_xscale() == "linear":
        axes.xaxis.set_major_formatter(formatter("{x:,.12g}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    place = axes.get_subplotspec()
    if place is not None and not place.is_last_row() and len(axes.get_shared_x_axes().get_siblings(axes)) > 1:
        axes.set_xlabel("")
    if place is not None and not place.is_first_col():
        axes.set_ylabel("")


def legend(figure: Figure, columns: int = 3) -> None:
    """Draw one legend below all panels, with each name once."""
    named: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=min(columns, len(named)), frameon=False
    )
