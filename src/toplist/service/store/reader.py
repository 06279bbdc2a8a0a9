"""Reads of a store's file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toplist.service.errors import StoreUnavailable
from toplist.service.store import protocol
from toplist.service.store.connection import READ_ERRORS, cannot_read, connect, reads
from toplist.service.store.digests import TABLES
from toplist.service.store.integrity import Damage, find_damage
from toplist.service.store.migrations import empty_reason, foreign_reason
from toplist.service.store.protocol import (
    DeletedLearnerRow,
    DeletedRanking,
    DeletedRow,
    EventRow,
    ImpressionRow,
    ItemRow,
    LearnerRow,
    RankingRow,
    RequestRow,
    SnapshotRow,
)

PAGE_BYTES = 4 << 20  # of the bodies of events that are in memory at a time
CLOSED = f"kind IN ('{protocol.LEARN}', '{protocol.DROP}', '{protocol.QUARANTINED}') AND impression IS NOT NULL"
BODY_TEXT = "CAST(body AS TEXT)"
# The columns of a row, without its digest.
_EVENT, _IMPRESSION, _REQUEST, _LEARNER, _SNAPSHOT, _RANKING, _ITEM = (
    f"SELECT {TABLES[kind].selected} FROM {TABLES[kind].name}"
    for kind in (EventRow, ImpressionRow, RequestRow, LearnerRow, SnapshotRow, RankingRow, ItemRow)
)


class SQLiteReader:
    """Blocking reads of a store's file, which a service may be using."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = connect(path, read_only=True)
            reason = foreign_reason(self._connection) or empty_reason(self._connection)
        except READ_ERRORS as problem:
            raise cannot_read(problem) from problem
        if reason is not None:
            raise StoreUnavailable(
                f"The store cannot be read: {reason}; name a file that toplist serve wrote, or restore a backup."
            )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def snapshot_reads(self) -> Iterator[None]:
        """Context in which all reads see the moment of the first."""
        try:
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")
        except READ_ERRORS as problem:
            raise cannot_read(problem) from problem

    def _first(self, query: str, *given: Any) -> Any:
        """First row of a query; None if there is none."""
        return self._connection.execute(query, given).fetchone()

    @reads
    def last_seq(self) -> int:
        """Seq of the last event; 0 before the first."""
        return int(self._first("SELECT coalesce(max(seq), 0) FROM events")[0])

    @reads
    def rankings(self) -> list[RankingRow]:
        """All rankings."""
        return [RankingRow(*row) for row in self._connection.execute(f"{_RANKING} ORDER BY id")]

    @reads
    def deleted_ranking(self) -> DeletedRanking | None:
        """A deleted ranking of which rows are left; None if there is none."""
        has_items = "EXISTS (SELECT 1 FROM items WHERE items.ranking = gone.ranking)"
        row = self._first(f"SELECT {TABLES[DeletedRow].selected}, {has_items} FROM gone ORDER BY ranking LIMIT 1")
        return None if row is None else DeletedRanking(DeletedRow(*row[:-1]), bool(row[-1]))

    @reads
    def deleted_learners(self, limit: int = -1) -> list[DeletedLearnerRow]:
        """Deleted learners with rows left to purge, all of them without a limit."""
        query = f"SELECT {TABLES[DeletedLearnerRow].selected} FROM gone_learners ORDER BY learner LIMIT ?"
        return [DeletedLearnerRow(*row) for row in self._connection.execute(query, (limit,))]

    @reads
    def has_events(self, learner: int) -> bool:
        """Whether there are events of a learner."""
        query = "SELECT EXISTS (SELECT 1 FROM events WHERE learner = ? AND learner > 0)"
        return bool(self._first(query, learner)[0])

    @reads
    def items(self, ranking: int) -> Iterator[ItemRow]:
        """Items of a ranking, by place."""
        rows = self._connection.execute(f"{_ITEM} WHERE ranking = ? ORDER BY place", (ranking,)).fetchall()
        return (row._replace(hidden=bool(row.hidden)) for row in map(ItemRow._make, rows))

    @reads
    def event(self, seq: int) -> EventRow | None:
        """One event."""
        row = self._first(f"{_EVENT} WHERE seq = ?", seq)
        return None if row is None else EventRow(*row)

    def events(self, ranking: int, after: int, until: int) -> Iterator[EventRow]:
        """Events of a ranking with after < seq <= until, in order."""
        return self._event_pages("ranking = ? AND seq <= ?", (ranking, until), after)

    def _event_pages(self, condition: str, given: tuple[Any, ...], after: int) -> Iterator[EventRow]:
        """Events with seq > after, in order; some megabytes are in memory at a time, however many events there are."""
        query = f"{_EVENT} WHERE {condition} AND seq > ? ORDER BY seq"
        more = True
        while more:
            page: list[EventRow] = []
            size, more = 0, False
            try:
                for row in (cursor := self._connection.execute(query, (*given, after))):
                    page.append(EventRow._make(row))
                    size += len(page[-1].body)
                    if more := size > PAGE_BYTES:
                        cursor.close()  # an open one would keep the write-ahead log from being emptied
                        break
            except READ_ERRORS as problem:
                raise cannot_read(problem) from problem
            yield from page
            after = page[-1].seq if page else after

    @reads
    def has_learner_events(self, learner: int, after: int, count: int) -> bool:
        """Whether there are at least so many events of a learner with seq > after."""
        query = "SELECT 1 FROM events WHERE learner = ? AND learner > 0 AND seq > ? LIMIT 1 OFFSET ?"
        return self._first(query, learner, after, count - 1) is not None

    @reads
    def segment_count(self, ranking: int) -> int:
        """Number of segments that have a learner."""
        return int(self._first("SELECT count(*) FROM learners WHERE ranking = ? AND key IS NOT NULL", ranking)[0])

    @reads
    def has_item_events(self, ranking: int, after: int, count: int) -> bool:
        """Whether there are at least so many changes of a ranking's items with seq > after."""
        query = f"""SELECT 1 FROM events WHERE ranking = ? AND learner = 0 AND seq > ? AND kind = '{protocol.ITEMS}'
            LIMIT 1 OFFSET ?"""
        return self._first(query, ranking, after, count - 1) is not None

    @reads
    def longest_list(self, ranking: int, after: int, until: int) -> int:
        """Length of the longest list of a ranking among events with after < seq <= until."""
        length = f"CASE WHEN json_valid({BODY_TEXT}) THEN json_array_length({BODY_TEXT}, '$.items') END"
        query = f"""SELECT coalesce(max({length}), 0) FROM events
            WHERE ranking = ? AND seq > ? AND seq <= ? AND kind = '{protocol.LIST}'"""
        return int(self._first(query, ranking, after, until)[0])

    @reads
    def events_of_kind(self, kind: str) -> Iterator[EventRow]:
        """All events of a kind, in order."""
        rows = self._connection.execute(f"{_EVENT} WHERE kind = ? ORDER BY seq", (kind,)).fetchall()
        return map(EventRow._make, rows)

    def learner_events(self, learner: int, after: int) -> Iterator[EventRow]:
        """Events of a learner with seq > after, in order."""
        return self._event_pages("learner = ? AND learner > 0", (learner,), after)

    def item_events(self, ranking: int, after: int) -> Iterator[EventRow]:
        """Changes of a ranking's items with seq > after, in order."""
        return self._ranking_events(ranking, protocol.ITEMS, after)

    def settings_events(self, ranking: int) -> Iterator[EventRow]:
        """Events that created, changed and deleted a ranking, in order."""
        return self._ranking_events(ranking, protocol.RANKING, 0)

    @reads
    def latest_pool(self, ranking: int) -> EventRow | None:
        """The latest event of what a ranking's learners know together; None if there is none."""
        where = "ranking = ? AND learner = 0 AND kind = ?"
        row = self._first(f"{_EVENT} WHERE {where} ORDER BY seq DESC LIMIT 1", ranking, protocol.POOL)
        return None if row is None else EventRow(*row)

    def _ranking_events(self, ranking: int, kind: str, after: int) -> Iterator[EventRow]:
        return self._event_pages("ranking = ? AND learner = 0 AND kind = ?", (ranking, kind), after)

    @reads
    def impression(self, id: bytes) -> ImpressionRow | None:
        """An impression with its current state."""
        row = self._first(f"{_IMPRESSION} WHERE id = ?", id)
        return None if row is None else ImpressionRow(*row)

    @reads
    def due_impressions(self, now: int, limit: int) -> list[ImpressionRow]:
        """Impressions that are open although their window is over, the most overdue first."""
        query = f"{_IMPRESSION} WHERE state < 2 AND due <= ? ORDER BY due LIMIT ?"
        return [ImpressionRow(*row) for row in self._connection.execute(query, (now, limit))]

    @reads
    def open_impressions(self) -> int:
        """Number of impressions that are neither learned nor dropped."""
        return int(self._first("SELECT count(*) FROM impressions WHERE state < 2")[0])

    @reads
    def request(self, ranking: int, request: str) -> RequestRow | None:
        """The list that was made for a request id."""
        row = self._first(f"{_REQUEST} WHERE ranking = ? AND request = ?", ranking, request)
        return None if row is None else RequestRow(*row)

    @reads
    def learner(self, ranking: int, segment: str | None) -> LearnerRow | None:
        """The learner of a segment."""
        row = self._first(f"{_LEARNER} WHERE ranking = ? AND key IS ?", ranking, segment)
        return None if row is None else LearnerRow(*row)

    @reads
    def learners(self, ranking: int, after: int, limit: int) -> list[LearnerRow]:
        """Learners of a ranking with id > after, by id."""
        query = f"{_LEARNER} WHERE ranking = ? AND id > ? ORDER BY id LIMIT ?"
        return [LearnerRow(*row) for row in self._connection.execute(query, (ranking, after, limit))]

    @reads
    def learners_with_snapshots(self, ranking: int) -> list[LearnerRow]:
        """Learners of a ranking that have a snapshot."""
        query = f"{_LEARNER} WHERE ranking = ? AND id IN (SELECT learner FROM snapshots)"
        return [LearnerRow(*row) for row in self._connection.execute(query, (ranking,))]

    @reads
    def segments(self, ranking: int, after: str, limit: int) -> list[str]:
        """Segments that have a learner, in order."""
        query = "SELECT key FROM learners WHERE ranking = ? AND key > ? ORDER BY key LIMIT ?"
        return [segment for (segment,) in self._connection.execute(query, (ranking, after, limit))]

    @reads
    def snapshot(self, learner: int, policy_seq: int, base: bool = False) -> SnapshotRow | None:
        """The latest snapshot under a policy; with `base`, the one below which events may be forgotten."""
        query = f"{_SNAPSHOT} WHERE learner = ? AND policy = ? AND base >= ? ORDER BY seq DESC LIMIT 1"
        row = self._first(query, learner, policy_seq, base)
        return None if row is None else SnapshotRow(*row)

    @reads
    def closed_impressions(self, learner: int, until: int) -> int:
        """Number of a learner's impressions that were closed by an event up to `until` and are not forgotten."""
        query = f"SELECT count(*) FROM events WHERE learner = ? AND learner > 0 AND seq <= ? AND {CLOSED}"
        return int(self._first(query, learner, until)[0])

    @reads
    def seq_before(self, moment: int) -> int:
        """Seq of the last event before a moment, by bisection: times grow with seq from one correction to the next."""
        query = "SELECT seq FROM events WHERE ranking = ? AND learner = 0 ORDER BY seq"
        corrections = [seq for (seq,) in self._connection.execute(query, (protocol.NO_RANKING,))]
        low = 0
        for high in (*(seq - 1 for seq in corrections), self.last_seq()):
            latest = self._first(
                "SELECT at FROM events WHERE seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1", low, high
            )
            if latest is not None and latest[0] >= moment:
                return self._bisect(moment, low, high)
            low = high
        return low

    def _bisect(self, moment: int, low: int, high: int) -> int:
        """Seq of the last event before a moment, among events whose times grow with seq."""
        while low < high:
            middle = (low + high + 1) // 2
            row = self._first("SELECT at FROM events WHERE seq >= ? ORDER BY seq LIMIT 1", middle)
            if row is not None and row[0] < moment:
                low = middle
            else:
                high = middle - 1
        return low

    def find_damage(self) -> Iterator[Damage]:
        """Everything in the file that differs from what was written."""
        return find_damage(self._connection)

    @reads
    def backup(self, path: Path) -> None:
        """Write all that is committed to a new file, in one step, beside a service that goes on writing."""
        source, target = connect(self.path, read_only=True), connect(path, read_only=False)
        try:
            copying = target.backup("main", source, "main")
            try:
                copying.step()
            finally:
                copying.finish()  # raises the error of a step that failed
        finally:
            target.close()
            source.close()
