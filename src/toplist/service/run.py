"""Runs the service: opens the store, listens, closes what is due, and ends without losing a reply."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toplist import __version__
from toplist.core.problem import InvalidInput, refuse
from toplist.service.config import Limits, Settings, check_reach
from toplist.service.errors import StoreUnavailable
from toplist.service.http.app import App, make_app
from toplist.service.http.logs import Handler, Log
from toplist.service.http.problems import MEDIA, Problem, too_slow
from toplist.service.live.service import Desk
from toplist.support.files import check_writable, private_files

CLOSING = 0.1  # seconds between two looks for impressions whose click window has closed
RETAINING = 60.0  # and for those that are older than they are kept
PURGING = 0.1  # and for what deleted rankings left behind
COLLECTED_AFTER = (20_000, 20, 50)  # new objects, and collections of those of a generation before the next older


def serve(
    settings: Settings,
    *,
    told: Callable[[str], None] = lambda _: None,
    opened: Callable[[Path, Settings], Desk] | None = None,
) -> None:
    """Serve until a signal ends it; `told` is called with the address once requests are taken."""
    check_reach(settings)
    store = check_writable(settings.store, "The store")
    with listening(settings.host, settings.port) as listener:
        log = Log(settings.logs.requests)
        # Keys of learners and items are other people's business.
        with (
            private_files(),
            logged(log),
            seldom_collected(),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            desk = (opened or _desk)(store, settings)
            runner.run(_serve(settings, desk, listener, log, told))
    if desk.compiling:
        _leave()


def _leave() -> NoReturn:
    """End the process at once, which has closed and committed everything.

    The compiler cannot be stopped, and takes up to half a minute. To wait for it would be to be killed, and to let the
    interpreter end beside it would take away from under it what it works with, which may crash. What it writes for the
    next start, it writes beside the files of the cache, and renames whole: half of one is never read.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


def _desk(store: Path, settings: Settings) -> Desk:
    return Desk(store, hot_bytes=settings.memory << 20)


async def _serve(
    settings: Settings, desk: Desk, listener: socket.socket, log: Log, told: Callable[[str], None]
) -> None:
    """The life of the service, from the opening of the store to its closing."""
    app = make_app(desk, settings, log)
    server = Server(_uvicorn(app, settings))
    ending = asyncio.Event()

    def end() -> None:
        server.force_exit = ending.is_set()  # asked twice, it waits for nobody
        ending.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end)
    await desk.start()
    chores: list[asyncio.Task[None]] = []
    try:
        chores = [
            asyncio.create_task(repeated(desk.close_due, CLOSING, log, "closing")),
            asyncio.create_task(repeated(desk.retain, RETAINING, log, "retaining")),
            asyncio.create_task(repeated(desk.purge, PURGING, log, "purging")),
        ]
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        asked_to_end = asyncio.create_task(ending.wait())
        begun = asyncio.create_task(server.begun.wait())
        await asyncio.wait({serving, begun}, return_when=asyncio.FIRST_COMPLETED)
        address = url(listener)
        log.tell("ready", address=address, version=__version__, store=settings.store, keys=len(settings.keys))
        told(address)
        await asyncio.wait({serving, asked_to_end}, return_when=asyncio.FIRST_COMPLETED)
        log.tell("ending", in_flight=app.endpoints.metrics.in_flight)
        app.endpoints.ending = True  # whoever asks whether it is ready sends the next requests elsewhere
        desk.end()
        server.should_exit = True
        await serving
    finally:
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)
        await desk.stop()
        log.tell("ended")


