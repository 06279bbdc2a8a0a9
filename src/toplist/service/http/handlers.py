"""Handlers of the routes: call the service and build the response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any
from urllib.parse import quote

import msgspec

from toplist import __version__
from toplist.core.item_id import ItemId, item_of_text
from toplist.core.problem import InvalidInput
from toplist.service.browser_settings import token_secrets
from toplist.service.errors import NotFound, Refused
from toplist.service.http import problems
from toplist.service.http.assets import Assets
from toplist.service.http.event_lines import EventLines
from toplist.service.http.history import Histories
from toplist.service.http.impression_tokens import ImpressionTokens
from toplist.service.http.live_view import EVENT_STREAM, LiveParts, LiveViews
from toplist.service.http.metrics import Metrics
from toplist.service.http.overview import Overviews
from toplist.service.http.page import load_page
from toplist.service.http.problems import HttpProblem
from toplist.service.http.rate_limit import TokenBuckets
from toplist.service.http.routing import (
    HTML,
    JSON,
    NDJSON,
    HttpRequest,
    JsonResponse,
    RawResponse,
    Response,
    StreamResponse,
)
from toplist.service.http.segment_hash import SegmentHash
from toplist.service.http.simulation_stream import SimulationParts
from toplist.service.live.ranking import TOO_LARGE
from toplist.service.live.service import Service
from toplist.service.playground.plan import choices_of, plan_of
from toplist.service.playground.playground import Playground
from toplist.service.settings import Settings
from toplist.service.wire import (
    ClusterView,
    Health,
    Item,
    KeysPage,
    ListReply,
    ListRequest,
    Overview,
    Rankings,
    RankingView,
    Removed,
    Report,
    SegmentsPage,
    too_large,
)

# Bytes of one of these in a reply, as objects and encoded.
RANKING_BYTES, SEGMENT_BYTES, ESTIMATE_BYTES, UPLIFT_BYTES = 4000, 2000, 1000, 6000
BASELINE_BYTES = 300  # the same, of an item in a baseline


class Handlers:
    """The handlers, one method per route."""

    def __init__(self, service: Service, settings: Settings, metrics: Metrics, description: bytes = b"{}") -> None:
        self.service, self.settings, self.metrics = service, settings, metrics
        self.histories = Histories(service)
        self.views = LiveViews(service, self.histories, metrics)
        self.overviews = Overviews(service, self.histories)
        self.segment_hash = SegmentHash(settings.segment_secret)
        self.expiry_time: Callable[[], float] = service.expiry_time  # of all partitions together
        self.tokens = ImpressionTokens(token_secrets(settings.browser), self.expiry_time)
        self.impression_rates = TokenBuckets(settings.browser.impression_rate, settings.browser.impression_burst)
        self.description = description
        self.assets = Assets()
        self.page_html, self.page_headers = load_page(self.assets, "page.html")
        self.playground_html, _ = load_page(self.assets, "playground.html")
        self.playground = Playground(settings.playground)
        self.stopping = False
        self.cluster_view: Callable[[], Awaitable[ClusterView]] | None = None  # where it is a server among others

    def of_partition(self, service: Service) -> Handlers:
        """The same handlers in front of the service of one partition."""
        made = copy(self)
        made.service, made.histories = service, Histories(service)
        made.views = LiveViews(service, made.histories, self.metrics)
        made.overviews = Overviews(service, made.histories)
        return made

    def reload(self, settings: Settings) -> None:
        """Take the secrets and limits of reports from browsers from new settings."""
        self.tokens = ImpressionTokens(token_secrets(settings.browser), self.expiry_time)
        before = self.impression_rates
        self.impression_rates = TokenBuckets(settings.browser.impression_rate, settings.browser.impression_burst)
        self.impression_rates.take_over(before)

    @property
    def ready(self) -> bool:
        """Whether the service takes requests."""
        return self.service.is_ready and not self.stopping

    def check_batch(self, pointer: str, size: int) -> None:
        """Refuse more items in one request than the settings allow."""
        most = self.settings.limits.batch
        if size > most:
            raise problems.invalid_field(
                pointer, f"{size} items are more than {most}, the limit of one request; split them into several."
            )

    async def create_ranking(self, request: HttpRequest) -> Response:
        """POST /v1/rankings."""
        if request.key is not None:
            request.key.check_ranking(request.body.name)
        made = await self.service.rankings.create(request.body, request.by)
        return JsonResponse(made, 201, {"location": f"/v1/rankings/{quote(made.name)}"})

    async def list_rankings(self, request: HttpRequest) -> Response:
        """GET /v1/rankings: those that the key is for."""
        found = await self.service.queries.rankings()
        if request.key is not None and request.key.rankings is not None:
            found = [ranking for ranking in found if ranking.name in request.key.rankings]
        return Rankings(rankings=found)

    async def read_ranking(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}."""
        return await self.service.queries.ranking(request.path[0])

    async def change_ranking(self, request: HttpRequest) -> Response:
        """PATCH /v1/rankings/{name}."""
        return await self.service.rankings.change(request.path[0], request.body, request.by)

    async def delete_ranking(self, request: HttpRequest) -> Response:
        """DELETE /v1/rankings/{name}."""
        await self.service.rankings.delete(request.path[0], request.by)
        return None

    async def list_items(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/items."""
        after = None if request.query.after is None else item_parameter("after", request.query.after)
        return await self.service.queries.items_page(request.path[0], after, request.query.limit)

    def items_size(self, request: HttpRequest) -> int:
        """Bytes of a page of items."""
        return self.service.queries.items_size(request.path[0], request.query.limit)

    def rankings_size(self, request: HttpRequest) -> int:
        """Bytes of all rankings."""
        queries = self.service.queries
        return RANKING_BYTES * queries.ranking_count + BASELINE_BYTES * queries.baseline_size

    def segments_size(self, request: HttpRequest) -> int:
        """Bytes of a page of segments."""
        return SEGMENT_BYTES * int(request.query.limit)

    def estimates_size(self, request: HttpRequest) -> int:
        """Bytes of estimates."""
        return ESTIMATE_BYTES * int(request.query.limit)

    async def put_items(self, request: HttpRequest) -> Response:
        """PUT /v1/rankings/{name}/items."""
        self.check_batch("/items", len(request.body.items))
        return await self.service.items.put(request.path[0], request.body.items, request.by)

    async def remove_items(self, request: HttpRequest) -> Response:
        """POST /v1/rankings/{name}/items/remove."""
        self.check_batch("/ids", len(request.body.ids))
        return Removed(removed=await self.service.items.remove(request.path[0], request.body.ids, request.by))

    async def read_item(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/items/{item}."""
        name, item = request.path
        return await self.service.queries.item(name, item_parameter("item", item))

    async def put_item(self, request: HttpRequest) -> Response:
        """PUT /v1/rankings/{name}/items/{item}."""
        name, item = request.path
        body, id = request.body, item_parameter("item", item)
        put = Item(id=id, features=body.features, hidden=body.hidden, prior=body.prior)
        try:
            return await self.service.items.put(name, [put], request.by)
        except Refused as refused:  # the service points into a list of items; here the item is the whole body
            if refused.field is not None:
                refused.field = refused.field.removeprefix("/items/0")
            raise

    async def remove_item(self, request: HttpRequest) -> Response:
        """DELETE /v1/rankings/{name}/items/{item}."""
        name, item = request.path
        id = item_parameter("item", item)
        if not await self.service.items.remove(name, [id], request.by):
            raise NotFound(f"There is no item {id!r} in the ranking {name!r}.")
        return None

    async def make_list(self, request: HttpRequest) -> Response:
        """POST /v1/rankings/{name}/lists."""
        if request.body.token:
            self.tokens.check_asked()
        made = await self.service.lists.make(request.path[0], self.segment_hash.hidden(request.body))
        self.metrics.lists += 1
        self.metrics.unrecorded += made.recorded is False
        if request.body.token and made.impression:
            made = self.with_token(made, request.body)
        return self.segment_hash.shown(made, request.body)

    def with_token(self, made: ListReply, request: ListRequest) -> ListReply:
        """A list with its token; a deferred one can be activated until its first window is over."""
        windows = 2.0 if request.deferred else 1.0
        seconds = windows * self.service.queries.click_window(made.ranking)
        return msgspec.structs.replace(made, token=self.tokens.sign(made.impression, seconds))

    async def read_impression(self, request: HttpRequest) -> Response:
        """GET /v1/impressions/{impression}."""
        return await self.service.queries.impression(request.path[0])

    def report(self, request: HttpRequest) -> Awaitable[Response]:
        """PUT /v1/impressions/{impression}/clicks."""
        return self._report(request.path[0], request.body)

    async def report_by_token(self, request: HttpRequest) -> Response:
        """POST /v1/reports: a browser reports on the list that its token is for."""
        impression = self.tokens.impression(request.body.token)
        self.impression_rates.admit(impression)
        return await self._report(impression, request.body)

    async def _report(self, impression: str, report: Report) -> Response:
        try:
            taken = await self.service.impressions.take(impression, report)
        except NotFound as unknown:
            self.metrics.count_report("unknown", impression, len(report.clicks), None)
            raise HttpProblem("not-found", str(unknown), counted=False, why="unknown") from None
        except Refused as refused:
            named = await self.service.queries.ranking_of(impression)
            self.metrics.count_report("invalid", impression, len(report.clicks), named)
            raise problems.refusal(refused, counted=False, why="invalid") from None
        self.metrics.count_report(taken.outcome, impression, len(report.clicks), taken.ranking)
        return taken.reply

    async def activate(self, request: HttpRequest) -> Response:
        """PUT /v1/impressions/{impression}/activation."""
        return await self.service.impressions.activate(request.path[0])

    async def explain(self, request: HttpRequest) -> Response:
        """GET /v1/impressions/{impression}/explanation."""
        return await self.service.queries.explanation(request.path[0], request.by)

    async def estimates(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/estimates."""
        query = request.query
        with visitor_features(query.person) as person:
            segment = self.segment_hash.hidden(query).segment
            reply = await self.service.queries.estimates(request.path[0], segment, query.limit, person, request.by)
            return self.segment_hash.shown(reply, query)

    async def explain_next(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/explanation."""
        query = request.query
        with visitor_features(query.person) as person:
            segment = self.segment_hash.hidden(query).segment
            reply = await self.service.queries.next_list(request.path[0], segment, person, request.by)
            return self.segment_hash.shown(reply, query)

    async def uplift(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/uplift."""
        query = request.query
        return await self.service.uplift.uplift(request.path[0], query.by, query.after, query.limit, request.by)

    def uplift_size(self, request: HttpRequest) -> int:
        """Bytes of the uplift by day or segment."""
        return UPLIFT_BYTES * int(request.query.limit) if request.query.by != "none" else 0

    async def import_ranker(self, request: HttpRequest) -> Response:
        """PUT /v1/rankings/{name}/learner."""
        segment = self.segment_hash.hidden(request.body).segment
        reply = await self.service.imports.take(request.path[0], segment, request.body.ranker, request.by)
        return self.segment_hash.shown(reply, request.body)

    async def history(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/history."""
        return await self.histories.of(request.path[0], request.by)

    async def live(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/live."""
        name, query = request.path[0], request.query
        is_limited = request.key is not None and request.key.rankings is not None
        hidden = self.segment_hash.hidden(query)

        async def state() -> RankingView:
            return self.segment_hash.shown(await self.views.state(name, hidden, is_limited), query)

        return await self._stream(state, query.updates)

    async def live_overview(self, request: HttpRequest) -> Response:
        """GET /v1/live: the rankings that the key is for."""
        query, by = request.query, request.by
        allowed = None if request.key is None else request.key.rankings
        return await self._stream(lambda: self.overviews.state(query, allowed, by), query.updates)

    async def _stream(self, state: Callable[[], Awaitable[RankingView | Overview]], updates: int) -> Response:
        parts = LiveParts(state, updates, lambda: self.stopping)
        await parts.read_first()
        return StreamResponse(parts, EVENT_STREAM)

    async def list_segments(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/segments."""
        return SegmentsPage(**await self._segments(request))

    async def list_keys(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/keys, the former name of the segments."""
        page = await self._segments(request)
        return KeysPage(keys=page["segments"], next=page["next"])

    async def delete_segment(self, request: HttpRequest) -> Response:
        """DELETE /v1/rankings/{name}/segments/{segment}, and `keys`, their former name."""
        name, segment = request.path
        await self.service.segments.delete(name, self.segment_hash.of(segment), request.by)
        return None

    async def _segments(self, request: HttpRequest) -> dict[str, Any]:
        rows = await self.service.queries.segments(request.path[0], request.query.after, request.query.limit + 1)
        page = rows[: request.query.limit]
        return {"segments": page, "next": page[-1] if len(rows) > len(page) else None}

    async def export(self, request: HttpRequest) -> Response:
        """GET /v1/rankings/{name}/events."""
        query = request.query
        cursor = None if query.cursor is msgspec.UNSET else query.cursor
        pages = await self.service.queries.event_pages(request.path[0], query.after, cursor=cursor)
        lines = EventLines(pages, None if query.limit is msgspec.UNSET else query.limit)
        await lines.read_first()  # an error of it becomes a proper response
        return StreamResponse(lines, NDJSON)

    async def cluster(self, request: HttpRequest) -> Response:
        """GET /v1/cluster: empty where this server is alone."""
        if self.cluster_view is None:
            return ClusterView(age=0.0, servers=[], partitions=[])
        return await self.cluster_view()

    async def health(self, request: HttpRequest) -> Response:
        """GET /healthz: the process answers."""
        return Health(status="ok", version=__version__)

    async def readiness(self, request: HttpRequest) -> Response:
        """GET /readyz: the service takes requests."""
        if not self.ready:
            raise HttpProblem("not-ready", "The service is starting or stopping.", headers={"retry-after": "1"})
        return Health(status="ready", version=__version__)

    async def show_metrics(self, request: HttpRequest) -> Response:
        """GET /metrics."""
        return RawResponse(*await self.metrics.exposition())

    async def describe(self, request: HttpRequest) -> Response:
        """GET /openapi.json."""
        return RawResponse(self.description, JSON)

    async def asset(self, request: HttpRequest) -> Response:
        """GET /assets/{file}."""
        found = self.assets.by_name.get(request.path[0])
        if found is None:
            raise NotFound(f"There is no file {request.path[0]!r}; those of an older version are gone.")
        return RawResponse(*found[:2], headers=found.headers)

    async def show_page(self, request: HttpRequest) -> Response:
        """GET /."""
        return RawResponse(self.page_html, HTML, headers=self.page_headers)

    async def show_playground(self, request: HttpRequest) -> Response:
        """GET /playground."""
        return RawResponse(self.playground_html, HTML, headers=self.page_headers)

    async def playground_choices(self, request: HttpRequest) -> Response:
        """GET /v1/playground."""
        self.playground.check_enabled()
        return await asyncio.to_thread(choices_of, self.settings.playground)

    async def simulate(self, request: HttpRequest) -> Response:
        """POST /v1/playground/simulations."""
        self.playground.check_enabled()
        plan = await asyncio.to_thread(plan_of, request.body)
        parts = SimulationParts(self.playground.begin(plan, request.body.model_text), lambda: self.stopping)
        return StreamResponse(parts, EVENT_STREAM, parts.end)


def item_parameter(name: str, text: str) -> ItemId:
    """The item that a parameter of the path or query names."""
    try:
        return item_of_text(text)
    except InvalidInput as problem:
        raise problems.invalid_parameter(name, str(problem)) from None


@contextmanager
def visitor_features(text: str | None) -> Iterator[list[float] | None]:
    """The visitor's features from the query parameter `person`; errors about them point at that parameter."""
    person = None
    if text is not None:
        try:
            person = msgspec.convert(text.split(","), list[float], strict=False)
        except msgspec.ValidationError:
            raise problems.invalid_parameter(
                "person", "person must be comma-separated numbers, such as 0.5,1."
            ) from None
        if too_large(person):
            raise problems.invalid_parameter("person", TOO_LARGE)
    try:
        yield person
    except Refused as refused:
        if refused.field == "/person":  # a field of the body of other requests, here a parameter
            raise problems.invalid_parameter("person", str(refused)) from None
        raise
