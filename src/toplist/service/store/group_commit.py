"""Group commit: rows handed over while a commit runs go into the next one, whose callers are answered together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from toplist.service.errors import StoreUnavailable
from toplist.service.store.commit_thread import CommitThread
from toplist.service.store.protocol import Store
from toplist.service.store.row_kinds import CLOCK, EventRow, Row

GATHERED = 4  # changes of a commit from which on the next one waits for others that are on their way
GATHER_SECONDS = 0.001  # that one look for them takes, where the store is far
MOST_LOOKS = 3  # on a busy machine one takes longer, in which the loop receives more
USUAL_SHARE = 7 / 8  # of the changes that were usual which still are after a smaller commit
IDLE_TURNS = 3  # of the loop: what one turn receives is handled in the next, and handed over in the one after that
SLOW_SECONDS = 1.0  # a commit that takes longer is in trouble


Waiting = tuple[asyncio.Future[Any], Any]  # the future of a change, and its result once it is committed


@dataclass
class CommitCounts:
    """Commits since the start."""

    commits: int = 0
    changes: int = 0  # several per commit
    seconds: float = 0.0

    def add(self, changes: int, seconds: float) -> None:
        """Count one more commit."""
        self.commits += 1
        self.changes += changes
        self.seconds += seconds


class GroupCommit:
    """Writes to the store in the order of calls of `write`.

    Rows are written on the event loop's thread; only the commit, which waits for the disk, runs in another. If it
    fails, `on_failure` is called first with the reason, since memory has what the store has not, and then every
    waiting call raises.
    """

    def __init__(self, store: Store, on_failure: Callable[[Exception], None]) -> None:
        self._store = store
        self._on_failure = on_failure
        self.loop = asyncio.get_running_loop()  # kept: to ask for it takes a call of the system
        self._rows: list[Row] = []  # of the next commit
        self._waiting: list[Waiting] = []
        self._committing: list[Row] = []  # of the commit in progress
        self._watching: list[list[EventRow]] = []
        self._task: asyncio.Task[None] | None = None
        self._thread = CommitThread(self.loop)
        self._usual = 0  # changes of a commit: those of the last one, or of larger ones not long before
        self._looking: asyncio.Future[None] | None = None  # done once as many wait, or a look is over
        self.last_seq = 0  # of the last event handed over, committed or not
        self.last_time = 0  # of that event, in milliseconds
        self.counts = CommitCounts()
        self.failures = 0
        self.refused_from = 0  # seq of the first event that was not committed, when a commit last failed
        self._begun: float | None = None  # when the commit in progress began, on the monotonic clock
        self._was_slow = False
        self._troubled: float | None = None

    @property
    def is_slow(self) -> bool:
        """Whether the commit in progress takes long, or the last one did."""
        return self._was_slow or (self._begun is not None and monotonic() - self._begun > SLOW_SECONDS)

    @property
    def troubled_since(self) -> float | None:
        """When the first commit began that failed or took long, on the monotonic clock; None after a good one."""
        return self._begun if self._troubled is None and self.is_slow else self._troubled

    def doubt(self) -> None:
        """A read failed, so that commits may be in trouble: take it for so until one is quick."""
        self._troubled, self._was_slow = self._troubled or monotonic(), True

    def write(self, rows: Sequence[Row]) -> asyncio.Future[None]:
        """Take rows now; the future is done once they and all rows before are committed."""
        written: asyncio.Future[None] = self.loop.create_future()
        self.write_together(rows, [(written, None)])
        return written

    def write_together(self, rows: Sequence[Row], waiting: Sequence[Waiting]) -> None:
        """Take the rows of several changes now; each future gets its result once all of them are committed."""
        if not rows and not self.pending:
            _tell(waiting)
            return
        add = self._rows.append
        for row in rows:
            if type(row) is EventRow:
                self.last_seq = row.seq
                add(row if row.at == self.last_time else self._with_rising_time(row))
            else:
                add(row)
        for watched in self._watching:
            watched.extend(row for row in rows if type(row) is EventRow)
        self._waiting += waiting
        if self._looking is not None and len(self._waiting) >= self._usual:
            self._end_look()
        if self._task is None:
            self._task = self.loop.create_task(self._work())

    def _with_rising_time(self, event: EventRow) -> EventRow:
        """The log is searched by time, so times never fall, except where an event says that the clock was corrected."""
        if event.at < self.last_time and event.kind != CLOCK:
            return event._replace(at=self.last_time)
        self.last_time = event.at
        return event

    @property
    def pending(self) -> bool:
        """Whether rows are not committed yet."""
        return bool(self._rows or self._committing)

    def pending_rows(self) -> Iterator[Row]:
        """Rows that are not committed yet, in order."""
        yield from self._committing
        yield from self._rows

    def pending_events(self) -> Iterator[EventRow]:
        """Events that are not committed yet, in order."""
        for row in self.pending_rows():
            if isinstance(row, EventRow):
                yield row

    def first_pending_seq(self) -> int:
        """Seq of the first event that is not committed yet, handed over or not."""
        return next((event.seq for event in self.pending_events()), self.last_seq + 1)

    @contextmanager
    def watch_events(self) -> Iterator[list[EventRow]]:
        """Collect the events that are handed over within the context, for a read that takes a while."""
        arrived: list[EventRow] = []
        self._watching.append(arrived)
        try:
            yield arrived
        finally:
            self._watching = [watched for watched in self._watching if watched is not arrived]

    async def drain(self) -> None:
        """Wait until nothing is left to write."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def abort(self) -> None:
        """Give up what is not committed, as a killed process would; a commit that has begun is finished."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self.close()

    def close(self) -> None:
        """End the thread of commits."""
        self._thread.close()

    async def _work(self) -> None:
        try:
            await asyncio.sleep(0)  # requests that are ready to run now join the first commit
            while self._waiting:
                self._committing, self._rows = self._rows, []
                waiting, self._waiting = self._waiting, []
                try:
                    if self._committing:
                        self._begun = monotonic()
                        self._store.write(self._committing)
                        await self._thread.run(self._store.commit)
                        self._end_commit(len(waiting))
                except Exception as problem:
                    self._troubled = self._troubled or self._begun
                    self._begun, self._was_slow = None, False
                    self.failures += 1
                    self._fail(waiting, problem)
                    continue
                self._committing = []
                _tell(waiting)
                await asyncio.sleep(0)  # their replies are sent before the next commit occupies the loop's thread
                self._usual = max(len(waiting), int(self._usual * USUAL_SHARE) if self._store.is_far else 0)
                if self._usual >= GATHERED:
                    await self._gather()
        finally:
            self._task = None

    async def _gather(self) -> None:
        """Wait while more changes come: under load, a few large commits take less time than many small ones.

        A commit on this machine is worth no pause: it starts once the loop has nothing else to do.
        """
        if self._store.is_far:
            await self._gather_callers()
            return
        looks = idle = 0
        while len(self._waiting) < self._usual and looks < IDLE_TURNS * self._usual and idle < IDLE_TURNS:
            before = len(self._waiting)
            await asyncio.sleep(0)
            idle = idle + 1 if len(self._waiting) == before else 0
            looks += 1

    async def _gather_callers(self) -> None:
        """Wait until as many changes wait as usual, but not for long.

        Callers that were answered ask again: those of other servers a little later, and not all of them here.
        """
        for _ in range(MOST_LOOKS):
            if len(self._waiting) >= self._usual:
                return
            self._looking = self.loop.create_future()
            timer = self.loop.call_later(GATHER_SECONDS, self._end_look)
            try:
                await self._looking
            finally:
                timer.cancel()
                self._looking = None

    def _end_look(self) -> None:
        if self._looking is not None and not self._looking.done():
            self._looking.set_result(None)

    def _end_commit(self, changes: int) -> None:
        """Count a commit, and remember whether it took long."""
        begun = self._begun
        assert begun is not None
        seconds = monotonic() - begun
        self.counts.add(changes, seconds)
        self._was_slow = seconds > SLOW_SECONDS
        self._troubled = (self._troubled or begun) if self._was_slow else None
        self._begun = None

    def _fail(self, waiting: list[Waiting], problem: Exception) -> None:
        """Fail all queued rows as well: they were built on those of the failed commit."""
        all_waiting = waiting + self._waiting
        self.refused_from = self.first_pending_seq()
        self._rows, self._committing, self._waiting = [], [], []
        self._on_failure(problem)
        if not isinstance(problem, StoreUnavailable):
            problem = StoreUnavailable(f"The store cannot be written to: {problem!r}; check its disk.")
        for future, _ in all_waiting:
            if not future.done():
                future.set_exception(problem)


def _tell(waiting: Sequence[Waiting]) -> None:
    """Give each future its result."""
    for future, result in waiting:
        if not future.done():  # its client may have left
            future.set_result(result)
