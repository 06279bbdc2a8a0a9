"""One connection: uvicorn's protocol with limits on heads, waiting, pipelining and slow readers."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, cast

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from toplist.service.http.connection_limits import ConnectionLimits
from toplist.service.http.problems import HttpProblem, too_slow
from toplist.service.http.whole import COMMON, WHOLE, Whole
from toplist.service.settings import Limits
from toplist.service.wire import PROBLEM_MEDIA

TLS_UNSENT = 64 << 10  # bytes of a response that may wait to be sent by TLS; its own default is 512 KiB
PIECE = 512  # bytes parsed at once where several requests may follow each other
MOST_HEADERS = 200  # of a request; each takes microseconds, and clients send a few dozen
UNWANTED_PAUSE = 0.1  # seconds between chunks of a body that nobody wants, of 256 KB at most
LEAST_TAKEN = 4096  # bytes of a response that a client must take within `limits.seconds`
_HEAD_END = b"\r\n\r\n"
_TCP_INFO_SIZE, _BYTES_ACKED = 192, 120  # of Linux's struct tcp_info, and the offset of tcpi_bytes_acked


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits, and with problem+json for unreadable requests.

    Such a request does not reach the application, but its log and metrics. The API key is unknown before the head is
    read, so the size and time of the head are limited here. A complete head is counted exactly; of an unfinished one,
    the chunk in which it begins is not counted.

    While a complete request is unanswered, nothing more is read: pipelined requests wait in the client's buffers. The
    server calls `check` about once a second, which closes the connection if its client lets it wait too long: for a
    head, for the rest of a body that the response did not wait for, for the next request, or with taking a response.
    """

    limits = Limits()
    counts: ConnectionLimits
    record_unread: Callable[[HttpProblem, str, int], bytes]  # counts and logs an unreadable request; its request id

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._address = ""
        self._counted = False  # in `counts`
        self.waiting_since = 0.0  # when it began to wait for a request, or for the rest of one
        self._is_unfinished = False  # whether it has waited for the rest of a head since then
        self._in_head = True  # or between requests
        self._head_begun = False
        self._boundary = False  # whether a request began or ended in this chunk
        self._raw = self._parsed = 0  # bytes of the head, received and parsed
        self._headers = 0  # parsed, trailers included
        self._unwanted = 0  # bytes of a body that came after its response
        self._held = b""  # received, but not parsed before the response is sent
        self._half_closed = False  # the client sends no more, but reads
        self._refusal: HttpProblem | None = None
        self._running: RequestResponseCycle | None = None  # the request being answered; `cycle` is the newest
        self.end_handshake: Callable[[], object] | None = None  # of TLS, before `connection_made`
        self._mark: tuple[float, int] | None = None  # when the client had taken so many bytes of a response

    def begin(self, address: str) -> None:
        """Count the connection, which the server has accepted."""
        self._address, self._counted = address, True
        self.waiting_since = self.loop.time()
        self.counts.add(self, address)

    def end(self) -> None:
        """Count the connection as closed."""
        if self._counted:
            self._counted = False
            self.counts.remove(self, self._address)

    def give_up(self) -> None:
        """Count the connection, which was never made, as closed, and break its cycle: garbage is collected rarely."""
        self.end()
        self.parser = None  # type: ignore[assignment]  # as uvicorn does

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.waiting_since = self.loop.time()
        if self.scheme == "https":
            transport.set_write_buffer_limits(TLS_UNSENT)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request being answered; uvicorn tells the newest."""
        self.end()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        self.pipeline.clear()
        self._held = b""
        super().connection_lost(exc)
        # Requests know their connection: without this, both would stay in memory until all garbage is collected.
        self.cycle = self._running = None  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Parse a chunk, unless a request is unanswered; of pipelined requests, about one at a time."""
        if self._refusal is not None:
            return
        newest = self.cycle
        if self._held or (newest is not None and not newest.response_complete and not newest.more_body):
            self._hold(self._held + data)
        elif len(data) <= PIECE or b"\r" not in data or data.find(_HEAD_END, 0, -1) < 0:  # the first is the fastest
            self._parse(data)
        else:
            self._parse_pieces(data)

    def _parse_pieces(self, data: bytes) -> None:
        for at in range(0, len(data), PIECE):
            if self._refusal is not None or self.transport.is_closing():
                return
            if self._is_full():
                self._hold(data[at:])
                return
            self._parse(data[at : at + PIECE])

    def _parse(self, data: bytes) -> None:
        """Parse a chunk, and check the size of a head or of a body that nobody wants."""
        self._boundary = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # not supported; the parser has dropped what follows in the chunk
            self.cycle.keep_alive = False
        except httptools.HttpParserError:
            self.refuse(self._refusal or HttpProblem("malformed", "Invalid HTTP request received."))
            return
        if not self._in_head:
            if self.cycle.response_complete:
                self._unwanted += len(data)
                if self._unwanted > self.limits.body_bytes:
                    self.transport.close()
                else:  # many such clients together must not keep others waiting
                    self.flow.pause_reading()
                    self.loop.call_later(UNWANTED_PAUSE, self._read_on)
            return
        if self._head_begun and not self._is_unfinished:
            self._is_unfinished = True
            self.waiting_since = self.loop.time()
        if not self._boundary:
            self._raw += len(data)
            if self._raw > self.limits.head_bytes:
                self.refuse(_head_too_large(self.limits.head_bytes))

    def _read_on(self) -> None:
        """Read more of a body that nobody wants."""
        if not self._held and self._refusal is None and not self.transport.is_closing():
            self.flow.resume_reading()

    def _is_full(self) -> bool:
        """Whether the newest request is complete, but unanswered."""
        newest = self.cycle
        return newest is not None and not newest.response_complete and not newest.more_body

    def _is_answering(self) -> bool:
        """Whether a complete request is being answered."""
        running = self._running
        return running is not None and not running.response_complete and not running.more_body

    def _hold(self, data: bytes) -> None:
        """Keep pipelined requests until the earlier ones are answered, and read no more."""
        self.flow.pause_reading()
        if len(data) > self.limits.head_bytes:  # a client that pipelines must be ready to send them again
            self.cycle.keep_alive = False
            data = b""
        self._held = data

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._head_begun = self._boundary = True
        self._raw = self._parsed = self._headers = 0

    def on_url(self, url: bytes) -> None:
        """Count a part of the request target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header; drop a trailer, which must not pass for a header."""
        self._headers += 1
        if self._headers > MOST_HEADERS:
            self._refuse_head(HttpProblem("head-too-large", f"The request has more than {MOST_HEADERS} headers."))
        self._count(len(name) + len(value) + 4)
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._in_head = self._head_begun = self._is_unfinished = False
        self._raw = self._unwanted = 0
        self.waiting_since = self.loop.time()
        super().on_headers_complete()
        if not self.pipeline:
            self._running = self.cycle

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._in_head = self._boundary = True
        if self.cycle.response_complete:
            self.waiting_since = self.loop.time()
            return
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer a request; the application takes what is added here out of the scope, which the request refers to."""
        cast(dict[str, Any], cycle.scope)[WHOLE] = Whole(cycle)
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Answer the next request, or wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        ends = self._half_closed or self._refusal is not None  # no more can arrive
        if self.pipeline and not (ends and self.pipeline[-1][0].more_body):
            self._running, app = self.pipeline.pop()
            self._start_asgi_task(self._running, app)
            return
        if self._refusal is not None:
            self._send_refusal(self._refusal)
            return
        if self._held:
            data, self._held = self._held, b""
            self._parse_pieces(data)
        if self._half_closed and not self._is_answering():
            self.transport.close()
            return
        self.waiting_since = self.loop.time()
        if not self._held:
            self.flow.resume_reading()

    @property
    def idle_since(self) -> float | None:
        """Since when it waits for a request, or for the handshake of TLS before; None if it does not."""
        if self.transport is None:
            return None if self.end_handshake is None else self.waiting_since
        if not self._in_head or self._head_begun or self.transport.is_closing():
            return None
        return self.waiting_since if self._running is None or self._running.response_complete else None

    @property
    def unfinished_since(self) -> float | None:
        """Since when its client lets it wait for the rest of a request, or takes a response; None if it does not."""
        if self.transport is None or self.transport.is_closing() or self.idle_since is not None:
            return None
        running = self._running
        is_answered_next = running is not None and not running.response_started and not running.more_body
        return None if is_answered_next else self.waiting_since

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more: close, unless a complete request is unanswered. With TLS, always close."""
        self._half_closed = True
        return self.scheme != "https" and self._is_answering()

    def check(self, now: float) -> None:
        """Close the connection if its client lets it wait too long."""
        waiting = self.transport.get_write_buffer_size()
        if waiting:
            self._check_progress(now, waiting)
            return
        self._mark = None
        if self.transport.is_closing() or (self._running is not None and not self._running.response_complete):
            return  # the application limits the time of a body that it reads
        waited = now - self.waiting_since
        if self.idle_since is not None:
            if waited > self.limits.idle:
                self.transport.close()
        elif waited > self.limits.seconds:
            if self._in_head:
                self.refuse(too_slow("head", self.limits.seconds))
            else:
                self.transport.close()

    def _check_progress(self, now: float, waiting: int) -> None:
        """Close the connection if its client takes too little of a response."""
        taken = _taken(self.transport, waiting)
        if self._mark is None or taken - self._mark[1] >= LEAST_TAKEN:
            self._mark = now, taken
        elif now - self._mark[0] > self.limits.seconds:
            self.transport.abort()

    def give_way(self) -> None:
        """Close the connection, which waits for its client."""
        if self.transport is not None:
            if self.idle_since is None:
                self.transport.abort()  # its client may take no more of a response
            else:
                self.transport.close()
        elif self.end_handshake is not None:
            self.end_handshake()

    def _count(self, more: int) -> None:
        self._parsed += more
        if self._parsed > self.limits.head_bytes:
            self._refuse_head(_head_too_large(self.limits.head_bytes))

    def _refuse_head(self, problem: HttpProblem) -> NoReturn:
        """Stop the parser."""
        self._refusal = problem  # the parser raises its own error instead
        raise problem

    def refuse(self, problem: HttpProblem) -> None:
        """Send a problem, after the responses to earlier requests, and close the connection."""
        self._refusal = problem
        self.flow.pause_reading()
        if not self._is_answering():
            self._send_refusal(problem)

    def _send_refusal(self, problem: HttpProblem) -> None:
        request_id = self.record_unread(problem, self._address, len(msgspec.json.encode(problem.body)))
        self.transport.write(problem_response(problem, request_id, self.server_state.default_headers))
        self.transport.close()


