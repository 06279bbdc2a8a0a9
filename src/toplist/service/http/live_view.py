"""The live view of a ranking: its state as server-sent events, shared by all who look."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

import msgspec

from toplist.service.errors import NotFound, Refused, StoreUnavailable, TooManyReads
from toplist.service.http.activity import EVENTS, SHARED_POSITIONS, Activity
from toplist.service.http.history import Histories
from toplist.service.http.metrics import Metrics
from toplist.service.live.service import Service
from toplist.service.wire import Estimate, LiveEvent, LiveItem, Ranking, RankingView

EVENT_STREAM = "text/event-stream; charset=utf-8"
EVERY = 2.0  # seconds between two states
SHARED = 1.0  # seconds for which a state is that of all who look
STEP = 0.2  # seconds after which a stopping service is noticed
ALIVE = 10.0  # seconds without a change after which a comment shows that the connection works
LONGEST = 900.0  # seconds of a stream; who follows on asks again, with a key that is still valid
MOST_ITEMS = 200
PAGES_AT_ONCE = 50  # of the log
_END = b"event: end\ndata: {}\n\n"
_COMMENT = b": alive\n\n"


class LiveViews:
    """The current states of rankings; each is made once a second at most, however many look."""

    def __init__(self, service: Service, histories: Histories, metrics: Metrics) -> None:
        self._service, self._histories, self._metrics = service, histories, metrics
        self._activities: dict[str, Activity] = {}
        self._made: dict[str, tuple[float, RankingView]] = {}
        self._making: dict[str, asyncio.Task[RankingView]] = {}

    async def state(self, name: str, items: int, is_limited: bool) -> RankingView:
        """A ranking with its first items; a key that is for some rankings alone sees nothing of the others."""
        made = self._made.get(name)
        if made is None or monotonic() > made[0] + SHARED:
            task = self._making.get(name)
            if task is None:
                task = self._making[name] = asyncio.create_task(self._make(name))
                task.add_done_callback(lambda _: self._making.pop(name, None))
            state = await asyncio.shield(task)
        else:
            state = made[1]
        changed = {"items": state.items[:items]}
        return msgspec.structs.replace(state, **changed, **({"reports": None, "requests": None} if is_limited else {}))

    async def _make(self, name: str) -> RankingView:
        queries = self._service.queries
        ranking = await queries.ranking(name)
        history = await self._histories.of(name)
        activity = await self._activity(ranking)
        try:
            estimates = await queries.estimates(name, None, MOST_ITEMS)
            rows, learned = estimates.items, estimates.learned
        except Refused:  # no list was made yet, or estimates are of a visitor
            rows, learned = [_unknown(item.id) for item in await queries.items(name, None, MOST_ITEMS)], 0
        positions = min(ranking.positions, SHARED_POSITIONS)
        state = RankingView(
            ranking=msgspec.structs.replace(ranking, baseline=None),  # it may be long, and nobody looks at it here
            history=history,
            learned=learned,
            items=[
                LiveItem(**msgspec.structs.asdict(row), shares=activity.shares(row.item, positions)) for row in rows
            ],
            recent=activity.recent,
            events=await self._events(name, activity),
            changes=list(self._histories.curve(name).changes),
            reports=dict(self._metrics.reports),
            requests=dict(self._metrics.requests_by_key),
        )
        self._made[name] = monotonic(), state
        for gone in set(self._made) - self._histories.names:
            self._made.pop(gone, None)
            self._activities.pop(gone, None)
        return state

    async def _activity(self, ranking: Ranking) -> Activity:
        """The recent events of a ranking, read on; each page is a turn in the lane of costly reads."""
        last = self._service.queries.last_seq
        activity = self._activities.get(ranking.name)
        if activity is None or activity.created != ranking.created:
            activity = self._activities[ranking.name] = Activity(ranking.created, last)
        else:
            activity.skip_to(last)
        pages = await self._service.queries.event_pages(ranking.name, activity.seq)
        for _ in range(PAGES_AT_ONCE):
            async with self._service.queries.lane.turn(""):
                page = await anext(pages, None)
            if page is None:
                break
            for event in page.events:
                activity.add(event)
            activity.seq = page.until
        return activity

    async def _events(self, name: str, activity: Activity) -> list[LiveEvent]:
        """The last events, with the outcome of reports, the latest first."""
        found = list(activity.events)
        for at, impression, clicks, outcome in tuple(self._metrics.last_reports):
            if await self._service.queries.ranking_of(impression) == name:
                said = f"reported {clicks} {'click' if clicks == 1 else 'clicks'}"
                found.append(LiveEvent(at=at, kind="report", detail=said, impression=impression, outcome=outcome))
        return sorted(found, key=lambda event: event.at)[: -EVENTS - 1 : -1]  # of the same time, too, the latest first


def _unknown(item: str | int) -> Estimate:
    return Estimate(item=item, examined=None, mean=None, low=None, high=None, index=None)


class LiveParts:
    """Server-sent events: a state whenever it has changed, until the service stops or `LONGEST` is over."""

    def __init__(
        self, state: Callable[[], Awaitable[RankingView]], updates: int, is_stopping: Callable[[], bool]
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

    def _keep(self, state: RankingView) -> None:
        encoded = self._encode(state)
        if encoded != self._last:
            self._last, self._updates = encoded, self._updates - 1
            self._part = b"event: state\ndata: " + encoded + b"\n\n"

    def advance(self) -> None:
        """Go on to the part after the one that was read."""
        self._part = None
