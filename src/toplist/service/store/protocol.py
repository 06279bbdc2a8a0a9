"""What a store must be able to do: write rows all at once or not at all, and read what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

DEFERRED, OPEN, LEARNED, DROPPED = range(4)  # what becomes of an impression
STATES = ("deferred", "open", "learned", "dropped")

# What happens, in the words of the log. Those of a learner:
LEARNER, LIST, ACTIVATED, REPORT, LEARN, DROP = "learner", "list", "activated", "report", "learned", "dropped"
# Those of a whole ranking:
RANKING, ITEMS, FORGOTTEN = "ranking", "items", "forgotten"

EVERYBODY = 0  # the learner of events that are about a whole ranking


class EventRow(NamedTuple):
    """Something that happened. The log of these is the truth, and everything else is derived from it."""

    seq: int  # 1, 2, ...: the order in which things happened
    at: int  # milliseconds
    ranking: int
    learner: int
    kind: str
    impression: bytes | None
    body: bytes  # JSON


class NewImpression(NamedTuple):
    """A list that was made."""

    id: bytes
    seq: int  # of its "list" event
    ranking: int
    learner: int
    state: int
    due: int  # when its window closes, in milliseconds
    report: bytes  # JSON: what was reported of it so far


class ImpressionRow(NamedTuple):
    """An impression that has changed."""

    state: int
    due: int
    report: bytes
    id: bytes


class RequestRow(NamedTuple):
    """Which list was made for a request."""

    ranking: int
    request: str
    digest: bytes  # of what was asked for
    impression: bytes
    at: int


class LearnerRow(NamedTuple):
    """A learner begins."""

    id: int  # the event at which it does
    ranking: int
    key: str | None


class SnapshotRow(NamedTuple):
    """A learner after an event."""

    learner: int
    base: bool  # events up to this one may be forgotten, so it must be kept
    seq: int
    policy: int  # the event since which the ranking has the policy that learned this
    body: bytes


class RankingRow(NamedTuple):
    """A ranking as it is now."""

    id: int  # the event that created it
    name: str
    created: int
    policy: int  # the event since which it has its policy
    spec: bytes  # JSON


class RankingGone(NamedTuple):
    """A ranking that was deleted; what is left of it is purged in parts."""

    id: int
    seq: int  # of the event that says so, which is its last one, and stays


class Left(NamedTuple):
    """What is left of a deleted ranking."""

    ranking: int
    seq: int  # there are no events of it up to this one
    last: int  # nor behind this one, which says that it was deleted
    items: bool  # whether there are some


class Purge(NamedTuple):
    """Delete what a deleted ranking left behind, as far as some of the log goes, and some of its items."""

    ranking: int
    after: int
    until: int
    items: int  # at most


class Purged(NamedTuple):
    """Nothing is left of a deleted ranking."""

    ranking: int


class ItemRow(NamedTuple):
    """An item as it is now."""

    ranking: int
    id: str
    place: int  # among the ranking's items, ascending
    features: bytes | None  # float64
    hidden: bool


class ItemGone(NamedTuple):
    """An item that was removed."""

    ranking: int
    id: str


class Forget(NamedTuple):
    """Delete what a learner has of impressions that were closed by an event or before."""

    ranking: int
    learner: int
    seq: int


class SnapshotsGone(NamedTuple):
    """All snapshots of a ranking's learners are of no use any more."""

    ranking: int


Row = (
    EventRow | NewImpression | ImpressionRow | RequestRow | LearnerRow | SnapshotRow | RankingRow | RankingGone
    | ItemRow | ItemGone | Forget | SnapshotsGone | Purge | Purged
)  # fmt: skip


class Store(Protocol):
    """One writer, and any number of reads beside it, which see what is committed.

    Everything may raise `StoreUnavailable`. `write` and `commit` are called in turn, never at the same time; `commit`
    from another thread. When one of them fails, nothing of the transaction is kept.
    """

    def write(self, rows: Sequence[Row]) -> None:
        """Begin a transaction and write rows in their order."""

    def commit(self) -> None:
        """Make them last, whatever happens to the process or the machine."""

    def close(self) -> None:
        """Let go of everything."""

    def reading(self) -> AbstractContextManager[None]:
        """For several reads of the same moment, whatever is committed meanwhile."""
        ...

    def last_seq(self) -> int:
        """The number of the last event; 0 before the first."""
        ...

    def rankings(self) -> list[RankingRow]:
        """All rankings."""
        ...

    def left(self) -> Left | None:
        """What is left of a ranking that was deleted; None where nothing is left of any."""
        ...

    def items(self, ranking: int) -> Iterator[ItemRow]:
        """The items of a ranking, by place."""
        ...

    def event(self, seq: int) -> EventRow | None:
        """One event."""
        ...

    def events(self, ranking: int, after: int, until: int) -> list[EventRow]:
        """Events of a ranking between two numbers, the latter included, in order."""
        ...

    def log(self, kind: str) -> Iterator[EventRow]:
        """All events of a kind, in order; slow where the log is long."""
        ...

    def learner_events(self, learner: int, after: int) -> Iterator[EventRow]:
        """Events of a learner, in order."""
        ...

    def setting_events(self, ranking: int) -> Iterator[EventRow]:
        """How a ranking was created, changed and deleted, in order."""
        ...

    def item_events(self, ranking: int, after: int) -> Iterator[EventRow]:
        """Changes of a ranking's items, in order."""
        ...

    def impression(self, id: bytes) -> NewImpression | None:
        """An impression as it is now."""
        ...

    def due(self, now: int, limit: int) -> list[NewImpression]:
        """Impressions whose window has closed and that are not, the most overdue first."""
        ...

    def open_impressions(self) -> int:
        """How many impressions are neither learned nor dropped."""
        ...

    def request(self, ranking: int, request: str) -> RequestRow | None:
        """What was made for a request."""
        ...

    def learner(self, ranking: int, key: str | None) -> LearnerRow | None:
        """The learner of a key."""
        ...

    def learners(self, ranking: int, after: int, limit: int) -> list[LearnerRow]:
        """Learners of a ranking, by their number."""
        ...

    def learners_with_snapshots(self, ranking: int) -> list[LearnerRow]:
        """Learners of a ranking that a snapshot was worth the while for."""
        ...

    def keys(self, ranking: int, after: str, limit: int) -> list[str]:
        """The keys that have learners, in order."""
        ...

    def snapshot(self, learner: int, policy: int, base: bool = False) -> SnapshotRow | None:
        """The latest snapshot under the policy of that event; or the one below which events may be forgotten."""
        ...

    def closed_before(self, learner: int, seq: int) -> int:
        """How many impressions of a learner were closed by an event or before, and are not forgotten."""
        ...

    def seq_at(self, moment: int) -> int:
        """The last event before a moment; 0 where there is none."""
        ...

    def backup(self, path: Path) -> None:
        """Write all that is committed to a new file; may be called from another thread, beside everything else."""
