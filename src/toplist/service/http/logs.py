"""The log: JSON lines on stderr, one per request or event; never API keys, bodies or queries."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from toplist.service.http.log_stream import LogStream

_ACCEPTED = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_FLUSH_AFTER = 0.05  # seconds; request lines are buffered, to write many at once


Which = Literal["all", "failed", "none"]  # of all requests


class TextStream(Protocol):
    """What log lines are written to."""

    def write(self, text: str, /) -> object:
        """Write lines."""

    def flush(self) -> None:
        """Write what is buffered."""


class RequestIds:
    """Request ids, which relate the caller's log to ours.

    A caller may send its own in X-Request-Id. Others are a prefix, random for each start, and a counter.
    """

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(6).encode()
        self._count = count(1)

    def of(self, sent: bytes | None) -> bytes:
        """The id that the caller sent, if it is short and of plain characters, else a new one."""
        if sent is not None and _ACCEPTED.fullmatch(sent):
            return sent
        return b"%s-%x" % (self._prefix, next(self._count))


class RequestLine(Struct, frozen=True, gc=False, omit_defaults=True):
    """The log line of a request."""

    at: str
    event: str
    request_id: str
    method: str
    route: str
    status: int
    ms: float
    caller: str
    bytes: int
    address: str = ""  # of a request that was refused


class TimestampWriter:
    """Formats the current time; the part up to the second is formatted once per second."""

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def now(self) -> str:
        """The current time, RFC 3339 in UTC."""
        milliseconds = time.time_ns() // 1_000_000
        second, rest = divmod(milliseconds, 1000)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{rest:03d}Z"


class Log:
    """Writes log lines; request lines are buffered for a moment, so that one write serves many."""

    def __init__(self, requests: Which = "all", stream: TextStream | None = None) -> None:
        self.log_requests(requests)
        self._stream = stream
        self._buffer: list[bytes] = []
        self._encode = msgspec.json.Encoder().encode
        self._time = TimestampWriter()

    def log_requests(self, which: Which) -> None:
        """Log these requests from now on."""
        self._min_status = {"all": 0, "failed": 400, "none": 1000}[which]

    @property
    def dropped(self) -> int:
        """Lines that were dropped, since nobody took them."""
        return self._stream.dropped if isinstance(self._stream, LogStream) else 0

    def request(
        self, request_id: bytes, method: str, route: str, status: int, seconds: float, caller: str, size: int,
        address: str = "",
    ) -> None:  # fmt: skip
        """Log an answered request, by its route: the path itself may contain personal data."""
        if status < self._min_status:
            return
        line = RequestLine(
            self._time.now(), "request", request_id.decode("latin-1"), method, route, status,
            round(seconds * 1000.0, 3), caller, size, address,
        )  # fmt: skip
        self._buffer.append(self._encode(line))
        if len(self._buffer) == 1:
            try:
                asyncio.get_running_loop().call_later(_FLUSH_AFTER, self.flush)
            except RuntimeError:  # no event loop
                self.flush()

    def change(self, request_id: bytes, action: str, ranking: str, by: str, settings: Sequence[str] = ()) -> None:
        """Log who changed a ranking, its items or its segments, and how; the event log has the details."""
        more = {"settings": list(settings)} if settings else {}
        self.event("change", request_id=request_id.decode("latin-1"), by=by, action=action, ranking=ranking, **more)

    def event(self, event: str, **more: Any) -> None:
        """Log an event, without delay."""
        self._buffer.append(self._encode({"at": self._time.now(), "event": event, **more}))
        self.flush()

    def failure(self, event: str, error: BaseException, **more: Any) -> None:
        """Log an unexpected error with the end of its traceback."""
        self.event(event, error=type(error).__name__, **more, where=traceback.format_tb(error.__traceback__)[-5:])

    def flush(self) -> None:
        """Write the buffered lines."""
        lines, self._buffer = self._buffer, []
        if lines:
            stream = self._stream or sys.stderr
            try:
                stream.write((b"\n".join(lines) + b"\n").decode())
                stream.flush()
            except (OSError, ValueError):  # stderr is closed: serve on without a log
                return


class JsonLogHandler(logging.Handler):
    """Writes the records of uvicorn and other libraries as JSON lines, too."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line per record."""
        more: dict[str, Any] = {}
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            more = {"error": type(error).__name__, "where": traceback.format_tb(error.__traceback__)[-5:]}
        self._log.event("log", level=record.levelname.lower(), name=record.name, message=record.getMessage(), **more)
