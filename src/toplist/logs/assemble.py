"""Assembles parts of a ClickLog from batches of lists, and checks every list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import in_bulk
from toplist.core.slate import Floats, Ints
from toplist.logs.click_log import ClickLog
from toplist.logs.columns import ReadOptions
from toplist.logs.convert import MISSING, id_codes
from toplist.logs.id_table import Codes, IdTable
from toplist.logs.report import ReadReport, Rejected

ONE_QUERY = "all"  # id of the query of a log without queries
EMPTY, NO_ITEM, REPEATED, NO_POSITION, NO_QUERY, BAD_PROPENSITY, BAD_SEEN, BAD_LEFT, BAD_WEIGHT = range(1, 10)
BAD_TIME, BAD_CLICK, BAD_PLACES, TWO_QUERIES, ENDED, NO_ACTION, BAD_MARGINAL, BAD_TARGET = range(10, 18)
REASONS = {
    EMPTY: "the list is empty",
    NO_ITEM: "an item is missing",
    REPEATED: "an item is twice in the list",
    NO_POSITION: "a clicked position is not on the list",
    NO_QUERY: "the query is missing",
    BAD_PROPENSITY: "a propensity is not in (0, 1], or their number is not that of the items",
    BAD_MARGINAL: "a marginal probability is not in (0, 1], or their number is not that of the items",
    BAD_TARGET: "a probability of the target is not in [0, 1], or their number is not that of the items",
    BAD_SEEN: "a value of seen is not in [0, 1], or their number is not that of the items",
    BAD_LEFT: "the position where the visitor left is not on the list",
    BAD_WEIGHT: "the weight is not a number above 0",
    BAD_TIME: "the time is not a number or a date",
    BAD_CLICK: "a click is not 0 or 1, or their number is not that of the items",
    BAD_PLACES: "the positions of the list are not 1, 2, 3, ...",
    TWO_QUERIES: "the rows of the list have different queries",
    ENDED: "the list has ended before: sort the log by list, or read it as a whole with read_log",
    NO_ACTION: "the line is no action of this layout",
}
LEAST = 1e-300  # of a probability above 0
# The columns per position: the reason for a wrong value, and the least right one.
PROBABILITY_CHECKS = {
    "propensity": (BAD_PROPENSITY, LEAST),
    "marginal": (BAD_MARGINAL, LEAST),
    "target_propensity": (BAD_TARGET, 0.0),
    "target_marginal": (BAD_TARGET, 0.0),
    "seen": (BAD_SEEN, 0.0),
}


@dataclass
class ListBatch:
    """Lists as a reader found them: ids in Arrow columns, numbers in arrays; positions count from 1."""

    file: str
    unit: str  # "line" or "row"
    numbers: Ints  # line or row of each list
    query: Any | None  # Arrow column; None: all lists are of one query
    start: Ints
    item: Any  # Arrow column, per position
    clicked_start: Ints
    clicked: Ints  # clicked positions of all lists; 0 for one that is no number
    time: Floats | None = None  # NaN: unknown
    visitor: Any | None = None
    propensity: Floats | None = None
    marginal: Floats | None = None
    target_propensity: Floats | None = None
    target_marginal: Floats | None = None
    seen: Floats | None = None
    left: Floats | None = None
    weight: Floats | None = None
    reason: NDArray[np.uint8] | None = None  # of lists that the reader itself found wrong, else 0
    rejected: list[Rejected] = field(default_factory=list)  # lines that are no lists
    has_marks: bool = False  # whether texts of ids that begin with a mark are integers


def find_faults(
    first: int, start: Ints, item: Codes, clicked_start: Ints, clicked: Ints, shown: Ints, reason: NDArray[np.uint8],
    click: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Mark clicks, and give each faulty list a reason; `shown` has the last list that showed each item."""
    for row in range(len(start) - 1):
        begin, end = start[row], start[row + 1]
        fault = 0
        if begin == end:
            fault = EMPTY
        for at in range(begin, end):
            code = item[at]
            if code < 0:
                fault = NO_ITEM
            elif shown[code] == first + row:
                fault = REPEATED
            else:
                shown[code] = first + row
        for at in range(clicked_start[row], clicked_start[row + 1]):
            position = clicked[at]
            if 1 <= position <= end - begin:
                click[begin + position - 1] = 1
            elif fault == 0:
                fault = NO_POSITION
        if reason[row] == 0:
            reason[row] = fault


