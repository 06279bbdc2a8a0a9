"""Pictures of an advice and of its proof, drawn with matplotlib (extra `plots`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from toplist.advice.outcome import AdviceOutcome, CurveInterval
from toplist.advice.query_worlds import FRACTIONS
from toplist.core.slate import Floats
from toplist.support.files import import_optional
from toplist.support.plots import PALETTE, wrap_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "0.45"


class Estimated(NamedTuple):
    """An estimate with its interval, and the truth where it is known."""

    label: str
    value: float
    low: float
    high: float
    truth: float | None = None


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure with one panel."""
    figure: Figure = import_optional("matplotlib.figure", "plots").Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def plain_numbers(axes: Axes) -> None:
    """Write numbers of lists and clicks in full, as 20,000."""
    ticker = import_optional("matplotlib.ticker", "plots")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.12g}"))


def draw_rates(outcome: AdviceOutcome, names: Sequence[str]) -> Figure:
    """Clicks per list over time: policies, the logged ranking and the best list."""
    figure, axes = new_figure(8.0, 3.6)
    curves = {name: outcome.played.clicks[outcome.policies.index(name)] for name in names}
    for place, (name, values) in enumerate(curves.items()):
        draw_band(axes, outcome, rates_of(outcome, values), PALETTE[place], "-", name, band=place == 0)
    draw_band(axes, outcome, rates_of(outcome, outcome.played.logged), GREY, "--", "logged ranking")
    draw_band(axes, outcome, rates_of(outcome, outcome.played.best), "0.1", ":", "best list", band=False)
    axes.set_xscale("log")
    plain_numbers(axes)
    axes.set_xlabel("lists shown")
    axes.set_ylabel("clicks per list")
    figure.legend(loc="outside upper left", ncols=5, frameon=False, fontsize="small")
    return figure


def draw_gains(outcome: AdviceOutcome, names: Sequence[str]) -> Figure:
    """Clicks beyond those of the logged ranking, from the beginning on."""
    figure, axes = new_figure(8.0, 3.6)
    for place, name in enumerate(names):
        gain = outcome.gain(name)
        scaled = CurveInterval(*(each * outcome.horizon for each in gain))
        draw_band(axes, outcome, scaled, PALETTE[place], "-", name, band=place == 0)
        paid = outcome.pays_after(name)
        if paid is not None and place == 0 and paid > 0:
            axes.axvline(paid, color=PALETTE[0], linewidth=0.8, linestyle=":", label="has paid")
    axes.axhline(0.0, color=GREY, linewidth=0.9)
    plain_numbers(axes)
    axes.set_xlabel("lists shown")
    axes.set_ylabel("clicks gained in all")
    axes.set_xlim(left=0)
    figure.legend(loc="outside upper left", ncols=4, frameon=False, fontsize="small")
    return figure


def draw_estimates(rows: Sequence[Estimated], label: str) -> Figure:
    """Estimates with their intervals, one below the other, and the truth as a diamond."""
    figure, axes = new_figure(8.0, 0.9 + 0.34 * len(rows))
    places = np.arange(len(rows))[::-1]
    for place, row in zip(places, rows, strict=True):
        axes.plot([row.low, row.high], [place, place], color=PALETTE[0], linewidth=2.0, label="_")
        axes.plot(
            [row.value], [place], "o", color=PALETTE[0], markersize=5, label="estimate, 95%" if place == 0 else "_"
        )
        if row.truth is not None:
            axes.plot([row.truth], [place], "D", color=PALETTE[1], markersize=5, label="truth" if place == 0 else "_")
    axes.set_yticks(places, [wrap_label(row.label) for row in rows], parse_math=False)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel(label)
    if any(row.truth is not None for row in rows):
        figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize="small")
    return figure


def rates_of(outcome: AdviceOutcome, values: Floats) -> CurveInterval:
    """Clicks per list between one recorded moment and the next, with their interval."""
    begun = np.concatenate([np.zeros((*values.shape[:-1], 1)), values], axis=-1)
    return outcome.interval(np.diff(begun, axis=-1) / np.diff(np.append(0.0, FRACTIONS)))


def draw_band(
    axes: Any, outcome: AdviceOutcome, curve: CurveInterval, colour: str, style: str, label: str, band: bool = True
) -> None:
    """A curve over the lists of the horizon, with its interval if `band`."""
    at = FRACTIONS * outcome.horizon
    axes.plot(at, curve.mean, color=colour, linestyle=style, linewidth=1.6, label=wrap_label(label))
    if band and np.isfinite(curve.low).all() and np.isfinite(curve.high).all():
        axes.fill_between(at, curve.low, curve.high, color=colour, alpha=0.13, linewidth=0)
