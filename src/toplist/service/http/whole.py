"""A request and its response each in one piece, where the connection has them so: ASGI passes both in parts."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

WHOLE = "toplist.whole"  # in the scope of a request of our own server

Headers = list[tuple[bytes, bytes]]

COMMON: Headers = [  # of every response, besides those of the server
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Whole:
    """Takes the body of a request that has arrived, and sends a response that is ready.

    Uvicorn sends the head and the body of a response apart, by two calls of the system and in two packets, after it has
    checked all headers. That takes more time than most requests.

    Parameters
    ----------
    cycle : RequestResponseCycle
        Uvicorn's request and response.
    """

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    def body(self) -> bytes | None:
        """The body of the request, once; None if it has not all arrived, or its client has left."""
        cycle = self._cycle
        if cycle.more_body or cycle.disconnected:
            return None
        cycle.flow.resume_reading()
        body, cycle.body = bytes(cycle.body), bytearray()
        return body

    def send(self, status: int, headers: Headers, body: bytes) -> bool:
        """Send the response, with headers that need no check; False if it must be sent as ASGI does."""
        cycle = self._cycle
        is_usual = cycle.keep_alive and not cycle.disconnected and not cycle.response_started
        if not is_usual or cycle.flow.write_paused or cycle.scope["method"] == "HEAD":
            return False
        parts = [STATUS_LINE[status]]
        for name, value in (*cycle.default_headers, *headers):
            parts += (name, b": ", value, b"\r\n")
        parts += (b"\r\n", body)
        cycle.waiting_for_100_continue = False
        cycle.response_started = cycle.response_complete = True
        cycle.transport.write(b"".join(parts))
        cycle.message_event.set()
        cycle.on_response()
        return True
