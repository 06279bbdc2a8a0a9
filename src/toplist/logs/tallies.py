"""Counts of a log that are added up part by part: by position, query, item, visitor and day."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.slate import Floats, Ints
from toplist.logs.click_log import ClickLog

DAY = 86_400.0  # seconds
Counts = NDArray[np.int64]


class GrowingCounts:
    """Counts by code, where new codes may come with every part."""

    def __init__(self) -> None:
        self.values: Counts = np.zeros(0, dtype=np.int64)

    def add(self, codes: NDArray[Any]) -> None:
        """Count each code once more per occurrence."""
        more = np.bincount(codes, minlength=len(self.values))
        more[: len(self.values)] += self.values
        self.values = more


class LogTallies:
    """What the parts of a log add up to; rows count once each, whatever their weight, unless said otherwise."""

    def __init__(self) -> None:
        self.lists = 0
        self.weight = 0.0
        self.without_clicks = 0
        self.shown: Floats = np.zeros(0)  # by position, weighted
        self.clicked: Floats = np.zeros(0)
        self.lengths, self.clicks = GrowingCounts(), GrowingCounts()  # lists by length, and by number of clicks
        self.lists_of_query, self.clicks_of_query = GrowingCounts(), GrowingCounts()
        self.lists_of_item = GrowingCounts()
        self.lists_of_visitor, self.clicks_of_visitor = GrowingCounts(), GrowingCounts()
        self.shown_to_visitor = GrowingCounts()
        self.days: dict[int, list[int]] = {}  # lists and clicks by day
        self.first_time, self.last_time = np.inf, -np.inf

    def add(self, part: ClickLog) -> None:
        """Add the lists of a part."""
        clicks = part.clicks_per_list()
        self.lists += len(part)
        self.weight += float(part.weights.sum())
        self.without_clicks += int((clicks == 0).sum())
        self.shown = _sum(self.shown, part.shown_by_position())
        self.clicked = _sum(self.clicked, part.clicks_by_position())
        self.lengths.add(part.lengths)
        self.clicks.add(clicks)
        self.lists_of_query.add(part.query)
        self.clicks_of_query.add(np.repeat(part.query, clicks))
        self.lists_of_item.add(part.item)
        if part.visitor is not None:
            known = part.visitor >= 0
            self.lists_of_visitor.add(part.visitor[known])
            self.clicks_of_visitor.add(np.repeat(part.visitor, np.where(known, clicks, 0)))
            self.shown_to_visitor.add(np.repeat(part.visitor, np.where(known, part.lengths, 0)))
        if part.time is not None:
            self._add_times(part.time, clicks)

    def _add_times(self, time: Floats, clicks: Ints) -> None:
        known = np.isfinite(time)
        if not known.any():
            return
        self.first_time = min(self.first_time, float(time[known].min()))
        self.last_time = max(self.last_time, float(time[known].max()))
        days, places = np.unique(np.floor(time[known] / DAY).astype(np.int64), return_inverse=True)
        lists, clicked = np.bincount(places), np.bincount(places, weights=clicks[known]).astype(np.int64)
        for day, some, others in zip(days.tolist(), lists.tolist(), clicked.tolist(), strict=True):
            counts = self.days.setdefault(day, [0, 0])
            counts[0] += some
            counts[1] += others


def _sum(one: Floats, other: Floats) -> Floats:
    """Elementwise, where either may be longer."""
    found = np.zeros(max(len(one), len(other)))
    found[: len(one)] += one
    found[: len(other)] += other
    return found
