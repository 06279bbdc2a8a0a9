"""Requests to other servers, over one connection to each."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count

from msgspec import Struct

from toplist.service.cluster.link import ServerLink
from toplist.service.cluster.messages import Ask, Elsewhere, EndStream, ForwardedAnswer, LookAgain, NextPart, Part, Said

CONNECT_SECONDS = 2.0
RETRY_SECONDS = 0.2  # before another attempt to reach a server that could not be reached
LOOK_EVERY = 1.0  # seconds between two searches for answers that take too long: cheaper than a timer for each
ANSWER_SECONDS = 60.0  # for an answer; a statement of the database may take 30, and a policy may be compiled first


class NotSent(Exception):
    """The request had no effect: the other server could not be reached, or does not own the partition.

    `divisions` is that of its ranking where the request belongs to another partition, else 0.
    """

    def __init__(self, divisions: int = 0) -> None:
        super().__init__()
        self.divisions = divisions


class OutcomeUnknown(Exception):
    """The request was sent, and its answer never came."""


class _Unanswered(Struct, frozen=True):
    answer: asyncio.Future[ForwardedAnswer | Part]
    partition: int
    address: str
    link: ServerLink
    asked: float  # by the clock of the event loop


class Peers:
    """Connections to other servers.

    Parameters
    ----------
    secret : bytes
        What all servers know.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.links: dict[str, ServerLink] = {}  # by address
        self._connecting: dict[str, asyncio.Task[ServerLink]] = {}
        self._unreachable: dict[str, float] = {}  # until when
        self._waiting: dict[int, _Unanswered] = {}
        self.next_id = count(1).__next__
        self._loop: asyncio.AbstractEventLoop | None = None  # kept: to ask for it takes a call of the system
        self._looking: asyncio.TimerHandle | None = None

    async def ask(self, address: str, ask: Ask) -> ForwardedAnswer:
        """Send a request, once; `NotSent` says that it had no effect, `OutcomeUnknown` that it may have had one.

        Its id is a new one, by `next_id`.
        """
        link = self.links.get(address) or await self._connect(address)
        answer = await self._send(link, address, ask, ask.partition)
        assert isinstance(answer, ForwardedAnswer)
        return answer

    async def next_part(self, address: str, answer: ForwardedAnswer) -> bytes | None:
        """The next part of a response that is a stream; None after the last."""
        link = self.links.get(address)
        if link is None or not link.is_open:
            raise OutcomeUnknown
        part = await self._send(link, address, NextPart(self.next_id(), answer.id), -1)
        assert isinstance(part, Part)
        if part.is_broken:
            raise OutcomeUnknown
        return part.body

    def end_stream(self, address: str, answer: ForwardedAnswer) -> None:
        """End a stream before its last part."""
        link = self.links.get(address)
        if link is not None:
            link.send(EndStream(answer.id))

    async def tell_to_look(self, address: str) -> None:
        """Tell a server that the owners of partitions have changed."""
        with suppress(NotSent):
            (self.links.get(address) or await self._connect(address)).send(LookAgain(0))

    def give_up(self, partition: int, owner: str | None) -> None:
        """Wait no longer for answers about a partition from others than its owner."""
        for id, waiting in list(self._waiting.items()):
            if waiting.partition == partition and waiting.address != owner:
                self._fail(id, OutcomeUnknown())

    def close(self) -> None:
        """End all connections."""
        if self._looking is not None:
            self._looking.cancel()
        for connecting in self._connecting.values():
            connecting.cancel()
        for link in list(self.links.values()):
            link.close()

    def _send(
        self, link: ServerLink, address: str, message: Ask | NextPart, partition: int
    ) -> asyncio.Future[ForwardedAnswer | Part]:
        if not link.is_open:  # it has ended since it was found
            raise NotSent
        loop = self._loop = self._loop or asyncio.get_running_loop()
        answer: asyncio.Future[ForwardedAnswer | Part] = loop.create_future()
        self._waiting[message.id] = _Unanswered(answer, partition, address, link, loop.time())
        if self._looking is None:
            self._looking = loop.call_later(LOOK_EVERY, self._end_long_waits)
        link.send(message)
        return answer

    def _end_long_waits(self) -> None:
        """Wait no longer for answers that take too long; a connection on which nothing came since is ended."""
        loop = asyncio.get_running_loop()
        for id, waiting in list(self._waiting.items()):  # in the order in which they were asked for
            if loop.time() < waiting.asked + ANSWER_SECONDS:
                break
            self._fail(id, OutcomeUnknown())
            if waiting.link.heard <= waiting.asked:
                waiting.link.close()
        self._looking = loop.call_later(LOOK_EVERY, self._end_long_waits) if self._waiting else None

    async def _connect(self, address: str) -> ServerLink:
        loop = asyncio.get_running_loop()
        connecting = self._connecting.get(address)
        if connecting is None:
            if self._unreachable.get(address, 0.0) > loop.time():
                raise NotSent
            connecting = self._connecting[address] = loop.create_task(self._open(address))
            connecting.add_done_callback(lambda _: self._connecting.pop(address, None))
        try:
            return await asyncio.shield(connecting)
        except (OSError, TimeoutError):
            self._unreachable[address] = loop.time() + RETRY_SECONDS
            raise NotSent from None

    async def _open(self, address: str) -> ServerLink:
        host, _, port = address.rpartition(":")
        loop = asyncio.get_running_loop()

        def make() -> ServerLink:
            return ServerLink(self._secret, is_caller=True, on_message=self._receive, on_end=self._end)

        async with asyncio.timeout(CONNECT_SECONDS):
            _, link = await loop.create_connection(make, host.strip("[]"), int(port))
            try:
                await link.ready
            except BaseException:  # nobody would use it
                link.close()
                raise
        if not link.is_open:
            raise ConnectionError("The other server has gone.")
        self.links[address] = link
        return link

    def _receive(self, link: ServerLink, message: Said) -> None:
        waiting = self._waiting.get(message.id)
        if waiting is None or not isinstance(message, ForwardedAnswer | Part | Elsewhere):
            return
        del self._waiting[message.id]
        if waiting.answer.done():  # whoever waited was cancelled
            return
        if isinstance(message, Elsewhere):
            waiting.answer.set_exception(NotSent(message.divisions))
        else:
            waiting.answer.set_result(message)

    def _end(self, link: ServerLink) -> None:
        for address in [address for address, known in self.links.items() if known is link]:
            del self.links[address]
            for id, waiting in list(self._waiting.items()):
                if waiting.address == address:
                    self._fail(id, OutcomeUnknown())

    def _fail(self, id: int, problem: Exception) -> None:
        answer = self._waiting.pop(id).answer
        if not answer.done():
            answer.set_exception(problem)
