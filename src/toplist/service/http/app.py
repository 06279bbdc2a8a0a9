"""The service as an ASGI application: admits, reads, answers; whatever goes wrong is a problem+json."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct

from toplist.core.problem import InvalidInput
from toplist.service.config import Settings
from toplist.service.errors import Conflict, NotFound, Refused, StoreUnavailable
from toplist.service.http import openapi, problems
from toplist.service.http.auth import Hosts, Keys
from toplist.service.http.handlers import Endpoints, refusal
from toplist.service.http.logs import Log, RequestIds
from toplist.service.http.metrics import Metrics
from toplist.service.http.problems import Fault, Problem
from toplist.service.http.rate_limit import Buckets
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import Call, Compiled, Reply, Route, Router, Stream, Text
from toplist.service.live.service import Desk

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_COMMON: Headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
_PROBLEM = problems.MEDIA.encode()
_UNROUTED = "(none)"  # stands for paths that there are not, so that strangers cannot fill the metrics


class Gone(Exception):
    """Whoever asked has left before the request was read."""


class App:
    """Answers requests. The state behind it is started and stopped by whoever runs it."""

    def __init__(self, endpoints: Endpoints, log: Log, routes: Iterable[Route] = ROUTES) -> None:
        settings = endpoints.settings
        self.endpoints, self._log = endpoints, log
        self._find = Router(routes).find
        self._keys, self._hosts = Keys(settings.keys), Hosts(settings.hosts)
        self._buckets = Buckets(settings.limits.rate, settings.limits.burst)
        self._ids = RequestIds()
        self._body_bytes, self._most = settings.limits.body_bytes, settings.limits.in_flight
        self._seconds = settings.limits.seconds
        self._encode = msgspec.json.Encoder().encode
        self._metrics = endpoints.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection of ASGI; only HTTP is spoken here."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        request_id = self._ids.of(headers.get(b"x-request-id"))
        method: str = scope["method"]
        who, label = "", _UNROUTED
        status, size = 500, 0
        more: Mapping[str, str] = {}
        self._metrics.in_flight += 1
        try:
            try:
                raw_path = scope.get("raw_path")
                try:
                    route, found = self._find(method, raw_path if raw_path is not None else scope["path"].encode())
                except Problem:
                    self._admit(None, headers, scope)  # who tries out paths is a caller like others
                    raise
                label = route.label
                if self._metrics.in_flight > self._most and route.route.limited:
                    raise _busy(self._most)  # but it can be seen how it is, most of all when much is at work
                who = self._admit(route, headers, scope)
                _check_accepted(headers.get(b"accept"), route)
                path = route.path(*found) if found else ()
                query = route.asked(scope["query_string"])
                if route.decode is None:
                    body = None
                else:
                    raw = await self._read(headers, receive)
                    try:
                        body = route.decode(raw)
                    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                        raise problems.undecoded(error, raw, route.decode) from None
                try:
                    answer = await route.handler(self.endpoints, Call(path, query, body))
                except (Problem, Refused):
                    await self.endpoints.desk.settled()  # what it is refused for may not be committed yet
                    raise
                status, media = route.status, route.media
                if isinstance(answer, Struct):  # as most are
                    content = self._encode(answer)
                elif isinstance(answer, Stream):
                    size = await _stream(answer, status, request_id, receive, send, method == "HEAD")
                    return
                elif isinstance(answer, Text):
                    status, content, media, more = answer.status, answer.body, answer.media.encode(), answer.headers
                elif isinstance(answer, Reply):
                    status, content, more = answer.status, self._encode(answer.body), answer.headers
                else:
                    content = b""
            except Exception as error:
                problem = self._problem(error, request_id, label)
                status, more, media = problem.status, problem.headers, _PROBLEM
                content = self._encode(problem.body)
            size = len(content)
            await _send(send, status, content, media, request_id, more, method == "HEAD")
        except Gone:
            status = 499  # as others call it: nobody was there to hear the answer
        finally:
            self._metrics.in_flight -= 1
            seconds = perf_counter() - started
            self._metrics.request(method if label != _UNROUTED else "", label, status, seconds)
            self._log.request(request_id, method, label, status, seconds, who, size)

    def unread(self, problem: Problem, caller: str, size: int) -> bytes:
        """Take note of a request that could not be read, and so never came here; its name."""
        request_id = self._ids.of(None)
        self._metrics.request("", _UNROUTED, problem.status, 0.0)
        self._log.request(request_id, "", _UNROUTED, problem.status, 0.0, caller, size)
        return request_id

    def _admit(self, route: Compiled | None, headers: Mapping[bytes, bytes], scope: Scope) -> str:
        """Who calls, by key or address; or the problem why they may not."""
        client = scope.get("client")
        address = client[0] if client else ""
        if not self._keys:
            self._hosts.admit(headers.get(b"host"))
        elif route is not None and route.scope is not None:
            try:
                name = self._keys.admit(headers.get(b"authorization"), route.scope).name
            except Problem:
                self._buckets.admit(address)  # who guesses keys is slowed down too
                raise
            self._buckets.admit(f"key {name}")
            return name
        if route is None or route.route.limited:
            self._buckets.admit(address)
        return address

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """The body of a request; no more of it is held than is allowed."""
        media = headers.get(b"content-type", b"")
        if media != b"application/json" and not _is_json(media):
            detail = "The body must be JSON; send it with Content-Type: application/json."
            raise Problem("unsupported-media-type", detail, [Fault(header="Content-Type", detail=detail)])
        told = headers.get(b"content-length")
        if told is not None and told.isdigit() and int(told[:20]) > self._body_bytes:
            raise _too_large(self._body_bytes)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._received(receive)
        except TimeoutError:
            raise problems.too_slow("body", self._seconds) from None

    async def _received(self, receive: Receive) -> bytes:
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            whole: bytes = message.get("body", b"")
            if len(whole) > self._body_bytes:
                raise _too_large(self._body_bytes)
            return whole
        pieces, size = [], 0
        while True:
            if message["type"] != "http.request":
                raise Gone
            piece: bytes = message.get("body", b"")
            size += len(piece)
            if size > self._body_bytes:
                raise _too_large(self._body_bytes)
            pieces.append(piece)
            if not message.get("more_body", False):
                return b"".join(pieces)
            message = await receive()

    def _problem(self, error: Exception, request_id: bytes, label: str) -> Problem:
        """What went wrong, as it is answered."""
        match error:
            case Problem():
                return error
            case Gone():
                raise error
            case NotFound():
                return Problem("not-found", str(error))
            case Conflict():
                fault = [] if error.field is None else [Fault(pointer=error.field, detail=str(error))]
                return Problem("conflict", str(error), fault)
            case Refused():
                return refusal(error)
            case InvalidInput():
                return problems.invalid(str(error))
            case StoreUnavailable():
                self._log.tell("store unavailable", request_id=request_id.decode("latin-1"), detail=str(error))
                wait = str(max(1, math.ceil(error.retry_after)))
                return Problem("store-unavailable", str(error), headers={"retry-after": wait})
        self._log.fault("unforeseen", error, request_id=request_id.decode("latin-1"), route=label)
        return Problem("unforeseen", "This should not happen; the log has more under this request's X-Request-Id.")


def make_app(desk: Desk, settings: Settings, log: Log | None = None) -> App:
    """The application in front of a desk, which somebody else starts and stops."""
    endpoints = Endpoints(desk, settings, Metrics(desk), openapi.written(with_keys=bool(settings.keys)))
    return App(endpoints, log or Log(settings.logs.requests))


def _busy(most: int) -> Problem:
    return Problem("busy", f"{most} requests are at work; ask again soon.", headers={"retry-after": "1"})


def _too_large(limit: int) -> Problem:
    # The rest of the body is not worth waiting for, so the connection cannot be used again.
    return Problem(
        "too-large", f"The body has more than {limit} bytes; send less at once.", headers={"connection": "close"}
    )


def _is_json(media: bytes) -> bool:
    name, _, parameters = media.lower().partition(b";")
    return name.strip() == b"application/json" and parameters.replace(b" ", b"").replace(b'"', b"") in (
        b"",
        b"charset=utf-8",
    )


def _check_accepted(accept: bytes | None, route: Compiled) -> None:
    """Refuse a request that does not want what there is; most want anything."""
    if accept is None or accept in (b"*/*", route.media):
        return
    media = route.route.media.partition(";")[0]
    kind = media.partition("/")[0]
    best, weight = -1, 0.0
    for part in accept.decode("latin-1").lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        exactness = {"*/*": 0, f"{kind}/*": 1, media: 2}.get(name, -1)
        if exactness > best:
            best, weight = exactness, _weight(parameters)
    if best < 0 or weight <= 0.0:
        detail = f"The answer is {media}, which the Accept header does not want."
        raise Problem("not-acceptable", detail, [Fault(header="Accept", detail=detail)])


def _weight(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


async def _send(
    send: Send, status: int, content: bytes, media: bytes, request_id: bytes, more: Mapping[str, str], head: bool
) -> None:
    headers: Headers = [(b"x-request-id", request_id), *_COMMON]
    if status != 204:
        headers += ((b"content-type", media), (b"content-length", b"%d" % len(content)))
    if more:
        headers += [(name.encode("latin-1"), value.encode("latin-1")) for name, value in more.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else content})


async def _stream(answer: Stream, status: int, request_id: bytes, receive: Receive, send: Send, head: bool) -> int:
    """Send an answer piece by piece, as long as somebody listens; how many bytes were sent."""
    headers: Headers = [(b"x-request-id", request_id), (b"content-type", answer.media.encode()), *_COMMON]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    size = 0
    if not head:
        gone = asyncio.ensure_future(_gone(receive))
        try:
            async for piece in answer.pieces:
                if gone.done():
                    raise Gone
                size += len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            gone.cancel()
    await send({"type": "http.response.body", "body": b""})
    return size


async def _gone(receive: Receive) -> None:
    """Returns when whoever asked has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    """Nothing to do at the start and the end: whoever runs the application has seen to it."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
