"""Messages about lists: to ask for one, to report its clicks, and to read it again."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from toplist.service.wire.fields import (
    ITEM_TEXT,
    MAX_REPORT_ENTRIES,
    MOST_IDS,
    MOST_POSITIONS,
    FeatureRow,
    Integer,
    ItemId,
    ManyIds,
    ManyTexts,
    OfSegment,
    Positions,
    Probability,
    RequestId,
    Segment,
    SegmentAlias,
    SegmentReply,
    Strict,
    Token,
    VisitorId,
    check_name,
    check_texts,
)


class ListRequest(Strict, OfSegment, frozen=True, omit_defaults=True, gc=False):
    """A request for a list."""

    segment: Segment | None = None
    positions: Positions | None = None
    among: Annotated[list[ManyIds], Meta(max_length=MOST_IDS)] | None = None
    exclude: Annotated[list[ManyIds], Meta(max_length=MOST_IDS)] = field(default_factory=list)
    # 1-based position to item
    pins: Annotated[dict[str, ManyIds], Meta(max_length=MOST_POSITIONS)] = field(default_factory=dict)
    person: FeatureRow | None = None
    features: dict[ManyTexts, FeatureRow] | None = None
    visitor: VisitorId | None = None  # keeps its group, if the ranking has a holdout
    request_id: RequestId | None = None
    deferred: bool = False  # stays closed until it is activated
    propensities: bool | None = None  # how likely the list is, in the reply and the log; None: as the ranking says
    token: bool = False  # a token in the reply, by which a browser can report on this list
    key: SegmentAlias = None

    def __post_init__(self) -> None:
        if self.segment is not None or self.key is not None:
            super().__post_init__()
            check_name(self.segment)
        if self.among:
            check_texts(self.among, "`$.among[{}]`")
        if self.exclude:
            check_texts(self.exclude, "`$.exclude[{}]`")
        if self.pins:
            check_texts(self.pins.values(), "`$.pins[...]`")
        if self.features:
            check_texts(self.features, "`key` in `$.features`", ITEM_TEXT)


class ListReply(OfSegment, frozen=True, kw_only=True, gc=False):
    """A list to show."""

    impression: str  # empty if the list is not recorded: nothing can be reported on it
    items: list[str | int]
    ranking: str
    segment: str | None = None
    deferred: bool = False
    # False if the list was made from memory while nothing could be recorded; else left out.
    recorded: bool | UnsetType = UNSET
    # Of a ranking with a holdout or in shadow mode: "policy", "holdout" or "shadow", and what the policy would show.
    group: str | UnsetType = UNSET
    would_show: list[str | int] | UnsetType = UNSET
    # Per position, if asked for: the probability of its item given those above, and of its item there in any list; and
    # their standard errors, where they are not exact.
    propensities: list[float] | UnsetType = UNSET
    marginals: list[float] | UnsetType = UNSET
    propensity_errors: list[float] | UnsetType = UNSET
    marginal_errors: list[float] | UnsetType = UNSET
    token: str | UnsetType = UNSET  # if asked for
    key: SegmentReply = None


class ListEntry(Strict, frozen=True):
    """A position of a list, by its number or its item; for a number that is both."""

    item: ItemId | UnsetType = UNSET
    position: Integer | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.item is UNSET) == (self.position is UNSET):
            raise ValueError("An entry names an item or a position; give one of them")


class SeenEntry(ListEntry, frozen=True):
    """A position of a list, and the probability that it was seen."""

    probability: Probability = 1.0


class Report(Strict, frozen=True, gc=False):
    """The clicks on a list so far; repeated reports count once.

    A number is a position, or an integer item of the list; it is refused if it is both.
    """

    clicks: Annotated[list[ItemId | ListEntry], Meta(max_length=MAX_REPORT_ENTRIES)] = field(default_factory=list)
    left: ItemId | ListEntry | None = None
    seen: (
        Annotated[list[ItemId | SeenEntry], Meta(max_length=MAX_REPORT_ENTRIES)]
        | Annotated[dict[str, Probability], Meta(max_length=MAX_REPORT_ENTRIES)]
        | None
    ) = None
    final: bool = False


class TokenReport(Report, frozen=True, kw_only=True):
    """A report of a browser, with the token that came with the list."""

    token: Token


class ReportReply(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Whether a report counts, and if not, why."""

    impression: str
    counted: bool
    why: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET


class Impression(OfSegment, frozen=True, kw_only=True):
    """A list that was made, with its clicks so far."""

    impression: str
    ranking: str
    segment: str | None = None
    items: list[str | int]
    state: str  # "deferred", "open", "learned" or "dropped"
    made: str
    due: str  # end of its click window
    clicks: list[int]  # 1-based positions
    left: int | None
    seen: dict[str, float] | None  # by position
    reason: str | None  # why it was learned: "final" or "window"
    group: str | None = None  # "policy", "holdout" or "shadow", where the ranking had groups
    would_show: list[str | int] | None = None  # by the policy, in shadow mode
    key: SegmentReply = None
