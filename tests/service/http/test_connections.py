"""Connections to a real server: limits, waiting, pipelining, half-closed ones; the time is given by hand."""

from __future__ import annotations

import asyncio
import gc
import io
import socket
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import uvloop
from asking import KEYS, SERVE, app_of
from double import Double

from toplist.service.http.connection import MOST_HEADERS, Connection
from toplist.service.http.logs import Log
from toplist.service.http.server import Server, listening
from toplist.service.http.tls import load_tls
from toplist.service.settings import Limits, Settings

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /v1/rankings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Host:
    """A running server."""

    def __init__(self, server: Server, address: tuple[str, int]) -> None:
        self.server, self.address = server, address
        self.opened: list[asyncio.StreamWriter] = []

    @property
    def connections(self) -> list[Connection]:
        return [cast(Connection, each) for each in self.server.server_state.connections]

    async def connect(self, source: str = "127.0.0.1", buffer: int = 0, **tls: Any) -> tuple[asyncio.StreamReader, Any]:
        raw = socket.socket()
        if buffer:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        raw.bind((source, 0))
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, self.address)
        reader, writer = await asyncio.open_connection(sock=raw, limit=2**10 if buffer else 2**20, **tls)
        self.opened.append(writer)
        return reader, writer

    async def end(self) -> None:
        for each in self.opened:
            each.transport.abort()
        await until(lambda: not self.connections)

    def check_after(self, seconds: float) -> None:
        for connection in self.connections:
            connection.check(asyncio.get_running_loop().time() + seconds)


@asynccontextmanager
async def hosted(**settings: Any) -> AsyncIterator[Host]:
    made = Settings(**settings)
    double = Double()
    app = app_of(double, made, io.StringIO())
    await double.start()
    with listening("127.0.0.1", 0) as listener:
        server = Server(app, made, app.handlers.metrics.connections, load_tls(made.tls, Log(stream=io.StringIO())))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await server.started_event.wait()
        host = Host(server, listener.getsockname()[:2])
        try:
            yield host
        finally:
            await host.end()
            server.should_exit = server.force_exit = True
            await serving


def run(work: Awaitable[None]) -> None:
    async def within() -> None:
        async with asyncio.timeout(30):
            await work

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(within())


async def until(reached: Callable[[], bool]) -> None:
    while not reached():
        await asyncio.sleep(0.005)


async def reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and body of the next response."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    return int(head.split()[1]), await reader.readexactly(length)


def test_a_body_that_nobody_wants_does_not_keep_a_connection() -> None:
    async def work() -> None:
        async with hosted(keys=KEYS) as host:
            reader, writer = await host.connect()
            writer.write(POST % 1000)
            assert (await reply(reader))[0] == 401
            writer.write(b"x")  # one more byte is no sign of life
            await asyncio.sleep(0.01)
            host.check_after(59)
            assert host.connections
            host.check_after(61)
            assert await reader.read() == b""
            reader, writer = await host.connect()
            writer.write(POST % 3)
            assert (await reply(reader))[0] == 401
            writer.write(b"{ }" + GET)
            assert (await reply(reader))[0] == 200  # a small one is dropped, and the connection goes on

    run(work())


def test_an_endless_body_that_nobody_wants_is_cut_off() -> None:
    async def work() -> None:
        async with hosted(keys=KEYS, limits=Limits(body_bytes=2000)) as host:
            reader, writer = await host.connect()
            writer.write(POST % 10**9)
            assert (await reply(reader))[0] == 401
            writer.write(b"x" * 3000)
            assert await reader.read() == b""

    run(work())


def test_idle_connections_and_unfinished_heads_are_closed() -> None:
    async def work() -> None:
        async with hosted(limits=Limits(idle=20.0)) as host:
            for sent, seconds, answer in ((b"", 21, b""), (GET, 21, b"HTTP/1.1 200"), (GET[:20], 61, b"HTTP/1.1 408")):
                reader, writer = await host.connect()
                writer.write(sent)
                await until(lambda: len(host.connections) == 1)
                if sent:
                    await asyncio.sleep(0.01)
                host.check_after(19)
                assert host.connections
                host.check_after(seconds)
                assert (await reader.read()).startswith(answer)
                await until(lambda: not host.connections)

    run(work())


def test_others_are_served_while_very_many_connections_are_checked() -> None:
    turn, checked = 0, Counter[int]()

    class Silent:
        """A connection that notes when it is checked."""

        def check(self, now: float) -> None:
            checked[turn] += 1

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async def work() -> None:
        async with hosted() as host:
            silent = {cast(Any, Silent()) for _ in range(1000)}
            host.server.server_state.connections |= silent
            counting = asyncio.create_task(count())
            await host.server.check_all()
            counting.cancel()
            host.server.server_state.connections -= silent
        assert checked.total() == 1000
        assert max(checked.values()) < 100

    run(work())


