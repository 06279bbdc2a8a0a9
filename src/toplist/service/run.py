"""Runs the service: opens the store, serves, runs periodic work, and stops without losing a response."""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, NoReturn

import uvloop
from msgspec.structs import replace

from toplist import __version__
from toplist.service.check_policies import load_checked_policies
from toplist.service.cluster_settings import check_cluster
from toplist.service.garbage import rare_garbage_collection
from toplist.service.http.addresses import TrustedProxies
from toplist.service.http.app import App, make_health_app
from toplist.service.http.connection_limits import ConnectionLimits, allow_files
from toplist.service.http.log_stream import LogStream
from toplist.service.http.logs import JsonLogHandler, Log
from toplist.service.http.server import Server, listening, url
from toplist.service.http.tls import load_tls
from toplist.service.live.service import Service
from toplist.service.read_settings import check_reach
from toplist.service.reload import Reload
from toplist.service.serving import Serving, ServingAlone, service_of
from toplist.service.settings import Limits, Settings
from toplist.service.store.address import checked_store, is_database, shown_store
from toplist.service.worker_threads import WorkerThreads
from toplist.support.files import private_files

HEALTH_LIMITS = Limits(connections=64, address_connections=32)  # of the second listener
LARGE_ARRAY = 1 << 20  # bytes
M_MMAP_THRESHOLD = -3  # of mallopt, in glibc's malloc.h
SWITCH_EVERY = 0.00005  # seconds after which another thread gives way to requests; see sys.setswitchinterval


def serve(
    settings: Settings,
    *,
    on_ready: Callable[[str], None] = lambda _: None,
    open_service: Callable[[Any, Settings], Service] | None = None,
    read_again: Callable[[], Settings] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called with the URL once requests are accepted.

    On SIGHUP, `read_again` reads the settings, and those that can change while the service runs are applied.
    """
    check_reach(settings)
    check_cluster(settings.cluster, is_database(settings.store))
    store = checked_store(settings.store)
    with ExitStack() as opened:
        listener = opened.enter_context(listening(settings.host, settings.port))
        health = settings.health
        listeners = [listener]
        if health.port is not None:
            listeners.append(opened.enter_context(listening(health.host, health.port)))
        among = settings.cluster
        others = None if among.port is None else opened.enter_context(listening(among.host, among.port))
        log = opened.enter_context(log_to_stderr(settings))
        tls = load_tls(settings.tls, log)
        reload = None if read_again is None else partial(Reload, settings, read_again, log)
        settings = with_files(settings, log)
        load_checked_policies(settings.policies, log.event)
        return_freed_memory()
        # Segments and items may be personal data: files are private_files.
        with (
            private_files(),
            libraries_logged(log),
            rare_garbage_collection(),
            short_turns(),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            service: Serving
            if others is None:
                service = ServingAlone((open_service or service_of)(store, settings), settings, log)
            else:  # whose driver is optional
                together = importlib.import_module("toplist.service.serving_together")
                service = together.ServingTogether(settings, others, log)
            runner.get_loop().set_default_executor(workers := WorkerThreads())
            runner.run(_serve(settings, service, listeners, tls, log, on_ready, reload))
    if service.is_compiling or workers.is_busy:
        _exit_now()


def _exit_now() -> NoReturn:
    """Exit at once; everything is committed and closed.

    Work in threads, as estimates of a large learner, cannot be stopped and may take minutes. Neither can the compiler,
    which takes up to half a minute. A process that waits for it would be killed, and an
    interpreter that shuts down while the compiler thread works may crash. The compiler writes each cache file under
    another name and renames it when it is complete, so an incomplete one is never read.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


async def _serve(
    settings: Settings, service: Serving, listeners: list[socket.socket], tls: ssl.SSLContext | None, log: Log,
    on_ready: Callable[[str], None], make_reload: Callable[[Sequence[App], Server], Reload] | None,
) -> None:  # fmt: skip
    """Start the service, serve until a signal, and stop the service; the second listener is for health checks."""
    app = service.app
    server = Server(app, settings, app.handlers.metrics.connections, tls)
    health_app = make_health_app(app, log)
    health = Server(health_app, settings, ConnectionLimits(HEALTH_LIMITS, TrustedProxies(())))
    stop_requested = asyncio.Event()

    def stop() -> None:
        server.force_exit = health.force_exit = stop_requested.is_set()  # the second signal waits for no requests
        stop_requested.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    if make_reload is not None:
        reload, had_terminal = make_reload([app, health_app], server), _has_terminal()

        def hang_up() -> None:
            if had_terminal and not _has_terminal():  # whoever started the service has closed its window
                stop()
            else:
                reload()

        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hang_up)
    await service.start()
    try:
        serving = asyncio.create_task(server.serve(sockets=listeners[:1]))
        checking = asyncio.create_task(health.serve(sockets=listeners[1:])) if listeners[1:] else None
        stopping = asyncio.create_task(stop_requested.wait())
        started = asyncio.create_task(server.started_event.wait())
        await asyncio.wait({serving, started}, return_when=asyncio.FIRST_COMPLETED)
        address = url(listeners[0], tls=tls is not None)
        log.event(
            "ready", address=address, version=__version__, store=shown_store(settings.store), keys=len(settings.keys)
        )
        on_ready(address)
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        log.event("ending", in_flight=app.handlers.metrics.in_flight)
        app.handlers.stopping = True  # load balancers that poll /readyz send requests elsewhere
        app.handlers.playground.stop()
        service.begin_stop()
        if not serving.done():
            await asyncio.wait({serving, asyncio.create_task(service.leave())}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await serving
        if checking is not None:  # after the last response: until then, it says that the process lives
            health.should_exit = True
            await checking
    finally:
        await app.handlers.playground.close()
        await service.stop()
        log.event("ended")


def _has_terminal() -> bool:
    """Whether standard input is a terminal that is still there."""
    try:
        return os.isatty(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def log_to_stderr(settings: Settings) -> Iterator[Log]:
    """The log of a process, which never waits for whoever reads stderr."""
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError):  # in memory, or closed
        yield Log(settings.logs.requests)
        return
    stream = LogStream(descriptor)
    try:
        yield Log(settings.logs.requests, stream)
    finally:
        stream.close()


def with_files(settings: Settings, log: Log) -> Settings:
    """The settings with as many connections as the process may open files for."""
    limits = settings.limits
    connections = allow_files(limits.connections)
    if connections < limits.connections:
        log.event("connections limited", wanted=limits.connections, connections=connections, detail="ulimit -n")
    return replace(settings, limits=replace(limits, connections=connections))


@contextmanager
def short_turns() -> Iterator[None]:
    """Let other threads give way sooner: those that compile, copy learners or replay events.

    A request lets go of the interpreter at every statement of SQLite, and then waits so long to go on. By Python's own
    5 ms, a commit of a few rows beside one busy thread would take a tenth of a second.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_EVERY)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def return_freed_memory() -> None:
    """Let glibc return large arrays to the system when they are freed; by itself it would soon keep them."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)


@contextmanager
def libraries_logged(log: Log) -> Iterator[None]:
    """Write the warnings of other libraries to our log."""
    root, handler = logging.getLogger(), JsonLogHandler(log)
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
