"""An attacker, who makes attacks at bounded rates from several addresses and counts what it gets."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from .peer import Peer
from .plan import ADDRESSES, ENDS, Plan

PATIENCE = 10.0  # seconds for an answer
LAG = 0.1  # seconds; an attack that is later than that does not catch up with a burst
LOOK_AGAIN = 0.5  # seconds until a held connection is looked at again
HELD_ON = "HELD ON"  # the count of connections that the service did not end in time
KNOWN = 5000  # impressions that are remembered, for late reports

By = Literal["stranger", "serve", "admin"]


class Attack(NamedTuple):
    """A way to attack, and its bounds."""

    name: str
    by: By  # whose key the attacker has
    rate: float  # steps per second
    connections: int  # steps at once
    step: Callable[[Attacker], Awaitable[None]]
    is_timed: bool = False  # whether its connections are held until a timer of the service ends them


class Slice(NamedTuple):
    """What came of some seconds of an attack."""

    attack: str
    by: By
    begun: float  # by time.monotonic()
    ended: float
    requests: int
    got: dict[str, int]


class Attacker:
    """Sends requests from several addresses, and counts the answers."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.random = random.Random(8)
        self.known: deque[str] = deque(maxlen=KNOWN)  # impressions of its own lists
        self._requests = 0
        self._got: Counter[str] = Counter()
        self._open: set[Peer] = set()
        self._idle: dict[str, list[Peer]] = {}
        self._turn = 0

    def key(self, by: By) -> str | None:
        """An API key that was stolen."""
        return {"stranger": None, "serve": self.plan.stolen_serve_key, "admin": self.plan.stolen_admin_key}[by]

    async def connect(self, address: str | None = None, receive_buffer: int | None = None) -> Peer:
        """A new connection, from the next address; the end of the attack closes it."""
        if address is None:
            self._turn += 1
            address = ADDRESSES[self._turn % len(ADDRESSES)]
        peer = await Peer.to(self.plan.port, address, receive_buffer)
        self._open.add(peer)
        return peer

    def close(self, peer: Peer) -> None:
        """Close a connection."""
        self._open.discard(peer)
        peer.close()

    def count(self, what: str | int) -> None:
        """Count an answer or another outcome."""
        self._got[str(what)] += 1

    async def ask(
        self, by: By, method: str, path: str, body: Any = None, headers: str = "", address: str | None = None
    ) -> tuple[int, Any]:
        """Status and body of a request on a connection that is kept; bytes are sent as they are."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        key = self.key(by)
        if key is not None:
            headers += f"Authorization: Bearer {key}\r\n"
        place = address or ADDRESSES[self.random.randrange(len(ADDRESSES))]
        idle = self._idle.setdefault(place, [])
        peer = idle.pop() if idle else await self.connect(place)
        self._requests += 1
        await peer.send(message(method, path, content, headers))
        async with asyncio.timeout(PATIENCE):
            status, text = await peer.answer()
        self.count(status)
        if status in (400, 401, 408, 413, 429, 431):  # the service may close the connection after these
            self.close(peer)
        else:
            idle.append(peer)
        return status, json.loads(text) if text[:1] == b"{" else None

    async def tell(self, data: bytes, address: str | None = None, half_close: bool = False, wait: float = 2.0) -> int:
        """Status of the answer to raw bytes on a new connection; 0 if there is none."""
        peer = await self.connect(address)
        self._requests += 1
        status = 0
        try:
            await peer.send(data)
            if half_close:
                peer.half_close()
            async with asyncio.timeout(wait):
                status, _ = await peer.answer()
            self.count(status)
        except TimeoutError:
            self.count("no answer")
        except ValueError:
            self.count("unreadable")
        finally:
            self.close(peer)
        return status

    async def hold(
        self, data: bytes, then: bytes = b"", every: float = 1.0, receive_buffer: int | None = None,
        address: str | None = None, lasts: bool = False,
    ) -> None:  # fmt: skip
        """Send, read nothing, and keep the connection, with some more bytes every now and then, until it ends.

        The service must end it in time, unless it `lasts`.
        """
        peer = await self.connect(address, receive_buffer)
        self._requests += 1
        self.count("held")
        sending = asyncio.create_task(_send(peer, data, then, every))
        try:
            await self.wait_for_end(peer, lasts)
        finally:
            sending.cancel()

    async def wait_for_end(self, peer: Peer, lasts: bool = False) -> None:
        """Wait until the service closes a connection, and count that it did."""
        begun = time.monotonic()
        while not peer.has_ended():
            if not lasts and time.monotonic() - begun > ENDS:
                self.count(HELD_ON)
                return
            await asyncio.sleep(LOOK_AGAIN)
        self.count("ended")
        self.close(peer)

    async def run(self, attack: Attack, seconds: float) -> Slice:
        """One attack for some seconds."""
        self._requests, self._got = 0, Counter()
        scale = self.plan.scale
        most, rate = max(1, round(attack.connections * scale)), max(2.0 / seconds, attack.rate * scale)
        begun = due = time.monotonic()
        running: set[asyncio.Task[None]] = set()
        while (now := time.monotonic()) < begun + seconds:
            if due > now:
                await asyncio.sleep(min(due, begun + seconds) - now)
                continue
            if now - due > LAG:
                due = now
            due += 1.0 / rate
            if len(running) < most:
                task = asyncio.create_task(self._step(attack))
                running.add(task)
                task.add_done_callback(running.discard)
            else:  # without spinning, which would take the processor from others
                await asyncio.wait(running, timeout=begun + seconds - now, return_when=asyncio.FIRST_COMPLETED)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for peer in self._open:
            peer.close()
        self._open.clear()
        self._idle.clear()
        return Slice(attack.name, attack.by, begun, time.monotonic(), self._requests, dict(self._got))

    async def _step(self, attack: Attack) -> None:
        try:
            await attack.step(self)
        except TimeoutError:
            self.count("no answer")
        except OSError:
            self.count("hung up")


async def _send(peer: Peer, data: bytes, then: bytes, every: float) -> None:
    """Send bytes, and more of them every now and then, as long as the service takes them."""
    with suppress(OSError):
        await peer.send(data)
        while True:
            await asyncio.sleep(every)
            await peer.send(then)


def message(method: str, path: str, body: bytes = b"", headers: str = "") -> bytes:
    """A request as bytes."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}"
    if body or method in ("POST", "PUT", "PATCH"):
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}\r\n".encode("latin-1") + body
