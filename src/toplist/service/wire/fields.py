"""Shared by messages: types, patterns and limits of fields, and bases of requests and of messages with a segment."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from toplist.core.item_id import LARGEST_INTEGER

END = r"(?![\s\S])"  # end of text; `$` would also match before a final line break
NAME = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,99}}{END}"
TEXT = rf"^[^\x00-\x1f\x7f]+{END}"  # one line, no control characters
ITEM_TEXT = rf"^([^\x00-\x1f\x7f]+|\t(0|-?[1-9][0-9]{{0,15}})){END}"  # of `item_text`
UUID = rf"^[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}{END}"
TEXT_RULE = ("one line of 1 to 200 characters, without control characters", "change it")  # accepted, and what to do
CURSOR = r"^[0-9]{1,18}(-[0-9]{1,18})*$"
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
    CURSOR: ("the cursor of an event", "use the cursor of the last event that was read"),
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
MOST_IDS = 25_000  # in a request: each is checked and looked up, in which nobody else is served
_HAS_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
SegmentAlias = Annotated[
    Segment | None, Meta(description="the former name of segment", extra_json_schema={"deprecated": True})
]
SegmentReply = Annotated[str | None, Meta(description="as segment", extra_json_schema={"deprecated": True})]
FileName = Annotated[str, Meta(min_length=1, max_length=200, examples=["tracker.js"])]
Token = Annotated[str, Meta(min_length=1, max_length=200, description="the token that came with the list")]
RequestId = Annotated[str, Meta(min_length=1, max_length=200, pattern=TEXT)]
VisitorId = Annotated[
    str,
    Meta(min_length=1, max_length=200, pattern=TEXT, description="id of the visitor, of which only a hash is stored"),
]
MOST_POSITIONS = 1000
Positions = Annotated[int, Meta(ge=1, le=MOST_POSITIONS)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
Level = Annotated[float, Meta(gt=0.0, le=0.5)]
Seconds = Annotated[float, Meta(gt=0.0, le=31_536_000.0)]
Seed = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Steps = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Divisions = Annotated[int, Meta(ge=1, le=1024)]  # of a ranking
FeatureCount = Annotated[int, Meta(ge=0, le=10_000)]
Strength = Annotated[float, Meta(ge=0.0, le=1e9)]
PoolKind = Literal["none", "prior"]
ServingMode = Literal["live", "shadow", "exploring"]
WhenUnavailable = Literal["refuse", "serve"]
UpliftMetric = Literal["click_through", "clicks_per_list", "clicks_at_1"]
UpliftSlices = Literal["none", "day", "segment"]
OverviewOrder = Literal["name", "lists", "click_through"]
NewItems = Annotated[int, Meta(ge=0, le=2**53 - 1)]
MAX_REPORT_ENTRIES = 2000  # every position of the longest list, once by number and once by item
DOTS = frozenset((".", ".."))  # clients resolve these in paths: of .../segments/.., some make the path of the ranking
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


def check_name(segment: str | None) -> None:
    """Refuse a name for a segment that clients would resolve in a path.

    >>> check_name("..a")
    """
    if segment in DOTS:
        raise ValueError(f"segment is {segment!r}, but must not be one or two dots, which clients resolve in paths; "
                         "choose another name")  # fmt: skip


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
