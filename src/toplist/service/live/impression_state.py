"""An impression in memory: a list that was made, and what was reported of it so far."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct

from toplist.core.item_id import ItemId, item_of_text, twin_id
from toplist.core.problem import InvalidInput, refuse
from toplist.ranker import Record
from toplist.ranker.list_positions import ListPositions, plain_positions
from toplist.service.errors import Refused
from toplist.service.log.events import ListOutcome, ListPlacement, MergedReport
from toplist.service.store.row_kinds import DROPPED, LEARNED, OPEN
from toplist.service.wire import IS_PLACE, ListEntry, Report, SeenEntry

LATE, CONTRADICTS, NOT_LEARNED = "late", "contradicts", "dropped"

REJECTIONS = {
    LATE: "The click window closed before this report came, and the list was learned without it.",
    CONTRADICTS: "A final report said something else, and the list was learned from that.",
    NOT_LEARNED: "The list was not shown in time, or it cannot be learned, or its ranking or segment was deleted, so "
    "nothing is learned from it.",
}
UNKNOWN_IMPRESSION = "There is no such impression: it was never made, or it is forgotten by now."


class ImpressionState(Struct, gc=False, eq=False):
    """A list with its state."""

    id: bytes
    seq: int
    ranking: int
    learner: int
    state: int
    due: int
    items: list[ItemId] | None  # None until they are read from the log
    outcome: ListOutcome
    last_seq: int  # of the last event that changed it
    record: Record | None = None  # to learn from, unless it is large
    damage: str | None = None  # why its rows in the store cannot be read
    placed: ListPlacement | None = None  # its group; None until it is known, and without a holdout

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


def report_in_positions(report: Report, items: Sequence[ItemId]) -> MergedReport:
    """A report with positions instead of items; refused if it does not fit the list."""
    clicks = plain_positions(report.clicks, items)
    if clicks is not None and report.left is None and report.seen is None:  # the usual case
        return MergedReport(clicks, final=report.final)
    listed = ListPositions(items)
    if clicks is None:
        found = {_position(listed, given, "/clicks/", n) for n, given in enumerate(report.clicks)}
        clicks = tuple(sorted(found))
    left = None if report.left is None else _position(listed, report.left, "/left")
    if left is not None and clicks and left < clicks[-1]:
        accepted = f"at least {clicks[-1]}, the last click"
        advice = "a visitor leaves at the last click or below"
        named = left if isinstance(report.left, ListEntry) else report.left
        raise Refused(str(refuse("left", named, accepted, advice)), "/left")
    seen: dict[int, float] | None = None
    if isinstance(report.seen, dict):
        seen = {}
        for name, chance in report.seen.items():
            pointer = f"/seen/{name.replace('~', '~0').replace('/', '~1')}"
            position = _position_of_name(listed, name, len(items), pointer)
            if position in seen:
                raise Refused(str(refuse("seen", name, "each position once", "name it in one way")), pointer)
            seen[position] = chance
        seen = dict(sorted(seen.items()))
    elif report.seen is not None:
        seen = {}
        for n, given in enumerate(report.seen):
            position = _position(listed, given, "/seen/", n)
            chance = given.probability if isinstance(given, SeenEntry) else 1.0
            seen[position] = max(chance, seen.get(position, 0.0))
        seen = dict(sorted(seen.items()))
    return MergedReport(clicks, left, seen, report.final)


def _position(listed: ListPositions, given: ItemId | ListEntry, pointer: str, n: int | str = "") -> int:
    """The position that a field names; `n` is the index of the entry in a field with several."""
    try:
        if not isinstance(given, ListEntry):
            return listed.find(given, pointer, n)
        if given.item is not UNSET:
            return listed.find_item(given.item, pointer, n)
        return listed.find_position(given.position, pointer, n)
    except InvalidInput as problem:
        raise Refused(str(problem), f"{pointer}{n}") from None


def _position_of_name(listed: ListPositions, name: str, size: int, pointer: str) -> int:
    """The position that the name of a field stands for: a position, or an item, which may be an integer."""
    try:
        named: list[ItemId | None] = [item_of_text(name), twin_id(name)]
    except InvalidInput as problem:
        raise Refused(str(problem), pointer) from None
    found = {listed.by_item[item] for item in named if item in listed.by_item}
    if IS_PLACE(name) and int(name) <= size:
        found.add(int(name))
    if len(found) > 1:
        places = " and ".join(map(str, sorted(found)))
        raise Refused(
            f"seen names {name!r}, which stands for the positions {places}, by number or by item; write a list, with "
            f'{{"item": ..., "probability": ...}} or {{"position": ..., "probability": ...}}.', pointer,
        )  # fmt: skip
    return found.pop() if found else _position(listed, int(name) if IS_PLACE(name) else name, pointer)
