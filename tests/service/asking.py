"""A service in front of a desk in memory, and how tests ask it without a network."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
from double import Double

from toplist.service.config import KeySetting, Limits, Settings
from toplist.service.http.app import App, make_app
from toplist.service.http.auth import hashed
from toplist.service.http.logs import Log

T = TypeVar("T")
SERVE, ADMIN = "toplist_serve-key-of-the-tests", "toplist_admin-key-of-the-tests"


KEYS = [
    KeySetting(name="page", scope="serve", sha256=hashed(SERVE)),
    KeySetting(name="editor", scope="admin", sha256=hashed(ADMIN)),
]


class Service:
    """A service with its own event loop, asked one request after the other."""

    def __init__(self, settings: Settings | None = None, desk: Double | None = None) -> None:
        self.desk = desk or Double()
        self.logged = io.StringIO()
        self.settings = settings or Settings()
        self.app: App = make_app(self.desk.as_desk(), self.settings, Log(self.settings.logs.requests, self.logged))
        self._runner = asyncio.Runner()
        self.run(self.desk.start())

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self._runner.run(wait())

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.run(self.asked(method, path, **more))

    async def asked(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, client=more.pop("client", ("127.0.0.1", 1)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8600") as client:
            return await client.request(method, path, **more)

    def lines(self) -> list[str]:
        self.run(asyncio.sleep(0.06))  # lines about requests wait for company
        return self.logged.getvalue().splitlines()

    def close(self) -> None:
        self.run(self.desk.stop())
        self._runner.close()


Make = Callable[..., Service]


@contextmanager
def services() -> Iterator[Make]:
    """Makes services with any settings, and on request with a ranking of three items, or with a key of each scope."""
    made: list[Service] = []

    def make(*, stocked: bool = False, keyed: bool = False, **settings: Any) -> Service:
        if keyed:
            settings |= {"keys": KEYS, "limits": Limits(rate=1000.0, burst=1000)}
        service = Service(Settings(**settings))
        made.append(service)
        if stocked:
            stock(service)
        return service

    yield make
    for service in made:
        service.close()


def stock(service: Service) -> None:
    """Put a ranking of three items there."""
    assert service.ask("POST", "/v1/rankings", json={"name": "front-page", "positions": 2}).status_code == 201
    items = [{"id": item} for item in ("tea", "coffee", "cocoa")]
    assert service.ask("PUT", "/v1/rankings/front-page/items", json={"items": items}).status_code == 200


def problem(reply: httpx.Response, status: int) -> dict[str, Any]:
    """The problem that a reply must be."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = reply.json()
    assert body["status"] == status
    assert body["type"].startswith("urn:toplist:problem:")
    assert body["title"]
    assert body["detail"]
    return body
