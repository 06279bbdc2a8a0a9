"""Position bias from items that a log shows at neighbouring positions, without a click model.

If a click means that the item was examined and attracts, and examination depends on the position alone, then an item
that was shown at positions k and k + 1 is clicked less at k + 1 by the ratio of their examinations, whatever it is. The
ratio is pooled over (query, item) pairs as Mantel and Haenszel pool risk ratios, so that pairs shown a few times are
used without bias.

Agarwal, Zaitsev, Wang, Li, Najork and Joachims, Estimating Position Bias without Intrusive Interventions, WSDM 2019;
Greenland and Robins, Estimation of a Common Effect Parameter from Sparse Follow-up Data, Biometrics 1985.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.evaluation.intervals import Interval, IntervalSettings
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.units import units_of
from toplist.logs import ClickLog
from toplist.support.tables import Table

COLUMNS = ("position", "ratio", "low", "high", "examination", "exam. low", "exam. high", "pairs", "clicks")


class Neighbours(NamedTuple):
    """Two neighbouring positions.

    Parameters
    ----------
    position : int
        The lower one, counted from 1.
    ratio : float
        Its examination over that of the position above.
    interval : Interval
        Of the ratio.
    examination : float
        Its examination over that of position 1.
    examination_interval : Interval
        Of that.
    pairs : int
        Number of (query, item) pairs shown at both positions.
    clicks : float
        Number of clicks on them there.
    """

    position: int
    ratio: float
    interval: Interval
    examination: float
    examination_interval: Interval
    pairs: int
    clicks: float


@dataclass(frozen=True, eq=False)
class PositionBias:
    """How much less each position is examined than the one above; `position_bias` makes one.

    Parameters
    ----------
    neighbours : tuple of Neighbours
        From position 2 down, as far as the log tells.
    level : float
        Level of the intervals.
    refused : str
        Why it goes no further down; empty if all positions are there.
    """

    neighbours: tuple[Neighbours, ...]
    level: float
    refused: str

    def table(self) -> Table:
        """One row per position from 2 on.

        Returns
        -------
        Table
            Ratios and examinations with intervals.
        """
        rows = [
            (
                str(each.position), each.ratio, *each.interval, each.examination, *each.examination_interval,
                each.pairs, each.clicks,
            )
            for each in self.neighbours
        ]  # fmt: skip
        title = f"Examination of each position over that above and over the first, {100 * self.level:g}% intervals"
        return Table(title, COLUMNS, rows)

    def __str__(self) -> str:
        """The table, and where it ends."""
        return "\n".join([str(self.table()), *([self.refused] if self.refused else [])])

    def to_dict(self) -> dict[str, Any]:
        """Plain values.

        Returns
        -------
        dict
            For JSON.
        """
        rows = [
            each._asdict() | {"interval": list(each.interval), "examination_interval": list(each.examination_interval)}
            for each in self.neighbours
        ]
        return {"level": self.level, "neighbours": rows, "refused": self.refused}


def position_bias(log: ClickLog, *, level: float = 0.95, by: str = "auto") -> PositionBias:
    """Estimate the position bias from items that are shown at neighbouring positions.

    Parameters
    ----------
    log : ClickLog
        The log. What decides between the two positions of an item must not depend on the visitor, as in logs whose
        neighbours are swapped at random.
    level : float, default 0.95
        Level of the intervals, which are normal on the scale of logarithms.
    by : {"auto", "list", "visitor"}, default "auto"
        What is independent; by default visitors if the log has them.

    Returns
    -------
    PositionBias
        Ratios of examination of neighbouring positions.

    Raises
    ------
    CannotEstimate
        If no item is shown at both of positions 1 and 2 of the same query, and clicked at each.

    Examples
    --------
    >>> log = ClickLog.from_lists(
    ...     ["q"] * 40, [["a", "b"], ["b", "a"]] * 20, clicked=[[1], [1], [1, 2], []] * 10
    ... )
    >>> position_bias(log).neighbours[0].ratio
    0.333...
    """
    settings = IntervalSettings("normal", level).checked()
    units = units_of(log, by)
    query = np.repeat(log.query.astype(np.int64), log.lengths)
    _, pair = np.unique(query * (len(log.items) + 1) + log.item, return_inverse=True)
    row, place = np.repeat(np.arange(len(log)), log.lengths), log.places()
    weight, click = np.repeat(units.weight, log.lengths), log.click.astype(np.float64)
    moved, total, found, refused = np.zeros(len(log)), 0.0, [], ""
    for lower in range(1, log.positions):
        step = pooled_ratio(pair, place, weight, click, lower)
        if step is None:
            refused = (
                f"No item of a query is shown at both of positions {lower} and {lower + 1} and clicked at each, so "
                f"the log does not tell how position {lower + 1} is examined."
            )
            break
        here: Floats = np.bincount(row[step.used], weights=step.influence, minlength=len(log)).astype(np.float64)
        moved, total = moved + here, total + step.logarithm
        lists = units.lists
        ratio_error, error = units.standard_error(lists * here), units.standard_error(lists * moved)
        around_ratio = _around(step.logarithm, ratio_error * settings.quantile)
        around_total = _around(total, error * settings.quantile)
        ratio = math.exp(step.logarithm)
        found.append(Neighbours(lower + 1, ratio, around_ratio, math.exp(total), around_total, step.pairs, step.clicks))
    if not found:
        raise CannotEstimate(refused or "The log has lists of one position only, which have no neighbours.")
    return PositionBias(tuple(found), level, refused)


class PooledRatio(NamedTuple):
    """The logarithm of a ratio of click-through, pooled over pairs, and how each used position moves it."""

    logarithm: float
    used: Ints
    influence: Floats
    pairs: int
    clicks: float


def pooled_ratio(pair: Ints, place: Ints, weight: Floats, click: Floats, lower: int) -> PooledRatio | None:
    """The click-through at a position over that at the one above, of pairs that were shown at both."""
    count = int(pair.max()) + 1
    shown = [np.bincount(pair, weights=weight * (place == each), minlength=count) for each in (lower - 1, lower)]
    clicks = [
        np.bincount(pair, weights=weight * click * (place == each), minlength=count) for each in (lower - 1, lower)
    ]
    both = (shown[0] > 0) & (shown[1] > 0)
    together = np.where(both, shown[0] + shown[1], 1.0)
    above, below = np.where(both, shown[1] / together, 0.0), np.where(both, shown[0] / together, 0.0)
    top, bottom = float(below @ clicks[1]), float(above @ clicks[0])
    if top == 0 or bottom == 0:
        return None
    ratio = top / bottom
    # The click-through of each pair at the upper position, if the ratio is that of all pairs.
    rate = np.where(both, (clicks[0] + clicks[1]) / np.where(both, shown[0] + ratio * shown[1], 1.0), 0.0)
    used = np.flatnonzero(both[pair] & ((place == lower - 1) | (place == lower)))
    at, is_lower = pair[used], place[used] == lower
    off = click[used] - rate[at] * np.where(is_lower, ratio, 1.0)
    influence = off * np.where(is_lower, below[at] / top, -above[at] / bottom)
    clicked = float((clicks[0] + clicks[1])[both].sum())
    return PooledRatio(math.log(ratio), used, influence, int(both.sum()), clicked)


def _around(logarithm: float, half: float) -> Interval:
    """An interval around a logarithm, on the scale of the ratio."""
    return Interval(math.exp(logarithm - half), math.exp(logarithm + half))
