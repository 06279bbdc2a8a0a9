"""The store and the state in memory: changes, their commits, and a reload after a failed commit.

A change does two things without a pause between them: it changes the state in memory, and hands rows to the group
commit. The reply is sent once these rows are committed. So changes are in the log in the order in which they were made
in memory, and nothing acknowledged is lost. Reads may take a round trip: an operation first reads what it needs, then
checks that the state is still current, and changes it in one step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from toplist.service.clock import Clock
from toplist.service.errors import (
    PAUSE_AFTER_FAILURE,
    LogMoved,
    NotOwner,
    Refused,
    StoreUnavailable,
    loaded_again,
    log_moved,
)
from toplist.service.live.kept_state import MovedState, keep_committed, read_since
from toplist.service.live.quarantine import Contained, QuarantineCounts
from toplist.service.live.state import LiveState
from toplist.service.live.work_memory import WorkMemory
from toplist.service.log.events import ClockEvent, encode
from toplist.service.store.group_commit import CommitCounts, GroupCommit
from toplist.service.store.protocol import LogMark, Store
from toplist.service.store.row_kinds import (
    CLOCK,
    NO_RANKING,
    WHOLE_RANKING,
    CheckOwner,
    EventRow,
    Row,
    SharedChange,
    ShiftWindows,
)

SNAPSHOT_BYTES = 4 << 20  # of snapshots in one commit when the service stops
CHANGE_PAUSE = 0.1  # seconds between two changes of divided rankings, in which other owners read the first and commit
HOLD_SECONDS = 0.3  # that a partition waits at most for a change that another server has announced

OpenStore = Callable[[Any], Store]  # of a file or an address


class StateChange:
    """Context of a change; a generator-based context manager would take longer than some changes."""

    __slots__ = ("_fail",)

    def __init__(self, fail: Callable[[BaseException], None]) -> None:
        self._fail = fail

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, *_: object) -> None:
        if problem is not None:
            self._fail(problem)


class OtherOwners(Protocol):
    """Tells the owners of other partitions of a change."""

    async def hold(self, parts: Sequence[int]) -> None:
        """Ask them to begin no change, and wait a moment until they have committed what they have begun."""

    def go_on(self, parts: Sequence[int]) -> Awaitable[object]:
        """Tell them that the change is committed, or failed; done once they have read it."""
        ...


class NoOwners:
    """For a store with one partition: there is no other owner to tell."""

    async def hold(self, parts: Sequence[int]) -> None:
        """There is no other owner to ask."""

    def go_on(self, parts: Sequence[int]) -> Awaitable[object]:
        """There is no other owner to tell."""
        return asyncio.sleep(0)


class Transactions:
    """Opens the store, returns the current state, and commits its changes.

    Parameters
    ----------
    store : Path or str
        File of the store, or address of its database.
    clock : Clock
        The time.
    learner_bytes : int
        Limit of the memory for learners.
    work : WorkMemory
        Limit of the memory that requests take together to load and copy learners.
    open_store : callable
        Opens the store.
    on_load : callable
        Called with each state that is loaded.
    """

    def __init__(
        self, store: Path | str, clock: Clock, learner_bytes: int, work: WorkMemory, open_store: OpenStore,
        on_load: Callable[[LiveState], None],
    ) -> None:  # fmt: skip
        self.clock = clock
        self.work = work
        self.quarantine = QuarantineCounts()
        self._address, self._learner_bytes, self._open_store = store, learner_bytes, open_store
        self._on_load = on_load
        self._state: LiveState | None = None
        self._store: Store | None = None
        self._commits: GroupCommit | None = None
        self._retry_at = 0
        self._shifted = 0  # milliseconds of the clock's shift that windows have followed
        self._begun_after: int | None = None  # seq of the last event before the start
        self._stopping = False
        self._reload: asyncio.Task[None] | None = None
        self._change = StateChange(self.fail_change)
        self._standby: LiveState | None = None
        self._moved: MovedState | None = None  # until the state is loaded again
        self._changed = 0.0  # when a divided ranking was last changed
        self._held: asyncio.Event | None = None  # while a change of another server is awaited
        self.others: OtherOwners = NoOwners()
        self._trying: set[asyncio.Future[Any]] = set()
        self.unshown: list[
            bytes
        ] = []  # impressions whose lists nobody saw, if they are recorded: see `UnrecordedLists`

    async def open(self) -> None:
        """Open the store and load the state; where another server serves the store, as soon as it ends."""
        self._store = self._open_store(self._address)
        self._stopping, self._retry_at, self._begun_after = False, 0, None
        self._commits = GroupCommit(self._store, self._fail_commit)
        self._store.watch(self.try_again)  # a commit then finds out
        try:
            await self.state()
        except NotOwner:
            pass
        except BaseException:
            self._release()
            raise

    async def close(self) -> None:
        """Wait for commits in progress, write snapshots of learners, and close the store."""
        if self._store is None or self._commits is None:
            return
        await asyncio.sleep(0)  # changes that were asked for are made: see `Together`
        self._stopping = True
        self._let_go()
        if self._reload is not None:
            await asyncio.wait([self._reload])
        await self._commits.drain()
        try:
            if self._state is not None:
                with suppress(StoreUnavailable):  # everything is in the log
                    await self._write_snapshots(self._state, self._commits)
        finally:
            await self._commits.drain()
            self._release()

    async def _write_snapshots(self, state: LiveState, commits: GroupCommit) -> None:
        """Write snapshots of learners, some megabytes at a time."""
        rows: list[Row] = []
        size = 0
        for learner in state.learners:
            if learner.is_worth_a_snapshot:
                kept = learner.snapshot()
                rows.append(kept)
                size += len(kept.body)
                if size > SNAPSHOT_BYTES:
                    await commits.write(rows)
                    rows, size = [], 0
        if rows:
            await commits.write(rows)

    def _release(self) -> None:
        """Close the store and forget everything."""
        if self._commits is not None and self._store is not None:
            self._commits.close()
            self._store.close()
        self._forget_state()
        self._standby = self._store = self._commits = None

    def limit_learners(self, most_bytes: int) -> None:
        """Change the limit of the memory for learners; those in memory are evicted as others are used."""
        self._learner_bytes = most_bytes
        if self._state is not None:
            self._state.learners.most_bytes = most_bytes

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._store is not None

    @property
    def is_ready(self) -> bool:
        """Whether changes can be committed now."""
        if self._store is None or self._stopping:
            return False
        return self._store.is_owner and (self._state is not None or self.clock.waiting() >= self._retry_at)

    @property
    def store(self) -> Store:
        """The open store."""
        if self._store is None:
            raise _not_running()
        return self._store

    @property
    def commits(self) -> GroupCommit:
        """The group commit of the open store."""
        if self._commits is None:
            raise _not_running()
        return self._commits

    @property
    def commit_counts(self) -> CommitCounts:
        """Commits since the store was opened."""
        return CommitCounts() if self._commits is None else self._commits.counts

    @property
    def loaded_state(self) -> LiveState | None:
        """The state in memory; None before it is loaded and after a failed commit."""
        return self._state

    @property
    def ready_state(self) -> LiveState | None:
        """The current state if it is loaded and may be changed; else `state` loads it or says why not."""
        return None if self._stopping or self._held is not None else self._state

    async def state(self) -> LiveState:
        """The current state, loaded again from the store after a failed commit."""
        while True:  # a state may be dropped again before all who waited for it have seen it
            if self._stopping or self._store is None:
                raise _not_running()
            if self._held is not None:
                await self._held.wait()
                continue
            if self._state is not None:
                return self._state
            if self.commits.pending and self._moved is not None:
                await self.commits.drain()
                continue
            if self.clock.waiting() < self._retry_at or self.commits.pending:
                raise loaded_again()
            if self._reload is None:
                self._reload = asyncio.create_task(self._load())
                self._reload.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.shield(self._reload)

    async def _load(self) -> None:
        try:
            store, commits = self.store, self.commits
            moved, self._moved = self._moved, None
            rows, changes = await store.read(lambda reader: read_since(reader, moved))
            if store is not self._store or self._stopping:
                raise _not_running()
            self._state = LiveState(store, commits, self._learner_bytes, self.work, self.quarantine, rows)
            self._standby = None
            if moved is not None:
                keep_committed(moved, self._state, changes)
            if self._begun_after is None:
                self._begun_after, self._shifted = commits.last_seq, self.clock.shift
                self.clock.begin(commits.last_time)
                if self.clock.is_believed:
                    self._begun_after = 0
            self._on_load(self._state)
        finally:
            self._reload = None

    def is_current(self, state: LiveState) -> bool:
        """Whether a state from before an await is still the current one."""
        return state is self._state and not self._stopping and self._held is None

    def check_current(self, state: LiveState) -> None:
        """Refuse to go on with a state from before an await if it was dropped: it may have what was never committed."""
        if state is not self._state or self._stopping:
            raise log_moved() if state.learners.is_moved else loaded_again()

    def change(self) -> StateChange:
        """Context in which the current state is changed, without an await.

        Raise `Refused` only before the first change, and `Contained` only if what was changed is undone. Any other
        error drops the state, since it may be half changed.
        """
        return self._change

    def fail_change(self, problem: BaseException) -> None:
        """A change raised an error: what `change` does; lists and reports call it, since a context takes longer."""
        if not isinstance(problem, Refused | Contained):
            self.drop_state()

    def drop_state(self) -> None:
        """A commit or a change failed: drop the in-memory state; it is loaded again from the store."""
        self._moved = None
        self._forget_state()
        self._retry_at = self.clock.waiting() + PAUSE_AFTER_FAILURE

    def follow(self, mark: LogMark) -> None:
        """Another server writes to the store: drop the state if the store was another one when it was loaded."""
        if self._state is not None and self._state.loaded_mark != mark:
            self._forget_state()

    async def hold(self) -> None:
        """Begin no change until a change of another server is there, but not for long; done once all are committed.

        So that it meets no commit, and nothing of what is in memory has to be read again.
        """
        if self._held is None:
            self._held = asyncio.Event()
            asyncio.get_running_loop().call_later(HOLD_SECONDS, self._let_go, self._held)
        if self._commits is not None:
            await self._commits.drain()

    async def go_on(self) -> None:
        """The change that was announced is there, or will not come; done once it is read."""
        held = self._held
        try:
            if self._state is not None:  # else it is read again in any case
                with suppress(StoreUnavailable):
                    await self.commit([CheckOwner()])
        finally:
            self._let_go(held)
        with suppress(StoreUnavailable):
            await self.state()

    def _let_go(self, held: asyncio.Event | None = None) -> None:
        """Begin changes again, unless they are held for another reason by now."""
        if self._held is not None and held in (None, self._held):
            self._held.set()
            self._held = None

    def _forget_state(self) -> None:
        self._let_go()
        if self._state is not None:
            self._state.learners.is_dropped = True
        self._state = None

    def _fail_commit(self, problem: Exception) -> None:
        """A commit failed: drop the state; lists may go on from it, unless another server has taken over."""
        state = self._state
        if isinstance(problem, LogMoved):  # the store is well: what was asked is done anew at once
            if state is not None:
                state.learners.is_moved = True
                self._moved = MovedState(state, self.commits.refused_from)
            self._forget_state()
            return
        if isinstance(problem, NotOwner):
            self._standby = None
        elif state is not None and any(ranking.serves_unrecorded for ranking in state.rankings.values()):
            self._standby = state
        self.drop_state()

    @property
    def standby(self) -> LiveState | None:
        """The state that lists can be made from while nothing can be recorded: it may have uncommitted changes."""
        return self._state or self._standby

    @property
    def away_since(self) -> float | None:
        """Since when nothing can be recorded, on the monotonic clock; None while the store answers as it should."""
        store, commits = self._store, self._commits
        if store is None or commits is None or self._stopping:
            return None
        silent = store.silent_since
        if self._state is not None and silent is None and not commits.is_slow:
            return None
        known = [since for since in (commits.troubled_since, silent) if since is not None]
        return min(known, default=None)

    def doubt_store(self) -> None:
        """A read or a commit failed: the store may be away."""
        if self._commits is not None and self._state is not None:
            self._commits.doubt()

    def try_again(self) -> None:
        """Find out whether the store answers again, without waiting for it."""
        if self._stopping or self._commits is None:
            return
        if self._state is None:
            task: asyncio.Future[Any] = asyncio.ensure_future(self.state())
        elif not self._commits.pending:
            task = asyncio.ensure_future(self.commit([CheckOwner()]))
        else:
            return
        self._trying.add(task)
        task.add_done_callback(self._tried)

    def _tried(self, task: asyncio.Future[Any]) -> None:
        self._trying.discard(task)
        if not task.cancelled():
            task.exception()

    def shift_windows(self, state: LiveState) -> list[Row]:
        """The rows that keep the length of open click windows after the clock was corrected.

        What was doubted since the start is the time since then: older windows are left as they are.
        """
        shift, after = self.clock.shift - self._shifted, self._begun_after or 0
        self._begun_after, self._shifted = 0, self.clock.shift
        if not shift:
            return []
        event = ClockEvent(shift)
        state.next_due = 0
        for impression in state.impressions.values():
            if impression.is_open and impression.seq > after:
                impression.due += shift
        row = EventRow(state.next_seq(), self.clock(), NO_RANKING, WHOLE_RANKING, CLOCK, None, encode(event))
        return [row, ShiftWindows(after, shift)]

    def commit(self, rows: Sequence[Row]) -> Awaitable[None]:
        """Hand rows to the group commit; await the result until they, and all rows before them, are committed."""
        if self._commits is None:
            raise _not_running()
        if rows and type(rows[-1]) is SharedChange:
            self._changed = monotonic()
        return self._commits.write(rows)

    @property
    def change_pause(self) -> float:
        """Seconds to wait before the next change of a divided ranking; not above 0 if it may begin."""
        return self._changed + CHANGE_PAUSE - monotonic()

    async def confirm(self) -> None:
        """Raise `LogMoved` if another server has written to the log since the state was loaded."""
        await self.state()
        await self.commit([CheckOwner()])

    async def settle(self) -> None:
        """Wait until all changes so far are committed, or have failed."""
        if self._commits is not None:
            await self._commits.write([])

    async def abort(self) -> None:
        """End like a killed process: uncommitted changes are lost, and the file is unlocked."""
        await self.commits.abort()
        self._release()


def _not_running() -> StoreUnavailable:
    return StoreUnavailable("The service is not running.")