mark_clicks = in_bulk(find_faults)


class Assembler:
    """Makes parts of one log, which share their id tables.

    Parameters
    ----------
    report : ReadReport
        Counts the lists, and what is skipped.
    options : ReadOptions
        Says which columns are kept.
    """

    def __init__(self, report: ReadReport, options: ReadOptions) -> None:
        self.report, self._options = report, options
        self.queries, self.items, self.visitors = IdTable(), IdTable(), IdTable()
        self._shown: Ints = np.zeros(0, dtype=np.int64)  # by item, the number of the last list that showed it
        self._lists = 1  # number of the next list, wrong ones counted

    def part(self, batch: ListBatch) -> ClickLog:
        """The correct lists of a batch; the others are reported."""
        lists = len(batch.start) - 1
        item = id_codes(batch.item, self.items, "item", batch.has_marks)
        if batch.query is None:
            query = np.full(lists, self.queries.encode([ONE_QUERY])[0] if lists else 0, dtype=np.int32)
        else:
            query = id_codes(batch.query, self.queries, "query", batch.has_marks)
        reason = np.zeros(lists, dtype=np.uint8) if batch.reason is None else batch.reason
        reason[(reason == 0) & (query == MISSING)] = NO_QUERY
        click = np.zeros(len(item), dtype=np.uint8)
        if len(self._shown) < len(self.items):
            self._shown = np.concatenate([self._shown, np.zeros(len(self.items), dtype=np.int64)])
        mark_clicks(
            self._lists, batch.start, item, batch.clicked_start, batch.clicked, self._shown, reason, click
        )  # fmt: skip
        self._lists += lists
        reason[np.diff(batch.start) == 0] = EMPTY  # whatever else is wrong
        optional = self._optional(batch, reason)
        log = ClickLog(self.queries, self.items, query, batch.start, item, click, **optional)
        wrong = np.flatnonzero(reason)
        if len(wrong):
            log = log.take(reason == 0)
        codes = reason[wrong]
        faults = [Rejected(batch.numbers[wrong[codes == code]], text) for code, text in REASONS.items()]
        self.report.add([*batch.rejected, *faults], batch.file, batch.unit)
        self.report.lists += len(log)
        return log

    def _optional(self, batch: ListBatch, reason: NDArray[np.uint8]) -> dict[str, Any]:
        """The optional columns, checked."""
        found: dict[str, Any] = {}
        lengths = np.diff(batch.start)
        if batch.time is not None:
            found["time"] = batch.time
        if batch.visitor is not None:
            found["visitors"] = self.visitors
            found["visitor"] = id_codes(batch.visitor, self.visitors, "visitor", batch.has_marks)
        for name, (code, least) in PROBABILITY_CHECKS.items():
            values = getattr(batch, name)
            if values is not None:
                found[name] = values
                wrong = np.flatnonzero(~((values >= least) & (values <= 1.0) | np.isnan(values)))
                rows = np.searchsorted(batch.start, wrong, side="right") - 1
                reason[rows[reason[rows] == 0]] = code
        if batch.left is not None:
            left = np.nan_to_num(batch.left, nan=0.0)
            reason[(reason == 0) & ~((left >= 0) & (left <= lengths) & (left % 1 == 0))] = BAD_LEFT
            found["left"] = np.where(np.isfinite(left) & (np.abs(left) < 2**31), left, 0).astype(np.int32)
        if batch.weight is not None:
            reason[(reason == 0) & ~((batch.weight > 0) & np.isfinite(batch.weight))] = BAD_WEIGHT
            found["weight"] = batch.weight
        return found
