"""A simulation of the playground as server-sent events; it ends with its connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import msgspec

from toplist.service.playground.playground import QueuedSimulation, Told

LOOK_EVERY = 0.25  # seconds after which a reader that is gone is noticed
LAST = ("done", "refused", "failed")  # kinds of events after which there is none
_COMMENT = b": alive\n\n"


class SimulationParts:
    """Server-sent events of a simulation, until it is over or the service stops."""

    def __init__(self, simulation: QueuedSimulation, is_stopping: Callable[[], bool]) -> None:
        self._simulation, self._is_stopping = simulation, is_stopping
        self._events: AsyncIterator[Told] = simulation.events()
        self._next: asyncio.Task[Told | None] | None = None
        self._encode = msgspec.json.Encoder().encode
        self._part: bytes | None = None
        self._is_over = False
        self._last = ""  # kind of the last event

    async def read(self) -> bytes | None:
        """The next part, None after the last; the same again until `advance`."""
        if self._part is None and not self._is_over:
            if self._next is None:
                self._next = asyncio.ensure_future(self._take())
            done, _ = await asyncio.wait([self._next], timeout=LOOK_EVERY)
            if done:
                told, self._next = self._next.result(), None
                self._is_over = told is None
                self._part = self._ending() if told is None else self._event(told)
            else:
                self._part = _COMMENT
        return self._part

    def _ending(self) -> bytes | None:
        """What is left to say when the simulation is over; a stopping service has ended it before its last event."""
        if self._last in LAST or not self._is_stopping():
            return None
        return self._event({"event": "failed", "detail": "The service stops."})

    async def _take(self) -> Told | None:
        return await anext(self._events, None)

    def _event(self, told: dict[str, Any]) -> bytes:
        data = {name: value for name, value in told.items() if name != "event"}
        kind: str = told["event"]
        self._last = kind
        return b"event: " + kind.encode() + b"\ndata: " + self._encode(data) + b"\n\n"

    def advance(self) -> None:
        """Go on to the part after the one that was read."""
        self._part = None

    def end(self) -> None:
        """End the simulation, whatever became of the connection."""
        self._simulation.end()
        if self._next is not None:
            with suppress(RuntimeError):  # the loop may have ended
                self._next.cancel()
