"""Bodies of requests and responses: read, decoded and sent within limits of size, time and memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

import msgspec

from toplist.service.http import problems
from toplist.service.http.addresses import address_group
from toplist.service.http.problems import HttpProblem
from toplist.service.http.routing import CompiledRoute
from toplist.service.live.read_lane import ReadLane
from toplist.service.live.work_memory import SMALL, WorkMemory
from toplist.service.settings import Limits
from toplist.service.wire import Fault

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Decode = Callable[[bytes], Any]
OF_STRANGERS = 4  # callers without a key have together the budget divided by this, where there are keys,
SHARES_OF_STRANGERS = 8  # and one of them that divided by this
_PART = "part"  # the caller of a budget, for one that is a part of it
SMALL_BODY = 4096  # bytes; the objects of such a body are too small to be counted
LARGE_BODY = 8192  # bytes; a larger one takes a turn, if its route has turns: the list of 500 ids takes 0.2 ms
MOST_WAITING = 512  # large bodies of one caller; as long as they wait, it sends no others on these connections
SECONDS_PER_BYTE = 2e-9  # to receive a body; it counts for the turns, so that nobody sends large ones all the time
AS_SENT: Decode = bytes  # for a body that is decoded later


class Disconnected(Exception):
    """The client closed the connection before the response was sent."""


class ByteBudget:
    """Memory for bodies that arrive or leave in parts; one caller may have a share of it.

    Parameters
    ----------
    total : int
        Bytes of all callers.
    shares : int, default 2
        One caller may have the total divided by this.
    within : ByteBudget or None, default None
        A larger budget, of which this is a part.

    >>> budget = ByteBudget(100)
    >>> budget.take("a", 50), budget.take("a", 1), budget.take("b", 50), budget.take("c", 1)
    (True, False, True, False)
    """

    def __init__(self, total: int, shares: int = 2, within: ByteBudget | None = None) -> None:
        self.total, self.most = total, total // shares
        self._within = within
        self._taken = 0
        self._by_caller: Counter[str] = Counter()

    def take(self, caller: str, size: int) -> bool:
        """Take bytes, if there are enough left."""
        if self._taken + size > self.total or self._by_caller[caller] + size > self.most:
            return False
        if self._within is not None and not self._within.take(_PART, size):
            return False
        self._taken += size
        self._by_caller[caller] += size
        return True

    def give_back(self, caller: str, size: int) -> None:
        """Give bytes back."""
        if self._within is not None:
            self._within.give_back(_PART, size)
        self._taken -= size
        self._by_caller[caller] -= size
        if self._by_caller[caller] <= 0:
            del self._by_caller[caller]


class BudgetShare(NamedTuple):
    """What one caller may have of a budget."""

    budget: ByteBudget
    caller: str

    def take(self, size: int) -> bool:
        """Take bytes, if there are enough left."""
        return self.budget.take(self.caller, size)

    def give_back(self, size: int) -> None:
        """Give bytes back."""
        self.budget.give_back(self.caller, size)

    def needed(self, size: int) -> int:
        """The bytes that a response takes from the share, at most all of it."""
        return min(size, self.budget.most)


class Bodies:
    """Reads and decodes the bodies of requests.

    Attributes
    ----------
    on_the_way : ByteBudget
        The bytes of large bodies that arrive or leave. Clients can hold them, so that each has a share, and those
        without a key have a part together.
    memory : WorkMemory
        The memory of large bodies as objects. It is never held while a client is waited for, so that requests get it
        in turn.
    turns : ReadLane
        The turns in which large bodies are decoded and answered. Without them, a few callers with many ids would take
        all of the event loop, and short lists would wait for all of theirs.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.on_the_way = ByteBudget(limits.bodies_bytes)
        self._of_strangers = ByteBudget(limits.bodies_bytes // OF_STRANGERS, SHARES_OF_STRANGERS, self.on_the_way)
        self.memory = WorkMemory(limits.bodies_memory << 20)
        self.turns = ReadLane(limits.read_share, MOST_WAITING, what="large lists and reports")

    def share_of(self, key: str | None, address: str, needs_keys: bool) -> BudgetShare:
        """The share of a key or, if it is None, of callers of an address, where others may need keys."""
        if key is not None:
            return BudgetShare(self.on_the_way, f"key {key}")
        return BudgetShare(self._of_strangers if needs_keys else self.on_the_way, address_group(address))

    async def read(
        self, route: CompiledRoute, decode: Decode, headers: Mapping[bytes, bytes], raw: bytes | None,
        receive: Receive, share: BudgetShare | None,
    ) -> tuple[Any, int]:  # fmt: skip
        """The decoded body of a request, and how much of `memory` it holds; or the problem with it.

        `raw` is the body if it has arrived, else None. In this case, and for a large body, `share` is the caller's, of
        `on_the_way`.
        """
        media = headers.get(b"content-type", b"")
        if media != route.request_media and not _is_media(media, route.request_media):
            given = route.route.request_media
            detail = f"The body must be JSON, at least {{}}; send it with Content-Type: {given}."
            raise HttpProblem("unsupported-media-type", detail, [Fault(header="Content-Type", detail=detail)])
        most = self._limits.body_bytes if route.route.has_items else self._limits.list_bytes
        if route.route.most_bytes is not None:
            most = min(most, route.route.most_bytes)
        length = headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length[:20]) > most:
            raise _too_large(most)
        if raw is not None:  # the most frequent case, which needs no timer
            return await self._decode(raw, decode, most, route, share)
        assert share is not None
        chunks = _Chunks(share, most, self.turns if route.route.takes_turns else None)
        try:
            try:
                async with asyncio.timeout(self._limits.seconds):
                    message = await receive()
                    if message["type"] == "http.request" and message.get("more_body", False):
                        message = await chunks.receive(message, receive)
            except TimeoutError:
                raise problems.too_slow("body", self._limits.seconds) from None
            if message["type"] != "http.request":
                raise Disconnected
            return await self._decode(message.get("body", b""), decode, most, route, share)
        finally:
            chunks.give_back()

    async def _decode(
        self, raw: bytes, decode: Decode, most: int, route: CompiledRoute, share: BudgetShare | None
    ) -> tuple[Any, int]:
        size = len(raw)
        if size > most:
            raise _too_large(most)
        held = 0
        if size > SMALL_BODY:
            _check_counts(raw, route)
            if share is not None and decode is not AS_SENT:
                await self.take_turn(size, route, share.caller)
            held = await self._hold(raw)
        try:
            return decode_body(raw, decode), held
        except HttpProblem:
            self.memory.give_back(held)
            raise

    async def take_turn(self, size: int, route: CompiledRoute, caller: str) -> None:
        """Wait for the turn of a large body; it ends when the request next waits for something, as for its commit."""
        if size > LARGE_BODY and route.route.takes_turns:
            await self.turns.step(caller)

    async def hold_reply(self, size: int) -> int:
        """Wait for the memory of a reply that is not encoded yet, and take it."""
        if size < SMALL:
            return 0
        size = min(size, self.memory.most_bytes)
        await self.memory.take(size)
        return size

    def hold_content(self, share: BudgetShare, size: int) -> int:
        """Take the bytes of a large response until it is sent; raises the problem if there are too many."""
        size = share.needed(size)
        if not share.take(size):
            raise _too_many(share)
        return size

    async def _hold(self, raw: bytes) -> int:
        """Wait for the memory that a body takes until it is on disk, and take it."""
        size = decoded_size(raw)
        if size > self.memory.most_bytes:
            detail = (
                f"The body would take {size >> 20} MB of memory, but {self.memory.most_bytes >> 20} MB are the most; "
                f"send less per request, or raise limits.bodies_memory."
            )
            raise HttpProblem("too-large", detail)
        await self.memory.take(size)
        return size


