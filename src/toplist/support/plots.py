"""The style and the files of all plots."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from toplist.support.files import AnyPath, check_writable, import_optional, replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOT_SUFFIXES = (".png", ".svg", ".pdf")
# Okabe and Ito's colours, which colour-blind readers can distinguish, without yellow: too pale for a line.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
LETTERS = 12.5  # per inch of a title; most texts have a little more
LONGEST_LABEL = 40  # letters of a line of a legend or of a row
STYLES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 4)))


def check_plot(path: AnyPath) -> None:
    """Refuse a plot before the work starts: a path that cannot be written, or no matplotlib."""
    check_writable(path, "The plot", PLOT_SUFFIXES)
    import_optional("matplotlib", "plots")


def wrap_title(text: str, inches: float) -> str:
    """A title in as many lines as it needs to fit into this width.

    >>> wrap_title("one two three four", 1.0)
    'one two\\nthree four'
    """
    return textwrap.fill(text, max(10, int(LETTERS * inches)))


def wrap_label(text: str) -> str:
    """A label in as many lines as it needs."""
    return textwrap.fill(text, LONGEST_LABEL)


def longest_line(labels: Iterable[str]) -> int:
    """The number of letters of the longest line of all labels."""
    return max(len(line) for label in labels for line in label.splitlines() or [""])


def draw_and_save(draw: Callable[[], Figure], path: AnyPath | None) -> Figure:
    """Draw a figure and save it to a png, svg or pdf file if there is a path, which is checked first."""
    if path is not None:
        check_plot(path)
    figure = draw()
    if path is not None:
        with replace_file(path, "The plot", PLOT_SUFFIXES) as new:
            figure.savefig(new, format=Path(path).suffix[1:].lower())
    return figure
