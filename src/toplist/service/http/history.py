"""Click-through rate over time and changes of a ranking, read from its event log."""

from __future__ import annotations

from collections import deque

from toplist.service.http.activity import live_event
from toplist.service.live.service import Service
from toplist.service.log.events import decode_outcome
from toplist.service.store.protocol import ERASED, IMPORTED, ITEMS, LEARN, RANKING, STOPPED
from toplist.service.wire import Event, History, LiveEvent, Point

CHANGE_KINDS = (RANKING, ITEMS, IMPORTED, ERASED, STOPPED)
CHANGES = 60  # that are kept
MAX_POINTS = 200  # above this, neighbours are merged in pairs: a curve stays small however long the log is
_PAGES_PER_READ = 100  # of the log; a long log takes several requests to read


class Curve:
    """The click-through curve of one ranking."""

    def __init__(self, created: str = "") -> None:
        self.created = created  # tells a ranking from a deleted one of the same name
        self.seq = 0  # of the last event read
        self.points: list[Point] = []
        self.changes: deque[LiveEvent] = deque(maxlen=CHANGES)  # in words: events themselves may be large
        self._size = 10
        self._last: Point | None = None  # incomplete

    def add(self, event: Event) -> None:
        """Add a learned list of the log, or a change."""
        if event.kind != LEARN:
            if (said := live_event(event)) is not None:
                self.changes.append(said)
            return
        clicks = len(decode_outcome(event.body).merged.clicks)
        one = Point(lists=1, clicked=int(clicks > 0), clicks=clicks, until=event.at)
        self._last = one if self._last is None else _merge(self._last, one)
        if self._last.lists >= self._size:
            self.points.append(self._last)
            self._last = None
        if len(self.points) > MAX_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            rest = self.points[-1:] if len(self.points) % 2 else []
            self.points, self._size = [_merge(*pair) for pair in pairs], self._size * 2
            for point in rest:
                self._last = point if self._last is None else _merge(point, self._last)

    def history(self, name: str, complete: bool) -> History:
        """The curve so far."""
        points = [*self.points, *([self._last] if self._last is not None else [])]
        return History(
            ranking=name,
            lists=sum(point.lists for point in points),
            clicked=sum(point.clicked for point in points),
            clicks=sum(point.clicks for point in points),
            complete=complete,
            points=points,
        )


class Histories:
    """The curves of all rankings; each read continues where the last one stopped."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._curves: dict[str, Curve] = {}

    def curve(self, name: str) -> Curve:
        """The curve of a ranking as it was last read."""
        return self._curves.get(name) or Curve()

    @property
    def names(self) -> set[str]:
        """The rankings whose curves are in memory."""
        return set(self._curves)

    async def of(self, name: str, by: str = "") -> History:
        """The curve of a ranking, updated with new events of the log; each page of these is a turn of the caller."""
        created = (await self._service.queries.ranking(name)).created
        curve = self._curves.get(name)
        if curve is None or curve.created != created:
            names = {ranking.name for ranking in await self._service.queries.rankings()}
            self._curves = {known: curve for known, curve in self._curves.items() if known in names}  # drop deleted
            curve = self._curves[name] = Curve(created)
        pages = await self._service.queries.event_pages(name, curve.seq, (LEARN, *CHANGE_KINDS))
        for _ in range(_PAGES_PER_READ):
            async with self._service.queries.lane.turn(by):  # it is the only one at work
                pages.after = curve.seq  # another request may have read on meanwhile
                page = await anext(pages, None)
                if page is None:
                    return curve.history(name, complete=True)
                for event in page.events:
                    curve.add(event)
                curve.seq = page.until  # even if empty: the events of other rankings are skipped once
        return curve.history(name, complete=await anext(pages, None) is None)


def _merge(first: Point, second: Point) -> Point:
    return Point(
        lists=first.lists + second.lists,
        clicked=first.clicked + second.clicked,
        clicks=first.clicks + second.clicks,
        until=second.until,
    )
