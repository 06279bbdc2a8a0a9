"""A load generator: thousands of connections that send a request, read the answer and send the next, cheaply.

A general HTTP client spends more time on a request than the server does, so one process could not keep a server busy.
This one implements just enough of HTTP/1.1 for a server on the same machine: answers with a Content-Length, one at a
time on each connection.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np

HOST = "127.0.0.1"


class Answer(NamedTuple):
    """An answer of the server."""

    status: int
    body: bytes
    head: bytes = b""  # the status line and the headers, in lower case


class Ask(NamedTuple):
    """A request as bytes, and the name under which its latency is reported."""

    kind: str
    message: bytes


Visitor = Callable[[Answer | None], Ask | None]  # the next request after an answer; None at the end


def request(method: str, path: str, body: bytes = b"", kind: str = "", headers: str = "") -> Ask:
    """An HTTP request as bytes.

    >>> request("GET", "/healthz").message
    b'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'
    """
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    elif method in ("POST", "PUT", "PATCH"):
        head += "Content-Length: 0\r\n"
    return Ask(kind or f"{method} {path}", f"{head}\r\n".encode() + body)


class LoadReport(NamedTuple):
    """Latencies and refusals of a load."""

    seconds: float
    latencies: dict[str, list[float]]  # per kind of request, in seconds, in the order of the answers
    refused: int  # answers with a status of 400 or above

    @property
    def answers(self) -> int:
        """Number of answers."""
        return sum(map(len, self.latencies.values()))

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    def quantile(self, kind: str, share: float) -> float:
        """Quantile of the latency of a kind of request."""
        return float(np.quantile(self.latencies[kind], share))


class Wire(asyncio.Protocol, ABC):
    """One connection that assembles answers; a subclass handles them."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not subclasses, but behave alike

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end].lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 : (head + b"\r\n").find(b"\r\n", at)]) if at >= 0 else 0
        if len(self._buffer) < end + 4 + length:
            return
        answer = Answer(int(head[9:12]), self._buffer[end + 4 : end + 4 + length], head)
        self._buffer = b""
        self.answered(answer)

    @abstractmethod
    def answered(self, answer: Answer) -> None:
        """Handle a complete answer."""


class _Visit(Wire):
    """The connection of one visitor."""

    def __init__(self, visitor: Visitor, latencies: dict[str, list[float]], until: float, done: asyncio.Future[int]):
        super().__init__()
        self._visitor, self._latencies, self._until, self._done = visitor, latencies, until, done
        self._refused = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._go_on(None)

    def _go_on(self, answer: Answer | None) -> None:
        asked = self._visitor(answer) if time.perf_counter() < self._until else None
        if asked is None:
            self._transport.close()
            if not self._done.done():
                self._done.set_result(self._refused)
            return
        self._kind = asked.kind
        self._asked = time.perf_counter()
        self._transport.write(asked.message)

    def answered(self, answer: Answer) -> None:
        self._latencies[self._kind].append(time.perf_counter() - self._asked)
        self._refused += answer.status >= 400
        self._go_on(answer)

    def connection_lost(self, problem: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(problem or ConnectionError("the server hung up"))


async def load(port: int, visitors: Sequence[Visitor], seconds: float = float("inf")) -> LoadReport:
    """Run a connection per visitor until all are done or the time is over."""
    loop = asyncio.get_running_loop()
    latencies: dict[str, list[float]] = defaultdict(list)
    begun = time.perf_counter()
    ends: list[asyncio.Future[int]] = [loop.create_future() for _ in visitors]
    for visitor, end in zip(visitors, ends, strict=True):
        visit = _Visit(visitor, latencies, begun + seconds, end)
        await loop.create_connection(lambda visit=visit: visit, HOST, port)  # type: ignore[misc]
    refused = sum(await asyncio.gather(*ends))
    return LoadReport(time.perf_counter() - begun, dict(latencies), refused)


class Line(Wire):
    """A connection for callers who await each answer: `await line.ask(...)`; ConnectionError when it is lost."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: asyncio.Future[Answer] | None = None
        self._lost = False
        self._used_at = time.monotonic()

    @classmethod
    async def to(cls, port: int) -> Line:
        """Connect; ConnectionError if no server listens."""
        _, line = await asyncio.get_running_loop().create_connection(cls, HOST, port)
        return line

    @property
    def is_lost(self) -> bool:
        """Whether the server has closed it."""
        return self._lost

    @property
    def idle(self) -> float:
        """Seconds since it was last used."""
        return time.monotonic() - self._used_at

    async def ask(self, method: str, path: str, body: bytes = b"", headers: str = "") -> Answer:
        """Send a request and wait for its answer."""
        if self._lost:
            raise ConnectionError("the server hung up before the request was sent")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request(method, path, body, headers=headers).message)
        answer = await self._waiting
        self._used_at = time.monotonic()
        return answer

    def answered(self, answer: Answer) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(answer)

    def connection_lost(self, problem: Exception | None) -> None:
        self._lost = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the server hung up before it answered"))

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()
