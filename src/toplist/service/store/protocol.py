"""The protocol of a store: write rows in one transaction, and read committed rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from toplist.service.store.row_kinds import (
    DeletedLearnerRow,
    DeletedRanking,
    EventRow,
    ImpressionRow,
    ItemRow,
    LearnerRow,
    RankingRow,
    RequestRow,
    Row,
    SnapshotRow,
    TallyPlace,
    TallyRow,
)

T = TypeVar("T")


class LogMark(NamedTuple):
    """What tells two states of a log apart, also where the store was restored and has as many events again."""

    seq: int  # of the last event; 0 before the first
    epoch: int  # of the part's owner; 0 in a file
    digest: int  # of the last event; 0 if it is purged


class LogReader(Protocol):
    """Blocking reads of committed rows.

    Each may take a round trip to a database, so the event loop reads only through `Store.read`. Every method may raise
    `StoreUnavailable`. Events that come one by one are read in parts of some megabytes, whatever their number.
    """

    def snapshot_reads(self) -> AbstractContextManager[None]:
        """Context in which all reads see the same snapshot of the store."""
        ...

    def last_seq(self) -> int:
        """Seq of the last event; 0 before the first."""
        ...

    def mark(self) -> LogMark:
        """What tells this state of the log from others."""
        ...

    def rankings(self) -> list[RankingRow]:
        """All rankings."""
        ...

    def deleted_ranking(self) -> DeletedRanking | None:
        """A deleted ranking with rows left to purge; None if there is none."""
        ...

    def deleted_learners(self, limit: int = -1) -> list[DeletedLearnerRow]:
        """Deleted learners with rows left to purge, all of them without a limit."""
        ...

    def has_events(self, learner: int) -> bool:
        """Whether there are events of a learner."""
        ...

    def items(self, ranking: int) -> Iterator[ItemRow]:
        """Items of a ranking, by place."""
        ...

    def event(self, seq: int) -> EventRow | None:
        """One event."""
        ...

    def events(self, ranking: int, after: int, until: int) -> Iterator[EventRow]:
        """Events of a ranking with after < seq <= until, in order."""
        ...

    def latest_seqs(self, ranking: int, learners: Sequence[int] | None, after: int, limit: int) -> list[int]:
        """Seqs of the latest events with seq > after, at most `limit`, in order.

        They are those of a ranking itself and of some of its learners, by an index; None: those of all its learners,
        by a scan of the log behind `after`.
        """
        ...

    def events_at(self, seqs: Sequence[int]) -> Iterator[EventRow]:
        """The events with these seqs, some hundreds at most, in order; those that do not exist are left out."""
        ...

    def events_of_kinds(self, kinds: Sequence[str], after: int, until: int) -> Iterator[EventRow]:
        """Events of all rankings of some kinds with after < seq <= until, in order."""
        ...

    def events_of_kind(self, kind: str) -> Iterator[EventRow]:
        """All events of a kind, in order; slow in a long log."""
        ...

    def learner_events(self, learner: int, after: int) -> Iterator[EventRow]:
        """Events of a learner with seq > after, in order."""
        ...

    def settings_events(self, ranking: int) -> Iterator[EventRow]:
        """Events that created, changed and deleted a ranking, in order."""
        ...

    def latest_pool(self, ranking: int) -> EventRow | None:
        """The latest event of what a ranking's learners know together; None if there is none."""
        ...

    def item_events(self, ranking: int, after: int) -> Iterator[EventRow]:
        """Changes of a ranking's items with seq > after, in order."""
        ...

    def has_item_events(self, ranking: int, after: int, count: int) -> bool:
        """Whether there are at least so many changes of a ranking's items with seq > after."""
        ...

    def has_learner_events(self, learner: int, after: int, count: int) -> bool:
        """Whether there are at least so many events of a learner with seq > after."""
        ...

    def segment_count(self, ranking: int) -> int:
        """Number of segments that have a learner."""
        ...

    def longest_list(self, ranking: int, after: int, until: int) -> int:
        """Length of the longest list of a ranking among events with after < seq <= until."""
        ...

    def impression(self, id: bytes) -> ImpressionRow | None:
        """An impression with its current state."""
        ...

    def due_impressions(self, now: int, limit: int) -> list[ImpressionRow]:
        """Open impressions whose window is over, the most overdue first."""
        ...

    def next_due(self) -> int | None:
        """When the first window of an open impression is over, in milliseconds; None if no impression is open."""
        ...

    def open_impressions(self) -> int:
        """Number of impressions that are neither learned nor dropped."""
        ...

    def requests(self, asked: Sequence[tuple[int, str]]) -> list[RequestRow]:
        """The lists that were made for request ids, each with its ranking; unknown ones are left out."""
        ...

    def sibling(self, part: int) -> LogReader:
        """A reader of another partition of the same database, over the same connection and in its snapshot."""
        ...

    def claimed(self, asked: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
        """Of request ids, each with the scope of its ranking, those for which any partition has a list."""
        ...

    def ranking_named(self, name: str) -> RankingRow | None:
        """A ranking by its name; None if there is none."""
        ...

    def learner(self, ranking: int, segment: str | None) -> LearnerRow | None:
        """The learner of a segment."""
        ...

    def learners(self, ranking: int, after: int, limit: int) -> list[LearnerRow]:
        """Learners of a ranking with id > after, by id."""
        ...

    def learners_with_snapshots(self, ranking: int) -> list[LearnerRow]:
        """Learners of a ranking that have a snapshot."""
        ...

    def segments(self, ranking: int, after: str, limit: int) -> list[str]:
        """Segments that have a learner, in order."""
        ...

    def snapshot(self, learner: int, policy_seq: int, base: bool = False) -> SnapshotRow | None:
        """The latest snapshot under a policy; with `base`, the one up to which events may be deleted."""
        ...

    def closed_impressions(self, learner: int, until: int) -> int:
        """Number of a learner's impressions that were closed by an event up to `until` and are not deleted."""
        ...

    def tallies(self, ranking: int, measured: int, keys: Sequence[tuple[str, bytes]]) -> list[TallyRow]:
        """Sums of the uplift by slice and visitor; those that do not exist are left out."""
        ...

    def group_tallies(self, ranking: int, measured: int, kind: str, after: str, limit: int) -> list[TallyRow]:
        """Sums of both groups in slices of a kind, by slice, those behind the slice `after`."""
        ...

    def all_tallies(self, ranking: int, measured: int) -> Iterator[TallyRow]:
        """All sums of the uplift, some at a time."""
        ...

    def tally_places(self, ranking: int, after: TallyPlace, limit: int) -> list[tuple[TallyPlace, int]]:
        """Places of the sums of a ranking behind a place, in order, each with the event its measuring began with."""
        ...

    def has_tallies(self, ranking: int, learner: int) -> bool:
        """Whether there are sums of a segment, named by its learner."""
        ...

    def seq_before(self, moment: int) -> int:
        """Seq of the last event before a moment; 0 if there is none.

        Where the clock was set back, the events before that count: none at or after the moment is before this one.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Store(Protocol):
    """One writer, and concurrent reads of committed rows.

    Every method may raise `StoreUnavailable`. `write` and `commit` are called alternately, never at the same time;
    `commit` from another thread. If either fails, the whole transaction is rolled back.
    """

    def watch(self, on_doubt: Callable[[], None]) -> None:
        """Call this on the event loop when the store seems to be older than what was written to it."""

    def write(self, rows: Sequence[Row]) -> None:
        """Begin a transaction and write rows in their order."""

    def commit(self) -> None:
        """Make the transaction durable: it survives a crash of the process or the machine."""

    @property
    def is_owner(self) -> bool:
        """Whether this process may write; where several may serve a store, one of them."""
        ...

    @property
    def part(self) -> int:
        """Which partition of a database this is; 0 where there is one."""
        ...

    @property
    def parts(self) -> int:
        """Number of partitions of the database."""
        ...

    @property
    def is_far(self) -> bool:
        """Whether a commit takes a round trip, so that few large ones are better than many small ones."""
        ...

    @property
    def silent_since(self) -> float | None:
        """When the store last said that this process may write, on the monotonic clock, if that is too long ago."""
        ...

    @property
    def keeps_deleted(self) -> bool:
        """Whether rows that were deleted can still be found in its files; `WipeLog` overwrites them."""
        ...

    async def read(self, work: Callable[[LogReader], T]) -> T:
        """Run reads for the event loop, which serves other requests if they take a round trip.

        The state in memory may have changed when this returns: callers check it again.
        """
        ...

    def reader(self) -> LogReader:
        """A reader with its own connection, for another thread; the caller closes it."""
        ...

    def backup(self, path: Path) -> None:
        """Write all committed rows to a new file; may be called from another thread."""

    def close(self) -> None:
        """Close all connections."""
