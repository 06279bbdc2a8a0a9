"""Sends responses in pieces, so that little of one waits in the connection of a client that does not take it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from toplist.service.http.bodies import AsgiMessage, BudgetShare, Disconnected, Receive
from toplist.service.http.routing import StreamResponse
from toplist.service.http.whole import COMMON, Headers, Whole

PIECE = 64 << 10  # bytes handed to the connection at once
LOOK_AGAIN = 0.05  # seconds until a part of a stream looks for room again

Send = Callable[[AsgiMessage], Awaitable[None]]


class BrokenStream(Exception):
    """A response that failed after its head and `size` bytes of its body were sent."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the response failed after {size} bytes")
        self.size = size


async def send_reply(
    send: Send, whole: Whole | None, status: int, content: bytes, media: bytes, request_id: bytes,
    more: Mapping[str, str], head: bool,
) -> None:  # fmt: skip
    """Send a whole response, in one piece if the connection takes it so."""
    headers: Headers = [(b"x-request-id", request_id), *COMMON]
    if status != 204:
        headers += ((b"content-type", media), (b"content-length", b"%d" % len(content)))
    if more:  # they take precedence
        headers = [header for header in headers if header[0].decode() not in more]
        headers += [(name.encode("latin-1"), value.encode("latin-1")) for name, value in more.items()]
    elif whole is not None and len(content) <= PIECE and whole.send(status, headers, content):
        return
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if len(content) > PIECE and not head:
        await _send_pieces(send, content)
        content = b""
    await send({"type": "http.response.body", "body": b"" if head else content})


async def _send_pieces(send: Send, content: bytes) -> None:
    for begin in range(0, len(content), PIECE):
        await send({"type": "http.response.body", "body": content[begin : begin + PIECE], "more_body": True})


class StreamReply:
    """Sends a response in parts, each of which finds room in the budget, until the client disconnects."""

    def __init__(self, response: StreamResponse, share: BudgetShare) -> None:
        self._parts, self._media = response.parts, response.media.encode()
        self._on_end = response.on_end
        self._share = share
        self.size = 0  # bytes sent

    async def send(self, status: int, request_id: bytes, receive: Receive, send: Send, head: bool) -> None:
        """Send all of it."""
        try:
            await self._send(status, request_id, receive, send, head)
        finally:
            self._on_end()

    async def _send(self, status: int, request_id: bytes, receive: Receive, send: Send, head: bool) -> None:
        headers: Headers = [(b"x-request-id", request_id), (b"content-type", self._media), *COMMON]
        if self._media.startswith(b"text/event-stream"):
            headers.append((b"x-accel-buffering", b"no"))  # nginx would keep them until they are many
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if not head:
            disconnected = asyncio.ensure_future(_disconnected(receive))
            try:
                while await self._send_part(send, disconnected):
                    pass
            except Disconnected:
                raise
            except Exception as error:
                raise BrokenStream(self.size) from error
            finally:
                disconnected.cancel()
        await send({"type": "http.response.body", "body": b""})

    async def _send_part(self, send: Send, disconnected: asyncio.Future[None]) -> bool:
        """Send the next part; False after the last. One that finds no room is dropped, and read again when it does."""
        held = 0
        try:
            while (part := await self._parts.read()) is not None:
                size = len(part)
                needed = self._share.needed(size) if size > PIECE else 0
                if needed <= held:
                    break
                del part
                self._share.give_back(held)
                held = 0
                while not self._share.take(needed):
                    await asyncio.sleep(LOOK_AGAIN)
                    if disconnected.done():
                        raise Disconnected
                held = needed
            if disconnected.done():
                raise Disconnected
            if part is None:
                return False
            self.size += size
            await _send_pieces(send, part)
            self._parts.advance()
            await asyncio.sleep(0)  # other requests run between two parts
            return True
        finally:
            self._share.give_back(held)


async def _disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
