"""The kinds of rows that a store keeps, the changes of them, the states of lists and the kinds of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

DEFERRED, OPEN, LEARNED, DROPPED = range(4)  # states of an impression
STATE_NAMES = ("deferred", "open", "learned", "dropped")

# Kinds of events. Of one learner:
LEARNER, LIST, ACTIVATED, REPORT, LEARN, DROP = "learner", "list", "activated", "report", "learned", "dropped"
QUARANTINED = "quarantined"  # of one list, or of the learner
IMPORTED = "imported"  # it began with what a saved ranker had learned
# Of a whole ranking:
RANKING, ITEMS, FORGOTTEN, ERASED = "ranking", "items", "forgotten", "erased"
POOL = "pool"  # what its learners know together
STOPPED = "stopped"  # its guardrail put it back to its baseline

# Of the whole store, under no ranking:
CLOCK = "clock"  # the clock of the service was corrected
NO_RANKING = 0

WHOLE_RANKING = 0  # the learner of events about a whole ranking

# Slices of the uplift: all lists, those of a day and those of a segment, named by its learner. The sums of visitors are
# apart, under a learner or under 0 for all lists, so that the few sums of groups can be read without them.
ALL_LISTS, DAY_SLICE, SEGMENT_SLICE, VISITORS_SLICE = "all", "day:", "segment:", "visitors:"


class EventRow(NamedTuple):
    """One event of the log. The log is the truth; everything else is derived from it."""

    seq: int  # 1, 2, ...: the order of events
    at: int  # milliseconds
    ranking: int
    learner: int
    kind: str
    impression: bytes | None
    body: bytes  # JSON


class ImpressionRow(NamedTuple):
    """A list with its state."""

    id: bytes
    seq: int  # of its "list" event
    ranking: int
    learner: int
    state: int
    due: int  # when its click window closes, in milliseconds
    outcome: bytes  # JSON: all reports so far


class ImpressionChange(ImpressionRow):
    """An impression with its new state; its digest is of the whole row."""

    __slots__ = ()


class RequestRow(NamedTuple):
    """The list that was made for a request id."""

    ranking: int
    request: str
    digest: bytes  # of the request
    impression: bytes
    at: int


class ClaimedRequest(NamedTuple):
    """The same in a divided ranking: no two partitions may have a list for it."""

    ranking: int
    request: str
    digest: bytes
    impression: bytes
    at: int
    scope: int  # of the ranking, in all partitions

    @property
    def row(self) -> RequestRow:
        """The row without the scope."""
        return RequestRow(*self[:5])


class LearnerRow(NamedTuple):
    """A learner."""

    id: int  # seq of the event that created it
    ranking: int
    segment: str | None


class SnapshotRow(NamedTuple):
    """The belief of a learner after an event."""

    learner: int
    base: bool  # must be kept: events up to this one may be deleted
    seq: int
    policy_seq: int  # seq of the event that gave the ranking the policy of this snapshot
    body: bytes


class RankingRow(NamedTuple):
    """A ranking with its current settings."""

    id: int  # seq of the event that created it
    name: str
    created: int
    policy_seq: int  # seq of the event that gave it its policy
    settings: bytes  # JSON


class DeleteRanking(NamedTuple):
    """Delete a ranking; its other rows are purged later, in parts."""

    id: int


class DeletedRow(NamedTuple):
    """A deleted ranking with rows left to purge."""

    ranking: int
    seq: int  # events up to this one are purged
    last: int  # seq of its last event, which is kept


class DeletedRanking(NamedTuple):
    """A deleted ranking, and whether it has items or tallies left."""

    row: DeletedRow
    has_items: bool


class PurgeEvents(NamedTuple):
    """Delete the rows of a deleted ranking for a range of events, and some of its items."""

    ranking: int
    after: int
    until: int
    items: int  # at most


class PurgeDone(NamedTuple):
    """All rows of a deleted ranking are purged."""

    ranking: int


class DeleteLearner(NamedTuple):
    """Delete a learner with all that names its segment; its other rows are purged later, in parts."""

    ranking: int
    learner: int


class DeletedLearnerRow(NamedTuple):
    """A deleted learner with rows left to purge."""

    learner: int
    ranking: int


class PurgeLearner(NamedTuple):
    """Delete some of the events of a deleted learner, with the rows made by them."""

    ranking: int
    learner: int
    events: int  # at most


class PurgeLearnerDone(NamedTuple):
    """All rows of a deleted learner are purged."""

    learner: int


class WipeLog(NamedTuple):
    """Overwrite what was deleted before this commit: empty the write-ahead log, unless somebody reads from it."""

    attempt: int = 1


class CheckOwner(NamedTuple):
    """Write nothing, but find out whether this process may still write, and how long a commit takes."""


class ItemRow(NamedTuple):
    """An item with its current features."""

    ranking: int
    id: str  # of `item_text`
    place: int  # order among the ranking's items, ascending
    features: bytes | None  # float64
    hidden: bool
    prior: bytes | None = None  # its mean and strength, float64


class TallyRow(NamedTuple):
    """A sum of the uplift of a ranking: of both groups, or of one visitor."""

    ranking: int
    measured: int  # seq of the event from which the uplift is measured
    slice: str  # what it is a sum over
    visitor: bytes  # hash of the visitor; empty for the sum of both groups
    body: bytes  # JSON


class TallyPlace(NamedTuple):
    """A place among the sums of a ranking, which are in the order of slice and visitor."""

    slice: str = ""
    visitor: bytes = b""


FIRST_TALLY = TallyPlace()  # before all sums


class DeleteTallies(NamedTuple):
    """Delete the sums of a ranking whose measuring began before an event, those behind a place and up to another."""

    ranking: int
    measured: int
    after_slice: str
    after_visitor: bytes
    until_slice: str
    until_visitor: bytes


class DeleteItem(NamedTuple):
    """Delete an item."""

    ranking: int
    id: str  # of `item_text`


class ForgetImpressions(NamedTuple):
    """Delete a learner's impressions that were closed by an event up to `seq`, with their events."""

    ranking: int
    learner: int
    seq: int


class DeleteSnapshots(NamedTuple):
    """Delete all snapshots of a ranking's learners."""

    ranking: int


class ShiftWindows(NamedTuple):
    """Move the click windows of open impressions made after an event, since the clock of the service was corrected."""

    after: int
    milliseconds: int


class PartBefore(NamedTuple):
    """Another partition of a divided ranking, before a change that is decided elsewhere."""

    division: int  # of the ranking, in this partition
    last_seq: int  # of its last event
    last_time: int  # of that event, in milliseconds
    ranking: RankingRow | None  # the ranking there; None before it is created


class SharedChange(NamedTuple):
    """A change of a divided ranking, in its other partitions: committed with the rows of this one, or not at all."""

    name: str
    divisions: int
    rows_for: Callable[[PartBefore], list[object]]  # rows with the numbers of that partition; called in any thread


Row = (
    EventRow | ImpressionRow | ImpressionChange | RequestRow | LearnerRow | SnapshotRow | RankingRow | DeleteRanking
    | DeletedRow | ItemRow | DeleteItem | ForgetImpressions | DeleteSnapshots | PurgeEvents | PurgeDone
    | DeleteLearner | DeletedLearnerRow | PurgeLearner | PurgeLearnerDone | WipeLog | ShiftWindows | TallyRow
    | DeleteTallies | CheckOwner | ClaimedRequest | SharedChange
)  # fmt: skip
