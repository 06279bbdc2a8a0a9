"""Layout "yandex-personalized": the search log of the personalized web search challenge (Yandex, Kaggle 2014).

Lines with tabs: `SessionID M Day UserID` begins a session, `SessionID TimePassed Q SERPID QueryID Terms URLID,DomainID
...` is a list, and `SessionID TimePassed C SERPID URLID` a click on it. The lists of lines with T, whose clicks were
not published, are left out. The time is that of the day, since the unit of TimePassed is not published.
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

NAME = "yandex-personalized"
SERP, QUERY, URL, CLICKED_URL, DAY, USER = 3, 4, 6, 4, 2, 3  # fields
DAY_SECONDS = 86_400.0
TEST = "the clicks of a test list are not published"


def recognizes(source: LogSource, _: ReadOptions) -> bool:
    """Whether the first line is an action of this layout."""
    fields = source.first_line().split("\t")
    if not fields[0].isdigit():
        return False
    if fields[1:2] == ["M"]:
        return len(fields) == 4
    kind = fields[2] if len(fields) > CLICKED_URL else ""
    return (kind == "C" and len(fields) == 5) or (kind in ("Q", "T") and len(fields) > URL and "," in fields[URL])


def read(sources: Sequence[LogSource], options: ReadOptions) -> Iterator[ListBatch]:
    """The lists of all sources."""
    for source in sources:
        for piece in sessions(source):
            yield batch_of(piece, source, options)


def batch_of(piece: Piece, source: LogSource, options: ReadOptions) -> ListBatch:
    """The lists of some sessions with their clicks."""
    fields, session = fields_of(piece), session_codes(piece)
    begins = np.flatnonzero(fields.equal(1, "M") & (fields.counts == 4))
    tests = np.flatnonzero(fields.equal(2, "T") & (fields.counts > URL))
    shows = np.flatnonzero(fields.equal(2, "Q") & (fields.counts > URL))
    clicks = np.flatnonzero(fields.equal(2, "C") & (fields.counts == 5))
    query, bad_query = whole_numbers(fields.text(shows, QUERY))
    serp, bad_serp = whole_numbers(fields.text(shows, SERP))
    start, pairs = fields.rest(shows, URL)
    split = arrow.compute.split_pattern(pairs, ",", max_splits=1)
    url, bad_url = whole_numbers(arrow.compute.list_element(split, 0))
    clicked_serp, bad_click = whole_numbers(fields.text(clicks, SERP))
    clicked_url, bad = whole_numbers(fields.text(clicks, CLICKED_URL))
    bad_click = bad_click | bad
    owner = np.repeat(np.arange(len(shows)), np.diff(start))
    is_wrong = bad_query | bad_serp
    is_wrong[owner[bad_url]] = True

    shown = latest((session[shows], serp), shows, (session[clicks], clicked_serp), clicks)
    nowhere = np.zeros(len(owner), dtype=np.int64)  # lists of a part come before its clicks: all lines are equal
    entry = latest((owner, url), nowhere, (shown, clicked_url), np.ones(len(clicks), dtype=np.int64))
    lost = ((entry < 0) | (shown < 0)) & ~bad_click
    entry = entry[~lost & ~bad_click]
    clicked_start, clicked = clicks_of_lists(len(shows), owner[entry], entry - start[owner[entry]] + 1)

    is_action = np.zeros(len(fields.counts), dtype=np.bool_)
    is_action[begins] = is_action[tests] = is_action[shows] = is_action[clicks[~bad_click]] = True
    is_blank = (fields.counts == 1) & fields.equal(0, "")
    rejected = [
        *piece.rejected,
        Rejected(piece.numbers[~is_action & ~is_blank], REASONS[NO_ACTION]),
        Rejected(piece.numbers[clicks[lost]], NOT_SHOWN),
        Rejected(piece.numbers[tests], TEST, is_wrong=False),
    ]
    batch = ListBatch(
        source.name, source.unit, piece.numbers[shows], arrow.lib.array(query), start, arrow.lib.array(url),
        clicked_start, clicked, reason=np.where(is_wrong, np.uint8(NO_ACTION), np.uint8(0)), rejected=rejected,
    )  # fmt: skip
    of_session = np.full(int(session.max(initial=-1)) + 1, -1, dtype=np.int64)
    of_session[session[begins]] = np.arange(len(begins))
    meta = of_session[session[shows]]
    if options.wants("time"):
        day, bad_day = whole_numbers(fields.text(begins, DAY))
        known = np.append(np.where(bad_day, np.nan, day * DAY_SECONDS), np.nan)  # the last for a session without M
        batch.time = known[meta]
    if options.wants("visitor"):
        user, bad_user = whole_numbers(fields.text(begins, USER))
        known_user, is_unknown = np.append(user, 0)[meta], np.append(bad_user, True)[meta]
        batch.visitor = arrow.lib.array(known_user, mask=is_unknown)
    return batch
