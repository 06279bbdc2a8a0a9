"""Messages about what was learned: estimates, explanations, segments, history and the event log."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from toplist.service.wire.fields import (
    CURSOR,
    Limit,
    OfSegment,
    PersonText,
    Segment,
    SegmentAlias,
    SegmentReply,
    Strict,
    check_name,
)

Cursor = Annotated[
    str,
    Meta(
        pattern=CURSOR, max_length=20_000,
        description="only events behind that one; instead of after, in a divided ranking",
    ),
]  # fmt: skip


class Estimate(Struct, frozen=True, kw_only=True):
    """The estimate of an item; null where the policy has no such number, or an infinite one."""

    item: str | int
    examined: float | None
    mean: float | None
    low: float | None
    high: float | None
    index: float | None


class Estimates(OfSegment, frozen=True, kw_only=True):
    """The estimates of a learner: the largest index first, or the largest mean if the policy has no index."""

    ranking: str
    segment: str | None = None
    policy: str
    learned: int  # number of lists
    items: list[Estimate]
    key: SegmentReply = None


class EstimatesQuery(Strict, OfSegment, frozen=True, kw_only=True):
    """Query of estimates."""

    segment: Segment | None = None
    limit: Limit = 100
    person: PersonText | None = None
    key: SegmentAlias = None


class Reason(Struct, frozen=True, kw_only=True):
    """Why an item is at a position, by current estimates."""

    position: int
    item: str | int
    examined: float | None
    mean: float | None
    bonus: float | None
    index: float | None
    why: str


class Explanation(OfSegment, frozen=True, kw_only=True):
    """Why the items of a list are at their positions."""

    impression: str
    ranking: str
    segment: str | None = None
    positions: list[Reason]
    key: SegmentReply = None


class NextList(OfSegment, frozen=True, kw_only=True):
    """The list that would be made next, and why."""

    ranking: str
    segment: str | None = None
    policy: str
    learned: int  # number of lists
    positions: list[Reason]
    key: SegmentReply = None


class NextQuery(Strict, OfSegment, frozen=True, kw_only=True):
    """Query of the next list."""

    segment: Segment | None = None
    person: PersonText | None = None
    key: SegmentAlias = None


class ImportBody(Strict, OfSegment, frozen=True, kw_only=True):
    """A saved ranker, with which the learner of a segment begins."""

    ranker: Annotated[bytes, Meta(min_length=1, description="the file of Ranker.save, in Base64")]
    segment: Segment | None = None
    key: SegmentAlias = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self.segment)


class ImportReply(OfSegment, frozen=True, kw_only=True):
    """A learner that began with what a saved ranker had learned."""

    ranking: str
    segment: str | None = None
    policy: str
    learned: int  # number of lists
    items: int  # number of items that were put
    key: SegmentReply = None


class SegmentsPage(Struct, frozen=True, kw_only=True):
    """A page of segments that have a learner; `next` is the `after` of the next page, null on the last."""

    segments: list[str]
    next: str | None


class KeysPage(Struct, frozen=True, kw_only=True):
    """A page of segments, under their former name."""

    keys: list[str]
    next: str | None


class SegmentsQuery(Strict, frozen=True, kw_only=True):
    """Query of a page of segments."""

    after: Segment | None = None
    limit: Limit = 1000


class Point(Struct, frozen=True, kw_only=True):
    """Consecutively learned lists."""

    lists: int
    clicked: int  # lists with at least one click
    clicks: int
    until: str  # time of the last one learned


class History(Struct, frozen=True, kw_only=True):
    """Click-through of all lists that a ranking has learned from, in the order of learning."""

    ranking: str
    lists: int
    clicked: int
    clicks: int
    complete: bool  # whether the log was read to its end; if not, ask again to read on
    points: list[Point]


class Event(OfSegment, frozen=True, kw_only=True):
    """One line of the event log."""

    seq: int
    at: str
    ranking: str
    segment: str | None = None
    kind: str
    impression: str | None
    body: Any
    key: SegmentReply = None
    division: int | UnsetType = UNSET  # of a divided ranking: each counts its own events
    cursor: str | UnsetType = UNSET  # of a divided ranking: ask for what comes after this event by it


class EventsQuery(Strict, frozen=True, kw_only=True):
    """Query of the event log."""

    after: Annotated[int, Meta(ge=0, le=2**63 - 1, description="only events with a larger seq")] = 0
    cursor: Cursor | UnsetType = UNSET
    limit: (
        Annotated[int, Meta(ge=1, le=2**63 - 1, description="number of events at most; all by default")] | UnsetType
    ) = UNSET
