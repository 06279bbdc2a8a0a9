"""How click-through went, read from the event log as far as it goes: points of equally many lists."""

from __future__ import annotations

import asyncio
from itertools import islice

from toplist.service.live.service import Desk
from toplist.service.log.events import decode_outcome
from toplist.service.store.protocol import LEARN
from toplist.service.wire import Event
from toplist.service.wire_pages import History, Point

MOST_POINTS = 200  # then two neighbours become one, so that a curve stays small however long it is
_PER_CALL = 20  # pages of the log that one question reads; a long one is caught up with over several


class Curve:
    """Points of equally many lists each."""

    def __init__(self, created: str = "") -> None:
        self.created = created  # of which ranking, for a name may be used again
        self.seq = 0  # as far as the log was read
        self.points: list[Point] = []
        self.reading = asyncio.Lock()
        self._size = 10
        self._last: Point | None = None  # not full yet

    def add(self, event: Event) -> None:
        """One event of the log; only what was learned counts."""
        if event.kind != LEARN:
            return
        clicks = len(decode_outcome(event.body).merged.clicks)
        one = Point(lists=1, clicked=int(clicks > 0), clicks=clicks, until=event.at)
        self._last = one if self._last is None else _together(self._last, one)
        if self._last.lists >= self._size:
            self.points.append(self._last)
            self._last = None
        if len(self.points) > MOST_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            rest = self.points[-1:] if len(self.points) % 2 else []
            self.points, self._size = [_together(*pair) for pair in pairs], self._size * 2
            for point in rest:
                self._last = point if self._last is None else _together(point, self._last)

    def told(self, name: str, complete: bool) -> History:
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
    """A curve per ranking, each read on from where it stopped."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._curves: dict[str, Curve] = {}

    async def of(self, name: str) -> History:
        """The curve of a ranking, after what is new in the log."""
        created = (await self._desk.ranking(name)).created
        curve = self._curves.get(name)
        if curve is None or curve.created != created:
            there = {ranking.name for ranking in await self._desk.rankings()}  # the others were deleted
            self._curves = {known: kept for known, kept in self._curves.items() if known in there}
            curve = self._curves[name] = Curve(created)
        async with curve.reading:
            pages = await self._desk.pages(name, curve.seq)
            for page in islice(pages, _PER_CALL):
                for event in page.events:
                    curve.add(event)
                curve.seq = page.until  # also where nothing was found: others' events are not looked through twice
                await asyncio.sleep(0)
            return curve.told(name, complete=next(pages, None) is None)


def _together(first: Point, second: Point) -> Point:
    return Point(
        lists=first.lists + second.lists,
        clicked=first.clicked + second.clicked,
        clicks=first.clicks + second.clicks,
        until=second.until,
    )
