"""Turns for costly requests: one at a time, callers one after the other, and for a share of the time at most.

A read that copies a learner or goes through the log takes milliseconds, of which lists and reports wait for some. One
alone is hardly noticed, but many at once, or one after another without a pause, would take most of the interpreter.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

from toplist.service.errors import TooManyReads

SHARE = 0.2
MOST_WAITING = 32

CallLater = Callable[[float, Callable[[], None]], object]


class ReadLane:
    """Gives turns to costly reads, or to other costly requests; it belongs to one event loop.

    After a turn the lane rests, so that turns take `share` of the time. The next turn is that of the caller who has
    waited longest since its own last one: a dashboard waits for one read of a flood, not for all of them.

    Parameters
    ----------
    share : float, default 0.2
        Share of the time for turns; 1 for no rest.
    most_waiting : int, default 32
        Reads of one caller that may wait; more are refused.
    clock : callable, default monotonic
        The time in seconds.
    call_later : callable, optional
        Calls a function after so many seconds; by default the running event loop does.
    what : str, default "estimates, explanations and histories"
        What takes turns, for the error.
    """

    def __init__(
        self, share: float = SHARE, most_waiting: int = MOST_WAITING, clock: Callable[[], float] = monotonic,
        call_later: CallLater | None = None, what: str = "estimates, explanations and histories",
    ) -> None:  # fmt: skip
        self._rest_per_second = 1.0 / share - 1.0
        self._most_waiting = most_waiting
        self._clock, self._call_later, self._what = clock, call_later, what
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # the next caller is first
        self._is_taken = False
        self._is_resting = False  # with a call of `_grant` to come
        self._rested_at = 0.0

    @property
    def waiting(self) -> int:
        """Number of reads that wait."""
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def turn(self, by: str) -> AsyncIterator[None]:
        """Context of one costly read of a caller; it waits for its turn.

        Raises
        ------
        TooManyReads
            If too many reads of the caller wait already.
        """
        await self._begin(by)
        begun = self._clock()
        try:
            yield
        finally:
            self._end(self._clock() - begun)

    async def step(self, by: str) -> None:
        """Wait for a turn, which ends when the caller next waits for something, as for a commit.

        Raises
        ------
        TooManyReads
            If too many of the caller wait already.
        """
        await self._begin(by)
        begun = self._clock()
        asyncio.get_running_loop().call_soon(lambda: self._end(self._clock() - begun))

    async def charge(self, by: str, seconds: float) -> None:
        """Wait for a turn, and count so much time for it: for work that was done before, as with bytes that arrived.

        Raises
        ------
        TooManyReads
            If too many of the caller wait already.
        """
        await self._begin(by)
        self._end(seconds)

    async def _begin(self, by: str) -> None:
        if not self._is_taken and not self._queues and self._clock() >= self._rested_at:
            self._is_taken = True
            return
        queue = self._queues.get(by, ())
        if len(queue) >= self._most_waiting:
            raise TooManyReads(f"{len(queue)} {self._what} wait for their turn, the limit; ask less often.")
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(by, deque()).append(granted)
        self._go_on()
        try:
            await granted
        except BaseException:  # its client has left
            if granted.cancelled():
                self._leave(by, granted)
            else:
                self._end(0.0)
            raise

    def _leave(self, by: str, granted: asyncio.Future[None]) -> None:
        queue = self._queues.get(by)
        if queue is not None and granted in queue:
            queue.remove(granted)
            if not queue:
                del self._queues[by]

    def _end(self, seconds: float) -> None:
        self._is_taken = False
        self._rested_at = self._clock() + seconds * self._rest_per_second
        self._go_on()

    def _go_on(self) -> None:
        """Give the next turn, now or after a rest."""
        if self._is_taken or self._is_resting or not self._queues:
            return
        rest = self._rested_at - self._clock()
        if rest <= 0.0:
            self._grant()
            return
        self._is_resting = True
        call_later = self._call_later or asyncio.get_running_loop().call_later
        call_later(rest, self._grant)

    def _grant(self) -> None:
        self._is_resting = False
        while self._queues and not self._is_taken:
            by, queue = self._queues.popitem(last=False)
            granted = queue.popleft()
            if queue:
                self._queues[by] = queue  # behind the other callers
            if not granted.done():  # else its client has left
                self._is_taken = True
                granted.set_result(None)
