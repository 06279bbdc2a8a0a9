"""The service without HTTP: one object per kind of request, over one store and one state in memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from toplist.service.clock import BelievedClock, Clock, GivenClock
from toplist.service.errors import Refused
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.guardrail import SharedGuardrails
from toplist.service.live.imports import Imports
from toplist.service.live.impressions import Impressions
from toplist.service.live.items import Items
from toplist.service.live.make_list import Lists
from toplist.service.live.queries import Queries
from toplist.service.live.rankings import RankingManager
from toplist.service.live.read_lane import MOST_WAITING, SHARE, ReadLane
from toplist.service.live.retention import Retention
from toplist.service.live.segments import Segments
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import OpenStore, Transactions
from toplist.service.live.unrecorded import UnrecordedLists
from toplist.service.live.uplift_queries import UpliftQueries
from toplist.service.live.work_memory import WorkMemory
from toplist.service.log.impression_id import ImpressionIds
from toplist.service.store.address import open_store
from toplist.service.store.group_commit import CommitCounts


class SharedResources(NamedTuple):
    """What the services of several partitions share in one process."""

    clock: Clock
    compiler: PolicyCompiler
    work: WorkMemory
    lane: ReadLane


class Service:
    """The service without HTTP: makes lists, takes reports, learns. Use all methods from one event loop.

    Errors are `Refused` (with `field`, a JSON pointer), `NotFound`, `Conflict`, and `StoreUnavailable` (with
    `retry_after`).

    Parameters
    ----------
    store : Path or str
        File of the store, or address of its database.
    clock : callable, optional
        Returns the time in milliseconds, and is always believed; by default the wall clock, unless it is set.
    learner_bytes : int, default 512 MiB
        Limit of the memory for learners.
    work_bytes : int, default 1 GiB
        Limit of the memory that requests take together to load, copy and train learners, and for large lists.
    item_bytes : int, default 1 GiB
        Limit of the memory for the items of all rankings.
    most_rankings : int, default 1000
        Limit of the number of rankings.
    most_segments : int, default 1,000,000
        Limit of the number of segments of a ranking.
    read_share : float, default 0.2
        Share of the time for costly reads: estimates, explanations and histories.
    reads_waiting : int, default 32
        Limit of the number of costly reads of one caller that wait for their turn.
    unrecorded_seconds : float, default 60
        For how long lists are made from memory while nothing can be recorded, in rankings that ask for it.
    open_store : callable, optional
        Opens the store; by default as its file or address says.
    shared : SharedResources, optional
        What it shares with the services of other partitions; by default it has its own.
    ids : ImpressionIds, optional
        Makes the ids of impressions.

    Attributes
    ----------
    rankings, items, lists, imports, impressions, queries, uplift, segments, guardrails, retention
        One object per kind of request.
    transactions : Transactions
        The store and the state in memory.
    """

    def __init__(
        self,
        store: Path | str,
        clock: Callable[[], int] | None = None,
        *,
        learner_bytes: int = 512 << 20,
        work_bytes: int = 1 << 30,
        item_bytes: int = 1 << 30,
        most_rankings: int = 1000,
        most_segments: int = 1_000_000,
        read_share: float = SHARE,
        reads_waiting: int = MOST_WAITING,
        unrecorded_seconds: float = 60.0,
        open_store: OpenStore = open_store,
        shared: SharedResources | None = None,
        ids: ImpressionIds | None = None,
    ) -> None:
        if shared is None:
            own_clock = BelievedClock() if clock is None else GivenClock(clock)
            lane = ReadLane(read_share, reads_waiting)
            resources = SharedResources(own_clock, PolicyCompiler(), WorkMemory(work_bytes), lane)
        else:
            resources = shared
        self._shares = shared is not None
        self.transactions = Transactions(store, resources.clock, learner_bytes, resources.work, open_store, self._load)
        self.compiler = resources.compiler
        self.rankings = RankingManager(self.transactions, self.compiler, most_rankings)
        self.items = Items(self.transactions, item_bytes)
        self.unrecorded = UnrecordedLists(self.transactions, unrecorded_seconds)
        self.lists = Lists(self.transactions, self.compiler, most_segments, ids or ImpressionIds(), self.unrecorded)
        self.imports = Imports(self.transactions, self.compiler, self.items, most_segments, work_bytes)
        self.impressions = Impressions(self.transactions)
        self.queries = Queries(self.transactions, self.compiler, resources.lane)
        self.uplift = UpliftQueries(self.transactions, self.queries.lane)
        self.segments = Segments(self.transactions)
        self.guardrails = SharedGuardrails(self.transactions)
        self.retention = Retention(self.transactions, self.compiler)
        self.on_code_warning: Callable[[str, str], None] = lambda _ranking, _warning: None  # see `_load`
        self._warned: set[str] = set()

    async def start(self) -> None:
        """Open the store, and compile policies in the background; a list waits until its policy is compiled."""
        self.rankings.policy_change.start()
        if not self._shares:
            self.compiler.start()
        await self.transactions.open()

    def _load(self, state: LiveState) -> None:
        """Compile the policies of all rankings in the background; those that are compiled take no time.

        Learners that were made with other code of their policy are told to `on_code_warning`, once.
        """
        self.rankings.note_code(state)
        for ranking in state.rankings.values():
            warning = ranking.settings.code_warning
            if warning is not None and warning not in self._warned:
                self._warned.add(warning)
                self.on_code_warning(ranking.name, warning)
            self.compiler.compile(ranking.settings)

    def begin_stop(self) -> None:
        """Cancel compiling and training; requests that wait for them fail without effect."""
        self.rankings.policy_change.stop()
        if not self._shares:  # else other partitions go on with it
            self.compiler.stop()

    async def stop(self) -> None:
        """Wait for commits in progress, write snapshots of learners, and close the store."""
        self.begin_stop()
        await self.transactions.close()

    @property
    def is_ready(self) -> bool:
        """Whether changes can be committed now, or lists go on from memory."""
        return self.transactions.is_ready or self.unrecorded.is_serving

    def expiry_time(self) -> float:
        """Seconds since the epoch by which keys and tokens expire."""
        return self.transactions.clock.for_expiry() / 1000

    @property
    def is_time_believed(self) -> bool:
        """Whether windows are closed and retention deletes; not for some minutes after the clock was set."""
        return self.transactions.clock.is_believed

    @property
    def is_compiling(self) -> bool:
        """Whether machine code is loaded or compiled here, which cannot be interrupted."""
        return self.compiler.is_busy

    @property
    def loaded_learners(self) -> int:
        """Number of learners in memory."""
        state = self.transactions.loaded_state
        return 0 if state is None else len(state.learners)

    @property
    def learned(self) -> Counter[str]:
        """Number of lists learned since the start, by reason: a final report or the end of the window."""
        return self.impressions.learned

    @property
    def quarantined(self) -> Counter[str]:
        """Number of impressions and learners that were set aside since the start, since they cannot be used."""
        return self.transactions.quarantine.counts

    @property
    def commit_counts(self) -> CommitCounts:
        """Commits since the start."""
        return self.transactions.commit_counts

    async def open_impressions(self) -> int:
        """Number of impressions that are neither learned nor dropped."""
        return await self.queries.open_impressions()

    async def settle(self) -> None:
        """Wait until all changes so far are committed, or have failed."""
        await self.transactions.settle()

    async def backup(self, path: Path) -> None:
        """Write all committed data to a new file, while the service runs."""
        if path.exists():
            raise Refused(f"There is a file {path} already; name another one, or remove it.")
        await asyncio.to_thread(self.transactions.store.backup, path)

    async def beliefs(self) -> dict[tuple[str, str | None], bytes]:
        """Beliefs of the learners in memory, by ranking and segment, to compare with those rebuilt from the log."""
        state = await self.transactions.state()
        found: dict[tuple[str, str | None], bytes] = {}
        for learner in state.learners:
            current = state.learners.by_id(learner.id)
            assert current is not None
            found[learner.ranking.name, learner.segment] = current.ranker.to_bytes()
        return found
