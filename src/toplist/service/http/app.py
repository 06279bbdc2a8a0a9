"""The ASGI application: admits, reads and answers requests; every error is sent as problem+json."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, MutableMapping
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct

from toplist.core.problem import InvalidInput
from toplist.service.config import Settings
from toplist.service.errors import Conflict, NotFound, Refused, StoreUnavailable, UnknownRanking
from toplist.service.http import openapi, problems
from toplist.service.http.addresses import TrustedProxies
from toplist.service.http.admission import Admission
from toplist.service.http.auth import KnownKey
from toplist.service.http.bodies import COMPLETE, Bodies, Disconnected, Receive
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
from toplist.service.live.service import Service
from toplist.service.wire import PROBLEM_MEDIA, Fault

AsgiScope = MutableMapping[str, Any]
_PROBLEM = PROBLEM_MEDIA.encode()
_REFUSED = (401, 403, 421, 429)  # statuses of requests that were not admitted: their lines have the address
_UNROUTED = "(none)"  # label of all unknown paths, so that strangers cannot fill the metrics


class App:
    """The ASGI application; its caller starts and stops the service behind it."""

    def __init__(
        self, handlers: Handlers, log: Log, routes: Iterable[Route] = ROUTES, *, any_host: bool = False
    ) -> None:
        settings = handlers.settings
        self.handlers, self._log = handlers, log
        self._find = Router(routes).find
        self._admission = Admission(settings, log.event, any_host=any_host)
        self._ids = RequestIds()
        self._bodies = Bodies(settings.limits)
        self._max_in_flight = settings.limits.in_flight
        self._any_host = any_host  # see `Admission`
        self._encode = msgspec.json.Encoder().encode
        self._metrics = handlers.metrics

    def reload(self, settings: Settings) -> None:
        """Admit requests by new settings from now on; those admitted before are answered as before."""
        if bool(settings.keys) != bool(self._admission.keys):
            self.handlers.description = openapi.document_json(with_keys=bool(settings.keys))
        self._admission = Admission(settings, self._log.event, self._admission, any_host=self._any_host)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope; only HTTP is supported."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        request_id = self._ids.of(headers.get(b"x-request-id"))
        method: str = scope["method"]
        address = scope["client"][0] if scope.get("client") else ""
        admission, caller, label = self._admission, address, _UNROUTED
        status, size = 500, 0
        more: Mapping[str, str] = {}
        works = False  # whether it counts in `working`
        body: Any = None
        response: Response = None
        held = sending = 0  # bytes of the budgets of bodies
        self._metrics.in_flight += 1
        try:
            try:
                raw_path = scope.get("raw_path")
                try:
                    route, found = self._find(method, raw_path if raw_path is not None else scope["path"].encode())
                except HttpProblem:
                    admission.admit(None, headers, scope)  # the limits also apply to unknown paths
                    raise
                label = route.label
                if route.limited:  # health and metrics are answered, above all under load
                    if self._metrics.working >= self._max_in_flight:
                        raise _busy(self._max_in_flight)
                    works = True
                    self._metrics.working += 1
                caller, key = admission.admit(route, headers, scope)
                _check_accept(headers.get(b"accept"), route)
                path = route.path(*found) if found else ()
                query = route.parse_query(scope["query_string"])
                if key is not None and key.rankings is not None:
                    await self._check_ranking(key, route, path)
                if route.decode is not None:
                    is_complete = COMPLETE in scope
                    body, held = await self._bodies.read(route, route.decode, headers, receive, caller, is_complete)
                try:
                    request = HttpRequest(path, query, body, "" if key is None else key.name, key)
                    if route.reply_size is not None:
                        size = route.reply_size(self.handlers, request)
                        held = await self._bodies.hold_reply(size)
                    response = await route.handler(self.handlers, request)
                except (HttpProblem, Refused) as refused:
                    await self.handlers.service.settle()  # the reason for the refusal may not be committed yet
                    if isinstance(refused, UnknownRanking) and key is not None and key.rankings is not None:
                        raise NotFound(f"There is no ranking {refused.name!r}.") from None  # suggests no other
                    raise
                status, media = route.status, route.media
                if route.is_change:  # only now is it sure that the name is that of a ranking, and no secret
                    ranking: str = path[0] if body is None or path else body.name
                    self._log.change(request_id, route.route.name, ranking, caller)
                if isinstance(response, Struct):  # the most frequent case
                    content = self._encode(response)
                elif isinstance(response, StreamResponse):
                    works = False  # it takes as long as its reader does
                    self._metrics.working -= 1
                    stream = StreamReply(response, self._bodies.on_the_way, caller)
                    await stream.send(status, request_id, receive, send, method == "HEAD")
                    size = stream.size
                    return
                elif isinstance(response, RawResponse):
                    status, content, more = response.status, response.body, response.headers
                    media = response.media.encode()
                elif isinstance(response, JsonResponse):
                    status, content, more = response.status, self._encode(response.body), response.headers
                else:
                    content = b""
                if len(content) > PIECE and not isinstance(response, RawResponse):  # raw ones are always the same
                    sending = self._bodies.hold_content(caller, len(content))
            except Exception as error:
                problem = self._problem(error, request_id, label)
                status, more, media = problem.status, problem.headers, _PROBLEM
                content = self._encode(problem.body)
                del problem  # its traceback holds this frame and the body: a cycle, and garbage is collected rarely
            size = len(content)
            if works:  # a slow reader keeps nobody else waiting
                works = False
                self._metrics.working -= 1
            if held:
                body = response = None
                self._bodies.memory.give_back(held)
                held = 0
            await send_reply(send, status, content, media, request_id, more, method == "HEAD")
        except Disconnected:
            status = 499  # nginx's status for a client that closed the connection
        except BrokenStream as broken:
            # The head is sent, so no problem can be. The server closes a connection whose response is incomplete, by
            # which the client notices.
            status, size = 500, broken.size
            self._log_broken(broken.__cause__ or broken, request_id, label)
        finally:
            self._metrics.in_flight -= 1
            if works:
                self._metrics.working -= 1
            if held or sending:
                self._bodies.memory.give_back(held)
                self._bodies.on_the_way.give_back(caller, sending)
            seconds = perf_counter() - started
            self._metrics.count_request(method if label != _UNROUTED else "", label, status, seconds)
            if status in _REFUSED:
                caller = admission.refused_caller(headers.get(b"authorization"), status) or caller
            self._log.request(
                request_id, method, label, status, seconds, caller, size, address if status in _REFUSED else ""
            )

    def record_unread(self, problem: HttpProblem, caller: str, size: int) -> bytes:
        """Count and log a request that the HTTP parser refused, so that it never got here; its request id."""
        request_id = self._ids.of(None)
        self._metrics.count_request("", _UNROUTED, problem.status, 0.0)
        self._log.request(request_id, "", _UNROUTED, problem.status, 0.0, caller, size)
        return request_id

    def log_refused(self, counts: Mapping[Refusal, int]) -> None:
        """Log how many connections were refused since the start, by the limit that they broke."""
        self._log.event("connections refused", counts=counts)

    async def _check_ranking(self, key: KnownKey, route: CompiledRoute, path: tuple[Any, ...]) -> None:
        """Raise a problem if a request concerns a ranking that its key is not for."""
        if route.names[:1] == ["name"]:
            key.check_ranking(path[0])
        elif route.names == ["impression"]:
            ranking = await self.handlers.service.queries.ranking_of(path[0])
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
                wait = str(max(1, math.ceil(error.retry_after)))
                return HttpProblem("store-unavailable", str(error), headers={"retry-after": wait})
        self._log.failure("unforeseen", error, request_id=request_id.decode("latin-1"), route=label)
        return HttpProblem("unforeseen", "An unexpected error; the log has details under this response's X-Request-Id.")

    def _log_broken(self, error: BaseException, request_id: bytes, label: str) -> None:
        detail = {"detail": str(error)} if isinstance(error, StoreUnavailable) else {}
        self._log.failure("response broken off", error, request_id=request_id.decode("latin-1"), route=label, **detail)


def make_app(service: Service, settings: Settings, log: Log | None = None) -> App:
    """The application in front of a service, which the caller starts and stops."""
    description = openapi.document_json(with_keys=bool(settings.keys))
    log = log or Log(settings.logs.requests)
    connections = ConnectionLimits(settings.limits, TrustedProxies(settings.proxies))
    return App(Handlers(service, settings, Metrics(service, connections, log), description), log)


def make_health_app(app: App, log: Log) -> App:
    """The application of the listener for health checks, which are answered whatever host they name."""
    return App(app.handlers, log, [route for route in ROUTES if not route.limited], any_host=True)


def _busy(limit: int) -> HttpProblem:
    return HttpProblem(
        "busy", f"{limit} requests are in flight, the limit; try again soon.", headers={"retry-after": "1"}
    )


def _check_accept(accept: bytes | None, route: CompiledRoute) -> None:
    """Refuse a request whose Accept header excludes the media type of the route; most accept any."""
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
        detail = f"The response is {media}, which the Accept header excludes; accept it."
        raise HttpProblem("not-acceptable", detail, [Fault(header="Accept", detail=detail)])


def _weight(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


async def _lifespan(receive: Receive, send: Send) -> None:
    """Acknowledge startup and shutdown; the caller of the application starts and stops the service."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
