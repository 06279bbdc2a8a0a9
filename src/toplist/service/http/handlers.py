"""What each route does: asks the desk, and puts its answer into the form of the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any
from urllib.parse import quote

import msgspec

from toplist import __version__
from toplist.service.config import Settings
from toplist.service.errors import NotFound, Refused
from toplist.service.http import problems
from toplist.service.http.history import Histories
from toplist.service.http.metrics import Metrics
from toplist.service.http.page import page
from toplist.service.http.problems import Problem
from toplist.service.http.routing import HTML, JSON, NDJSON, Answer, Call, Reply, Stream, Text
from toplist.service.live.queries import Page
from toplist.service.live.ranking import TOO_LARGE
from toplist.service.live.service import Desk
from toplist.service.wire import Item, too_large
from toplist.service.wire_pages import Health, ItemsPage, KeysPage, Rankings, Removed


class Endpoints:
    """The service behind its routes: one method each."""

    def __init__(self, desk: Desk, settings: Settings, metrics: Metrics, description: bytes = b"{}") -> None:
        self.desk, self.settings, self.metrics = desk, settings, metrics
        self.histories = Histories(desk)
        self.description = description
        self.page_text, self.page_headers = page()
        self.ending = False

    @property
    def ready(self) -> bool:
        """Whether requests are taken."""
        return self.desk.ready and not self.ending

    def check_batch(self, pointer: str, size: int) -> None:
        """Refuse more items at once than the settings allow."""
        most = self.settings.limits.batch
        if size > most:
            raise problems.at(pointer, f"{size} items are more than {most}, the limit of a request; send several.")

    async def create_ranking(self, call: Call) -> Answer:
        """POST /v1/rankings."""
        made = await self.desk.create_ranking(call.body)
        return Reply(made, 201, {"location": f"/v1/rankings/{quote(made.name)}"})

    async def list_rankings(self, call: Call) -> Answer:
        """GET /v1/rankings."""
        return Rankings(rankings=await self.desk.rankings())

    async def read_ranking(self, call: Call) -> Answer:
        """GET /v1/rankings/{name}."""
        return await self.desk.ranking(call.path[0])

    async def change_ranking(self, call: Call) -> Answer:
        """PATCH /v1/rankings/{name}."""
        return await self.desk.change_ranking(call.path[0], call.body)

    async def delete_ranking(self, call: Call) -> Answer:
        """DELETE /v1/rankings/{name}."""
        await self.desk.delete_ranking(call.path[0])
        return None

    async def list_items(self, call: Call) -> Answer:
        """GET /v1/rankings/{name}/items."""
        found = await self.desk.items(call.path[0], call.query.after, call.query.limit + 1)
        page = found[: call.query.limit]
        return ItemsPage(items=page, next=page[-1].id if len(found) > len(page) else None)

    async def put_items(self, call: Call) -> Answer:
        """PUT /v1/rankings/{name}/items."""
        self.check_batch("/items", len(call.body.items))
        return await self.desk.put_items(call.path[0], call.body.items)

    async def remove_items(self, call: Call) -> Answer:
        """POST /v1/rankings/{name}/items/remove."""
        self.check_batch("/ids", len(call.body.ids))
        return Removed(removed=await self.desk.remove_items(call.path[0], call.body.ids))

    async def read_item(self, call: Call) -> Answer:
        """GET /v1/rankings/{name}/items/{item}."""
        return await self.desk.item(*call.path)

    async def put_item(self, call: Call) -> Answer:
        """PUT /v1/rankings/{name}/items/{item}."""
        name, item = call.path
        try:
            return await self.desk.put_items(
                name, [Item(id=item, features=call.body.features, hidden=call.body.hidden)]
            )
        except Refused as refused:  # the desk points into a list of items, and here there is one without its list
            if refused.field is not None:
                refused.field = refused.field.removeprefix("/items/0")
            raise

    async def remove_item(self, call: Call) -> Answer:
        """DELETE /v1/rankings/{name}/items/{item}."""
        name, item = call.path
        if not await self.desk.remove_items(name, [item]):
            raise NotFound(f"There is no item {item!r} in the ranking {name!r}.")
        return None

    async def make_list(self, call: Call) -> Answer:
        """POST /v1/rankings/{name}/lists."""
        made = await self.desk.make_list(call.path[0], call.body)
        self.metrics.lists += 1
        return made

    async def read_impression(self, call: Call) -> Answer:
        """GET /v1/impressions/{impression}."""
        return await self.desk.impression(call.path[0])

    async def report(self, call: Call) -> Answer:
        """PUT /v1/impressions/{impression}/clicks."""
        try:
            answer = await self.desk.report(call.path[0], call.body)
        except NotFound as unknown:
            self.metrics.report("unknown")
            raise Problem("not-found", str(unknown), counted=False, why="unknown") from None
        except Refused as refused:
            self.metrics.report("invalid")
            raise refusal(refused, counted=False, why="invalid") from None
        self.metrics.report("counted" if answer.counted else str(answer.why))
        return answer

    async def activate(self, call: Call) -> Answer:
        """PUT /v1/impressions/{impression}/activation."""
        return await self.desk.activate(call.path[0])

    async def explain(self, call: Call) -> Answer:
        """GET /v1/impressions/{impression}/explanation."""
        return await self.desk.explanation(call.path[0])

    async def estimates(self, call: Call) -> Answer:
        """GET /v1/rankings/{name}/estimates."""
        query = call.query
        with asked_for(query.person) as person:
            return await self.desk.estimates(call.path[0], query.key, query.limit, person)

    async def explain_next(self, call: Call) -> Answer:
        """GET /v1/rankings/{name}/explanation."""
        query = call.query
        with asked_for(query.person) as person:
            return await self.desk.next_list(call.path[0], query.key, person)

    async def history(self, call: Call) -> Answer:
        """GET /v1/rankings/{name}/history."""
        return await self.histories.of(call.path[0])

    async def list_keys(self, call: Call) -> Answer:
        """GET /v1/rankings/{name}/keys."""
        found = await self.desk.keys(call.path[0], call.query.after, call.query.limit + 1)
        page = found[: call.query.limit]
        return KeysPage(keys=page, next=page[-1] if len(found) > len(page) else None)

    async def export(self, call: Call) -> Answer:
        """GET /v1/rankings/{name}/events."""
        pages = await self.desk.pages(call.path[0], call.query.after)
        first = list(islice(pages, 1))  # what goes wrong at once is not sent half
        limit = None if call.query.limit is msgspec.UNSET else call.query.limit
        return Stream(lines(chain(first, pages), limit), NDJSON)

    async def health(self, call: Call) -> Answer:
        """GET /healthz: the process is there and answers."""
        return Health(status="ok", version=__version__)

    async def readiness(self, call: Call) -> Answer:
        """GET /readyz: it takes requests."""
        if not self.ready:
            raise Problem("not-ready", "The service is starting or ending.", headers={"retry-after": "1"})
        return Health(status="ready", version=__version__)

    async def show_metrics(self, call: Call) -> Answer:
        """GET /metrics."""
        return Text(*self.metrics.written())

    async def describe(self, call: Call) -> Answer:
        """GET /openapi.json."""
        return Text(self.description, JSON)

    async def show_page(self, call: Call) -> Answer:
        """GET /."""
        return Text(self.page_text, HTML, headers=self.page_headers)


async def lines(pages: Iterator[Page], limit: int | None) -> AsyncIterator[bytes]:
    """Events as lines of JSON, a page at a time, and others in between."""
    encode = msgspec.json.Encoder().encode_lines
    for part in pages:
        events = part.events[:limit]
        if events:
            yield encode(events)
        if limit is not None:
            limit -= len(events)
            if limit == 0:
                return
        await asyncio.sleep(0)


@contextmanager
def asked_for(text: str | None) -> Iterator[list[float] | None]:
    """The features of a person out of a query; what is wrong with them is wrong with that parameter."""
    person = None
    if text is not None:
        try:
            person = msgspec.convert(text.split(","), list[float], strict=False)
        except msgspec.ValidationError:
            raise problems.parameter("person", "person must be numbers with commas between, as 0.5,1.") from None
        if too_large(person):
            raise problems.parameter("person", TOO_LARGE)
    try:
        yield person
    except Refused as refused:
        if refused.field == "/person":  # which here is no field of a body
            raise problems.parameter("person", str(refused)) from None
        raise


def refusal(refused: Refused, **more: Any) -> Problem:
    """What the desk refuses, as a problem."""
    fault = [] if refused.field is None else [problems.Fault(pointer=refused.field, detail=str(refused))]
    return Problem("invalid", str(refused), fault, **more)