class Server(uvicorn.Server):
    """uvicorn's, that leaves signals to us and says when it has begun."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are ours: the store is closed after the last reply, and then it is over."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self.begun.set()


class Protocol(HttpToolsProtocol):
    """uvicorn's, that says in our form what it cannot read; such a request never reaches the application, but its log.

    Nobody's key is known before the head of a request is read, so its bytes and its time are limited here. The bytes of
    a whole head are counted to the last; of one that does not end, a piece as it came from the network goes uncounted.
    """

    limits = Limits()
    unread: Callable[[Problem, str, int], bytes]  # tells of such a request, and names it

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._in_head = True  # or before one
        self._begun = False  # whether there is something of a head
        self._moved = False  # whether a request began or ended in this piece
        self._raw = self._parsed = 0  # bytes of the head
        self._refusal: Problem | None = None
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Somebody has left."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A piece came."""
        self._moved = False
        super().data_received(data)
        if not self._in_head or self._refusal is not None:
            return
        if not self._moved:
            self._raw += len(data)
        if self._raw > self.limits.head_bytes:
            self.refuse(_too_large(self.limits.head_bytes))
        elif self._late is None and (self._begun or self._raw):
            self._wait()

    def on_message_begin(self) -> None:
        """The first line begins."""
        super().on_message_begin()
        self._begun = self._moved = True
        self._raw = self._parsed = 0

    def on_url(self, url: bytes) -> None:
        """A part of the first line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header is whole."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head = self._begun = False
        self._raw = 0
        self._wait_no_more()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body is whole, too."""
        self._in_head = self._moved = True
        super().on_message_complete()

    def _count(self, more: int) -> None:
        self._parsed += more
        if self._parsed > self.limits.head_bytes:
            problem = _too_large(self.limits.head_bytes)
            self._refusal = problem  # which the parser, that only knows that we fail, ends as a bad request
            raise problem

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.limits.seconds, self._give_up)

    def _wait_no_more(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait()  # first the reply to the request before
        elif self._begun:
            self.refuse(too_slow("head", self.limits.seconds))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, and close the connection."""
        self.refuse(self._refusal or Problem("malformed", msg))

    def refuse(self, problem: Problem) -> None:
        """Say why, and close the connection."""
        self._refusal = problem
        self._wait_no_more()
        body = msgspec.json.encode(problem.body)
        request_id = self.unread(problem, self.client[0] if self.client else "", len(body))
        head = f"HTTP/1.1 {problem.status} {problem.body.title}\r\ncontent-type: {MEDIA}\r\ncontent-length: {len(body)}"
        name = request_id.decode("ascii")
        self.transport.write(f"{head}\r\nx-request-id: {name}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()


def _too_large(limit: int) -> Problem:
    return Problem("head-too-large", f"The head of the request has more than {limit} bytes; send fewer headers.")


def _uvicorn(app: App, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=type("Limited", (Protocol,), {"limits": settings.limits, "unread": staticmethod(app.unread)}),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies or None,
        timeout_graceful_shutdown=settings.grace,
    )


async def repeated(work: Callable[[], Awaitable[Any]], seconds: float, log: Log, name: str) -> None:
    """Do something again and again, whatever happens to it."""
    troubled = False
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
            troubled = False
        except StoreUnavailable as error:
            if not troubled:  # once is enough, as it will go on for a while
                log.tell("store unavailable", during=name, detail=str(error))
            troubled = True
        except Exception as error:
            if not troubled:
                log.fault("unforeseen", error, during=name)
            troubled = True


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens, or the error that says why none can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as problem:
        raise refuse("The host", host, "an address of this machine", f"name another one ({problem})") from None
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as problem:
            raise _unlistenable(host, port, problem) from None
        listener.listen(2048)
        listener.setblocking(False)
        yield listener


def _unlistenable(host: str, port: int, problem: OSError) -> InvalidInput:
    match problem.errno:
        case errno.EADDRINUSE:
            return refuse(
                "The port", port, "free", "another process listens there; end it, or name another with --port"
            )
        case errno.EACCES:
            return refuse("The port", port, "one that you may use", "take one above 1023")
        case errno.EADDRNOTAVAIL:
            return refuse("The host", host, "an address of this machine", "name another one")
    return refuse("The address", f"{host}:{port}", "one to listen on", str(problem))


def url(listener: socket.socket) -> str:
    """Where it can be called."""
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for garbage in cycles less often: requests leave hardly any, and everything in memory is looked through."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()  # what is there from the beginning stays to the end
    gc.set_threshold(*COLLECTED_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def logged(log: Log) -> Iterator[None]:
    """What other libraries have to say, in our log."""
    root, handler = logging.getLogger(), Handler(log)
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        with suppress(OSError, ValueError):
            log.flush()
