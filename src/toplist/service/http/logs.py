"""Lines of JSON on stderr: one per request, and one per thing that happens; never a key, a body or a query."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import sys
import time
import traceback
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal, TextIO

import msgspec
from msgspec import Struct

_ACCEPTED = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_LATER = 0.05  # seconds that lines about requests may wait for company: one write for many


class RequestIds:
    """A name for every request, so that a caller's line and ours can be found together.

    The caller may bring one in X-Request-Id. Others get a count behind something random for each start.
    """

    def __init__(self) -> None:
        self._start = secrets.token_hex(6).encode()
        self._count = count(1)

    def of(self, brought: bytes | None) -> bytes:
        """The request's name; what the caller brought, if it is short and plain."""
        if brought is not None and _ACCEPTED.fullmatch(brought):
            return brought
        return b"%s-%x" % (self._start, next(self._count))


class RequestLine(Struct, frozen=True, gc=False):
    """What is told of a request."""

    at: str
    event: str
    request_id: str
    method: str
    route: str
    status: int
    ms: float
    caller: str
    bytes: int


class Clock:
    """The time of day, as text; what all times of a second have in common is written once."""

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def now(self) -> str:
        """RFC 3339, in UTC."""
        milliseconds = time.time_ns() // 1_000_000
        second, rest = divmod(milliseconds, 1000)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{rest:03d}Z"


class Log:
    """Writes the lines. Those about requests may wait a little, so that one write does for many."""

    def __init__(self, requests: Literal["all", "failed", "none"] = "all", stream: TextIO | None = None) -> None:
        self._least = {"all": 0, "failed": 400, "none": 1000}[requests]
        self._stream = stream
        self._waiting: list[bytes] = []
        self._encode = msgspec.json.Encoder().encode
        self._clock = Clock()

    def request(
        self, request_id: bytes, method: str, route: str, status: int, seconds: float, caller: str, size: int
    ) -> None:
        """A request was answered. The route stands for the path, which may name people."""
        if status < self._least:
            return
        line = RequestLine(
            self._clock.now(), "request", request_id.decode("latin-1"), method, route, status,
            round(seconds * 1000.0, 3), caller, size,
        )  # fmt: skip
        self._waiting.append(self._encode(line))
        if len(self._waiting) == 1:
            try:
                asyncio.get_running_loop().call_later(_LATER, self.flush)
            except RuntimeError:  # nobody runs who could call later
                self.flush()

    def tell(self, event: str, **more: Any) -> None:
        """Something happened; written at once."""
        self._waiting.append(self._encode({"at": self._clock.now(), "event": event, **more}))
        self.flush()

    def fault(self, event: str, error: BaseException, **more: Any) -> None:
        """An error that nobody foresaw, with where it arose."""
        self.tell(event, error=type(error).__name__, **more, where=traceback.format_tb(error.__traceback__)[-5:])

    def flush(self) -> None:
        """Write what waits."""
        lines, self._waiting = self._waiting, []
        if lines:
            stream = self._stream or sys.stderr
            try:
                stream.write((b"\n".join(lines) + b"\n").decode())
                stream.flush()
            except (OSError, ValueError):  # nobody listens, which is no reason to stop
                return


class Handler(logging.Handler):
    """What uvicorn and others have to say, in the same form."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """One record, one line."""
        more: dict[str, Any] = {}
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            more = {"error": type(error).__name__, "where": traceback.format_tb(error.__traceback__)[-5:]}
        self._log.tell("log", level=record.levelname.lower(), name=record.name, message=record.getMessage(), **more)
