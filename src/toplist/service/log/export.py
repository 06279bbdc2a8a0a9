"""Export of the event log: pages of events, lines of JSON, a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toplist.core.problem import nearest
from toplist.service.clock import as_time
from toplist.service.errors import NotFound, Refused
from toplist.service.log.division_readers import DivisionPlaces, division_readers
from toplist.service.log.events import decode_learner, decode_ranking
from toplist.service.log.impression_id import id_text
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import WHOLE_RANKING, EventRow, RankingRow
from toplist.service.wire import Event
from toplist.support.files import check_writable, import_optional, replace_file

EVENTS_PER_PAGE = 200  # seqs that a page covers, two milliseconds; other rankings' events among them are skipped
BYTES_PER_PAGE = 1 << 20  # a page ends with the event that exceeds them
ROWS_PER_BATCH = 10_000
MOST_LEARNERS = 50  # of a ranking, whose latest events are looked for one by one; with more, at the end of the log


class EventPage(NamedTuple):
    """Events of a ranking, complete up to `until`."""

    until: int
    events: list[Event]


class DividedPage(NamedTuple):
    """Events of a divided ranking, complete up to an event of each division."""

    until: tuple[int, ...]
    events: list[Event]


class RowPage(NamedTuple):
    """Rows of the log, complete up to `until`."""

    until: int
    events: list[EventRow]


class DivisionRows(NamedTuple):
    """Rows of the log of one division, complete up to `until`."""

    number: int
    until: int
    events: list[EventRow]


class KindPages:
    """The events of some kinds of all rankings, page by page, up to the last event committed when a page is read."""

    def __init__(self, kinds: Sequence[str], after: int = 0) -> None:
        self._kinds = kinds
        self.after = after  # the next page has later events; it can be set

    def read_next(self, reader: LogReader) -> RowPage | None:
        """The next page, which may be empty; None after the last."""
        last = reader.last_seq()
        if self.after >= last:
            return None
        until = min(self.after + EVENTS_PER_PAGE, last)
        events = list(reader.events_of_kinds(self._kinds, self.after, until))
        self.after = until
        return RowPage(until, events)


class LearnerPages:
    """All events of a learner, page by page, alike."""

    def __init__(self, learner: int, after: int = 0) -> None:
        self._learner = learner
        self.after = after

    def read_next(self, reader: LogReader) -> RowPage | None:
        """The next page; None after the last."""
        events = list(islice(reader.learner_events(self._learner, self.after), EVENTS_PER_PAGE))
        if not events:
            return None
        self.after = events[-1].seq
        return RowPage(self.after, events)


class EventPages:
    """The log of a ranking, page by page, up to the last event committed when a page is read.

    With `kinds`, pages have the events of these kinds alone.
    """

    def __init__(
        self, ranking: int, name: str, after: int = 0, kinds: Collection[str] | None = None,
        division: int | UnsetType = UNSET,
    ) -> None:  # fmt: skip
        self._ranking, self._name, self._kinds, self._division = ranking, name, kinds, division
        self.after = after  # the next page has later events; it can be set to read a page again
        self._segments: dict[int, str | None] = {WHOLE_RANKING: None}  # by learner

    def read_next(self, reader: LogReader) -> EventPage | None:
        """The next page, which may be empty; None after the last."""
        last = reader.last_seq()
        if self.after >= last:
            return None
        until = min(self.after + EVENTS_PER_PAGE, last)
        page = self._page(reader, reader.events(self._ranking, self.after, until), until)
        self.after = page.until
        return page

    def _page(self, reader: LogReader, rows: Iterable[EventRow], until: int) -> EventPage:
        """A page of rows, complete up to `until` unless they are large."""
        events: list[Event] = []
        size = 0
        for event in rows:
            if self._kinds is not None and event.kind not in self._kinds:
                continue
            if event.learner not in self._segments:
                created = reader.event(event.learner)
                if created is None:  # its segment was deleted, and its events are going
                    continue
                self._segments[event.learner] = decode_learner(created.body).segment
            events.append(Event(
                seq=event.seq, at=as_time(event.at), ranking=self._name, segment=self._segments[event.learner],
                kind=event.kind, impression=None if event.impression is None else id_text(event.impression),
                body=msgspec.Raw(event.body), division=self._division,
            ))  # fmt: skip
            size += len(event.body)
            if size > BYTES_PER_PAGE:
                until = event.seq
                break
        return EventPage(until, events)


class DividedPages:
    """The log of a divided ranking, page by page: that of one division after the other.

    Each event has a cursor, from which whoever has read it goes on: how far the log of each division was read.
    """

    def __init__(self, places: DivisionPlaces, after: Sequence[int], kinds: Collection[str] | None = None) -> None:
        self._places, self._kinds = places, kinds
        self.after = tuple(after)  # the next page has later events; it can be set to read a page again
        self._number = 0  # of the division that is read

    def read_next(self, reader: LogReader) -> DividedPage | None:
        """The next page, which may be empty; None after the last."""
        with reader.snapshot_reads():
            divisions = {one.number: one for one in division_readers(reader, self._places)}
            while self._number < len(self.after):
                number, one = self._number, divisions.get(self._number)
                if one is not None:
                    pages = EventPages(one.ranking, self._places.name, self.after[number], self._kinds, number)
                    if (page := pages.read_next(one.reader)) is not None:
                        return self._page(number, page)
                self._number += 1
        return None

    def _page(self, number: int, page: EventPage) -> DividedPage:
        before, behind = self.after[:number], self.after[number + 1 :]
        events = [replace(event, cursor=cursor_text((*before, event.seq, *behind))) for event in page.events]
        self.after = *before, page.until, *behind
        return DividedPage(self.after, events)


class DivisionPages:
    """The events of some kinds in other divisions than the first, page by page."""

    def __init__(self, places: DivisionPlaces, after: Sequence[int], kinds: Collection[str]) -> None:
        self._places, self._kinds = places, kinds
        self.after = list(after)  # by division

    def read_next(self, reader: LogReader) -> DivisionRows | None:
        """The next page of the first division that has one; None if none has."""
        with reader.snapshot_reads():
            for one in division_readers(reader, self._places):
                after, last = self.after[one.number], one.reader.last_seq()
                if one.number and after < last:
                    until = self.after[one.number] = min(after + EVENTS_PER_PAGE, last)
                    rows = one.reader.events(one.ranking, after, until)
                    return DivisionRows(one.number, until, [row for row in rows if row.kind in self._kinds])
        return None


def cursor_text(after: Sequence[int]) -> str:
    """How far the log of each division was read, as text.

    >>> cursor_text([7, 0, 12]), read_cursor("7-0-12", 3)
    ('7-0-12', (7, 0, 12))
    """
    return "-".join(map(str, after))


def read_cursor(text: str, divisions: int) -> tuple[int, ...]:
    """The cursor that a text says; refused if it is of a ranking that is divided otherwise."""
    after = tuple(map(int, text.split("-")))
    if len(after) != divisions:
        raise Refused(
            f"The cursor {text!r} has {len(after)} numbers, but the ranking has {divisions} divisions; give the cursor "
            f"of one of its events, or none to begin.", "/cursor",
        )  # fmt: skip
    return after


class RecentPages(EventPages):
    """The latest events of a ranking, or of one of its segments, page by page, however much others have in the log."""

    def __init__(self, ranking: int, name: str, segment: str | None, after: int, limit: int) -> None:
        super().__init__(ranking, name, after)
        self._segment, self._limit = segment, limit
        self._seqs: list[int] | None = None  # of the events that are left to read
        self._last = after

    def read_next(self, reader: LogReader) -> EventPage | None:
        """The next page; None after the last. The last page reaches to the end of the log."""
        with reader.snapshot_reads():
            if self._seqs is None:
                self._last = reader.last_seq()
                self._seqs = self._latest(reader) if self._last > self.after else []
            seqs = [seq for seq in self._seqs if seq > self.after]
            if self.after >= self._last:
                return None
            some = seqs[:EVENTS_PER_PAGE]
            until = self._last if some == seqs else some[-1]
            page = self._page(reader, reader.events_at(some), until)
        self.after = page.until
        return page

    def _latest(self, reader: LogReader) -> list[int]:
        """Seqs of the events to read."""
        if self._segment is not None:
            learner = reader.learner(self._ranking, self._segment)
            return reader.latest_seqs(self._ranking, [learner.id] if learner else [], self.after, self._limit)
        learners = [row.id for row in reader.learners(self._ranking, 0, MOST_LEARNERS + 1)]
        if len(learners) <= MOST_LEARNERS:
            return reader.latest_seqs(self._ranking, learners, self.after, self._limit)
        return reader.latest_seqs(self._ranking, None, max(self.after, self._last - self._limit), self._limit)


def events_of_store(parts: Sequence[LogReader], name: str | None = None) -> Iterator[Event]:
    """The log of a ranking, or of all rankings, one after the other; of all parts of a store."""
    rankings: dict[str, list[tuple[RankingRow, LogReader]]] = {}  # of a divided one, several
    for reader in parts:
        for row in reader.rankings():
            rankings.setdefault(row.name, []).append((row, reader))
    if name is not None and name not in rankings:
        raise NotFound(f"There is no ranking {name!r}; {nearest(name, rankings, 'leave it out for all of them')}.")
    for row, reader in chain.from_iterable(rankings.values()) if name is None else rankings[name]:
        pages = EventPages(row.id, row.name, division=_division(row))
        while (page := pages.read_next(reader)) is not None:
            yield from page.events


def _division(row: RankingRow) -> int | UnsetType:
    """The division of a ranking that a part has; unset if it is not divided, or its row is damaged."""
    try:
        event = decode_ranking(row.settings)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return UNSET
    return event.division if event.scope else UNSET


def write_events(events: Iterable[Event], path: Path) -> int:
    """Write events to a file in the format of its suffix; returns their number."""
    check_writable(path, "The export", tuple(WRITERS))
    return WRITERS[path.suffix](events, path)


def write_ndjson(events: Iterable[Event], path: Path) -> int:
    """Write events to a file, one line of JSON each; returns their number."""
    encode = msgspec.json.Encoder().encode
    written = 0
    with replace_file(path, "The export") as new, open(new, "wb") as file:
        for event in events:
            file.write(encode(event) + b"\n")
            written += 1
    return written


def write_parquet(events: Iterable[Event], path: Path) -> int:
    """Write events to a Parquet file, their bodies as JSON text; returns their number."""
    arrow, parquet = import_optional("pyarrow", "parquet"), import_optional("pyarrow.parquet", "parquet")
    text = arrow.string()
    schema = arrow.schema(
        [("seq", arrow.int64())]
        + [(name, text) for name in ("at", "ranking", "key", "kind", "impression", "body", "segment")]
    )
    remaining = iter(events)
    written = 0
    with replace_file(path, "The export") as new, parquet.ParquetWriter(new, schema) as writer:
        while rows := list(islice(remaining, ROWS_PER_BATCH)):
            plain = [msgspec.structs.asdict(event) | {"body": bytes(event.body).decode()} for event in rows]
            writer.write_table(arrow.Table.from_pylist(plain, schema))
            written += len(rows)
    return written


WRITERS: dict[str, Callable[[Iterable[Event], Path], int]] = {".ndjson": write_ndjson, ".parquet": write_parquet}
