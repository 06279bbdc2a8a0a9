"""Sums of the uplift over all divisions of a ranking."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from toplist.service.log.division_readers import DivisionReader
from toplist.service.log.events import decode_learner
from toplist.service.log.tallies import ALL_KEY
from toplist.service.store.row_kinds import DAY_SLICE, SEGMENT_SLICE, TallyRow


class SumSlice(NamedTuple):
    """The sums of a day or of a segment, in each division that has some."""

    place: str  # by which the next page begins behind it
    name: str | None  # the day or the segment; None for a segment that was deleted
    rows: list[TallyRow]


def whole_sums(divisions: Iterable[DivisionReader]) -> list[TallyRow]:
    """The sums over all lists of each division."""
    return [row for one in divisions for row in one.reader.tallies(one.ranking, one.settings.measured, [ALL_KEY])]


def day_slices(divisions: Iterable[DivisionReader], after: str, limit: int) -> list[SumSlice]:
    """The sums of the days behind a day."""
    by_day: dict[str, list[TallyRow]] = {}
    for one in divisions:
        begin = f"{DAY_SLICE}{after}"
        for row in one.reader.group_tallies(one.ranking, one.settings.measured, DAY_SLICE, begin, limit):
            by_day.setdefault(row.slice.partition(":")[2], []).append(row)
    return [SumSlice(day, day, rows) for day, rows in sorted(by_day.items())][:limit]


def segment_slices(divisions: Iterable[DivisionReader], after: str, limit: int) -> list[SumSlice]:
    """The sums of segments behind one, those of one division after the other.

    A place is the number of the segment's learner; in a divided ranking that of the division comes before it.
    """
    division, _, learner = after.rpartition(".")
    first = int(division) if division.isdecimal() else 0
    found: list[SumSlice] = []
    for one in divisions:
        if one.number < first or len(found) >= limit:
            continue
        begin = f"{SEGMENT_SLICE}{learner if one.number == first else ''}"
        rows = one.reader.group_tallies(one.ranking, one.settings.measured, SEGMENT_SLICE, begin, limit - len(found))
        for row in rows:
            id = row.slice.partition(":")[2]
            place = f"{one.number}.{id}" if one.settings.scope else id
            created = one.reader.event(int(id))
            found.append(SumSlice(place, None if created is None else decode_learner(created.body).segment, [row]))
    return found
