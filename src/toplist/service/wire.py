"""The HTTP messages of the service: server, client and OpenAPI share these definitions.

Class names, fields and the docstrings of messages appear in /openapi.json: changing one changes the published API.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from toplist.core.defaults import DEFAULT_POLICY
from toplist.core.item_id import LARGEST_INTEGER

END = r"(?![\s\S])"  # end of text; `$` would also match before a final line break
NAME = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,99}}{END}"
TEXT = rf"^[^\x00-\x1f\x7f]+{END}"  # one line, no control characters
ITEM_TEXT = rf"^([^\x00-\x1f\x7f]+|\t(0|-?[1-9][0-9]{{0,15}})){END}"  # of `item_text`
UUID = rf"^[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}{END}"
TEXT_RULE = ("one line of 1 to 200 characters, without control characters", "change it")  # accepted, and what to do
PATTERN_RULES = {  # each pattern in words, for errors
    NAME: (
        "letters, digits, dots, dashes and underscores, at most 100, beginning with a letter or digit",
        "choose another name",
    ),
    TEXT: TEXT_RULE,
    ITEM_TEXT: (
        "one line of 1 to 200 characters, without control characters, or a tab and a whole number",
        "write the id as text, or an integer after a tab",
    ),
    UUID: ("the id of an impression", "use the impression that was sent with the list"),
}
ITEM_RULE = ("text or a whole number", "write it as text")
INTEGER_RULE = (
    f"a whole number of at most {LARGEST_INTEGER} in size, which every reader of JSON keeps exactly",
    "give a smaller one, or write the id of an item as text",
)

# No leading zeros, so that one position has one spelling as a JSON key; short, since int() refuses long digit strings.
IS_PLACE = re.compile(r"[1-9][0-9]{0,3}").fullmatch

Name = Annotated[
    str, Meta(pattern=NAME, description="letters, digits, dots, dashes and underscores", examples=["front-page"])
]
Integer = Annotated[int, Meta(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
ItemId = (  # 7 and "7" are two items
    Annotated[str, Meta(min_length=1, max_length=200, pattern=TEXT, examples=["article-17"])] | Integer
)
_ITEM_TEXT_HELP = "id of an item; an integer follows a tab, so that 7 is text and a tab and 7 the integer"
ItemText = Annotated[
    str,
    Meta(min_length=1, max_length=200, pattern=ITEM_TEXT, description=_ITEM_TEXT_HELP, examples=["article-17"]),
]
Segment = Annotated[str, Meta(min_length=1, max_length=200, pattern=TEXT, examples=["query: red shoes"])]
# The same, for requests with up to 100,000 ids: a pattern takes msgspec a microsecond each, in which nobody else is
# served. `check_texts` checks all of them at once, by the pattern of the schema.
ManyIds = (
    Annotated[str, Meta(min_length=1, max_length=200, examples=["article-17"], extra_json_schema={"pattern": TEXT})]
    | Integer
)
ManyTexts = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description=_ITEM_TEXT_HELP,
        examples=["article-17"],
        extra_json_schema={"pattern": ITEM_TEXT},
    ),
]
_HAS_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
SegmentAlias = Annotated[
    Segment | None, Meta(description="the former name of segment", extra_json_schema={"deprecated": True})
]
SegmentReply = Annotated[str | None, Meta(description="as segment", extra_json_schema={"deprecated": True})]
RequestId = Annotated[str, Meta(min_length=1, max_length=200, pattern=TEXT)]
Positions = Annotated[int, Meta(ge=1, le=1000)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
Seconds = Annotated[float, Meta(gt=0.0, le=31_536_000.0)]
Seed = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Steps = Annotated[int, Meta(ge=1, le=2**53 - 1)]
FeatureCount = Annotated[int, Meta(ge=0, le=10_000)]
Strength = Annotated[float, Meta(ge=0.0, le=1e9)]
NewItems = Annotated[int, Meta(ge=0, le=2**53 - 1)]
MAX_REPORT_ENTRIES = 2000  # every position of the longest list, once by number and once by item
LARGEST = 1e6  # absolute value of a feature; in a sum of squares, a much larger one would round the others away
FeatureRow = Annotated[list[float], Meta(max_length=10_000)]
Limit = Annotated[int, Meta(ge=1, le=10_000)]
ImpressionId = Annotated[
    str,
    Meta(
        pattern=UUID,
        description="id of the impression, as sent with the list",
        examples=["019a8b5e-7c1f-7d3a-9b42-5f0e6c1d2a33"],
    ),
]
PersonText = Annotated[str, Meta(description="the features of the visitor, comma-separated", examples=["0.5,1"])]

PROBLEM_MEDIA = "application/problem+json"
PROBLEM_TYPE_PREFIX = "urn:toplist:problem:"
PROBLEM_STATUSES = {  # status of each kind of problem; where several share a status, the first is the usual one
    "malformed": 400,
    "unauthorized": 401,
    "key-expired": 401,
    "forbidden": 403,
    "not-found": 404,
    "no-such-path": 404,
    "method-not-allowed": 405,
    "not-acceptable": 406,
    "too-slow": 408,
    "conflict": 409,
    "too-large": 413,
    "unsupported-media-type": 415,
    "misdirected": 421,
    "invalid": 422,
    "too-many-requests": 429,
    "head-too-large": 431,
    "unforeseen": 500,
    "store-unavailable": 503,
    "busy": 503,
    "not-ready": 503,
}


def too_large(row: Sequence[float] | None) -> bool:
    """Whether a feature is too large to learn from.

    >>> too_large([0.5, -1e6]), too_large([0.5, -2e6]), too_large([]), too_large(None)
    (False, True, False, False)
    """
    return bool(row) and not (min(row) >= -LARGEST and max(row) <= LARGEST)  # type: ignore[arg-type]


def check_texts(ids: Collection[str | int], where: str, pattern: str = TEXT) -> None:
    """Refuse a text with control characters, in the words of msgspec; a place in `where` is for its number.

    >>> check_texts(["a", 7, "b"], "`$.among[{}]`")
    """
    if _HAS_CONTROL("".join([id for id in ids if isinstance(id, str)])) is None:
        return
    fits = re.compile(pattern).search
    for number, id in enumerate(ids):
        if isinstance(id, str) and fits(id) is None:
            raise ValueError(f"Expected `str` matching regex {pattern!r} - at {where.format(number)}")


class Strict(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Base of requests: unknown fields are refused."""


