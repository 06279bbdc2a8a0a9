"""The HTTP server: uvicorn with our signals and limits, and the socket it listens on."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import uvicorn

from toplist.core.problem import InvalidInput, refuse
from toplist.service.http.app import App
from toplist.service.http.connection import Connection, problem_response
from toplist.service.http.connection_limits import ConnectionLimits
from toplist.service.http.problems import HttpProblem
from toplist.service.http.tls import GOODBYE, HANDSHAKE, STRICT_TRANSPORT
from toplist.service.settings import Settings

_UNSENT = 128 << 10  # bytes in the kernel that a slow reader does not take; it would buffer megabytes
_ACCEPTS = 128  # connections accepted before others are served
_PAUSE = 0.1  # seconds without new connections where there are too many open files
CHECKED_AT_ONCE = 32  # connections; to ask how much of a response was taken needs a call of the system each
_LOG_EVERY = 10.0  # seconds between two lines about refused connections


class Server(uvicorn.Server):
    """uvicorn's server with limits of connections; `started_event` is set once it accepts requests.

    With `tls`, which may be replaced at any time, new connections begin with a TLS handshake.
    """

    def __init__(
        self, app: App, settings: Settings, counts: ConnectionLimits, tls: ssl.SSLContext | None = None
    ) -> None:
        self._app, self._limits, self.counts, self.tls = app, settings.limits, counts, tls
        super().__init__(_configuration(app, settings, counts, [STRICT_TRANSPORT] if tls is not None else []))
        self.started_event = asyncio.Event()
        self._checking: asyncio.Task[None] | None = None
        self._beginning: set[asyncio.Task[None]] = set()  # connections

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none: `run` handles signals, and closes the store after the last response."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, many at once: uvloop accepts one, and then serves all others before the next."""
        self.servers = []
        for listener in sockets or []:
            self._listen(listener)
        self._checking = asyncio.create_task(self._check_connections())
        self.started = True
        self.started_event.set()

    def _listen(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        """Accept or refuse new connections."""
        for _ in range(_ACCEPTS):
            try:
                accepted, peer = listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                continue  # it has gone already
            except OSError:  # too many files or too little memory: let connections end
                self.counts.refused["files"] += 1
                loop = asyncio.get_running_loop()
                loop.remove_reader(listener)
                loop.call_later(_PAUSE, self._listen, listener)
                return
            accepted.setblocking(False)
            refused = self.counts.refusal(peer[0])
            if refused is not None:
                with accepted, suppress(OSError):
                    if self.tls is None:  # else the client could not read it
                        accepted.send(_TOO_MANY[refused])  # not logged one by one: a line has their number
                continue
            connection: Connection = self.config.http_protocol_class(  # type: ignore[call-arg, assignment]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )
            connection.begin(peer[0])
            begun = asyncio.create_task(self._connect(connection, accepted))
            if self.tls is not None:
                connection.end_handshake = begun.cancel
            self._beginning.add(begun)
            begun.add_done_callback(partial(self._begun, connection, accepted))

    async def _connect(self, connection: Connection, accepted: socket.socket) -> None:
        """Serve an accepted connection, after the handshake of TLS."""
        options: dict[str, Any] = {}
        if self.tls is not None:
            handshake = min(HANDSHAKE, self._limits.seconds)
            options = {"ssl": self.tls, "ssl_handshake_timeout": handshake, "ssl_shutdown_timeout": GOODBYE}
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, accepted, **options)
        except OSError:  # it has gone already, or its handshake failed or took too long
            if options:
                self.counts.refused["handshake"] += 1
            connection.give_up()
            accepted.close()

    def _begun(self, connection: Connection, accepted: socket.socket, begun: asyncio.Task[None]) -> None:
        """A connection was made or given up."""
        self._beginning.discard(begun)
        connection.end_handshake = None  # it holds the task, which holds the connection
        if begun.cancelled():  # perhaps before its first step
            self.counts.refused["handshake"] += 1
            connection.give_up()
            accepted.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, answer requests in flight, and close all connections."""
        for listener in sockets or []:
            asyncio.get_running_loop().remove_reader(listener)
        if self.tls is not None:
            for begun in self._beginning:  # they have sent no request yet
                begun.cancel()
        await super().shutdown(sockets)
        if self._checking is not None:
            self._checking.cancel()

    async def _check_connections(self) -> None:
        """Close connections whose clients let them wait too long, and log how many were refused."""
        loop = asyncio.get_running_loop()
        every = min(1.0, self._limits.seconds / 4, self._limits.idle / 4)
        logged, logged_at = 0, 0.0
        while True:
            await asyncio.sleep(every)
            if self.counts.refused.total() > logged and loop.time() - logged_at > _LOG_EVERY:
                logged, logged_at = self.counts.refused.total(), loop.time()
                self._app.log_refused(self.counts.refused)
            await self.check_all()

    async def check_all(self) -> None:
        """Close connections whose clients let them wait too long; others are served between some of a thousand."""
        loop, connections = asyncio.get_running_loop(), self.server_state.connections
        for number, connection in enumerate(list(connections), 1):
            if connection in connections:
                cast(Connection, connection).check(loop.time())
            if number % CHECKED_AT_ONCE == 0:
                await asyncio.sleep(0)


def _too_many(detail: str) -> bytes:
    return problem_response(HttpProblem("busy", detail, headers={"retry-after": "1"}), b"-")


_TOO_MANY = {
    "address": _too_many("Your address has too many connections; close some, or reuse them."),
    "total": _too_many("There are too many connections; try again soon."),
}


def _configuration(
    app: App, settings: Settings, counts: ConnectionLimits, headers: list[tuple[str, str]]
) -> uvicorn.Config:
    shared = {"limits": settings.limits, "counts": counts, "record_unread": staticmethod(app.record_unread)}
    return uvicorn.Config(
        app,
        http=type("AppConnection", (Connection,), shared),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=headers,
        proxy_headers=False,  # `App` reads them
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
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # Linux; connections inherit it
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
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


def url(listener: socket.socket, *, tls: bool) -> str:
    """The URL of a listening socket."""
    host, port, *_ = listener.getsockname()
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
