"""What goes in and out of the service: the one description that requests, replies, the client and OpenAPI share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

END = r"(?![\s\S])"  # where $ would also stand before a last line break
NAME = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,99}}{END}"
TEXT = rf"^[^\x00-\x1f\x7f]+{END}"  # one line, no control characters

# One way to write a position, so that no two keys of an object are the same, and short, as int() refuses long ones.
IS_PLACE = re.compile(r"[1-9][0-9]{0,3}").fullmatch

Name = Annotated[
    str, Meta(pattern=NAME, description="letters, digits, dots, dashes and underscores", examples=["front-page"])
]
ItemId = Annotated[str, Meta(min_length=1, max_length=200, pattern=TEXT, examples=["article-17"])]
Key = Annotated[str, Meta(min_length=1, max_length=200, pattern=TEXT, examples=["query: red shoes"])]
RequestId = Annotated[str, Meta(min_length=1, max_length=200, pattern=TEXT)]
Positions = Annotated[int, Meta(ge=1, le=1000)]
Place = Annotated[int, Meta(ge=1, le=1000)]
Chance = Annotated[float, Meta(ge=0.0, le=1.0)]
Seconds = Annotated[float, Meta(gt=0.0, le=31_536_000.0)]
Seed = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Steps = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Width = Annotated[int, Meta(ge=0, le=10_000)]  # of a row of features
Strength = Annotated[float, Meta(ge=0.0, le=1e9)]
Newcomers = Annotated[int, Meta(ge=0, le=2**53 - 1)]
MOST_TOLD = 2000  # entries of a report: each place of the longest list, by its number and by its item
LARGEST = 1e6  # of a feature: the square of a much larger one leaves nothing of the others in a sum
Row = Annotated[list[float], Meta(max_length=10_000)]


def too_large(row: Sequence[float] | None) -> bool:
    """Whether one of the features is beyond what can be learned from.

    >>> too_large([0.5, -1e6]), too_large([0.5, -2e6]), too_large([]), too_large(None)
    (False, True, False, False)
    """
    return bool(row) and not (min(row) >= -LARGEST and max(row) <= LARGEST)  # type: ignore[arg-type]


class Strict(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What a request may say: nothing unknown."""


class RankingSpec(Strict, frozen=True):
    """A new ranking."""

    name: Name
    positions: Positions
    policy: str = "dcm-kl-ucb"  # a name of the catalogue with its parameters, as "cascade-kl-ucb(...)"
    click_window: Seconds = 1800.0  # seconds
    retention: Seconds | None = None  # seconds that events are kept; None: for ever
    seed: Seed = 0
    steps: Steps | None = None
    features: Width = 0  # per item; for policies that learn from features
    person: Width = 0  # features of who asks
    join: str = "concatenate"
    prior_mean: Chance = 0.5
    prior_strength: Strength = 0.0
    new_per_list: Newcomers | None = None
    reference: Chance | None = None  # a click-through to compare with on the page, as that of an older system


class Ranking(Struct, frozen=True, kw_only=True):
    """A ranking, as it is read."""

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
    items: int  # how many there are, hidden ones among them
    created: str  # as all times: RFC 3339, in UTC


class RankingChange(Strict, frozen=True):
    """What to change of a ranking; what is left out stays."""

    positions: Positions | UnsetType = UNSET  # more than learners have places for make new ones
    click_window: Seconds | UnsetType = UNSET
    retention: Seconds | UnsetType | None = UNSET
    reference: Chance | UnsetType | None = UNSET
    # Another value of these makes new learners.
    policy: str | UnsetType = UNSET
    seed: Seed | UnsetType = UNSET
    steps: Steps | UnsetType | None = UNSET
    prior_mean: Chance | UnsetType = UNSET
    prior_strength: Strength | UnsetType = UNSET
    new_per_list: Newcomers | UnsetType | None = UNSET
    train: bool = True  # new learners from the event log, before they serve
    # No other value than the one they have.
    features: Width | UnsetType = UNSET
    person: Width | UnsetType = UNSET
    join: str | UnsetType = UNSET


class Item(Strict, frozen=True):
    """An item, as it is put and read; where it is put, what is left out stays as it was."""

    id: ItemId
    features: Row | None = None  # or how it covers topics, for policies that go by these
    hidden: bool | None = None  # never shown, but not forgotten; a new item is not


class ItemsChanged(Struct, frozen=True, kw_only=True):
    """What came of items that were put."""

    added: int
    changed: int
    unchanged: int


class ListRequest(Strict, frozen=True):
    """A list that is asked for."""

    key: Key | None = None
    positions: Positions | None = None
    among: list[ItemId] | None = None
    exclude: list[ItemId] = []
    pins: dict[str, ItemId] = {}  # position, counted from 1, to item
    person: Row | None = None
    features: dict[ItemId, Row] | None = None
    request_id: RequestId | None = None
    deferred: bool = False  # not open before it is activated


class ListReply(Struct, frozen=True, kw_only=True):
    """A list to show."""

    impression: str
    items: list[str]
    ranking: str
    key: str | None = None
    deferred: bool = False


class Report(Strict, frozen=True):
    """What came back for a list so far: sent again and again, it is counted once."""

    clicks: Annotated[list[Place | ItemId], Meta(max_length=MOST_TOLD)] = []
    left: Place | ItemId | None = None
    seen: (
        Annotated[list[Place | ItemId], Meta(max_length=MOST_TOLD)]
        | Annotated[dict[str, Chance], Meta(max_length=MOST_TOLD)]
        | None
    ) = None
    final: bool = False


class ReportReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a report counts, and why not."""

    impression: str
    counted: bool
    why: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET


class Impression(Struct, frozen=True, kw_only=True):
    """A list that was made, and what is known of it."""

    impression: str
    ranking: str
    key: str | None
    items: list[str]
    state: str  # "deferred", "open", "learned" or "dropped"
    made: str
    due: str  # when its click window closes, or closed
    clicks: list[int]  # positions, counted from 1
    left: int | None
    seen: dict[str, float] | None  # by position
    reason: str | None  # why it was learned: "final" or "window"


class Estimate(Struct, frozen=True, kw_only=True):
    """What is thought of an item; null where the policy has no such number, or an infinite one."""

    item: str
    examined: float | None
    mean: float | None
    low: float | None
    high: float | None
    index: float | None


class Estimates(Struct, frozen=True, kw_only=True):
    """What a learner thinks of its items, the largest index first."""

    ranking: str
    key: str | None
    policy: str
    learned: int  # lists
    items: list[Estimate]


class Reason(Struct, frozen=True, kw_only=True):
    """Why an item stands at a position, in numbers of now."""

    position: int
    item: str
    examined: float | None
    mean: float | None
    bonus: float | None
    index: float | None
    why: str


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a list is as it is."""

    impression: str
    ranking: str
    key: str | None
    positions: list[Reason]


class NextList(Struct, frozen=True, kw_only=True):
    """The list that would be made next, and why it would be as it is."""

    ranking: str
    key: str | None
    policy: str
    learned: int  # lists
    positions: list[Reason]


class Event(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    seq: int
    at: str
    ranking: str
    key: str | None
    kind: str
    impression: str | None
    body: Any
