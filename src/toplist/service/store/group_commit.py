"""Group commit: what is written while one commit is under way goes into the next, and all its writers wait together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

from toplist.service.errors import StoreUnavailable
from toplist.service.store.protocol import EventRow, Row, Store


@dataclass
class Commits:
    """What commits came to since the start."""

    count: int = 0
    waited: int = 0  # changes that were committed, several at once
    seconds: float = 0.0

    def note(self, waited: int, seconds: float) -> None:
        """One more."""
        self.count += 1
        self.waited += waited
        self.seconds += seconds


class Writer:
    """The one who writes to the store, in the order of the calls of `write`.

    Rows are written on the loop's thread, where nobody contends for them, and only the commit, which waits for the
    disk, runs in another. When it fails, all who wait are told, and `failed` is called first: what they have changed in
    memory is not true.
    """

    def __init__(self, store: Store, failed: Callable[[], None]) -> None:
        self._store = store
        self._failed = failed
        self._rows: list[Row] = []  # of the next commit
        self._waiting: list[asyncio.Future[None]] = []
        self._under_way: list[Row] = []  # of the commit that is under way
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "toplist-commit")
        self.handed = 0  # the last event that was written, committed or not
        self.latest = 0  # when that was, in milliseconds
        self.commits = Commits()
        self.failures = 0

    def write(self, rows: Sequence[Row]) -> asyncio.Future[None]:
        """Take rows now; done when they are committed, as is all that was written before."""
        loop = asyncio.get_running_loop()
        written: asyncio.Future[None] = loop.create_future()
        if not rows and not self.pending:
            written.set_result(None)
            return written
        for row in rows:
            self._rows.append(self._in_time(row) if type(row) is EventRow else row)
        self._waiting.append(written)
        if self._task is None:
            self._task = loop.create_task(self._work())
        return written

    def _in_time(self, event: EventRow) -> EventRow:
        """An event as it goes into the log, which is searched by its times: a clock that is set back stands still."""
        self.handed = event.seq
        if event.at < self.latest:
            return event._replace(at=self.latest)
        self.latest = event.at
        return event

    @property
    def pending(self) -> bool:
        """Whether something is not committed yet."""
        return bool(self._rows or self._under_way)

    def pending_rows(self) -> Iterator[Row]:
        """The rows that are not committed yet, in order."""
        yield from self._under_way
        yield from self._rows

    def pending_events(self) -> Iterator[EventRow]:
        """The events that are not committed yet, in order."""
        for row in self.pending_rows():
            if isinstance(row, EventRow):
                yield row

    def settled_before(self) -> int:
        """The first event that is not committed yet, whether it is written already or not."""
        return next((event.seq for event in self.pending_events()), self.handed + 1)

    async def drained(self) -> None:
        """When nothing is left to write."""
        while self._task is not None:
            await asyncio.wait([self._task])

    def close(self) -> None:
        """No more commits."""
        self._thread.shutdown()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            # Those who are ready to run at this moment come along with the first of them.
            await asyncio.sleep(0)
            while self._waiting:
                self._under_way, self._rows = self._rows, []
                waiting, self._waiting = self._waiting, []
                try:
                    if self._under_way:
                        begun = perf_counter()
                        self._store.write(self._under_way)
                        await loop.run_in_executor(self._thread, self._store.commit)
                        self.commits.note(len(waiting), perf_counter() - begun)
                except Exception as problem:
                    self.failures += 1
                    self._give_up(waiting, problem)
                    continue
                self._under_way = []
                for one in waiting:
                    if not one.done():  # its client may be gone
                        one.set_result(None)
                # Their replies are on the way before the next commit keeps the thread of the loop.
                await asyncio.sleep(0)
        finally:
            self._task = None

    def _give_up(self, waiting: list[asyncio.Future[None]], problem: Exception) -> None:
        """What is queued was built on what has failed, so it fails as well."""
        everybody = waiting + self._waiting
        self._rows, self._under_way, self._waiting = [], [], []
        self._failed()
        if not isinstance(problem, StoreUnavailable):
            problem = StoreUnavailable(f"The store cannot be written to: {problem!r}; see to its disk.")
        for one in everybody:
            if not one.done():
                one.set_exception(problem)
