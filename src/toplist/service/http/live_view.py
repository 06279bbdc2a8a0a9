"""The live view of a ranking: its state as server-sent events, shared by all who look."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import NamedTuple

import msgspec

from toplist.core.item_id import ItemId
from toplist.ranker.estimate_rows import EstimateRows
from toplist.service.clock import as_time
from toplist.service.errors import NotFound, Refused, StoreUnavailable, TooManyReads
from toplist.service.http.activity import EVENTS, SHARED_POSITIONS, Activity
from toplist.service.http.history import Histories
from toplist.service.http.metrics import Metrics
from toplist.service.live.queries import LearnerStanding
from toplist.service.live.service import Service
from toplist.service.wire import (
    DetectedChange,
    FeatureWeight,
    LiveEvent,
    LiveItem,
    LiveQuery,
    Overview,
    Ranking,
    RankingView,
)

EVENT_STREAM = "text/event-stream; charset=utf-8"
EVERY = 2.0  # seconds between two states
SHARED = 1.0  # seconds for which a state is that of all who look
STEP = 0.2  # seconds after which a stopping service is noticed
ALIVE = 10.0  # seconds without a change after which a comment shows that the connection works
LONGEST = 900.0  # seconds of a stream; who follows on asks again, with a key that is still valid
KEPT_VIEWS = 20  # of rankings and segments that were looked at last
MOST_UNKNOWN = 10_000  # items that are shown before there are estimates
MOST_WEIGHTS, MOST_NAMED, MOST_DETECTED = 100, 3, 60
NO_NUMBERS = (None, None, None, None, None)
Z = 1.959964  # of a 95% interval
_STATE = b"event: state\ndata: "
_END = b"event: end\ndata: {}\n\n"
_COMMENT = b": alive\n\n"

ViewKey = tuple[int, str | None]  # id of the ranking, and segment


class ViewBase(NamedTuple):
    """What all who look at a ranking or a segment share."""

    made: float
    view: RankingView  # without items
    rows: EstimateRows | list[ItemId]  # the order; before the first list, the items
    activity: Activity


class LiveViews:
    """The current states of rankings and segments; each is made once a second at most, however many look."""

    def __init__(self, service: Service, histories: Histories, metrics: Metrics) -> None:
        self._service, self._histories, self._metrics = service, histories, metrics
        self._activities: dict[ViewKey, Activity] = {}
        self._made: OrderedDict[ViewKey, ViewBase] = OrderedDict()
        self._making: dict[ViewKey, asyncio.Task[ViewBase]] = {}

    async def state(self, name: str, query: LiveQuery, is_limited: bool) -> RankingView:
        """A ranking with a part of its order; a key that is for some rankings alone sees nothing of the others."""
        await self._service.queries.ranking(name)
        key = self._service.queries.ranking_id(name), query.segment
        base = self._made.get(key)
        if base is None or monotonic() > base.made + SHARED:
            task = self._making.get(key)
            if task is None:
                task = self._making[key] = asyncio.create_task(self._make(name, key))
                task.add_done_callback(lambda _: self._making.pop(key, None))
            base = await asyncio.shield(task)
        found, items = await self._items(base, query)
        limited = {"reports": None, "requests": None} if is_limited else {}
        return msgspec.structs.replace(base.view, found=found, items=items, **limited)

    async def _make(self, name: str, key: ViewKey) -> ViewBase:
        queries, (id, segment) = self._service.queries, key
        ranking = await queries.ranking(name)
        history = await self._histories.of(name, segment=segment)
        curve = self._histories.curve(id, segment)
        activity = await self._activity(name, key)
        rows: EstimateRows | list[ItemId]
        learned, weights, detected = 0, [], []
        try:
            standing = await queries.standing(name, segment)
            learned, rows = standing.learned, standing.rows
            weights = await self._weights(name, standing)
            detected = [
                DetectedChange(at=curve.time_before(learned - until), item=item, mean=mean)
                for until, item, mean in standing.changes[-MOST_DETECTED:]
            ]
        except Refused:  # no list was made yet, or estimates are of a visitor
            rows = [item.id for item in await queries.items(name, None, MOST_UNKNOWN)]
        view = RankingView(
            ranking=msgspec.structs.replace(ranking, baseline=None),  # it may be long, and nobody looks at it here
            segment=segment,
            history=history,
            learned=learned,
            found=0,
            items=[],
            recent=activity.recent,
            events=self._events(ranking, segment, activity),
            changes=list(curve.changes),
            weights=weights,
            detected=detected,
            uplift=(await self._service.uplift.click_through([name])).get(name),
            reports=dict(self._metrics.reports),
            requests=dict(self._metrics.requests_by_key),
        )
        base = self._made[key] = ViewBase(monotonic(), view, rows, activity)
        self._made.move_to_end(key)
        while len(self._made) > KEPT_VIEWS:
            self._activities.pop(self._made.popitem(last=False)[0], None)
        return base

    async def _items(self, base: ViewBase, query: LiveQuery) -> tuple[int, list[LiveItem]]:
        """The part of the order that somebody looks at, and how many items fit the search."""
        begin, count, search = query.offset, query.items, query.search
        if isinstance(base.rows, list):
            wanted = search.casefold()
            fitting = [(n, item) for n, item in enumerate(base.rows, 1) if wanted in str(item).casefold()]
            found, chosen = len(fitting), [(*row, *NO_NUMBERS) for row in fitting[begin : begin + count]]
        else:
            found, chosen = await asyncio.to_thread(base.rows.window, begin, count, search)
        items = [row[1] for row in chosen]
        ranking, activity = base.view.ranking, base.activity
        hidden, trends = self._service.queries.hidden_items(ranking.name, items), activity.trends(items)
        positions = min(ranking.positions, SHARED_POSITIONS)
        return found, [
            LiveItem(
                place=place, item=item, examined=examined, mean=mean, low=low, high=high,
                index=None if index is None or math.isinf(index) else index, hidden=item in hidden,
                shares=activity.shares(item, positions), trend=trends[item],
            )
            for place, item, examined, mean, low, high, index in chosen
        ]  # fmt: skip

    async def _weights(self, name: str, standing: LearnerStanding) -> list[FeatureWeight]:
        """The largest weights of a policy over features, each with items that have most of the feature."""
        largest = sorted(standing.weights, key=lambda row: -abs(row[1]))[:MOST_WEIGHTS]
        having = await self._service.queries.items_with(name, [number - 1 for number, _, _ in largest], MOST_NAMED)
        return [
            FeatureWeight(feature=number, weight=weight, low=weight - Z * spread, high=weight + Z * spread, items=items)
            for (number, weight, spread), items in zip(largest, having, strict=True)
        ]

    async def _activity(self, name: str, key: ViewKey) -> Activity:
        """The recent events of a ranking, read on; each page is a turn in the lane of costly reads."""
        activity = self._activities.setdefault(key, Activity())
        pages = await self._service.queries.recent_pages(name, key[1], activity.seq, activity.next_events)
        while True:
            async with self._service.queries.lane.turn(""):
                page = await anext(pages, None)
            if page is None:
                break
            for event in page.events:
                activity.add(event)
            activity.seq = page.until
        return activity

    def _events(self, ranking: Ranking, segment: str | None, activity: Activity) -> list[LiveEvent]:
        """The last events, with the outcome of reports, the latest first."""
        found = list(activity.events)
        for report in self._metrics.reports_of(ranking.name):
            time, id = as_time(report.at), report.impression
            if time >= ranking.created and (segment is None or activity.has_list(id)):
                said = f"reported {report.clicks} {'click' if report.clicks == 1 else 'clicks'}"
                found.append(LiveEvent(at=time, kind="report", detail=said, impression=id, outcome=report.outcome))
        return sorted(found, key=lambda event: event.at)[: -EVENTS - 1 : -1]  # of the same time, too, the latest first


class LiveParts:
    """Server-sent events: a state whenever it has changed, until the service stops or `LONGEST` is over."""

    def __init__(
        self, state: Callable[[], Awaitable[RankingView | Overview]], updates: int, is_stopping: Callable[[], bool]
    ) -> None:
        self._state, self._updates, self._is_stopping = state, updates, is_stopping
        self._encode = msgspec.json.Encoder().encode
        self._last = b""
        self._part: bytes | None = None
        self._is_over = False
        self._end = monotonic() + LONGEST

    async def read_first(self) -> None:
        """Make the first state, so that an error of it becomes a proper response."""
        self._keep(await self._state())

    async def read(self) -> bytes | None:
        """The next part, None after the last; the same again until `advance`."""
        waited = 0.0
        while self._part is None and not self._is_over:
            if self._is_stopping() or self._updates <= 0 or monotonic() > self._end:
                self._part, self._is_over = _END, True
                break
            await asyncio.sleep(STEP)
            waited += STEP
            if waited % EVERY < STEP:
                await self._look()
            if self._part is None and waited >= ALIVE:
                self._part = _COMMENT
        return self._part

    async def _look(self) -> None:
        try:
            self._keep(await self._state())
        except NotFound:  # it was deleted
            self._part, self._is_over = _END, True
        except (StoreUnavailable, TooManyReads):
            return  # the next look may find it

    def _keep(self, state: RankingView | Overview) -> None:
        encoded = self._encode(state)
        if encoded != self._last:
            self._last, self._updates = encoded, self._updates - 1
            self._part = _STATE + encoded + b"\n\n"

    def advance(self) -> None:
        """Go on to the part after the one that was read."""
        self._part = None


def state_of_part(part: bytes) -> bytes:
    """The encoded state in a part of a stream."""
    return part.removeprefix(_STATE)
