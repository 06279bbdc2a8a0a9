"""What everything else at the desk stands on: the store and its writer, what is known of it, and when it is true.

A change does two things without a pause between them: it changes memory, and hands rows to the writer. The reply is
sent only once these are committed. So the log has everything in the order in which memory changed, and nothing that
was acknowledged can be lost.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from toplist.core.problem import nearest
from toplist.service.clock import milliseconds
from toplist.service.errors import NotFound, Refused, StoreUnavailable
from toplist.service.live.compiler import Warming
from toplist.service.live.learners import WORTH_A_SNAPSHOT
from toplist.service.live.ranking import RankingState
from toplist.service.live.state import Memory
from toplist.service.store.group_commit import Commits, Writer
from toplist.service.store.protocol import Row
from toplist.service.store.sqlite import SQLiteStore

BREATHE = 200  # milliseconds after a failed commit in which nothing is tried


class Change:
    """The context of a change; as a generator it would take longer than some changes do."""

    __slots__ = ("_failed", "_now")

    def __init__(self, now: Callable[[], Memory], failed: Callable[[], None]) -> None:
        self._now, self._failed = now, failed

    def __enter__(self) -> Memory:
        return self._now()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, Refused):
            self._failed()


class Core:
    """The life of a desk, and how its parts read and change what is known."""

    def __init__(self, path: Path, clock: Callable[[], int] = milliseconds, *, hot_bytes: int = 512 << 20) -> None:
        self._path, self._clock, self._room = path, clock, hot_bytes
        self._memory: Memory | None = None
        self._store: SQLiteStore | None = None
        self._writer: Writer | None = None
        self._breathe_until = 0
        self._stopping = False
        self._ending = threading.Event()  # for what runs in other threads
        self._warming = Warming()
        self._change = Change(self._now, self._failed)
        self.learned: Counter[str] = Counter()  # lists since the start, by what closed them

    async def start(self) -> None:
        """Open the store; policies are compiled meanwhile, and lists wait for theirs."""
        self._store = SQLiteStore(self._path)
        self._stopping = False
        self._ending = threading.Event()
        self._warming = Warming()
        self._writer = Writer(self._store, self._failed)
        self._memory = Memory(self._store, self._writer, self._room)
        for ranking in self._memory.rankings.values():
            self._warming.of(ranking.setting)

    def end(self) -> None:
        """Give up what takes long, compiling and training: whoever waits for that hears so, as it is not done."""
        self._ending.set()
        self._warming.end()

    async def stop(self) -> None:
        """Wait for what is under way, keep what learners know, and close the store."""
        if self._store is None or self._writer is None:
            return
        self._stopping = True
        self.end()
        await self._writer.drained()
        if self._memory is not None:
            rows: list[Row] = [
                learner.snapshot() for learner in self._memory.learners if learner.unkept >= WORTH_A_SNAPSHOT
            ]
            try:
                if rows:
                    await self._writer.write(rows)
            except StoreUnavailable:
                pass  # everything is in the log
        await self._writer.drained()
        self._writer.close()
        self._store.close()
        self._memory = self._store = self._writer = None

    @property
    def ready(self) -> bool:
        """Whether it can promise something."""
        if self._store is None or self._stopping:
            return False
        return self._memory is not None or self._clock() >= self._breathe_until

    @property
    def compiling(self) -> bool:
        """Whether the compiler is at work, which nobody can stop."""
        return self._warming.busy

    @property
    def hot_learners(self) -> int:
        """How many learners are in memory."""
        return 0 if self._memory is None else len(self._memory.learners)

    @property
    def commits(self) -> Commits:
        """What was committed since the start."""
        return Commits() if self._writer is None else self._writer.commits

    @property
    def open_impressions(self) -> int:
        """How many lists wait for their reports, deferred ones among them."""
        return 0 if self._store is None else self._store.open_impressions()

    def _failed(self) -> None:
        """Memory has what the store does not, so it is not true."""
        self._memory = None
        self._breathe_until = self._clock() + BREATHE

    def _now(self) -> Memory:
        """What is known, read from the store again after a failure."""
        if self._stopping or self._store is None or self._writer is None:
            raise StoreUnavailable("The service is not running.")
        if self._memory is None:
            if self._clock() < self._breathe_until or self._writer.pending:
                raise StoreUnavailable("The store could not be written to a moment ago.", BREATHE / 1000)
            self._memory = Memory(self._store, self._writer, self._room)
        return self._memory

    def _changing(self) -> Change:
        """For changes of memory, which are refused before they begin, or else are whole: half of one is not true."""
        return self._change

    def _written(self, rows: Sequence[Row]) -> Awaitable[None]:
        """When rows are committed, and everything that they or a reply without rows build on."""
        assert self._writer is not None
        return self._writer.write(rows)

    def _count(self, reason: str | None) -> None:
        """A list is learned, for that reason; None where it is not."""
        if reason is not None:
            self.learned[reason] += 1

    async def settled(self) -> None:
        """When all that was changed so far is committed, or given up."""
        if self._writer is not None:
            await self._written([])

    def _ranking(self, name: str) -> RankingState:
        rankings = self._now().rankings
        try:
            return rankings[name]
        except KeyError:
            advice = nearest(name, rankings, "create it first")
            raise NotFound(f"There is no ranking {name!r}; {advice}.") from None
