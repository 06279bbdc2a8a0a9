"""Budgets of the memory that requests take together: those that find no room wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from toplist.service.errors import Refused
from toplist.service.log.settings import LearnerSettings

SMALL = 1 << 17  # bytes; what takes less is not counted, since the number of requests in flight is limited
TIMES_LEARNER = 3  # a learner in another form, the learner made of it, and a part of that while it is made


def check_size(settings: LearnerSettings, items: int, work: WorkMemory, field: str) -> None:
    """Refuse items or settings whose learners could not be loaded or copied within the budget."""
    size = settings.learner_size(items)
    if not work.fits(size):
        raise Refused(
            f"A learner of {settings.spec.policy} with {items} items would take {size >> 20} MB, but "
            f"{work.most_bytes // TIMES_LEARNER >> 20} MB are the most; use fewer items, fewer features or another "
            f"policy, or raise limits.request_memory.", field,
        )  # fmt: skip


class _Waiting(NamedTuple):
    size: int
    granted: asyncio.Future[None]


class WorkMemory:
    """A budget of bytes; it belongs to one event loop.

    Parameters
    ----------
    most_bytes : int
        The budget. Work that needs more than all of it waits until there is no other, and is then done alone.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.taken = 0
        self._urgent: deque[_Waiting] = deque()
        self._others: deque[_Waiting] = deque()

    def fits(self, learner: int) -> bool:
        """Whether a learner of so many bytes can be loaded or copied within the budget."""
        return TIMES_LEARNER * learner <= self.most_bytes

    @asynccontextmanager
    async def reserve(self, size: int, urgent: bool = False) -> AsyncIterator[None]:
        """Context that holds so many bytes of the budget; work waits for its turn, urgent work before other work."""
        if size < SMALL:
            yield
            return
        await self.take(size, urgent)
        try:
            yield
        finally:
            self.give_back(size)

    async def take(self, size: int, urgent: bool = False) -> None:
        """Wait for so many bytes and take them, until `give_back`; the caller waits for no other bytes meanwhile."""
        is_next = not self._urgent and (urgent or not self._others)
        if is_next and self.has_room(size):
            self.take_now(size)
        else:
            await self._wait(size, self._urgent if urgent else self._others)

    def take_now(self, size: int) -> None:
        """Take bytes for which there is room, before those who wait."""
        self.taken += size

    def give_back(self, size: int) -> None:
        """Give bytes back, to those who wait."""
        self.taken -= size
        self._grant()

    def has_room(self, size: int) -> bool:
        """Whether `size` bytes are left now; the first work always finds room."""
        return self.taken == 0 or self.taken + size <= self.most_bytes

    async def _wait(self, size: int, queue: deque[_Waiting]) -> None:
        waiting = _Waiting(size, asyncio.get_running_loop().create_future())
        queue.append(waiting)
        try:
            await waiting.granted
        except BaseException:  # its client has left
            if waiting in queue:
                queue.remove(waiting)
                self._grant()  # to smaller ones behind it
            elif not waiting.granted.cancelled():
                self.give_back(size)
            raise

    def _grant(self) -> None:
        while queue := self._urgent or self._others:
            if not self.has_room(queue[0].size):
                return
            size, granted = queue.popleft()
            if not granted.done():  # else its client has left
                self.taken += size
                granted.set_result(None)
