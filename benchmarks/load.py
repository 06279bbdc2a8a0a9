"""Visitors by the thousand: connections that ask, look at the answer and ask again, as cheaply as Python can.

An HTTP client for people spends more time on a request than the server does, so that a second process with one could
not keep a server busy. This one knows just enough of HTTP/1.1 to talk to a server on the same machine: answers with a
Content-Length, one at a time on each connection.
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
    """What a server said."""

    status: int
    body: bytes
    head: bytes = b""  # the status line and the headers, in lower case


class Ask(NamedTuple):
    """A request, ready to be sent, and the name under which its latency is told."""

    kind: str
    message: bytes


Visitor = Callable[[Answer | None], Ask | None]  # the next request after an answer; None at the end


def request(method: str, path: str, body: bytes = b"", kind: str = "", headers: str = "") -> Ask:
    """A request as it is sent.

    >>> request("GET", "/healthz").message
    b'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'
    """
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    elif method in ("POST", "PUT", "PATCH"):
        head += "Content-Length: 0\r\n"
    return Ask(kind or f"{method} {path}", f"{head}\r\n".encode() + body)


class Told(NamedTuple):
    """What a load came to."""

    seconds: float
    latencies: dict[str, list[float]]  # per kind of request, in seconds, in the order of the answers
    refused: int  # answers from 400 on

    @property
    def answers(self) -> int:
        """How many there were."""
        return sum(map(len, self.latencies.values()))

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    def quantile(self, kind: str, share: float) -> float:
        """The latency that such a share of the answers of a kind does not exceed."""
        return float(np.quantile(self.latencies[kind], share))


class Wire(asyncio.Protocol, ABC):
    """One connection: puts answers together; what becomes of them is up to a subclass."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none, but do as well

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
        """A whole answer came."""


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


async def load(port: int, visitors: Sequence[Visitor], seconds: float = float("inf")) -> Told:
    """A connection per visitor, until all are at their end or the time is over."""
    loop = asyncio.get_running_loop()
    latencies: dict[str, list[float]] = defaultdict(list)
    begun = time.perf_counter()
    ends: list[asyncio.Future[int]] = [loop.create_future() for _ in visitors]
    for visitor, end in zip(visitors, ends, strict=True):
        visit = _Visit(visitor, latencies, begun + seconds, end)
        await loop.create_connection(lambda visit=visit: visit, HOST, port)  # type: ignore[misc]
    refused = sum(await asyncio.gather(*ends))
    return Told(time.perf_counter() - begun, dict(latencies), refused)


class Line(Wire):
    """A connection for those who wait for each answer: `await line.ask(...)`; ConnectionError when it is lost."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: asyncio.Future[Answer] | None = None
        self._lost = False

    @classmethod
    async def to(cls, port: int) -> Line:
        """A new connection; ConnectionError where nobody listens."""
        _, line = await asyncio.get_running_loop().create_connection(cls, HOST, port)
        return line

    async def ask(self, method: str, path: str, body: bytes = b"") -> Answer:
        """Send a request and wait for its answer."""
        if self._lost:
            raise ConnectionError("the server hung up before the request was sent")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request(method, path, body).message)
        return await self._waiting

    def answered(self, answer: Answer) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(answer)

    def connection_lost(self, problem: Exception | None) -> None:
        self._lost = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the server hung up before it answered"))

    def close(self) -> None:
        """Hang up."""
        self._transport.close()
