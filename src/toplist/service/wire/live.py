"""Messages for the dashboard: all rankings, or one of them, at one moment, sent again when they change."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from toplist.service.wire.fields import OfSegment, OverviewOrder, Segment, SegmentAlias, SegmentReply, Strict
from toplist.service.wire.learning import Estimate, History
from toplist.service.wire.rankings import Ranking
from toplist.service.wire.uplift import MetricUplift

Updates = Annotated[int, Meta(ge=1, le=10_000, description="how many states to send before the reply ends")]
Offset = Annotated[int, Meta(ge=0, le=2**53 - 1, description="how many to skip, of those that fit")]
Search = Annotated[str, Meta(max_length=200, description="part of the names that fit, in any case")]


class LiveItem(Estimate, frozen=True, kw_only=True):
    """The estimate of an item, and its share of the recent lists by position."""

    place: int  # in the current order, from 1
    shares: list[float]  # of the first 20 positions at most
    trend: list[float]  # share of lists that show it at all, in ten successive parts of the recent lists
    hidden: bool


class LiveEvent(Struct, frozen=True, kw_only=True):
    """Something that happened, in words."""

    at: str
    kind: str  # as in the event log
    detail: str
    impression: str | None = None
    outcome: str | None = None  # of a report: counted, duplicate, late, contradicts, dropped or invalid
    by: str = ""  # name of the API key that asked for a change


class FeatureWeight(Struct, frozen=True, kw_only=True):
    """What a policy over features has learned of one of them, such as a topic: its weight with a 95% interval."""

    feature: int  # its number from 1
    weight: float
    low: float
    high: float
    items: list[str | int]  # those with the most of it, three at most


class DetectedChange(Struct, frozen=True, kw_only=True):
    """A change that the policy has detected: of an item, and its mean until then."""

    at: str | None  # about; null if that is not known any more
    item: str | int
    mean: float


class RankingView(OfSegment, frozen=True, kw_only=True):
    """A ranking, or one of its segments, at one moment."""

    ranking: Ranking  # without its baseline
    segment: str | None = None
    history: History
    learned: int  # number of lists
    found: int  # number of items that fit the search
    items: list[LiveItem]  # a part of the current order
    recent: int  # number of lists that shares are of
    events: list[LiveEvent]  # the last ones, the latest first
    changes: list[LiveEvent]  # of settings and items, the latest last
    weights: list[FeatureWeight]  # of a policy that learns from features, the largest first, 100 at most
    detected: list[DetectedChange]  # by a policy that looks for changes, the latest last
    uplift: MetricUplift | None  # of click-through, against the holdout, of all segments; null if there is none
    reports: dict[str, int] | None  # to all rankings since the start, by outcome; None: the key is for some rankings
    requests: dict[str, int] | None  # by the name of their key, alike
    key: SegmentReply = None


class LiveQuery(Strict, OfSegment, frozen=True, kw_only=True):
    """Query of a live view."""

    updates: Updates = 1
    items: Annotated[int, Meta(ge=1, le=200, description="how many items of the current order")] = 50
    offset: Offset = 0
    search: Search = ""
    segment: Segment | None = None
    key: SegmentAlias = None


class SharePoint(Struct, frozen=True, array_like=True):
    """Some neighbouring lists of a curve: their number, and that of those with a click."""

    lists: int
    clicked: int


class RankingSummary(Struct, frozen=True, kw_only=True):
    """A ranking in the overview."""

    name: str
    policy: str
    mode: str
    holdout: float
    stopped: bool
    items: int
    reference: float | None
    lists: int  # that were learned
    reports: int
    clicked: int  # lists with at least one click
    clicks: int
    latest: str | None  # when the latest list was learned
    curve: list[SharePoint]
    uplift: MetricUplift | None  # of click-through, against the holdout; null if there is none


class Overview(Struct, frozen=True, kw_only=True):
    """Rankings at one moment."""

    total: int  # of those that the key is for
    found: int  # of these, those that fit the search
    complete: bool  # false while the log is still being read
    rankings: list[RankingSummary]


class OverviewQuery(Strict, frozen=True, kw_only=True):
    """Query of the overview."""

    updates: Updates = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="how many rankings")] = 50
    offset: Offset = 0
    search: Search = ""
    sort: OverviewOrder = "name"  # by name, or those with most lists or the largest click-through first
