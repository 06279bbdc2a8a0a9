"""Counts closed lists for the uplift: sums of both groups over all lists, by day and by segment, and of each visitor.

The sums are a function of the log: of the lists since the measuring began, in the order of closing. A list changes two
to five of them, whatever came before. A visitor with an id has one sum over all lists, which also has those of its
latest day, and one for each segment in which it had a list. A list without a visitor id is a visitor of its own, of
which nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from toplist.service.clock import as_time
from toplist.service.log.events import HOLDOUT, ListPlacement, MergedReport, decode_list, decode_outcome, encode
from toplist.service.log.replay import UNREADABLE
from toplist.service.log.settings import LearnerSettings, settings_at_end
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import (
    ALL_LISTS,
    DAY_SLICE,
    ERASED,
    FORGOTTEN,
    LEARN,
    LIST,
    SEGMENT_SLICE,
    VISITORS_SLICE,
    EventRow,
    TallyRow,
)
from toplist.uplift import Tally, VisitorCounts

DAY_MILLISECONDS = 86_400_000
EVENTS_AT_ONCE = 10_000  # seqs of a rebuild
BOTH_GROUPS = b""  # in place of a visitor

TallyKey = tuple[str, bytes]  # slice and visitor
ALL_KEY: TallyKey = (ALL_LISTS, BOTH_GROUPS)
NO_LISTS = VisitorCounts()


@lru_cache(4)
def day_text(day: int) -> str:
    """The date of a day since the epoch, in UTC.

    >>> day_text(20_000)
    '2024-10-04'
    """
    return as_time(day * DAY_MILLISECONDS)[:10]


class VisitorTally(NamedTuple):
    """The counts of a visitor, and those of its latest day."""

    counts: VisitorCounts = NO_LISTS
    day: str = ""
    today: VisitorCounts = NO_LISTS


Sum = Tally | VisitorTally
_decode_tally = msgspec.json.Decoder(Tally).decode
_decode_visitor = msgspec.json.Decoder(VisitorTally).decode


def decode_sum(key: TallyKey, body: bytes) -> Sum:
    """A sum of the store."""
    return _decode_tally(body) if key[1] == BOTH_GROUPS else _decode_visitor(body)


class ClosedList(NamedTuple):
    """A list that is closed now, as it counts for the uplift."""

    in_holdout: bool
    visitor: bytes  # hash; empty without a visitor id
    learner: int  # 0 without a segment
    counts: VisitorCounts
    day: str

    @classmethod
    def of(cls, placed: ListPlacement, learner: int, merged: MergedReport, at: int) -> ClosedList:
        """A list with its reports, closed at a time."""
        clicks = merged.clicks
        counts = VisitorCounts(1, int(bool(clicks)), len(clicks), int(1 in clicks))
        in_holdout, segment = placed.group == HOLDOUT, learner if placed.segmented else 0
        return cls(in_holdout, placed.visitor, segment, counts, day_text(at // DAY_MILLISECONDS))

    def changed_keys(self) -> list[TallyKey]:
        """The sums that it changes."""
        found = [ALL_KEY, (f"{DAY_SLICE}{self.day}", BOTH_GROUPS)]
        if self.visitor:
            found.append((f"{VISITORS_SLICE}0", self.visitor))
        if self.learner:
            found.append((f"{SEGMENT_SLICE}{self.learner}", BOTH_GROUPS))
            if self.visitor:
                found.append((f"{VISITORS_SLICE}{self.learner}", self.visitor))
        return found


def count_list(closed: ClosedList, share: float, known: Callable[[TallyKey], Sum | None]) -> dict[TallyKey, Sum]:
    """The sums that a list changes, with their new values.

    Parameters
    ----------
    closed : ClosedList
        The list.
    share : float
        Share of visitors that is assigned to the holdout.
    known : callable
        The present value of a sum; None if there is none yet.
    """
    found: dict[TallyKey, Sum] = {}

    def visitor(slice: str) -> VisitorTally:
        sums = known((slice, closed.visitor)) if closed.visitor else None
        return sums if isinstance(sums, VisitorTally) else VisitorTally()

    def count(slice: str, before: VisitorCounts) -> VisitorCounts:
        key, after = (slice, BOTH_GROUPS), before.plus(closed.counts)
        tally = known(key)
        tally = tally if isinstance(tally, Tally) else Tally()
        found[key] = tally.counted(closed.in_holdout, before, after, share)
        return after

    whole = visitor(f"{VISITORS_SLICE}0")
    today = count(f"{DAY_SLICE}{closed.day}", whole.today if whole.day == closed.day else NO_LISTS)
    counts = count(ALL_LISTS, whole.counts)
    if closed.visitor:
        found[f"{VISITORS_SLICE}0", closed.visitor] = VisitorTally(counts, closed.day, today)
    if closed.learner:
        own = f"{VISITORS_SLICE}{closed.learner}"
        counts = count(f"{SEGMENT_SLICE}{closed.learner}", visitor(own).counts)
        if closed.visitor:
            found[own, closed.visitor] = VisitorTally(counts)
    return found


def tally_rows_of(ranking: int, measured: int, sums: dict[TallyKey, Sum]) -> list[TallyRow]:
    """Sums as rows."""
    return [TallyRow(ranking, measured, slice, visitor, encode(value)) for (slice, visitor), value in sums.items()]


def rebuild_sums(reader: LogReader, ranking: int, settings: LearnerSettings) -> dict[TallyKey, Sum] | None:
    """All sums of a ranking from its log; None if some of its lists were deleted since the measuring began."""
    placed: dict[int, ListPlacement] = {}
    sums: dict[TallyKey, Sum] = {}
    for event in _events(reader, ranking, settings.measured):
        if event.kind in (FORGOTTEN, ERASED):
            return None
        try:
            if event.kind == LIST:
                made = decode_list(event.body)
                if made.placement.is_compared:
                    placed[event.seq] = made.placement._replace(would_show=None)
            elif event.kind == LEARN:
                outcome = decode_outcome(event.body)
                one = placed.pop(outcome.list_seq, None)
                if one is not None:
                    closed = ClosedList.of(one, event.learner, outcome.merged, event.at)
                    sums |= count_list(closed, settings.share, sums.get)
        except UNREADABLE:  # a list in quarantine, which was not counted
            continue
    return sums


def _events(reader: LogReader, ranking: int, after: int) -> Iterator[EventRow]:
    last = reader.last_seq()
    while after < last:
        until = min(after + EVENTS_AT_ONCE, last)
        yield from reader.events(ranking, after, until)
        after = until


def differing_uplifts(reader: LogReader) -> Iterator[str]:
    """A sentence for every ranking whose sums of the uplift differ from its log."""
    for row in reader.rankings():
        with reader.snapshot_reads():
            settings = settings_at_end(reader.settings_events(row.id))
            if settings is None or not settings.measured:
                continue
            expected = rebuild_sums(reader, row.id, settings)
            if expected is None:
                continue
            rows = {(kept.slice, kept.visitor): kept for kept in reader.all_tallies(row.id, settings.measured)}
            new = {(one.slice, one.visitor): one for one in tally_rows_of(row.id, settings.measured, expected)}
        if wrong := sum(rows.get(key) != new.get(key) for key in rows.keys() | new.keys()):
            yield f"The uplift of {row.name!r} differs from the log in {wrong} of {len(new)} sums."
