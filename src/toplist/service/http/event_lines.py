"""The event log of a ranking as JSON lines, in parts that can be read again."""

from __future__ import annotations

import asyncio

import msgspec

from toplist.service.live.log_pages import LogPages
from toplist.service.log.export import DividedPage, EventPage


class EventLines:
    """Events as JSON lines, a page at a time; other requests run between pages."""

    def __init__(self, pages: LogPages[EventPage | DividedPage], limit: int | None) -> None:
        self._pages, self._limit = pages, limit
        self._encode = msgspec.json.Encoder().encode_lines
        self._first: bytes | None = None
        self._next = pages.after, limit  # where the part after the one that was read begins, and its limit

    async def read_first(self) -> None:
        """Read the first part, which `read` then gives."""
        self._first = await self.read()

    async def read(self) -> bytes | None:
        """The next part, None after the last; the same again until `advance`."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        begin = self._pages.after
        while self._limit != 0 and (page := await anext(self._pages, None)) is not None:
            events = page.events[: self._limit]
            if events:
                self._next = page.until, None if self._limit is None else self._limit - len(events)
                self._pages.after = begin
                return self._encode(events)
            begin = page.until
            await asyncio.sleep(0)
        return None

    def advance(self) -> None:
        """Go on to the part after the one that was read."""
        self._pages.after, self._limit = self._next