class OfSegment(Struct, frozen=True, kw_only=True):
    """Base of messages with `segment` and its alias `key`: requests may use either, and replies have both."""

    def __post_init__(self) -> None:
        message: Any = self
        segment, key = message.segment, message.key
        if segment is None:
            segment = key
        elif key is not None and key != segment:
            raise ValueError(
                f"segment is {segment!r} and key, its former name, is {key!r}, but both name the segment; leave key out"
            )
        if segment is not None:
            msgspec.structs.force_setattr(self, "segment", segment)
            msgspec.structs.force_setattr(self, "key", None if isinstance(self, Strict) else segment)


class RankingSpec(Strict, frozen=True):
    """A new ranking."""

    name: Name
    positions: Positions
    policy: str = DEFAULT_POLICY  # a name of the catalogue, optionally with parameters: "cascade-kl-ucb(...)"
    click_window: Seconds = 1800.0  # seconds
    retention: Seconds | None = None  # events are deleted after this many seconds; None: never
    seed: Seed = 0
    steps: Steps | None = None
    features: FeatureCount = 0  # per item; for policies that learn from features
    person: FeatureCount = 0  # features of the visitor
    join: str = "concatenate"
    prior_mean: Probability = 0.5
    prior_strength: Strength = 0.0
    new_per_list: NewItems | None = None
    reference: Probability | None = None  # baseline click-through rate on the page, e.g. of an older system


class Ranking(Struct, frozen=True, kw_only=True):
    """A ranking."""

    name: str
    positions: int
    policy: str
    click_window: float
    retention: float | None
    seed: int
    steps: int | None
    features: int
    person: int
    join: str
    prior_mean: float
    prior_strength: float
    new_per_list: int | None
    reference: float | None
    items: int  # number of items, including hidden ones
    created: str  # RFC 3339 in UTC, like all times


class RankingChange(Strict, frozen=True):
    """Changes of a ranking; fields that are left out stay."""

    positions: Positions | UnsetType = UNSET  # more positions than the learners have need new learners
    click_window: Seconds | UnsetType = UNSET
    retention: Seconds | UnsetType | None = UNSET
    reference: Probability | UnsetType | None = UNSET
    # A new value of one of these needs new learners.
    policy: str | UnsetType = UNSET
    seed: Seed | UnsetType = UNSET
    steps: Steps | UnsetType | None = UNSET
    prior_mean: Probability | UnsetType = UNSET
    prior_strength: Strength | UnsetType = UNSET
    new_per_list: NewItems | UnsetType | None = UNSET
    train: bool = True  # train new learners from the event log before they serve
    # These cannot change: only the current value is accepted.
    features: FeatureCount | UnsetType = UNSET
    person: FeatureCount | UnsetType = UNSET
    join: str | UnsetType = UNSET


class Item(Strict, frozen=True):
    """An item. In a request, fields that are left out stay as they are."""

    id: ItemId
    features: FeatureRow | None = None  # or its topic coverage, for policies that diversify by topic
    hidden: bool | None = None  # not shown, but what was learned about it is kept; False for a new item


class ItemsChanged(Struct, frozen=True, kw_only=True):
    """Numbers of items added, changed and unchanged."""

    added: int
    changed: int
    unchanged: int