def problem_response(problem: HttpProblem, request_id: bytes, of_server: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """A whole response with a problem and the headers of the server, after which the connection is closed."""
    body = msgspec.json.encode(problem.body)
    head = (
        f"HTTP/1.1 {problem.status} {problem.body.title}",
        *(f"{name.decode('ascii')}: {value.decode('latin-1')}" for name, value in (*of_server, *COMMON)),
        f"content-type: {PROBLEM_MEDIA}",
        f"content-length: {len(body)}",
        f"x-request-id: {request_id.decode('ascii')}",
        *(f"{name}: {value}" for name, value in problem.headers.items() if name != "connection"),
        "connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body


def _head_too_large(limit: int) -> HttpProblem:
    return HttpProblem("head-too-large", f"The head of the request has more than {limit} bytes; send fewer headers.")


def _taken(transport: asyncio.Transport, waiting: int) -> int:
    """A count of bytes that grows as the client takes a response of which so many bytes wait."""
    peer = transport.get_extra_info("socket")
    if peer is None or not hasattr(socket, "TCP_INFO"):
        return -waiting  # of other systems than Linux, only what has left our own buffer is known
    information = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SIZE)
    if len(information) < _BYTES_ACKED + 8:
        return -waiting
    acknowledged: int = struct.unpack_from("=Q", information, _BYTES_ACKED)[0]
    return acknowledged
