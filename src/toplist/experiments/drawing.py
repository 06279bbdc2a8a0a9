"""How figures of experiments are drawn: curves with bands, points with errors and their bounds, all in one style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.core.slate import Floats
from toplist.engine.result import PALETTE, STYLES, Result, What
from toplist.experiments.verdicts import Measured
from toplist.support.files import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = 0.18  # how much of a curve's colour its band has
OFF_SCALE = 2.0  # a curve leaves the top where it ends at more than so many times what the others need
BOUND: dict[str, Any] = {"color": "0.35", "linestyle": (0, (4, 2)), "linewidth": 1.0}  # as no policy is drawn
DASH: dict[str, Any] = {"color": "0.35", "linestyle": "", "marker": "_", "markersize": 16}


def panels(figure: Figure, rows: int = 1, columns: int = 1, share_x: bool = True, share_y: bool = False) -> list[Axes]:
    """Small multiples, row by row; on axes that are shared only the outer ones have numbers."""
    figure.set_layout_engine("constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y)
    return list(grid.ravel())


def look(place: int) -> dict[str, Any]:
    """The colour and style of a figure's series: colours first, and other strokes where there are more than colours.

    >>> look(0), look(8)["linestyle"]
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
    """The mean of each policy (all by default) over steps, with a band of one standard error.

    `places` says which look each has, for panels that do not have the same policies; else it is their order.
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
    """One curve with a band around it; where there is a single point it is a dot."""
    axes.plot(x, mean, label=name, marker="o" if len(x) == 1 else None, **look(place))
    if np.isfinite(error).all():  # of one run nobody knows it
        axes.fill_between(x, mean - error, mean + error, color=look(place)["color"], alpha=BAND, linewidth=0)


def points(
    axes: Axes, x: Sequence[float], values: Sequence[Measured], name: str, place: int, marker: str = "o", join: str = ""
) -> None:
    """Means with bars of one standard error; joined by a line where `join` is its style."""
    means = [value.mean for value in values]
    errors = [value.error if np.isfinite(value.error) else 0.0 for value in values]
    colour = look(place)["color"]
    axes.errorbar(
        x, means, yerr=errors, label=name, color=colour, marker=marker, markersize=4, linestyle=join, capsize=2
    )


def off_scale(axes: Axes, result: Result, name: str, others: Sequence[Floats] = ()) -> None:
    """Let a policy leave the top, its regret written there, where it would press everybody else to the ground.

    Everybody else is the result's other policies, and `others`, which are curves as well.
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
    """What a theorem says, as a thin broken line, or a dash at each x; of the colour of a series if it has a place.

    Drawn after the frame it stretches no axis.
    """
    own = {"color": look(place)["color"]} if place >= 0 else {}
    axes.plot(x, y, label=name or "_", zorder=1.5, **((BOUND if join else DASH) | own))


def frame(axes: Axes, title: str = "", x_label: str = "", y_label: str = "") -> None:
    """The style that all have: from 0 where nothing is below, thousands with commas, a pale grid."""
    formatter = import_optional("matplotlib.ticker", "plots").StrMethodFormatter
    axes.set_title(title, fontsize="medium", loc="left", parse_math=False)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if axes.get_yscale() == "linear":
        together = [axes, *axes.get_shared_y_axes().get_siblings(axes)]
        if min(other.dataLim.ymin for other in together) >= 0:
            # Both ends: to set one would keep what is drawn later on shared axes from making room for itself.
            axes.set_ylim(0, 1.05 * max(other.dataLim.ymax for other in together) or 1)
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
    """One legend below all panels, with each name once."""
    named: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=min(columns, len(named)), frameon=False
    )
