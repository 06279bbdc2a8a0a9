"""The HTTP application in front of an in-memory double of the service, called without a network."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
from double import Double

from toplist.service.api_keys import ApiKeySetting
from toplist.service.http.app import App, make_app
from toplist.service.http.auth import hash_api_key
from toplist.service.http.logs import Log
from toplist.service.settings import Limits, Settings

T = TypeVar("T")
SERVE, ADMIN = "toplist_serve-key-of-the-tests", "toplist_admin-key-of-the-tests"


KEYS = [
    ApiKeySetting(name="page", scope="serve", sha256=hash_api_key(SERVE)),
    ApiKeySetting(name="editor", scope="admin", sha256=hash_api_key(ADMIN)),
]


class LocalService:
    """An application with its own event loop; it takes one request at a time."""

    def __init__(self, settings: Settings | None = None, double: Double | None = None) -> None:
        self.double = double or Double()
        self.logged = io.StringIO()
        self.settings = settings or Settings()
        self.app = app_of(self.double, self.settings, self.logged)
        self._runner = asyncio.Runner()
        self.run(self.double.start())

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self._runner.run(wait())

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.run(self.ask_async(method, path, **more))

    async def ask_async(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, client=more.pop("client", ("127.0.0.1", 1)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8600") as client:
            return await client.request(method, path, **more)

    def lines(self) -> list[str]:
        self.run(asyncio.sleep(0.06))  # request lines are buffered
        return self.logged.getvalue().splitlines()

    def close(self) -> None:
        self.run(self.app.handlers.playground.close())
        self.run(self.double.stop())
        self._runner.close()


def app_of(double: Double, settings: Settings, logged: io.StringIO) -> App:
    """The application in front of a double."""
    return make_app(double.as_service(), settings, Log(settings.logs.requests, logged))


Make = Callable[..., LocalService]


@contextmanager
def services() -> Iterator[Make]:
    """A function that makes services with given settings, a ranking of three items, or an API key of each scope."""
    made: list[LocalService] = []

    def make(*, stocked: bool = False, keyed: bool = False, **settings: Any) -> LocalService:
        if keyed:
            settings |= {"keys": KEYS, "limits": Limits(rate=1000.0, burst=1000, stranger_rate=0.0)}
        service = LocalService(Settings(**settings))
        made.append(service)
        if stocked:
            stock(service)
        return service

    yield make
    for service in made:
        service.close()


def stock(service: LocalService) -> None:
    """Create a ranking with three items."""
    assert service.ask("POST", "/v1/rankings", json={"name": "front-page", "positions": 2}).status_code == 201
    items = [{"id": item} for item in ("tea", "coffee", "cocoa")]
    assert service.ask("PUT", "/v1/rankings/front-page/items", json={"items": items}).status_code == 200


def problem(reply: httpx.Response, status: int) -> dict[str, Any]:
    """The problem in a reply, which must have this status."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = reply.json()
    assert body["status"] == status
    assert body["type"].startswith("urn:toplist:problem:")
    assert body["title"]
    assert body["detail"]
    return body