class ListRequest(Strict, OfSegment, frozen=True, omit_defaults=True):
    """A request for a list."""

    segment: Segment | None = None
    positions: Positions | None = None
    among: list[ManyIds] | None = None
    exclude: list[ManyIds] = []
    pins: dict[str, ManyIds] = {}  # 1-based position to item
    person: FeatureRow | None = None
    features: dict[ManyTexts, FeatureRow] | None = None
    request_id: RequestId | None = None
    deferred: bool = False  # stays closed until it is activated
    key: SegmentAlias = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.among:
            check_texts(self.among, "`$.among[{}]`")
        if self.exclude:
            check_texts(self.exclude, "`$.exclude[{}]`")
        if self.pins:
            check_texts(self.pins.values(), "`$.pins[...]`")
        if self.features:
            check_texts(self.features, "`key` in `$.features`", ITEM_TEXT)


class ListReply(OfSegment, frozen=True, kw_only=True):
    """A list to show."""

    impression: str
    items: list[str | int]
    ranking: str
    segment: str | None = None
    deferred: bool = False
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


class Report(Strict, frozen=True):
    """The clicks on a list so far; repeated reports count once.

    A number is a position, or an integer item of the list; it is refused if it is both.
    """

    clicks: Annotated[list[ItemId | ListEntry], Meta(max_length=MAX_REPORT_ENTRIES)] = []
    left: ItemId | ListEntry | None = None
    seen: (
        Annotated[list[ItemId | SeenEntry], Meta(max_length=MAX_REPORT_ENTRIES)]
        | Annotated[dict[str, Probability], Meta(max_length=MAX_REPORT_ENTRIES)]
        | None
    ) = None
    final: bool = False


class ReportReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    key: SegmentReply = None


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


class ItemBody(Strict, frozen=True, kw_only=True):
    """An item whose id is in the path."""

    features: FeatureRow | None = None
    hidden: bool | None = None


class ItemsBody(Strict, frozen=True, kw_only=True):
    """Items to put, all or none of them."""

    items: Annotated[list[Item], Meta(max_length=10_000)]


class RemoveBody(Strict, frozen=True, kw_only=True):
    """Items to remove."""

    ids: Annotated[list[ManyIds], Meta(max_length=10_000)]

    def __post_init__(self) -> None:
        check_texts(self.ids, "`$.ids[{}]`")


class Removed(Struct, frozen=True, kw_only=True):
    """The number of items removed."""

    removed: int


class Rankings(Struct, frozen=True, kw_only=True):
    """All rankings, by name."""

    rankings: list[Ranking]


class ItemsPage(Struct, frozen=True, kw_only=True):
    """A page of items, in the order of adding them; `next` is the `after` of the next page, null on the last."""

    items: list[Item]
    next: str | None


class SegmentsPage(Struct, frozen=True, kw_only=True):
    """A page of segments that have a learner; `next` is the `after` of the next page, null on the last."""

    segments: list[str]
    next: str | None


class KeysPage(Struct, frozen=True, kw_only=True):
    """A page of segments, under their former name."""

    keys: list[str]
    next: str | None


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


class Health(Struct, frozen=True, kw_only=True):
    """The state of the service."""

    status: str
    version: str


class Fault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where."""

    detail: str
    pointer: str | UnsetType = UNSET  # JSON pointer into the body of the request
    parameter: str | UnsetType = UNSET  # of the path or the query
    header: str | UnsetType = UNSET


class ProblemBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of an error (RFC 9457)."""

    type: str  # for programs: PROBLEM_TYPE_PREFIX and a name of PROBLEM_STATUSES
    title: str
    status: int
    detail: str
    errors: list[Fault] | UnsetType = UNSET
    counted: bool | UnsetType = UNSET  # of a report: false, since it was not learned from
    why: str | UnsetType = UNSET


class ItemsQuery(Strict, frozen=True, kw_only=True):
    """Query of a page of items."""

    after: ItemText | None = None
    limit: Limit = 1000


class SegmentsQuery(Strict, frozen=True, kw_only=True):
    """Query of a page of segments."""

    after: Segment | None = None
    limit: Limit = 1000


class EstimatesQuery(Strict, OfSegment, frozen=True, kw_only=True):
    """Query of estimates."""

    segment: Segment | None = None
    limit: Limit = 100
    person: PersonText | None = None
    key: SegmentAlias = None


class NextQuery(Strict, OfSegment, frozen=True, kw_only=True):
    """Query of the next list."""

    segment: Segment | None = None
    person: PersonText | None = None
    key: SegmentAlias = None


class EventsQuery(Strict, frozen=True, kw_only=True):
    """Query of the event log."""

    after: Annotated[int, Meta(ge=0, le=2**63 - 1, description="only events with a larger seq")] = 0
    limit: (
        Annotated[int, Meta(ge=1, le=2**63 - 1, description="number of events at most; all by default")] | UnsetType
    ) = UNSET
