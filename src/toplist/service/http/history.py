"""Click-through over time and changes of all rankings, read from the event log in one pass."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from toplist.service.clock import as_time
from toplist.service.http.activity import decoded, live_event
from toplist.service.live.service import Service
from toplist.service.log.events import decode_outcome
from toplist.service.log.replay import UNREADABLE
from toplist.service.store.row_kinds import ERASED, IMPORTED, ITEMS, LEARN, RANKING, REPORT, STOPPED, EventRow
from toplist.service.wire import History, LiveEvent, Point

CHANGE_KINDS = (RANKING, ITEMS, IMPORTED, ERASED, STOPPED)
CHANGES = 60  # that are kept
MAX_POINTS = 200  # above this, neighbours are merged in pairs: a curve stays small however long the log is
SEGMENT_CURVES = 50  # in memory; each can be read again
_PAGES_PER_READ = 100  # of the log; a long log takes several requests to read


class CurvePoint(NamedTuple):
    """Some neighbouring lists of a curve."""

    lists: int
    clicked: int
    clicks: int
    until: int  # milliseconds

    def plus(self, later: CurvePoint) -> CurvePoint:
        """Both together."""
        lists, clicked, clicks = self.lists + later.lists, self.clicked + later.clicked, self.clicks + later.clicks
        return CurvePoint(lists, clicked, clicks, later.until)


class Curve:
    """The click-through curve of a ranking, or of one of its segments."""

    def __init__(self) -> None:
        self.seq = 0  # of the last event read
        self.points: list[CurvePoint] = []
        self.changes: deque[LiveEvent] = deque(maxlen=CHANGES)  # in words: events themselves may be large
        self.lists = self.clicked = self.clicks = self.reports = 0
        self._spec: dict[str, Any] = {}  # the settings after the last change
        self._size = 10
        self._last: CurvePoint | None = None  # incomplete

    def add(self, event: EventRow) -> None:
        """Add a learned list of the log, a report or a change."""
        with suppress(*UNREADABLE):  # a damaged event, which `store check` names
            if event.kind == REPORT:
                self.reports += 1
            elif event.kind == LEARN:
                self._add_list(event)
            elif (said := live_event(event.kind, as_time(event.at), event.body, before=self._spec)) is not None:
                self.changes.append(said)
                if event.kind == RANKING:
                    self._spec = decoded(event.body)["spec"]

    def _add_list(self, event: EventRow) -> None:
        outcome = decode_outcome(event.body)
        clicks = len(outcome.merged.clicks)
        self.reports += outcome.reason == "final"  # the event of a final report is that of learning
        one = CurvePoint(1, int(clicks > 0), clicks, event.at)
        self.lists, self.clicked, self.clicks = self.lists + 1, self.clicked + one.clicked, self.clicks + clicks
        self._last = one if self._last is None else self._last.plus(one)
        if self._last.lists >= self._size:
            self.points.append(self._last)
            self._last = None
        if len(self.points) > MAX_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            rest = self.points[-1:] if len(self.points) % 2 else []
            self.points, self._size = [first.plus(second) for first, second in pairs], self._size * 2
            for point in rest:
                self._last = point if self._last is None else point.plus(self._last)

    def all_points(self) -> list[CurvePoint]:
        """The points, with the one that is not complete yet."""
        return [*self.points, *([self._last] if self._last is not None else [])]

    def time_before(self, lists: int) -> str | None:
        """About when so many of the latest lists were still to come; None if there are not so many."""
        for point in reversed(self.all_points()):
            if lists < point.lists:
                return as_time(point.until)
            lists -= point.lists
        return None

    def history(self, name: str, complete: bool) -> History:
        """The curve so far."""
        points = [
            Point(lists=point.lists, clicked=point.clicked, clicks=point.clicks, until=as_time(point.until))
            for point in self.all_points()
        ]
        return History(
            ranking=name, lists=self.lists, clicked=self.clicked, clicks=self.clicks, complete=complete, points=points
        )


def merged_curve(curves: Sequence[Curve]) -> Curve:
    """The curve of all divisions of a ranking, with the changes that the first one has."""
    merged = Curve()
    for one in curves:
        merged.lists, merged.clicked, merged.clicks = (
            merged.lists + one.lists, merged.clicked + one.clicked, merged.clicks + one.clicks,
        )  # fmt: skip
        merged.reports += one.reports
    points = sorted((point for one in curves for point in one.all_points()), key=lambda point: point.until)
    while len(points) > MAX_POINTS:
        rest = points[-1:] if len(points) % 2 else []
        points = [first.plus(second) for first, second in zip(points[::2], points[1::2], strict=False)] + rest
    merged.points, merged.changes = points, curves[0].changes
    return merged


class Histories:
    """The curves of all rankings; each read continues where the last one stopped."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seq = 0  # up to which the log is read
        self._curves: dict[int, Curve] = {}
        self._segments: OrderedDict[tuple[int, str], Curve] = OrderedDict()
        self._divisions: dict[int, list[Curve]] = {}  # of divided rankings; the first one is in `_curves`

    def curve(self, id: int, segment: str | None = None) -> Curve:
        """The curve of a ranking, or of a segment, as it was last read."""
        found = self._curves.get(id) if segment is None else self._segments.get((id, segment))
        if segment is None and id in self._divisions:
            return merged_curve([found or Curve(), *self._divisions[id][1:]])
        return found or Curve()

    async def of(self, name: str, by: str = "", segment: str | None = None) -> History:
        """The curve of a ranking, or of a segment, updated with new events of the log."""
        await self._service.queries.ranking(name)
        if segment is None:
            complete = await self.read_on(by)
            return self.curve(self._service.queries.ranking_id(name)).history(name, complete)
        return await self._of_segment(name, segment, by)

    async def read_on(self, by: str = "") -> bool:
        """Read the log of all rankings on; each page is a turn of the caller. Returns whether that was all of it."""
        pages = self._service.queries.log_pages(self._seq, (LEARN, REPORT, *CHANGE_KINDS))
        for _ in range(_PAGES_PER_READ):
            async with self._service.queries.lane.turn(by):  # it is the only one at work
                pages.after = self._seq  # another request may have read on meanwhile
                page = await anext(pages, None)
                if page is None:
                    self._drop_deleted()
                    break
                for event in page.events:
                    self._curves.setdefault(event.ranking, Curve()).add(event)
                self._seq = page.until
        else:
            return False
        return await self._read_divisions(by)

    async def _read_divisions(self, by: str) -> bool:
        """Read the other divisions of divided rankings on; returns whether that was all of them."""
        places_of = self._service.queries.divided_rankings()
        self._divisions = {id: self._divisions.get(id, []) for id in places_of}
        for id, places in places_of.items():
            curves = self._divisions[id] = self._divisions[id] or [Curve() for _ in range(places.divisions)]
            pages = self._service.queries.division_pages(places, [one.seq for one in curves], (LEARN, REPORT))
            for _ in range(_PAGES_PER_READ):
                async with self._service.queries.lane.turn(by):
                    pages.after = [one.seq for one in curves]
                    page = await anext(pages, None)
                    if page is None:
                        break
                    for event in page.events:
                        curves[page.number].add(event)
                    curves[page.number].seq = page.until
            else:
                return False
        return True

    async def _of_segment(self, name: str, segment: str, by: str) -> History:
        id = self._service.queries.ranking_id(name)
        curve = self._segments.setdefault((id, segment), Curve())
        self._segments.move_to_end((id, segment))
        while len(self._segments) > SEGMENT_CURVES:
            self._segments.popitem(last=False)
        pages = await self._service.queries.segment_pages(name, segment, curve.seq)
        complete = False
        for _ in range(_PAGES_PER_READ):
            async with self._service.queries.lane.turn(by):
                pages.after = curve.seq
                page = await anext(pages, None)
                complete = page is None
                if page is None:
                    break
                for event in page.events:
                    if event.kind in (LEARN, REPORT):
                        curve.add(event)
                curve.seq = page.until
        await self.read_on(by)
        curve.changes = self.curve(id).changes  # of the ranking
        return curve.history(name, complete)

    def _drop_deleted(self) -> None:
        """Drop the curves of rankings that were deleted."""
        if len(self._curves) > self._service.queries.ranking_count:
            ids = self._service.queries.ranking_ids
            self._curves = {id: curve for id, curve in self._curves.items() if id in ids}
            for key in [key for key in self._segments if key[0] not in ids]:
                del self._segments[key]
