"""Answers requests that other servers forward, on a listener of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from time import monotonic
from typing import Any, NamedTuple, Protocol

import msgspec

from toplist.service.cluster.link import ServerLink
from toplist.service.cluster.messages import Ask, Elsewhere, EndStream, ForwardedAnswer, LookAgain, NextPart, Part, Said
from toplist.service.cluster.peers import NotSent
from toplist.service.wire import PROBLEM_MEDIA, PROBLEM_TYPE_PREFIX, ProblemBody

logger = logging.getLogger("toplist.service")

MOST_STRANGERS = 32  # connections whose other end has not proved yet that it knows the secret
IDLE_STREAM = 120.0  # seconds after which a stream that nobody reads is dropped


class Parts(Protocol):
    """The parts of a response."""

    async def read(self) -> bytes | None:
        """The next part, None after the last."""
        ...

    def advance(self) -> None:
        """Go on to the next part."""
        ...


class _Stream(NamedTuple):
    parts: Parts
    used: float


AnswerAsk = Callable[[Ask], Awaitable[tuple[ForwardedAnswer, Parts | None]]]


class Listener:
    """Takes connections of other servers.

    Parameters
    ----------
    secret : bytes
        What all servers know.
    answer : callable
        Answers a request; raises `NotSent` where this server does not own its partition.
    look_again : callable
        Called when the owners of partitions have changed.
    """

    def __init__(self, secret: bytes, answer: AnswerAsk, look_again: Callable[[], None]) -> None:
        self._secret, self._answer, self._look_again = secret, answer, look_again
        self._links: dict[ServerLink, dict[int, _Stream]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, listener: socket.socket) -> None:
        """Accept connections."""

        def make() -> ServerLink:
            self._make_room()
            link = ServerLink(self._secret, is_caller=False, on_message=self._receive, on_end=self._end)
            self._links[link] = {}
            return link

        self._server = await asyncio.get_running_loop().create_server(make, sock=listener)

    def _make_room(self) -> None:
        """Close a connection that has proved nothing, if there are many: they must not take all files of the process.

        It is the oldest of the address that has most of them, so that a flood from one keeps no server out.
        """
        strangers = [link for link in self._links if not link.is_open]
        if len(strangers) >= MOST_STRANGERS:
            most = Counter(link.address for link in strangers).most_common(1)[0][0]
            next(link for link in strangers if link.address == most).close()

    async def stop(self) -> None:
        """Accept no more, answer what was asked, and end all connections."""
        if self._server is not None:
            self._server.close()
        while self._tasks:
            await asyncio.wait(list(self._tasks))
        await asyncio.sleep(0)  # the last answers are sent
        for link in list(self._links):
            link.close()

    def _end(self, link: ServerLink) -> None:
        self._links.pop(link, None)

    def _receive(self, link: ServerLink, message: Said) -> None:
        if isinstance(message, Ask):
            self._begin(self._reply(link, message))
        elif isinstance(message, NextPart):
            self._begin(self._next_part(link, message))
        elif isinstance(message, EndStream):
            self._links.get(link, {}).pop(message.id, None)
        elif isinstance(message, LookAgain):
            self._look_again()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, link: ServerLink, ask: Ask) -> None:
        try:
            answer, parts = await self._answer(ask)
        except NotSent as unsent:
            link.send(Elsewhere(ask.id, unsent.divisions))
            return
        except Exception:  # a route of a later release, for one
            logger.exception("The request %r to %s, which another server forwarded, failed.", ask.request_id, ask.route)
            answer, parts = _failure(ask), None
        streams = self._links.get(link)
        if parts is not None and streams is not None:
            for id in [id for id, stream in streams.items() if monotonic() > stream.used + IDLE_STREAM]:
                del streams[id]
            streams[ask.id] = _Stream(parts, monotonic())
        link.send(answer)

    async def _next_part(self, link: ServerLink, message: NextPart) -> None:
        streams = self._links.get(link, {})
        stream = streams.get(message.stream)
        body, is_broken = None, stream is None
        if stream is not None:
            try:
                body = await stream.parts.read()
                stream.parts.advance()
                streams[message.stream] = stream._replace(used=monotonic())
            except Exception:
                is_broken = True
            if body is None or is_broken:
                streams.pop(message.stream, None)
        link.send(Part(message.id, body, is_broken))


def _failure(ask: Ask) -> ForwardedAnswer:
    """The answer to a request that failed for an unforeseen reason."""
    problem = ProblemBody(
        type=f"{PROBLEM_TYPE_PREFIX}unforeseen", title="Internal Server Error", status=500,
        detail="An unexpected error of the server that owns this ranking; its log has details under this response's "
        "X-Request-Id.",
    )  # fmt: skip
    return ForwardedAnswer(ask.id, problem.status, msgspec.json.encode(problem), PROBLEM_MEDIA.encode(), {})
