"""Figure of a result: the mean curves of all policies."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from toplist.engine.plot_marks import draw_breakpoints, draw_detections
from toplist.engine.simulated_problem import abridge
from toplist.support.files import import_optional
from toplist.support.plots import PALETTE, STYLES, longest_line, wrap_label, wrap_title
from toplist.support.tables import count_text

WIDTH, MARGIN = 5.6, 0.9  # inches of the axes, and of their numbers and labels
UNITS = {"regret": "regret (reward lost)", "clicks": "clicks"}

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from toplist.engine.result import Result, What


def curves_figure(result: Result, what: What) -> Figure:
    """Figure of the mean curves with bands of one standard error, and of breakpoints and detections."""
    means = {name: result.mean(name, what) for name in result.policies}
    order = sorted(means, key=lambda name: float(means[name][-1]), reverse=True)
    # No pyplot: it would hold the figure forever and might open a window.
    figures, ticker = import_optional("matplotlib.figure", "plots"), import_optional("matplotlib.ticker", "plots")
    labels = {name: wrap_label(name) for name in order}
    lines_of_legend = sum(1 + label.count("\n") for label in labels.values())
    title = wrap_title(_title(result), WIDTH)
    size = (
        WIDTH + MARGIN + 0.6 + 0.09 * longest_line(labels.values()),
        max(4.2 + 0.17 * title.count("\n"), 0.8 + 0.24 * lines_of_legend),
    )
    figure: Figure = figures.Figure(figsize=size, dpi=150, layout="constrained")
    import_optional("matplotlib.backends.backend_agg", "plots").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    marker = "o" if len(result.checkpoints) == 1 else None  # a line through one point is invisible
    lines = {}
    looks = itertools.cycle(itertools.product(STYLES, PALETTE))
    for name, (style, colour) in zip(result.policies, looks, strict=False):
        mean, error = means[name], result.standard_error(name, what)
        (lines[name],) = axes.plot(result.checkpoints, mean, color=colour, linestyle=style, marker=marker)
        if result.runs > 1:
            axes.fill_between(result.checkpoints, mean - error, mean + error, color=colour, alpha=0.18, linewidth=0)
    colours = {name: lines[name].get_color() for name in result.policies}
    marks = draw_breakpoints(axes, result.breakpoints) | draw_detections(axes, result.detections, colours)
    names = [*labels.values(), *marks]
    # Names are set afterwards: matplotlib would hide a label that begins with _ and typeset $.
    placeholders = [str(number) for number in range(len(names))]
    handles = [*(lines[name] for name in order), *marks.values()]
    legend = figure.legend(handles, placeholders, loc="outside right upper", frameon=False)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False)
    axes.set_title(title, fontsize="medium", loc="left", parse_math=False)
    axes.set_xlabel("steps (lists shown)")
    average = f"{'mean of ' if result.runs > 1 else ''}{count_text(result.runs, 'run')}"
    axes.set_ylabel(f"cumulative {UNITS[what]}, {average}")
    axes.set_xlim(left=0)
    if all(mean.min() >= 0 for mean in means.values()):
        axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(nbins=6, integer=True))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.12g}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.6)
    return figure


def _title(result: Result) -> str:
    """The title among the settings, or else world and users."""
    keys = ("title",) if "title" in result.settings else ("world", "users")
    return abridge("; ".join(str(result.settings[key]) for key in keys if key in result.settings))
