"""An impression in memory: a list that was made, and what was reported of it so far."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from toplist.core.problem import refuse
from toplist.ranker import Record
from toplist.service.errors import Refused
from toplist.service.log.events import ListOutcome, MergedReport
from toplist.service.store.protocol import DROPPED, LEARNED, OPEN
from toplist.service.wire import IS_PLACE, Report

LATE, CONTRADICTS, NOT_LEARNED = "late", "contradicts", "dropped"

REJECTIONS = {
    LATE: "The click window closed before this report came, and the list was learned without it.",
    CONTRADICTS: "A final report said something else, and the list was learned from that.",
    NOT_LEARNED: "The list was not shown in time, or its ranking was deleted, so nothing is learned from it.",
}
UNKNOWN_IMPRESSION = "There is no such impression: it was never made, or it is forgotten by now."


class ImpressionState:
    """A list with its state."""

    __slots__ = ("due", "id", "items", "last_seq", "learner", "outcome", "ranking", "record", "seq", "state")

    def __init__(
        self, id: bytes, seq: int, ranking: int, learner: int, state: int, due: int, items: list[str] | None,
        outcome: ListOutcome, last_seq: int,
    ) -> None:  # fmt: skip
        self.id, self.seq, self.ranking, self.learner = id, seq, ranking, learner
        self.state, self.due = state, due
        self.items = items  # None until they are read from the log
        self.outcome = outcome
        self.last_seq = last_seq  # of the last event that changed it
        self.record: Record | None = None  # to learn from, unless it is large

    @property
    def is_open(self) -> bool:
        """Whether reports can still change it."""
        return self.state <= OPEN

    def rejection(self, report: MergedReport) -> str | None:
        """Why a report does not count; None if it does. Equal reports get equal answers at any time."""
        if self.state == DROPPED:
            return NOT_LEARNED
        if self.state == LEARNED and not self.outcome.merged.contains(report):
            return CONTRADICTS if self.outcome.reason == "final" else LATE
        return None


def report_in_positions(report: Report, items: Sequence[str]) -> MergedReport:
    """A report with positions instead of items; refused if it does not fit the list."""
    positions = _ListPositions(items)
    clicks = tuple(positions.of(given, "/clicks/", n) for n, given in enumerate(report.clicks))
    if len(clicks) > 1:
        clicks = tuple(sorted(set(clicks)))
    left = None if report.left is None else positions.of(report.left, "/left")
    if left is not None and clicks and left < clicks[-1]:
        accepted = f"at least {clicks[-1]}, the last click"
        advice = "a visitor leaves at the last click or below"
        raise Refused(str(refuse("left", report.left, accepted, advice)), "/left")
    seen: dict[int, float] | None = None
    if isinstance(report.seen, dict):
        seen = {}
        for given, chance in report.seen.items():
            pointer = f"/seen/{given.replace('~', '~0').replace('/', '~1')}"
            if given in positions.by_item or not IS_PLACE(given):
                position = positions.of(given, pointer)
                if IS_PLACE(given) and position != int(given) <= len(items):
                    accepted = f"a position or an item, but it is a position and the item at position {position}"
                    advice = "name them in a list, positions as numbers and items as text"
                    raise Refused(str(refuse("seen", given, accepted, advice)), pointer)
            else:
                position = positions.of(int(given), pointer)
            if position in seen:
                raise Refused(str(refuse("seen", given, "each position once", "name it in one way")), pointer)
            seen[position] = chance
        seen = dict(sorted(seen.items()))
    elif report.seen is not None:
        seen = dict.fromkeys(sorted({positions.of(given, "/seen/", n) for n, given in enumerate(report.seen)}), 1.0)
    return MergedReport(clicks, left, seen, report.final)


class _ListPositions:
    """Positions of a list, by number or item."""

    def __init__(self, items: Sequence[str]) -> None:
        self._items = items

    @cached_property
    def by_item(self) -> dict[str, int]:
        """Positions by item; a search of the list for each named item would take too long."""
        return {item: n for n, item in enumerate(self._items, 1)}

    def of(self, given: int | str, pointer: str, n: int | str = "") -> int:
        """The position that a field names; `n` is the index of the entry in a field with several."""
        if isinstance(given, str):
            if given in self.by_item:
                return self.by_item[given]
            accepted, advice = "an item of the list", f"the list holds {', '.join(map(repr, self._items[:10]))}"
        elif 1 <= given <= len(self._items):
            return given
        else:
            size = len(self._items)
            accepted = f"a position between 1 and {size}" if size else "left out, since the list is empty"
            advice = "positions are counted from 1, from the top"
        pointer = f"{pointer}{n}"
        raise Refused(str(refuse(pointer, given, accepted, advice)), pointer)
