"""Make the table and the picture of docs/gpu.md from what `tests/engine/gpu/on_device.py` measured.

    python tests/engine/gpu/on_device.py --only check,rates,curve,cores --json out/gpu.json
    python tools/gpu_figures.py out/gpu.json

The first needs a GPU. The second prints the table and draws docs/pictures/gpu.svg.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "gpu.svg"
HEAD = "| policy | bit-equal | compiled in | one core | 16 cores | GPU | GPU / 16 cores |"


def table(checked: dict[str, Any], rates: list[Any], cores: dict[str, Any]) -> str:
    """A row per policy: equality, seconds of compiling, millions of steps per second."""
    rows = [HEAD, "|---|---|---|---|---|---|---|"]
    for measured in rates:
        row = measured | cores.get(measured["policy"], {})
        known = checked[row["policy"]]
        speeds = [digits(row[name] / 1e6) for name in ("one_core", "all_cores", "gpu")]
        cells = [
            row["policy"],
            "yes" if known["equal"] else f"no, {known['runs_that_differ']} runs differ",
            f"{max(0.0, known['compile_seconds']):.1f} s",
            *speeds,
            f"{row['gpu'] / row['all_cores']:.1f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def digits(number: float) -> str:
    """Two significant digits, or whole.

    >>> digits(0.512), digits(4.56), digits(17231.2)
    ('0.51', '4.6', '17,231')
    """
    return f"{number:.2f}" if number < 1 else f"{number:.1f}" if number < 10 else f"{number:,.0f}"


def draw(curve: list[Any]) -> None:
    """Steps per second over the number of runs."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for policy in dict.fromkeys(row["policy"] for row in curve):
        rows = [row for row in curve if row["policy"] == policy]
        axes.plot([row["runs"] for row in rows], [row["gpu"] for row in rows], marker="o", label=policy)
    axes.set(xscale="log", yscale="log", xlabel="runs", ylabel="steps per second")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    with mpl.rc_context({"svg.hashsalt": PICTURE.stem}):  # the same file for the same numbers
        figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    """Print the table and draw the picture, of what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path, nargs="+", help="of one or more commands; later ones count")
    found: dict[str, Any] = {}
    for path in parser.parse_args().results:
        found |= json.loads(path.read_text())
    if "rates" in found:
        check, cores = ({row["policy"]: row for row in found.get(part, ())} for part in ("check", "cores"))
        print(table(check, found["rates"], cores))
    if "curve" in found:
        draw(found["curve"])


if __name__ == "__main__":
    main()
