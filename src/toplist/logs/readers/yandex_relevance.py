"""Layout "yandex-relevance": the search log of the relevance prediction challenge (Yandex, WSDM 2012 workshop).

Lines with tabs: `SessionID TimePassed Q QueryID RegionID URLID ...` for a list, and `SessionID TimePassed C URLID` for
a click, which belongs to the latest list of its session that shows the URL. The unit of the time is not published, so
it is not read; nor is the region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from toplist.logs.actions import (
    NOT_SHOWN,
    clicks_of_lists,
    fields_of,
    latest,
    session_codes,
    sessions,
    whole_numbers,
)
from toplist.logs.arrow import arrow
from toplist.logs.assemble import NO_ACTION, REASONS, ListBatch
from toplist.logs.columns import ReadOptions
from toplist.logs.formats.pieces import LogSource, Piece
from toplist.logs.report import Rejected

NAME = "yandex-relevance"
QUERY, URL, CLICKED_URL = 3, 5, 3  # fields


def recognizes(source: LogSource, _: ReadOptions) -> bool:
    """Whether the first line is an action of this layout."""
    fields = source.first_line().split("\t")
    kind = fields[2] if len(fields) > 3 else ""
    rest = fields[:2] + fields[3:]
    return ((kind == "Q" and len(fields) > URL) or (kind == "C" and len(fields) == 4)) and all(map(str.isdigit, rest))


def read(sources: Sequence[LogSource], _: ReadOptions) -> Iterator[ListBatch]:
    """The lists of all sources."""
    for source in sources:
        for piece in sessions(source):
            yield batch_of(piece, source)


def batch_of(piece: Piece, source: LogSource) -> ListBatch:
    """The lists of some sessions with their clicks."""
    fields, session = fields_of(piece), session_codes(piece)
    shows = np.flatnonzero(fields.equal(2, "Q") & (fields.counts > URL))
    clicks = np.flatnonzero(fields.equal(2, "C") & (fields.counts == 4))
    query, bad_query = whole_numbers(fields.text(shows, QUERY))
    start, texts = fields.rest(shows, URL)
    url, bad_url = whole_numbers(texts)
    clicked_url, bad_click = whole_numbers(fields.text(clicks, CLICKED_URL))
    owner = np.repeat(np.arange(len(shows)), np.diff(start))
    is_wrong = bad_query
    is_wrong[owner[bad_url]] = True

    entry = latest((session[shows][owner], url), shows[owner], (session[clicks], clicked_url), clicks)
    lost = (entry < 0) & ~bad_click
    entry = entry[(entry >= 0) & ~bad_click]
    clicked_start, clicked = clicks_of_lists(len(shows), owner[entry], entry - start[owner[entry]] + 1)

    is_action = np.zeros(len(fields.counts), dtype=np.bool_)
    is_action[shows] = is_action[clicks[~bad_click]] = True
    is_blank = (fields.counts == 1) & fields.equal(0, "")
    rejected = [
        *piece.rejected,
        Rejected(piece.numbers[~is_action & ~is_blank], REASONS[NO_ACTION]),
        Rejected(piece.numbers[clicks[lost]], NOT_SHOWN),
    ]
    return ListBatch(
        source.name, source.unit, piece.numbers[shows], arrow.lib.array(query), start, arrow.lib.array(url),
        clicked_start, clicked, reason=np.where(is_wrong, np.uint8(NO_ACTION), np.uint8(0)), rejected=rejected,
    )  # fmt: skip
