"""Reads of a store's tables, in the SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any

from toplist.service.store import row_kinds
from toplist.service.store.digests import TABLES
from toplist.service.store.protocol import LogMark
from toplist.service.store.row_kinds import (
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
    TallyPlace,
    TallyRow,
)

PAGE_BYTES = 4 << 20  # of the bodies of events that are in memory at a time
PAGE_ROWS, PAGE_SNAPSHOTS = 2000, 20  # of a whole table; snapshots may have megabytes
TALLIES_PER_READ = 100  # conditions of one query
CLOSED = f"kind IN ('{row_kinds.LEARN}', '{row_kinds.DROP}', '{row_kinds.QUARANTINED}') AND impression IS NOT NULL"
# The columns of a row, without its digest.
EVENT, IMPRESSION, REQUEST, LEARNER, SNAPSHOT, RANKING, ITEM, GONE, GONE_LEARNER, TALLY = (
    f"SELECT {TABLES[kind].selected} FROM {TABLES[kind].name}"
    for kind in (
        EventRow, ImpressionRow, RequestRow, LearnerRow, SnapshotRow, RankingRow, ItemRow, DeletedRow,
        DeletedLearnerRow, TallyRow,
    )
)  # fmt: skip


class TableReader(ABC):
    """Blocking reads of the tables of a store.

    Parameters
    ----------
    where : str, default "TRUE"
        Condition of the rows that belong to this store, where a table holds those of several.
    """

    def __init__(self, where: str = "TRUE") -> None:
        self._where = where

    @abstractmethod
    def snapshot_reads(self) -> AbstractContextManager[None]:
        """Context in which all reads see the same moment."""

    @abstractmethod
    def _rows(self, query: str, *given: Any) -> list[Any]:
        """All rows of a query with `?` where values are given; raises `StoreUnavailable`."""

    @abstractmethod
    def _event_page(self, query: str, *given: Any) -> tuple[list[EventRow], bool]:
        """The first events of a query, some megabytes of them, and whether there are more."""

    def _first(self, query: str, *given: Any) -> Any:
        """First row of a query; None if there is none."""
        rows = self._rows(query, *given)
        return rows[0] if rows else None

    def all_rows(self, kind: type) -> Iterator[tuple[int, int, Any]]:
        """All rows of a kind by their key, each with its owner and its digest; a page is in memory at a time."""
        table = TABLES[kind]
        key, places = ", ".join(table.key), ", ".join("?" * len(table.key))
        limit = PAGE_SNAPSHOTS if kind is SnapshotRow else PAGE_ROWS
        columns = [table.columns.index(column) for column in table.key]
        last: tuple[Any, ...] = ()
        while True:
            after = f"AND ({key}) > ({places})" if last else ""
            rows = self._rows(
                f"""SELECT {table.owner}, row_digest, {table.selected} FROM {table.name}
                WHERE {self._where} {after} ORDER BY {key} LIMIT {limit}""",
                *last,
            )
            for owner, digest, *values in rows:
                yield owner, digest, kind(*values)
            if len(rows) < limit:
                return
            last = tuple(rows[-1][2 + column] for column in columns)

    def row_count(self) -> int:
        """Number of rows of all tables."""
        return int(self._first(f"SELECT coalesce(sum(row_count), 0) FROM totals WHERE {self._where}")[0])

    def last_seq(self) -> int:
        """Seq of the last event; 0 before the first."""
        return int(self._first(f"SELECT coalesce(max(seq), 0) FROM events WHERE {self._where}")[0])

    def mark(self) -> LogMark:
        """What tells this state of the log from others."""
        last = self.last_seq()
        row = self._first(f"SELECT row_digest FROM events WHERE {self._where} AND seq = ?", last)
        return LogMark(last, 0, 0 if row is None else row[0])

    def rankings(self) -> list[RankingRow]:
        """All rankings."""
        return [RankingRow(*row) for row in self._rows(f"{RANKING} WHERE {self._where} ORDER BY id")]

    def ranking_named(self, name: str) -> RankingRow | None:
        """A ranking by its name; None if there is none."""
        row = self._first(f"{RANKING} WHERE {self._where} AND name = ?", name)
        return None if row is None else RankingRow(*row)

    def claimed(self, asked: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
        """Of request ids of divided rankings, those with a list; a store of one part has no such rankings."""
        return set()

    def deleted_ranking(self) -> DeletedRanking | None:
        """A deleted ranking of which rows are left; None if there is none."""
        row = self._first(f"{GONE} WHERE {self._where} ORDER BY ranking LIMIT 1")
        if row is None:
            return None
        kept = [f"SELECT 1 FROM {table} WHERE {self._where} AND ranking = ? LIMIT 1" for table in ("items", "tallies")]
        return DeletedRanking(DeletedRow(*row), any(self._first(query, row[0]) is not None for query in kept))

    def deleted_learners(self, limit: int = -1) -> list[DeletedLearnerRow]:
        """Deleted learners with rows left to purge, all of them without a limit."""
        query = f"{GONE_LEARNER} WHERE {self._where} ORDER BY learner{'' if limit < 0 else f' LIMIT {int(limit)}'}"
        return [DeletedLearnerRow(*row) for row in self._rows(query)]

    def has_events(self, learner: int) -> bool:
        """Whether there are events of a learner."""
        return self.has_learner_events(learner, 0, 1)

    def items(self, ranking: int) -> Iterator[ItemRow]:
        """Items of a ranking, by place."""
        rows = self._rows(f"{ITEM} WHERE {self._where} AND ranking = ? ORDER BY place", ranking)
        return (row._replace(hidden=bool(row.hidden)) for row in map(ItemRow._make, rows))

    def event(self, seq: int) -> EventRow | None:
        """One event."""
        row = self._first(f"{EVENT} WHERE {self._where} AND seq = ?", seq)
        return None if row is None else EventRow(*row)

    def events(self, ranking: int, after: int, until: int) -> Iterator[EventRow]:
        """Events of a ranking with after < seq <= until, in order."""
        return self._events("ranking = ? AND seq <= ?", (ranking, until), after)

    def events_of_kinds(self, kinds: Sequence[str], after: int, until: int) -> Iterator[EventRow]:
        """Events of all rankings of some kinds with after < seq <= until, in order."""
        return self._events(f"kind IN ({', '.join('?' * len(kinds))}) AND seq <= ?", (*kinds, until), after)

    def _events(self, condition: str, given: tuple[Any, ...], after: int) -> Iterator[EventRow]:
        """Events with seq > after, in order; some megabytes are in memory at a time, however many events there are."""
        query = f"{EVENT} WHERE {self._where} AND {condition} AND seq > ? ORDER BY seq"
        more = True
        while more:
            page, more = self._event_page(query, *given, after)
            yield from page
            after = page[-1].seq if page else after

    def latest_seqs(self, ranking: int, learners: Sequence[int] | None, after: int, limit: int) -> list[int]:
        """Seqs of the latest events with seq > after: of a ranking itself and some of its learners; None: of all."""
        sources = [("ranking = ?", ranking)]
        if learners is not None:
            sources = [("ranking = ? AND learner = 0", ranking)]
            sources += [("learner = ? AND learner > 0", learner) for learner in learners]
        found: list[int] = []
        for condition, owner in sources:
            query = f"SELECT seq FROM events WHERE {self._where} AND {condition} AND seq > ? ORDER BY seq DESC LIMIT ?"
            found += [seq for (seq,) in self._rows(query, owner, after, limit)]
        return sorted(found)[-limit:]

    def events_at(self, seqs: Sequence[int]) -> Iterator[EventRow]:
        """The events with these seqs, in order; those that do not exist are left out."""
        return self._events(f"seq IN ({', '.join('?' * len(seqs))})", tuple(seqs), 0) if seqs else iter(())

    def has_learner_events(self, learner: int, after: int, count: int) -> bool:
        """Whether there are at least so many events of a learner with seq > after."""
        query = f"SELECT 1 FROM events WHERE {self._where} AND learner = ? AND learner > 0 AND seq > ? LIMIT 1 OFFSET ?"
        return self._first(query, learner, after, count - 1) is not None

    def segment_count(self, ranking: int) -> int:
        """Number of segments that have a learner."""
        query = f"SELECT count(*) FROM learners WHERE {self._where} AND ranking = ? AND key IS NOT NULL"
        return int(self._first(query, ranking)[0])

    def has_item_events(self, ranking: int, after: int, count: int) -> bool:
        """Whether there are at least so many changes of a ranking's items with seq > after."""
        query = f"""SELECT 1 FROM events WHERE {self._where} AND ranking = ? AND learner = 0 AND seq > ?
            AND kind = '{row_kinds.ITEMS}' LIMIT 1 OFFSET ?"""
        return self._first(query, ranking, after, count - 1) is not None

    def events_of_kind(self, kind: str) -> Iterator[EventRow]:
        """All events of a kind, in order."""
        return map(EventRow._make, self._rows(f"{EVENT} WHERE {self._where} AND kind = ? ORDER BY seq", kind))

    def learner_events(self, learner: int, after: int) -> Iterator[EventRow]:
        """Events of a learner with seq > after, in order."""
        return self._events("learner = ? AND learner > 0", (learner,), after)

    def item_events(self, ranking: int, after: int) -> Iterator[EventRow]:
        """Changes of a ranking's items with seq > after, in order."""
        return self._ranking_events(ranking, row_kinds.ITEMS, after)

    def settings_events(self, ranking: int) -> Iterator[EventRow]:
        """Events that created, changed and deleted a ranking, in order."""
        return self._ranking_events(ranking, row_kinds.RANKING, 0)

    def latest_pool(self, ranking: int) -> EventRow | None:
        """The latest event of what a ranking's learners know together; None if there is none."""
        where = f"{self._where} AND ranking = ? AND learner = 0 AND kind = ?"
        row = self._first(f"{EVENT} WHERE {where} ORDER BY seq DESC LIMIT 1", ranking, row_kinds.POOL)
        return None if row is None else EventRow(*row)

    def _ranking_events(self, ranking: int, kind: str, after: int) -> Iterator[EventRow]:
        return self._events("ranking = ? AND learner = 0 AND kind = ?", (ranking, kind), after)

    def impression(self, id: bytes) -> ImpressionRow | None:
        """An impression with its current state."""
        row = self._first(f"{IMPRESSION} WHERE {self._where} AND id = ?", id)
        return None if row is None else ImpressionRow(*row)

    def due_impressions(self, now: int, limit: int) -> list[ImpressionRow]:
        """Impressions that are open although their window is over, the most overdue first."""
        query = f"{IMPRESSION} WHERE {self._where} AND state < 2 AND due <= ? ORDER BY due LIMIT ?"
        return [ImpressionRow(*row) for row in self._rows(query, now, limit)]

    def next_due(self) -> int | None:
        """When the first window of an open impression is over, in milliseconds; None if no impression is open."""
        row = self._first(f"SELECT due FROM impressions WHERE {self._where} AND state < 2 ORDER BY due LIMIT 1")
        return None if row is None else int(row[0])

    def open_impressions(self) -> int:
        """Number of impressions that are neither learned nor dropped."""
        return int(self._first(f"SELECT count(*) FROM impressions WHERE {self._where} AND state < 2")[0])

    def requests(self, asked: Sequence[tuple[int, str]]) -> list[RequestRow]:
        """The lists that were made for request ids, each with its ranking; unknown ones are left out."""
        query = f"{REQUEST} WHERE {self._where} AND ranking = ? AND request = ?"
        return [RequestRow(*row) for key in asked for row in self._rows(query, *key)]

    def learner(self, ranking: int, segment: str | None) -> LearnerRow | None:
        """The learner of a segment."""
        query = f"{LEARNER} WHERE {self._where} AND ranking = ?"
        row = (
            self._first(f"{query} AND key IS NULL", ranking)
            if segment is None
            else self._first(f"{query} AND key = ?", ranking, segment)
        )
        return None if row is None else LearnerRow(*row)

    def learners(self, ranking: int, after: int, limit: int) -> list[LearnerRow]:
        """Learners of a ranking with id > after, by id."""
        query = f"{LEARNER} WHERE {self._where} AND ranking = ? AND id > ? ORDER BY id LIMIT ?"
        return [LearnerRow(*row) for row in self._rows(query, ranking, after, limit)]

    def learners_with_snapshots(self, ranking: int) -> list[LearnerRow]:
        """Learners of a ranking that have a snapshot."""
        kept = f"SELECT learner FROM snapshots WHERE {self._where}"
        query = f"{LEARNER} WHERE {self._where} AND ranking = ? AND id IN ({kept})"
        return [LearnerRow(*row) for row in self._rows(query, ranking)]

    def segments(self, ranking: int, after: str, limit: int) -> list[str]:
        """Segments that have a learner, in order."""
        query = f"SELECT key FROM learners WHERE {self._where} AND ranking = ? AND key > ? ORDER BY key LIMIT ?"
        return [segment for (segment,) in self._rows(query, ranking, after, limit)]

    def snapshot(self, learner: int, policy_seq: int, base: bool = False) -> SnapshotRow | None:
        """The latest snapshot under a policy; with `base`, the one below which events may be forgotten."""
        query = f"""{SNAPSHOT} WHERE {self._where} AND learner = ? AND policy = ? AND base >= ?
            ORDER BY seq DESC LIMIT 1"""
        row = self._first(query, learner, policy_seq, int(base))
        return None if row is None else SnapshotRow(*row)

    def closed_impressions(self, learner: int, until: int) -> int:
        """Number of a learner's impressions that were closed by an event up to `until` and are not forgotten."""
        query = f"""SELECT count(*) FROM events
            WHERE {self._where} AND learner = ? AND learner > 0 AND seq <= ? AND {CLOSED}"""
        return int(self._first(query, learner, until)[0])

    def tallies(self, ranking: int, measured: int, keys: Sequence[tuple[str, bytes]]) -> list[TallyRow]:
        """Sums of the uplift by slice and visitor; those that do not exist are left out."""
        found: list[TallyRow] = []
        for begin in range(0, len(keys), TALLIES_PER_READ):
            some = keys[begin : begin + TALLIES_PER_READ]
            named = " OR ".join(["(slice = ? AND visitor = ?)"] * len(some))
            query = f"{TALLY} WHERE {self._where} AND ranking = ? AND measured = ? AND ({named})"
            found += map(TallyRow._make, self._rows(query, ranking, measured, *chain.from_iterable(some)))
        return found

    def group_tallies(self, ranking: int, measured: int, kind: str, after: str, limit: int) -> list[TallyRow]:
        """Sums of both groups in slices of a kind, by slice, those behind the slice `after`."""
        query = f"""{TALLY} WHERE {self._where} AND ranking = ? AND measured = ? AND slice > ? AND slice < ?
            ORDER BY slice LIMIT ?"""
        end = kind[:-1] + chr(ord(kind[-1]) + 1)
        return [TallyRow._make(row) for row in self._rows(query, ranking, measured, after or kind, end, limit)]

    def all_tallies(self, ranking: int, measured: int) -> Iterator[TallyRow]:
        """All sums of the uplift, some at a time."""
        last: tuple[str, bytes] | None = None
        while True:
            after = "" if last is None else "AND (slice, visitor) > (?, ?)"
            query = f"""{TALLY} WHERE {self._where} AND ranking = ? AND measured = ? {after}
                ORDER BY slice, visitor LIMIT {PAGE_ROWS}"""
            rows = self._rows(query, ranking, measured, *(last or ()))
            yield from map(TallyRow._make, rows)
            if len(rows) < PAGE_ROWS:
                return
            last = rows[-1][2:4]

    def tally_places(self, ranking: int, after: TallyPlace, limit: int) -> list[tuple[TallyPlace, int]]:
        """Places of the sums of a ranking behind a place, in order, each with the event its measuring began with."""
        query = f"""SELECT slice, visitor, measured FROM tallies WHERE {self._where} AND ranking = ?
            AND (slice, visitor) > (?, ?) ORDER BY slice, visitor, measured LIMIT ?"""
        rows = self._rows(query, ranking, *after, limit)
        return [(TallyPlace(slice, visitor), measured) for slice, visitor, measured in rows]

    def has_tallies(self, ranking: int, learner: int) -> bool:
        """Whether there are sums of a segment, named by its learner."""
        slices = f"{row_kinds.SEGMENT_SLICE}{learner}", f"{row_kinds.VISITORS_SLICE}{learner}"
        query = f"SELECT 1 FROM tallies WHERE {self._where} AND ranking = ? AND slice IN (?, ?) LIMIT 1"
        return self._first(query, ranking, *slices) is not None

    def seq_before(self, moment: int) -> int:
        """Seq of the last event before a moment, by bisection: times grow with seq from one correction to the next."""
        query = f"SELECT seq FROM events WHERE {self._where} AND ranking = ? AND learner = 0 ORDER BY seq"
        corrections = [seq for (seq,) in self._rows(query, row_kinds.NO_RANKING)]
        low = 0
        for high in (*(seq - 1 for seq in corrections), self.last_seq()):
            latest = self._first(
                f"SELECT at FROM events WHERE {self._where} AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
                low, high,
            )  # fmt: skip
            if latest is not None and latest[0] >= moment:
                return self._bisect(moment, low, high)
            low = high
        return low

    def _bisect(self, moment: int, low: int, high: int) -> int:
        """Seq of the last event before a moment, among events whose times grow with seq."""
        query = f"SELECT at FROM events WHERE {self._where} AND seq >= ? ORDER BY seq LIMIT 1"
        while low < high:
            middle = (low + high + 1) // 2
            row = self._first(query, middle)
            if row is not None and row[0] < moment:
                low = middle
            else:
                high = middle - 1
        return low
