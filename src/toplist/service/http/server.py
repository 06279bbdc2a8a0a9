"""The HTTP server: uvicorn with our signals and limits, and the socket it listens on."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toplist.core.problem import InvalidInput, refuse
from toplist.service.config import Limits, Settings
from toplist.service.http.app import App
from toplist.service.http.problems import HttpProblem, too_slow
from toplist.service.wire import PROBLEM_MEDIA


class Server(uvicorn.Server):
    """uvicorn's server without its signal handlers; `started_event` is set once it accepts requests."""

    def __init__(self, app: App, settings: Settings) -> None:
        super().__init__(_configuration(app, settings))
        self.started_event = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none: `run` handles signals, and closes the store after the last response."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept requests."""
        await super().startup(sockets)
        self.started_event.set()


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with limits on the head of a request, and with problem+json for unreadable requests.

    Such a request does not reach the application, but its log and metrics. The API key is unknown before the head is
    read, so the size and time of the head are limited here. A complete head is counted exactly; of an unfinished one,
    the chunk in which it begins is not counted.
    """

    limits = Limits()
    record_unread: Callable[[HttpProblem, str, int], bytes]  # counts and logs an unreadable request; its request id

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True  # or between requests
        self._head_begun = False
        self._boundary = False  # whether a request began or ended in this chunk
        self._raw = self._parsed = 0  # bytes of the head, received and parsed
        self._refusal: HttpProblem | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first request."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse a chunk, and check the limits of the head."""
        self._boundary = False
        super().data_received(data)
        if not self._in_head or self._refusal is not None:
            return
        if not self._boundary:
            self._raw += len(data)
        if self._raw > self.limits.head_bytes:
            self.refuse(_too_large(self.limits.head_bytes))
        elif self._timer is None and (self._head_begun or self._raw):
            self._start_timer()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._head_begun = self._boundary = True
        self._raw = self._parsed = 0

    def on_url(self, url: bytes) -> None:
        """Count a part of the request target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete: stop its timer."""
        self._in_head = self._head_begun = False
        self._raw = 0
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._in_head = self._boundary = True
        super().on_message_complete()

    def _count(self, more: int) -> None:
        self._parsed += more
        if self._parsed > self.limits.head_bytes:
            problem = _too_large(self.limits.head_bytes)
            self._refusal = problem  # the parser turns any exception into a 400; `send_400_response` sends this instead
            raise problem

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.limits.seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._start_timer()  # the previous request has no response yet
        elif self._head_begun:
            self.refuse(too_slow("head", self.limits.seconds))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser failed on."""
        self.refuse(self._refusal or HttpProblem("malformed", msg))

    def refuse(self, problem: HttpProblem) -> None:
        """Send a problem and close the connection."""
        self._refusal = problem
        self._stop_timer()
        body = msgspec.json.encode(problem.body)
        request_id = self.record_unread(problem, self.client[0] if self.client else "", len(body))
        head = (
            f"HTTP/1.1 {problem.status} {problem.body.title}",
            f"content-type: {PROBLEM_MEDIA}",
            f"content-length: {len(body)}",
            f"x-request-id: {request_id.decode('ascii')}",
            "connection: close",
        )
        self.transport.write("\r\n".join((*head, "", "")).encode() + body)
        self.transport.close()


def _too_large(limit: int) -> HttpProblem:
    return HttpProblem("head-too-large", f"The head of the request has more than {limit} bytes; send fewer headers.")


def _configuration(app: App, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=type(
            "AppProtocol", (Protocol,), {"limits": settings.limits, "record_unread": staticmethod(app.record_unread)}
        ),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies or None,
        timeout_graceful_shutdown=settings.grace,
    )


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket, or the error that says why there can be none."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise refuse("The host", host, "an address of this machine", f"name another one ({error})") from None
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            raise _listen_error(host, port, error) from None
        listener.listen(2048)
        listener.setblocking(False)
        yield listener


def _listen_error(host: str, port: int, error: OSError) -> InvalidInput:
    match error.errno:
        case errno.EADDRINUSE:
            return refuse(
                "The port", port, "free", "another process listens there; end it, or name another with --port"
            )
        case errno.EACCES:
            return refuse("The port", port, "one that you may use", "take one above 1023")
        case errno.EADDRNOTAVAIL:
            return refuse("The host", host, "an address of this machine", "name another one")
    return refuse("The address", f"{host}:{port}", "one to listen on", str(error))


def url(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
