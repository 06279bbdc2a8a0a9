"""Export of the event log: pages of events, lines of JSON, a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from toplist.core.problem import nearest
from toplist.service.clock import as_time
from toplist.service.errors import NotFound
from toplist.service.log.events import decode_learner
from toplist.service.log.impression_id import id_text
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import WHOLE_RANKING, EventRow
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


class RowPage(NamedTuple):
    """Rows of the log, complete up to `until`."""

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

    def __init__(self, ranking: int, name: str, after: int = 0, kinds: Collection[str] | None = None) -> None:
        self._ranking, self._name, self._kinds = ranking, name, kinds
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
                body=msgspec.Raw(event.body),
            ))  # fmt: skip
            size += len(event.body)
            if size > BYTES_PER_PAGE:
                until = event.seq
                break
        return EventPage(until, events)


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
    rankings = {row.name: (row, reader) for reader in parts for row in reader.rankings()}
    if name is not None and name not in rankings:
        raise NotFound(f"There is no ranking {name!r}; {nearest(name, rankings, 'leave it out for all of them')}.")
    for row, reader in rankings.values() if name is None else [rankings[name]]:
        pages = EventPages(row.id, row.name)
        while (page := pages.read_next(reader)) is not None:
            yield from page.events


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
