"""Heat map of a comparison: a row per policy, a column per kind of users."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.core.slate import Floats
from toplist.engine.comparison_tables import LEGEND
from toplist.support.files import import_optional
from toplist.support.plots import longest_line, wrap_label, wrap_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from toplist.engine.comparison import Comparison

COLOURS = "cividis_r"  # made for colour-blind readers, and as readable in grey: pale is good, dark is bad
MOST = 100.0  # times the best; larger ratios have the same colour
STEPS = (1, 2, 5, 10, 20, 50, 100)  # on the colour bar
ROW, COLUMN = 0.27, 0.92  # inches
NARROWEST = 4.6  # inches
UPRIGHT = 11  # letters of a column's label; longer ones are slanted


def heatmap(found: Comparison) -> Figure:
    """Figure whose colours are multiples of the column's least regret, and numbers percentages of random's regret."""
    # No pyplot: it would hold the figure forever and might open a window.
    figures, colors = import_optional("matplotlib.figure", "plots"), import_optional("matplotlib.colors", "plots")
    rows, columns = found.order, found.columns
    ratios = np.array([[found.over_best(name, column).value for column in columns] for name in rows])
    ratios = np.clip(ratios, 1.0, MOST)  # nan stays: the least regret is not above 0
    labels = longest_line(map(wrap_label, rows))
    slanted = longest_line(map(wrap_label, columns)) - UPRIGHT
    size = (
        max(NARROWEST, 1.6 + 0.085 * labels + COLUMN * len(columns) + 0.05 * max(0, slanted)),
        1.7 + ROW * len(rows) + 0.05 * max(0, slanted),
    )
    figure: Figure = figures.Figure(figsize=size, dpi=150, layout="constrained")
    import_optional("matplotlib.backends.backend_agg", "plots").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    top = float(np.nanmax(ratios, initial=2.0))
    colours = import_optional("matplotlib", "plots").colormaps[COLOURS].with_extremes(bad="0.85")
    image = axes.imshow(ratios, cmap=colours, norm=colors.LogNorm(1.0, top), aspect="auto")
    _annotate(axes, image, found, ratios)
    _frame(axes, found)
    title = wrap_title(f"Regret in % of that of {found.baseline}: {found.size()}", size[0])
    figure.suptitle(title, fontsize="medium", x=0.01, ha="left", parse_math=False)
    figure.supxlabel(wrap_title(LEGEND, 1.15 * size[0]), fontsize=8.5, x=0.01, ha="left", parse_math=False)
    bar = figure.colorbar(image, ax=axes, shrink=min(1.0, 4.0 / size[1]), pad=0.02)
    ticks = [step for step in STEPS if step <= top * 1.001]
    bar.set_ticks(ticks, labels=[f"{step}" for step in ticks])
    bar.ax.minorticks_off()
    bar.set_label(wrap_title("times the least regret of the column", min(4.0, 0.5 + ROW * len(rows))))
    bar.outline.set_visible(False)
    return figure


def _percent(share: float) -> str:
    """A share as a percentage: two decimals below 1%, one below 10%, else none."""
    if math.isnan(share):
        return "n/a"
    return f"{100 * share:.{2 if share < 0.00995 else 1 if share < 0.0995 else 0}f}"


def _annotate(axes: Any, image: Any, found: Comparison, ratios: Floats) -> None:
    """Write the numbers in black or white, whichever contrasts; the best and those close to it are bold and framed."""
    patches = import_optional("matplotlib.patches", "plots")
    for row, name in enumerate(found.order):
        for column, label in enumerate(found.columns):
            mark = found.mark(name, label)
            red, green, blue, _ = image.cmap(image.norm(ratios[row, column]))
            ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "black"
            text = _percent(found.relative(name, label).value)
            axes.text(
                column, row, f"{text}{mark}", ha="center", va="center", fontsize=8.5,
                color=ink, fontweight="bold" if mark else "normal",
            )  # fmt: skip
            if mark:
                axes.add_patch(
                    patches.Rectangle(
                        (column - 0.46, row - 0.42), 0.92, 0.84, fill=False, edgecolor=ink,
                        linewidth=1.4 if found.best(label) == name else 0.5,
                    )
                )  # fmt: skip


def _frame(axes: Any, found: Comparison) -> None:
    """Label rows and columns, without typesetting the names, and leave a gap between cells."""
    rows, columns = found.order, found.columns
    names = [wrap_label(name) for name in columns]
    turned = {"rotation": 35, "ha": "left", "rotation_mode": "anchor"} if longest_line(names) > UPRIGHT else {}
    axes.set_xticks(range(len(columns)), names, parse_math=False, **turned)
    axes.set_yticks(range(len(rows)), [wrap_label(name) for name in rows], parse_math=False)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