def test_a_client_that_takes_nothing_of_a_response_is_cut_off_and_a_slow_one_is_served() -> None:
    async def work() -> None:
        async with hosted() as host:
            _, silent = await host.connect(buffer=4096)
            silent.write(LARGE * 50)
            await until(lambda: any(each.flow.write_paused for each in host.connections))
            silent.transport.pause_reading()
            await asyncio.sleep(0.05)
            host.check_after(0)
            host.check_after(61)
            assert not [each for each in host.connections if not each.transport.is_closing()]
            reader, writer = await host.connect(buffer=4096)
            writer.write(LARGE * 50)
            await until(lambda: any(each.flow.write_paused for each in host.connections))
            for minute in range(4):
                host.check_after(minute * 61)
                await reader.readexactly(64 << 10)
                await asyncio.sleep(0.01)
            assert host.connections
            writer.close()

    run(work())


def test_pipelined_requests_wait_for_the_responses_before_them() -> None:
    async def work() -> None:
        async with hosted() as host:
            _, silent = await host.connect(buffer=4096)
            silent.write(LARGE * 400)
            await until(lambda: any(each.flow.write_paused for each in host.connections))
            await asyncio.sleep(0.05)
            assert len(host.connections[0].pipeline) < 20  # not 400
            silent.close()
            reader, writer = await host.connect()
            for number in range(400):
                writer.write(GET.replace(b"\r\n\r\n", b"\r\nX-Request-Id: n%d\r\n\r\n" % number))
            for number in range(400):
                head = await reader.readuntil(b"\r\n\r\n")
                assert b"x-request-id: n%d\r\n" % number in head
                await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))

    run(work())


def test_a_connection_that_ends_amid_requests_leaves_no_garbage() -> None:
    async def work() -> None:
        async with hosted() as host:
            gone: list[weakref.ref[Connection]] = []
            for _ in range(3):
                _, silent = await host.connect(buffer=4096)
                silent.write(LARGE * 400)
                await until(lambda: any(each.flow.write_paused and each.pipeline for each in host.connections))
                gone += [weakref.ref(each) for each in host.connections]
                silent.transport.abort()
                await until(lambda: not host.connections)
            await until(lambda: not any(each() for each in gone))
            assert len(gone) == 3

    gc.disable()
    try:
        run(work())
    finally:
        gc.enable()


@pytest.mark.parametrize("sent", ["head", "trailers"])
def test_the_number_of_headers_is_limited(sent: str) -> None:
    """Each takes microseconds, in which nobody else is served: 64 KiB of short ones would take ten milliseconds."""
    few, many = (b"".join(b"x-%d: 1\r\n" % n for n in range(count)) for count in (MOST_HEADERS - 2, MOST_HEADERS))
    chunked = b"POST /v1/rankings HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"

    async def work() -> None:
        async with hosted(keys=KEYS) as host:
            head = chunked if sent == "trailers" else b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
            reader, writer = await host.connect()
            writer.write(head + few + b"\r\n")
            assert (await reply(reader))[0] == (401 if sent == "trailers" else 200)
            reader, writer = await host.connect()
            writer.write(head + many + b"\r\n")
            statuses = [int(line.split()[1]) for line in (await reader.read()).split(b"\r\n") if b"HTTP/1.1" in line]
            assert statuses[-1] == 431

    run(work())


ASIDE = {b"date", b"x-request-id", b"content-length", b"connection"}  # differ with the response


async def headers(reader: asyncio.StreamReader) -> tuple[int, set[bytes]]:
    """The status and the headers of the next response."""
    lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")[:-2]
    return int(lines[0].split()[1]), {line for line in lines[1:] if line.partition(b":")[0] not in ASIDE}


def test_what_the_application_never_sees_has_the_headers_of_all_responses() -> None:
    async def work() -> None:
        async with hosted(limits=Limits(address_connections=5)) as host:
            reader, writer = await host.connect("127.0.0.3")
            writer.write(GET.replace(b"/healthz", b"/unknown"))
            _, usual = await headers(reader)
            assert {b"cache-control: no-store", b"x-content-type-options: nosniff"} < usual
            for sent, status in (
                (b"nonsense\r\n\r\n", 400),
                (GET[:-2] + b"x: %s\r\n\r\n" % (b"x" * 70_000), 431),
                (GET[:9], 408),
            ):
                reader, writer = await host.connect()
                writer.write(sent)
                if status == 408:
                    await until(lambda: any(each.unfinished_since is not None for each in host.connections))
                    host.check_after(61.0)
                assert await headers(reader) == (status, usual)
            full = [await host.connect("127.0.0.2") for _ in range(6)]
            found, told = await headers(full[-1][0])
            assert (found, told) == (503, usual | {b"retry-after: 1"})

    run(work())


def test_a_stranger_beyond_the_rate_is_disconnected_with_the_requests_sent_ahead() -> None:
    async def work() -> None:
        async with hosted(keys=KEYS, limits=Limits(stranger_rate=0.001, stranger_burst=3)) as host:
            reader, writer = await host.connect()
            writer.write(LARGE * 20)
            assert [(await reply(reader))[0] for _ in range(4)] == [200, 200, 200, 429]
            await until(lambda: not host.connections)

    run(work())


