"""The ASGI application: admits, reads and answers requests; every error is sent as problem+json."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, MutableMapping
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct

from toplist.core.problem import InvalidInput
from toplist.service.errors import Conflict, NotFound, Refused, StoreUnavailable, TooManyReads, UnknownRanking
from toplist.service.garbage import NewGarbage
from toplist.service.http import openapi, problems
from toplist.service.http.accept import check_accept
from toplist.service.http.addresses import TrustedProxies
from toplist.service.http.admission import Admission
from toplist.service.http.auth import KnownKey
from toplist.service.http.bodies import LARGE_BODY, Bodies, BudgetShare, Decode, Disconnected, Receive
from toplist.service.http.connection_limits import ConnectionLimits, Refusal
from toplist.service.http.handlers import Handlers
from toplist.service.http.logs import Log, RequestIds
from toplist.service.http.metrics import Metrics
from toplist.service.http.problems import HttpProblem
from toplist.service.http.replies import PIECE, BrokenStream, Send, StreamReply, send_reply
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import (
    CompiledRoute,
    HttpRequest,
    JsonResponse,
    RawResponse,
    Response,
    Route,
    Router,
    StreamResponse,
)
from toplist.service.http.whole import WHOLE, Whole
from toplist.service.live.service import Service
from toplist.service.settings import Settings
from toplist.service.wire import PROBLEM_MEDIA, RankingChange

AsgiScope = MutableMapping[str, Any]
Encoded = tuple[bytes, bytes, Mapping[str, str]]  # body, media type and further headers
_PROBLEM = PROBLEM_MEDIA.encode()
_REFUSED = (401, 403, 421, 429)  # statuses of requests that were not admitted: their lines have the address
_NO_HEADERS: Mapping[str, str] = {}
_UNROUTED = "(none)"  # label of all unknown paths, so that strangers cannot fill the metrics


class Exchange:
    """A request while it is answered: who asks, what it holds, and what goes to metrics and log."""

    __slots__ = (
        "address", "admission", "caller", "cors", "for_visitors", "headers", "held", "key", "label", "method",
        "request_id", "sending", "size", "started", "status", "whole", "works",
    )  # fmt: skip

    def __init__(
        self, admission: Admission, method: str, request_id: bytes, address: str, headers: Mapping[bytes, bytes],
        whole: Whole | None = None,
    ) -> None:  # fmt: skip
        self.started = perf_counter()
        self.admission = admission  # the one that it began with: settings may be read again meanwhile
        self.method, self.request_id, self.headers = method, request_id, headers
        self.whole = whole  # None behind another server
        self.address = self.caller = address
        self.label = _UNROUTED
        self.cors = _NO_HEADERS  # headers by which a page of another origin may read the reply
        self.for_visitors = False  # see `Route`
        self.status, self.size = 500, 0
        self.works = False  # whether it counts in `working`
        self.key: KnownKey | None = None
        self.held = self.sending = 0  # bytes of the budgets of bodies


class App:
    """The ASGI application; its caller starts and stops the service behind it."""

    def __init__(
        self, handlers: Handlers, log: Log, routes: Iterable[Route] = ROUTES, *, any_host: bool = False
    ) -> None:
        settings = handlers.settings
        self.handlers, self._log = handlers, log
        self._find = Router(routes).find
        self._admission = Admission(settings, log.event, any_host=any_host, clock=handlers.expiry_time)
        self._ids = RequestIds()
        self._bodies = Bodies(settings.limits)
        self._max_in_flight = settings.limits.in_flight
        self._any_host = any_host  # see `Admission`
        self._encode = msgspec.json.Encoder().encode
        self._metrics = handlers.metrics
        self._garbage = NewGarbage()

    def reload(self, settings: Settings) -> None:
        """Admit requests by new settings from now on; those admitted before are answered as before."""
        if bool(settings.keys) != bool(self._admission.keys):
            self.handlers.description = openapi.document_json(with_keys=bool(settings.keys))
        self._admission = Admission(
            settings, self._log.event, self._admission, any_host=self._any_host, clock=self.handlers.expiry_time
        )
        self.handlers.reload(settings)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope; only HTTP is supported."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a request, and count and log it."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        admission, request_id = self._admission, self._ids.of(headers.get(b"x-request-id"))
        address, whole = admission.address_of(scope), scope.pop(WHOLE, None)
        exchange = Exchange(admission, scope["method"], request_id, address, headers, whole)
        self._metrics.in_flight += 1
        try:
            try:
                encoded = await self._answer(exchange, scope, receive, send)
            except Exception as error:
                encoded = self._encoded_problem(exchange, error)
            if encoded is not None:
                content, media, more = encoded
                if exchange.cors:
                    more = {**more, **exchange.cors}
                exchange.size = len(content)
                self._give_back(exchange)  # a slow reader keeps nobody else waiting
                is_head = exchange.method == "HEAD"
                await send_reply(
                    send, exchange.whole, exchange.status, content, media, exchange.request_id, more, is_head
                )
        except Disconnected:
            exchange.status = 499  # nginx's status for a client that closed the connection
        except BrokenStream as broken:
            # The head is sent, so no problem can be. The server closes a connection whose response is incomplete, by
            # which the client notices.
            exchange.status, exchange.size = 500, broken.size
            self._log_broken(broken.__cause__ or broken, exchange)
        finally:
            self._record(exchange)

    async def _answer(self, exchange: Exchange, scope: AsgiScope, receive: Receive, send: Send) -> Encoded | None:
        """Admit, read and handle a request; returns the encoded response, or None if it was sent as a stream.

        What it holds of the request and the response is freed when it returns, before their memory is given back.
        """
        route, found, key = self._admit(exchange, scope)
        path = route.path(*found) if found else ()
        query = route.parse_query(scope["query_string"])
        if key is not None and key.rankings is not None:
            await self._check_ranking(self.handlers, key, route, path)
        body = await self._read_body(exchange, route, route.decode, receive)
        request = HttpRequest(path, query, body, "" if key is None else key.name, key)
        response = await self._handle(exchange, self.handlers, route, request)
        if isinstance(response, StreamResponse):
            await self._stream(exchange, response, receive, send)
            return None
        return self._encoded(exchange, route, response)

    def _admit(self, exchange: Exchange, scope: AsgiScope) -> tuple[CompiledRoute, list[str], KnownKey | None]:
        """The route of a request, its raw parameters, and the key by which it is admitted."""
        route, found = self._find_route(exchange, scope)
        if route.for_browsers:
            self._check_origin(exchange, route, scope)
        key = self._key_of(exchange, route, scope)
        if key is not None:
            exchange.caller, exchange.key = key.name, key
            self._metrics.requests_by_key[key.name] += 1
        check_accept(exchange.headers.get(b"accept"), route.media)
        return route, found, key

    def _find_route(self, exchange: Exchange, scope: AsgiScope) -> tuple[CompiledRoute, list[str]]:
        """The route of a request, refused where too many are in flight, and its raw parameters."""
        raw_path = scope.get("raw_path")
        try:
            route, found = self._find(exchange.method, raw_path if raw_path is not None else scope["path"].encode())
        except HttpProblem:
            # The limits also apply to unknown paths.
            exchange.admission.admit(None, exchange.headers, scope, exchange.address)
            raise
        exchange.label, exchange.for_visitors = route.label, route.for_visitors
        self._check_in_flight(route)
        return route, found

    def _share_of(self, exchange: Exchange) -> BudgetShare:
        """The share of the budget for large bodies that the caller of an admitted request has."""
        if exchange.key is not None:
            return self._bodies.share_of(exchange.key.name, "", True)
        return self._bodies.share_of(None, exchange.address, bool(exchange.admission.keys))

    def _key_of(self, exchange: Exchange, route: CompiledRoute | None, scope: AsgiScope) -> KnownKey | None:
        """The key by which a request is admitted; None if it needs none."""
        return exchange.admission.admit(route, exchange.headers, scope, exchange.address)

    def _check_in_flight(self, route: CompiledRoute) -> None:
        if route.limited and self._metrics.working >= self._max_in_flight:  # health is told, above all under load
            raise busy(self._max_in_flight)

    async def _read_body(
        self, exchange: Exchange, route: CompiledRoute, decode: Decode | None, receive: Receive
    ) -> Any:
        """The decoded body of a request, which counts in `working` from now on, if its route is limited.

        Not before: whoever sends many heads with the first bytes of their bodies would keep everybody out.
        """
        body: Any = None
        if decode is not None:
            raw = None if exchange.whole is None else exchange.whole.body()
            share = self._share_of(exchange) if raw is None or len(raw) > LARGE_BODY else None
            body, exchange.held = await self._bodies.read(route, decode, exchange.headers, raw, receive, share)
        self._check_in_flight(route)
        if route.limited:
            exchange.works = True
            self._metrics.working += 1
        return body

    def _check_origin(self, exchange: Exchange, route: CompiledRoute, scope: AsgiScope) -> None:
        """Let a page of a named origin read the reply, also that it sent too much; refuse others."""
        origins = exchange.admission.origins
        try:
            exchange.cors = origins.admit(exchange.headers)
            origins.check_tokens()
        except HttpProblem:
            # The limits also apply to other origins.
            exchange.admission.admit(route, exchange.headers, scope, exchange.address)
            raise

    async def _handle(
        self, exchange: Exchange, handlers: Handlers, route: CompiledRoute, request: HttpRequest
    ) -> Response:
        """Call the handler, with the memory for its response."""
        try:
            if route.reply_size is not None:
                exchange.held = await self._bodies.hold_reply(route.reply_size(handlers, request))
            response = await route.handler(handlers, request)
        except (HttpProblem, Refused) as refused:
            await handlers.service.settle()  # the reason for the refusal may not be committed yet
            key = request.key
            if isinstance(refused, UnknownRanking) and key is not None and key.rankings is not None:
                raise NotFound(f"There is no ranking {refused.name!r}.") from None  # suggests no other
            raise
        exchange.status = route.status
        if route.is_change:  # only now is it sure that the name is that of a ranking, and no secret
            ranking: str = request.path[0] if request.body is None or request.path else request.body.name
            settings = request.body.given if isinstance(request.body, RankingChange) else ()
            self._log.change(exchange.request_id, route.route.name, ranking, exchange.caller, settings)
        return response

    async def _stream(self, exchange: Exchange, response: StreamResponse, receive: Receive, send: Send) -> None:
        """Send a long response, which takes as long as its reader does."""
        self._stop_working(exchange)
        stream = StreamReply(response, self._share_of(exchange))
        await stream.send(exchange.status, exchange.request_id, receive, send, exchange.method == "HEAD")
        exchange.size = stream.size

    def _encoded(self, exchange: Exchange, route: CompiledRoute, response: Response) -> Encoded:
        """The body, the media type and further headers of a response."""
        media, more = route.media, _NO_HEADERS
        if isinstance(response, Struct):  # the most frequent case
            content = self._encode(response)
        elif isinstance(response, RawResponse):
            exchange.status = response.status
            return response.body, response.media.encode(), response.headers
        elif isinstance(response, JsonResponse):
            exchange.status, more = response.status, response.headers
            content = self._encode(response.body)
        else:
            content = b""
        if len(content) > PIECE:
            exchange.sending = self._bodies.hold_content(self._share_of(exchange), len(content))
        return content, media, more

    def _encoded_problem(self, exchange: Exchange, error: Exception) -> Encoded:
        """The response to a request that failed."""
        problem = self._problem(error, exchange.request_id, exchange.label)
        exchange.status = problem.status
        return self._encode(problem.body), _PROBLEM, problem.headers

    def _stop_working(self, exchange: Exchange) -> None:
        if exchange.works:
            exchange.works = False
            self._metrics.working -= 1

    def _give_back(self, exchange: Exchange) -> None:
        """Give back what a request held until its response was made."""
        self._stop_working(exchange)
        if exchange.held:
            self._bodies.memory.give_back(exchange.held)
            exchange.held = 0

    def _record(self, exchange: Exchange) -> None:
        """Give back everything, and count and log a request that is over."""
        self._metrics.in_flight -= 1
        if exchange.works or exchange.held:
            self._give_back(exchange)
        if exchange.sending:
            self._share_of(exchange).give_back(exchange.sending)
        status, label, address = exchange.status, exchange.label, ""
        caller = "" if exchange.for_visitors and status not in _REFUSED else exchange.caller
        seconds = perf_counter() - exchange.started
        self._metrics.count_request(exchange.method if label != _UNROUTED else "", label, status, seconds)
        if status in _REFUSED:
            address = exchange.address
            caller = exchange.admission.refused_caller(exchange.headers.get(b"authorization"), status) or caller
        self._log.request(exchange.request_id, exchange.method, label, status, seconds, caller, exchange.size, address)
        self._garbage.count_request()

    def record_unread(self, problem: HttpProblem, caller: str, size: int) -> bytes:
        """Count and log a request that the HTTP parser refused, so that it never got here; its request id."""
        request_id = self._ids.of(None)
        self._metrics.count_request("", _UNROUTED, problem.status, 0.0)
        self._log.request(request_id, "", _UNROUTED, problem.status, 0.0, caller, size)
        return request_id

    def log_refused(self, counts: Mapping[Refusal, int]) -> None:
        """Log how many connections were refused since the start, by the limit that they broke."""
        self._log.event("connections refused", counts=counts)

    async def _check_ranking(
        self, handlers: Handlers, key: KnownKey, route: CompiledRoute, path: tuple[Any, ...]
    ) -> None:
        """Raise a problem if a request concerns a ranking that its key is not for."""
        if route.names[:1] == ["name"]:
            key.check_ranking(path[0])
        elif route.names == ["impression"]:
            ranking = await handlers.service.queries.ranking_of(path[0])
            if ranking is not None:  # else the request has no effect
                key.check_ranking(ranking)
        elif not route.route.checks_rankings:
            key.check_ranking(None)

    def _problem(self, error: Exception, request_id: bytes, label: str) -> HttpProblem:
        """The problem to send for an error."""
        match error:
            case HttpProblem():
                return error
            case Disconnected() | BrokenStream():
                raise error
            case NotFound():
                return HttpProblem("not-found", str(error))
            case Conflict():
                return HttpProblem("conflict", str(error), problems.faults(error))
            case Refused():
                return problems.refusal(error)
            case InvalidInput():
                return problems.invalid(str(error))
            case StoreUnavailable():
                self._log.event("store unavailable", request_id=request_id.decode("latin-1"), detail=str(error))
                return HttpProblem("store-unavailable", str(error), headers=_retry_after(error.retry_after))
            case TooManyReads():
                return HttpProblem("too-many-requests", str(error), headers=_retry_after(error.retry_after))
        self._log.failure("unforeseen", error, request_id=request_id.decode("latin-1"), route=label)
        return HttpProblem("unforeseen", "An unexpected error; the log has details under this response's X-Request-Id.")

    def _log_broken(self, error: BaseException, exchange: Exchange) -> None:
        detail = {"detail": str(error)} if isinstance(error, StoreUnavailable) else {}
        request_id = exchange.request_id.decode("latin-1")
        self._log.failure("response broken off", error, request_id=request_id, route=exchange.label, **detail)


def make_app(service: Service, settings: Settings, log: Log | None = None) -> App:
    """The application in front of a service, which the caller starts and stops."""
    log = log or Log(settings.logs.requests)
    return App(make_handlers(service, settings, log), log)


def make_handlers(service: Service, settings: Settings, log: Log) -> Handlers:
    """The handlers in front of a service."""
    description = openapi.document_json(with_keys=bool(settings.keys))
    connections = ConnectionLimits(settings.limits, TrustedProxies(settings.proxies))
    return Handlers(service, settings, Metrics(service, connections, log), description)


def make_health_app(app: App, log: Log) -> App:
    """The application of the listener for health checks, which are answered whatever host they name."""
    return App(app.handlers, log, [route for route in ROUTES if not route.limited], any_host=True)


def busy(limit: int) -> HttpProblem:
    """The problem where too many requests are in flight."""
    return HttpProblem(
        "busy", f"{limit} requests are in flight, the limit; try again soon.", headers={"retry-after": "1"}
    )


def _retry_after(seconds: float) -> dict[str, str]:
    return {"retry-after": str(max(1, math.ceil(seconds)))}


async def _lifespan(receive: Receive, send: Send) -> None:
    """Acknowledge startup and shutdown; the caller of the application starts and stops the service."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
