"""Bodies of requests: read within limits of size, time and memory, and decoded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import msgspec

from toplist.service.config import Limits
from toplist.service.http import problems
from toplist.service.http.problems import HttpProblem
from toplist.service.http.routing import CompiledRoute
from toplist.service.wire import Fault

AsgiMessage = MutableMapping[str, Any]
COMPLETE = "toplist.complete"  # in the scope of a request whose body has arrived
Receive = Callable[[], Awaitable[AsgiMessage]]


class Disconnected(Exception):
    """The client closed the connection before the response was sent."""


class ByteBudget:
    """Memory for bodies that arrive in parts; one caller may have half of it.

    >>> budget = ByteBudget(100)
    >>> budget.take("a", 50), budget.take("a", 1), budget.take("b", 50), budget.take("c", 1)
    (True, False, True, False)
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._taken = 0
        self._by_caller: Counter[str] = Counter()

    def take(self, caller: str, size: int) -> bool:
        """Take bytes, if there are enough left."""
        if self._taken + size > self.total or self._by_caller[caller] + size > self.total // 2:
            return False
        self._taken += size
        self._by_caller[caller] += size
        return True

    def give_back(self, caller: str, size: int) -> None:
        """Give bytes back."""
        self._taken -= size
        self._by_caller[caller] -= size
        if self._by_caller[caller] <= 0:
            del self._by_caller[caller]


class Bodies:
    """Reads and decodes the bodies of requests."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._budget = limits, ByteBudget(limits.bodies_bytes)

    async def read(
        self, route: CompiledRoute, decode: Callable[[bytes], Any], headers: Mapping[bytes, bytes], receive: Receive,
        caller: str, is_complete: bool,
    ) -> Any:  # fmt: skip
        """The decoded body of a request, or the problem with it."""
        media = headers.get(b"content-type", b"")
        if media != b"application/json" and not _is_json(media):
            detail = "The body must be JSON, at least {}; send it with Content-Type: application/json."
            raise HttpProblem("unsupported-media-type", detail, [Fault(header="Content-Type", detail=detail)])
        most = self._limits.body_bytes if route.route.has_items else self._limits.list_bytes
        length = headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length[:20]) > most:
            raise _too_large(most)
        texts = route.route.most_texts
        if is_complete:  # the most frequent case, which needs no timer
            message = await receive()
        else:
            chunks = _Chunks(self._budget, caller, most)
            try:
                async with asyncio.timeout(self._limits.seconds):
                    message = await receive()
                    if message["type"] == "http.request" and message.get("more_body", False):
                        message = await chunks.receive(message, receive)
                return self._decode(message, decode, most, texts)
            except TimeoutError:
                raise problems.too_slow("body", self._limits.seconds) from None
            finally:
                chunks.give_back()
        return self._decode(message, decode, most, texts)

    def _decode(
        self, message: AsgiMessage, decode: Callable[[bytes], Any], most: int, texts: int | None
    ) -> Any:  # fmt: skip
        if message["type"] != "http.request":
            raise Disconnected
        raw: bytes = message.get("body", b"")
        if len(raw) > most:
            raise _too_large(most)
        if texts is not None and len(raw) > texts and _count_texts(raw) > texts:
            raise problems.invalid(f"The body has more than {texts} texts; send less per request.")
        try:
            return decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise problems.undecodable(error, raw, decode) from None


class _Chunks:
    """A body that arrives in parts; one that arrives whole is bounded by the buffer of its connection."""

    def __init__(self, budget: ByteBudget, caller: str, most: int) -> None:
        self._budget, self._caller, self._most = budget, caller, most
        self._taken = 0

    async def receive(self, message: AsgiMessage, receive: Receive) -> AsgiMessage:
        """The whole body in one message, given its first part."""
        chunks: list[bytes] = []
        while message["type"] == "http.request":
            chunk: bytes = message.get("body", b"")
            if self._taken + len(chunk) > self._most:
                raise _too_large(self._most)
            if not self._budget.take(self._caller, len(chunk)):
                raise _too_many(self._budget.total)
            self._taken += len(chunk)
            chunks.append(chunk)
            if not message.get("more_body", False):
                return {"type": "http.request", "body": b"".join(chunks)}
            message = await receive()
        return message

    def give_back(self) -> None:
        """Give the memory back, once the body is decoded."""
        self._budget.give_back(self._caller, self._taken)


def _count_texts(raw: bytes) -> int:
    """At most how many texts a body has: quotes within texts count, too.

    >>> _count_texts(b'{"ids": ["a", "b", 7]}')
    3
    """
    return raw.count(b'"') // 2


def _too_large(limit: int) -> HttpProblem:
    return HttpProblem("too-large", f"The body has more than {limit} bytes; send less per request.")


def _too_many(limit: int) -> HttpProblem:
    detail = f"Large bodies in flight have {limit} bytes, the limit, or half of it from you alone; try again soon."
    return HttpProblem("busy", detail, headers={"retry-after": "1"})


def _is_json(media: bytes) -> bool:
    name, _, parameters = media.lower().partition(b";")
    return name.strip() == b"application/json" and parameters.replace(b" ", b"").replace(b'"', b"") in (
        b"",
        b"charset=utf-8",
    )