def test_a_flood_of_connections_from_one_address_keeps_no_other_out() -> None:
    async def work() -> None:
        async with hosted(limits=Limits(address_connections=5)) as host:
            refused = [await host.connect("127.0.0.2") for _ in range(100)]
            reader, writer = await host.connect()
            writer.write(GET)
            assert (await reply(reader))[0] == 200
            statuses = [(await reply(each))[0] for each, _ in refused[5:]]
            assert statuses == [503] * 95

    run(work())


def test_too_many_bytes_of_pipelined_requests_end_the_connection_after_the_response() -> None:
    async def work() -> None:
        async with hosted() as host:
            reader, writer = await host.connect()
            writer.write(GET * 10_000)
            assert (await reply(reader))[0] == 200
            await until(lambda: not host.connections)

    run(work())


def test_a_half_closed_connection_gets_its_responses() -> None:
    async def work() -> None:
        async with hosted() as host:
            for requests in (1, 3, 40):
                reader, writer = await host.connect()
                writer.write(GET * requests + GET[:10])
                writer.write_eof()
                assert (await reader.read()).count(b"HTTP/1.1 200 OK") == requests
            reader, writer = await host.connect()
            writer.write(POST % 100 + b"{")
            writer.write_eof()
            assert await reader.read() == b""  # it can never be complete

    run(work())


def test_a_malformed_request_is_refused_after_the_responses_before_it() -> None:
    async def work() -> None:
        async with hosted() as host:
            reader, writer = await host.connect()
            writer.write(GET * 2 + b"\x00\r\n\r\n")
            assert [(await reply(reader))[0] for _ in range(3)] == [200, 200, 400]
            assert await reader.read() == b""

    run(work())


def test_a_trailer_is_no_header() -> None:
    head = b"POST /v1/rankings/a/lists HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    trailer = b"Authorization: Bearer " + SERVE.encode()

    async def work() -> None:
        async with hosted(keys=KEYS) as host:
            for sent, status in (
                (head + b"\r\n2\r\n{}\r\n0\r\n" + trailer + b"\r\n\r\n", 401),
                (head + trailer + b"\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 404),
            ):
                reader, writer = await host.connect()
                writer.write(sent)
                assert (await reply(reader))[0] == status

    run(work())


def test_without_keys_an_old_version_of_http_is_refused_as_that_of_a_proxy() -> None:
    async def work() -> None:
        for keys, status in (([], 421), (KEYS, 200)):
            async with hosted(keys=keys) as host:
                reader, writer = await host.connect()
                writer.write(GET.replace(b"HTTP/1.1", b"HTTP/1.0"))
                assert (await reply(reader))[0] == status

    run(work())


class Recorded:
    """A transport that notes what is written."""

    def __init__(self, transport: Any) -> None:
        self._transport, self.written = transport, list[bytes]()

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def test_a_response_is_written_at_once_and_its_request_leaves_no_garbage() -> None:
    async def work() -> None:
        async with hosted() as host:
            reader, writer = await host.connect()
            await until(lambda: bool(host.connections))
            connection = host.connections[0]
            recorded = connection.transport = cast(Any, Recorded(connection.transport))
            gone: list[weakref.ref[Any]] = []
            for request in (GET, POST % 2 + b"{}", POST % 2 + b"[]", GET):
                writer.write(request)
                _, body = await reply(reader)
                assert recorded.written[-1].startswith(b"HTTP/1.1 ")
                assert recorded.written[-1].endswith(body)
                gone.append(weakref.ref(connection.cycle))
            assert len(recorded.written) == 4
            await until(lambda: not any(each() for each in gone[:-1]))

    gc.disable()
    try:
        run(work())
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("sent", "closes"), [(GET.replace(b"GET", b"HEAD"), False), (GET[:-2] + b"Connection: close\r\n\r\n", True)]
)
def test_responses_that_are_not_usual_are_sent_as_before(sent: bytes, closes: bool) -> None:
    async def work() -> None:
        async with hosted() as host:
            reader, writer = await host.connect()
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert (b"connection: close" in head) == closes
            if closes:
                assert (await reader.read()).startswith(b'{"status":"ok"')
            else:
                writer.write(GET)  # the response had no body
                assert (await reply(reader))[0] == 200

    run(work())


def test_a_large_body_that_arrives_in_parts_or_whole_is_taken_once() -> None:
    async def work() -> None:
        body = b'{"name": "page", "positions": 3, "policy": "dcm-ts"' + b" " * 200_000 + b"}"
        async with hosted() as host:
            reader, writer = await host.connect()
            for pause in (0.0, 0.05):
                writer.write(POST % len(body) + body[:70_000])
                await asyncio.sleep(pause)
                writer.write(body[70_000:])
                assert (await reply(reader))[0] in (201, 409, 413)

    run(work())