def decode_body(raw: bytes, decode: Decode) -> Any:
    """The decoded body of a request, or the problem with it."""
    try:
        return decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise problems.undecodable(error, raw, decode) from None


class _Chunks:
    """A body that arrives in parts; one that arrives whole is bounded by the buffer of its connection."""

    def __init__(self, share: BudgetShare, most: int, turns: ReadLane | None) -> None:
        self._share, self._most, self._turns = share, most, turns
        self._taken = 0

    async def receive(self, message: AsgiMessage, receive: Receive) -> AsgiMessage:
        """The whole body in one message, given its first part."""
        chunks: list[bytes] = []
        while message["type"] == "http.request":
            chunk: bytes = message.get("body", b"")
            if self._taken + len(chunk) > self._most:
                raise _too_large(self._most)
            if not self._share.take(len(chunk)):
                raise _too_many(self._share)
            self._taken += len(chunk)
            chunks.append(chunk)
            if not message.get("more_body", False):
                return {"type": "http.request", "body": b"".join(chunks)}
            if self._turns is not None:
                await self._turns.charge(self._share.caller, len(chunk) * SECONDS_PER_BYTE)
            message = await receive()
        return message

    def give_back(self) -> None:
        """Give the memory back, once the body is decoded."""
        self._share.give_back(self._taken)


def decoded_size(raw: bytes) -> int:
    """Bytes that a body takes as objects and as rows of the store, at most; it is not decoded for that.

    >>> decoded_size(b"[" + b"0," * 1000 + b"0]") >= 1001 * 32
    True
    """
    is_narrow = raw.isascii() and b"\\u" not in raw  # else a letter may take four bytes
    values = 40 * raw.count(b",") + 100 * raw.count(b":") + 64 * (raw.count(b"[") + raw.count(b"{"))
    return values + 12 * raw.count(b'"') + (3 if is_narrow else 6) * len(raw)


def _check_counts(raw: bytes, route: CompiledRoute) -> None:
    """Refuse a body with too many texts or entries; quotes and commas within texts count, too."""
    texts, entries, size = route.route.most_texts, route.route.most_entries, len(raw)
    if texts is not None and size > texts and raw.count(b'"') // 2 > texts:
        raise problems.invalid(f"The body has more than {texts} texts; send less per request.")
    if entries is not None and size > entries and raw.count(b",") >= entries:
        raise problems.invalid(f"The body has more than {entries} entries; send less per request.")


def _too_large(limit: int) -> HttpProblem:
    return HttpProblem("too-large", f"The body has more than {limit} bytes; send less per request.")


def _too_many(share: BudgetShare) -> HttpProblem:
    total, most = share.budget.total, share.budget.most
    detail = f"Large bodies on their way have {total} bytes, the limit, or {most} of them yours alone; try again soon."
    return HttpProblem("busy", detail, headers={"retry-after": "1"})


def _is_media(media: bytes, wanted: bytes) -> bool:
    """Whether a media type is the wanted one, in UTF-8."""
    name, _, parameters = media.lower().partition(b";")
    return name.strip() == wanted and parameters.replace(b" ", b"").replace(b'"', b"") in (
        b"",
        b"charset=utf-8",
    )
