"""The state in memory: rankings, loaded learners, recent impressions and requests; all of it derived from the store."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import numpy as np

from toplist.core.item_id import item_of_text
from toplist.core.prior import Prior
from toplist.core.problem import InvalidInput, nearest
from toplist.service.errors import Conflict, NotFound, UnknownRanking
from toplist.service.live.impression_state import UNKNOWN_IMPRESSION, ImpressionState
from toplist.service.live.learners import Learners
from toplist.service.live.quarantine import QuarantineCounts, QuarantinedLearners, reason_of
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.request_look_ups import RequestLookUps
from toplist.service.live.uplift_sums import UpliftSums
from toplist.service.live.work_memory import WorkMemory
from toplist.service.log.events import ListEvent, ListOutcome, decode_list, decode_outcome, decode_ranking
from toplist.service.log.impression_id import parse_id
from toplist.service.log.replay import UNREADABLE
from toplist.service.log.settings import ItemState, LearnerSettings
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.protocol import LogMark, LogReader, Store
from toplist.service.store.row_kinds import (
    FIRST_TALLY,
    DeletedLearnerRow,
    EventRow,
    ImpressionRow,
    ItemRow,
    RankingRow,
    TallyPlace,
)

T = TypeVar("T")

REMEMBERED = 20_000  # impressions and requests in memory, besides those that are not committed yet
SCANNED_AT_ONCE = 1000  # impressions or requests, of all in memory
REMEMBERED_POSITIONS = 500_000  # of these impressions together: long lists are remembered for a shorter time
NEVER = 1 << 62  # milliseconds, after all times
ALL_IMPRESSIONS = b""  # stands for all ids while due impressions are read
EVICTED_AT_ONCE = 100  # of either: finding the first uncommitted event takes as long for many as for one


class RankingRows(NamedTuple):
    """Rows of one ranking for the state."""

    ranking: RankingRow
    has_learner: bool
    segments: int  # number of them
    items: list[ItemRow]


class StateRows(NamedTuple):
    """All rows for the state."""

    mark: LogMark
    last_event: EventRow | None  # it may be purged
    rankings: list[RankingRows]
    deleted_learners: list[DeletedLearnerRow]


def read_rankings(reader: LogReader) -> StateRows:
    """Read the rows for the state."""
    with reader.snapshot_reads():
        rankings = [
            RankingRows(
                row, bool(reader.learners(row.id, 0, 1)), reader.segment_count(row.id), list(reader.items(row.id))
            )
            for row in reader.rankings()
        ]
        mark = reader.mark()
        return StateRows(mark, reader.event(mark.seq), rankings, reader.deleted_learners())


def request_conflict(request: str | None) -> Conflict:
    """The error where a request id comes again with another request."""
    return Conflict(f"Another list was asked for with the request id {request!r}; use a new one.", "/request_id")


class RememberedRequest(NamedTuple):
    """The list of a request id."""

    digest: bytes
    impression: bytes
    seq: int


class LiveState:
    """The state in memory; it can be dropped at any time and reloaded from the store."""

    def __init__(
        self,
        store: Store,
        commits: GroupCommit,
        learner_bytes: int,
        work: WorkMemory,
        quarantine: QuarantineCounts,
        rows: StateRows,
    ) -> None:
        self.store, self.commits = store, commits
        last = rows.last_event
        self._seq = commits.last_seq = rows.mark.seq
        self.loaded_mark = rows.mark
        commits.last_time = 0 if last is None else last.at
        self.quarantine = quarantine
        self.learners = Learners(
            store, commits, learner_bytes, work, QuarantinedLearners(commits, quarantine, self.next_seq)
        )
        self.uplift = UpliftSums(store, commits)
        self.learners.deleted.update(row.learner for row in rows.deleted_learners)
        self.rankings: dict[str, LiveRanking] = {}
        self.rankings_by_id: dict[int, LiveRanking] = {}
        self.impressions: OrderedDict[bytes, ImpressionState] = OrderedDict()
        self.requests: OrderedDict[tuple[int, str], RememberedRequest] = OrderedDict()
        self._look_ups = RequestLookUps(store)
        self.outdated_sums: dict[int, TallyPlace] = {}  # by ranking, how far sums of earlier measurings are deleted
        self.has_deleted = True  # perhaps: rankings or learners whose rows are left to purge
        self.next_due = 0  # no window ends before, in milliseconds
        self.purging = 0  # the deleted ranking or learner whose impressions were removed last
        self._positions = 0  # of the impressions
        self._being_read: dict[bytes | tuple[int, str], int] = {}  # and by how many
        for row, has_learner, segments, items in rows.rankings:
            settings = LearnerSettings.of(decode_ranking(row.settings), row.policy_seq)
            try:
                ranking = LiveRanking(row.id, row.created, settings)
            except InvalidInput as problem:
                raise InvalidInput(
                    f"The ranking {settings.name!r} has the policy {settings.spec.policy!r}, which cannot be made "
                    f"here: {problem} If it is a policy of your own, install its package, or name its file with "
                    f"--policies."
                ) from problem
            ranking.has_learner, ranking.segments = has_learner, segments
            for item in items:
                features = None if item.features is None else np.frombuffer(item.features)
                prior = None if item.prior is None else Prior(*np.frombuffer(item.prior).tolist())
                ranking.items[item_of_text(item.id)] = ItemState(item.place, features, item.hidden, prior)
            self.add_ranking(ranking)
            if settings.measured:
                self.outdated_sums[ranking.id] = FIRST_TALLY  # it may have ended before all of them were deleted

    def next_seq(self) -> int:
        """Seq of the next event."""
        self._seq += 1
        return self._seq

    @property
    def last_seq(self) -> int:
        """Seq of the last event, committed or not."""
        return self._seq

    # Rankings ---------------------------------------------------------------------------------------------------------

    def ranking(self, name: str) -> LiveRanking:
        """A ranking by its name; `NotFound` if there is none."""
        try:
            return self.rankings[name]
        except KeyError:
            advice = nearest(name, self.rankings, "create it first")
            raise UnknownRanking(name, advice) from None

    def add_ranking(self, ranking: LiveRanking) -> None:
        """Add a ranking."""
        self.rankings[ranking.name] = self.rankings_by_id[ranking.id] = ranking

    def remove_ranking(self, ranking: LiveRanking) -> None:
        """Remove a deleted ranking with its learners."""
        ranking.is_deleted = True
        self.learners.remove(ranking)
        del self.rankings[ranking.name], self.rankings_by_id[ranking.id]
        self.outdated_sums.pop(ranking.id, None)

    def is_deleted(self, impression: ImpressionState) -> bool:
        """Whether the ranking or the segment of an impression was deleted."""
        return impression.ranking not in self.rankings_by_id or impression.learner in self.learners.deleted

    # Impressions ------------------------------------------------------------------------------------------------------

    def remembered_impression(self, text: str) -> ImpressionState | None:
        """The impression with an id in a request, if it is in memory."""
        id = parse_id(text)
        return None if id is None else self.impressions.get(id)

    async def find_impression(self, text: str) -> ImpressionState:
        """The impression with an id in a request; `NotFound` if there is none."""
        id = parse_id(text)
        impression = None if id is None else await self.load_impression(id)
        if impression is None:
            raise NotFound(UNKNOWN_IMPRESSION)
        return impression

    async def load_impression(self, id: bytes) -> ImpressionState | None:
        """An impression from memory or from the store; None if there is none."""
        impression = self.impressions.get(id)
        if impression is None:
            with self._keeping(id):
                row = await self.store.read(lambda reader: reader.impression(id))
            impression = self.impressions.get(id) if row is None else self.add_row(row)
            self.evict_impressions()
        return impression

    @contextmanager
    def _keeping(self, *read: bytes | tuple[int, str]) -> Iterator[None]:
        """Context of a read, in which what is read is not evicted; without ids, no impression is.

        Else it could be changed in memory, committed and evicted meanwhile, and the row that was read be out of date.
        """
        kept, counts = read or (ALL_IMPRESSIONS,), self._being_read
        for one in kept:
            counts[one] = counts.get(one, 0) + 1
        try:
            yield
        finally:
            for one in kept:
                counts[one] -= 1
                if not counts[one]:
                    del counts[one]

    async def load_due(self, now: int, limit: int) -> list[ImpressionState]:
        """Load open impressions whose window is over; call `evict_impressions` once they are closed.

        While no window ends, the store is not asked.
        """
        if now < self.next_due:
            return []
        with self._keeping():
            rows = await self.store.read(lambda reader: reader.due_impressions(now, limit))
        if not rows:
            self.next_due = NEVER  # impressions that come during the reads lower it
            try:
                await self.commits.write([])  # those on their way are read, too
                first = await self.store.read(lambda reader: reader.next_due())
            except BaseException:
                self.next_due = 0
                raise
            self.expect_due(NEVER if first is None else first)
        return [one for one in map(self.add_row, rows) if one.is_open and one.due <= now]

    def add_row(self, row: ImpressionRow) -> ImpressionState:
        """The impression of a row; the one in memory takes precedence, since its changes may not be committed yet."""
        impression = self.impressions.get(row.id)
        if impression is None:
            damage: str | None = None
            try:
                outcome = decode_outcome(row.outcome)
            except UNREADABLE as problem:
                outcome, damage = ListOutcome(), reason_of(problem)
            impression = self.impressions[row.id] = ImpressionState(
                row.id, row.seq, row.ranking, row.learner, row.state, row.due, None, outcome, last_seq=0
            )
            impression.damage = damage
        return impression

    def expect_due(self, due: int) -> None:
        """A window ends at this time."""
        self.next_due = min(self.next_due, due)

    def add_impression(self, impression: ImpressionState) -> None:
        """Keep a new impression in memory."""
        self.expect_due(impression.due)
        self.impressions[impression.id] = impression
        self._positions += len(impression.items or ())
        self.evict_impressions()

    def has(self, impression: ImpressionState) -> bool:
        """Whether an impression is still in memory, so that its changes are shared; a read may have evicted it."""
        return self.impressions.get(impression.id) is impression

    def evict_impressions(self) -> None:
        """Drop the oldest impressions from memory if there are too many; stops at one with uncommitted changes."""
        too_many = len(self.impressions) >= REMEMBERED + EVICTED_AT_ONCE or self._positions > REMEMBERED_POSITIONS
        if too_many and ALL_IMPRESSIONS not in self._being_read:
            impressions, being_read, pending = self.impressions, self._being_read, self.commits.first_pending_seq()
            most = REMEMBERED_POSITIONS * 99 // 100
            while len(impressions) > REMEMBERED or self._positions > most:
                id, oldest = impressions.popitem(last=False)
                if oldest.last_seq >= pending or id in being_read:
                    impressions[id] = oldest
                    impressions.move_to_end(id, last=False)
                    break
                self._positions -= len(oldest.items or ())

    def _remove_impression(self, impression: ImpressionState) -> None:
        del self.impressions[impression.id]
        self._positions -= len(impression.items or ())

    async def load_lists(self, impressions: Sequence[ImpressionState]) -> dict[int, ListEvent]:
        """Lists of impressions by the seq of their events; one that is missing or unreadable is marked as damaged."""
        events = await self.load_events([impression.seq for impression in impressions])
        lists: dict[int, ListEvent] = {}
        for impression in impressions:
            event = events.get(impression.seq)
            try:
                if event is None:
                    raise NotFound(UNKNOWN_IMPRESSION)
                made = lists[impression.seq] = decode_list(event.body)
                impression.placed = made.placement
                if self.has(impression) and impression.items is None:
                    self._positions += len(made.items)
                impression.items = made.items
            except UNREADABLE as problem:
                impression.damage = reason_of(problem)
        return lists

    async def load_events(self, seqs: Sequence[int]) -> dict[int, EventRow]:
        """Events by seq, committed or not; unknown ones are ignored."""
        wanted = set(seqs)
        events = {event.seq: event for event in self.commits.pending_events() if event.seq in wanted}
        committed = sorted(wanted - set(events))
        if committed:
            read = await self.store.read(lambda reader: [reader.event(seq) for seq in committed])
            events |= {event.seq: event for event in read if event is not None}
        return events

    # Requests ---------------------------------------------------------------------------------------------------------

    async def load_request(self, ranking: LiveRanking, request: str) -> RememberedRequest | None:
        """The list of a request id, from memory or from the store; None if there is none.

        Of a divided ranking, another partition may have the list: its segment is another one, so it conflicts.
        """
        key = ranking.id, request
        known = self.requests.get(key)
        if known is None:
            with self._keeping(key):
                row, is_claimed = await self._look_ups.find(ranking.id, request, ranking.settings.scope)
            known = self.requests.get(key)  # another request may have made the list meanwhile
            if known is None and row is not None:
                known = RememberedRequest(row.digest, row.impression, 0)
            if known is None and is_claimed:
                raise request_conflict(request)
        return known

    def remember_request(self, ranking: int, request: str, known: RememberedRequest) -> None:
        """Keep a request in memory, and drop the oldest committed ones if there are too many."""
        self.requests[ranking, request] = known
        if len(self.requests) >= REMEMBERED + EVICTED_AT_ONCE:
            pending = self.commits.first_pending_seq()
            while len(self.requests) > REMEMBERED:
                oldest = next(iter(self.requests))
                if self.requests[oldest].seq >= pending or oldest in self._being_read:
                    break
                del self.requests[oldest]

    # What the store deletes -------------------------------------------------------------------------------------------

    async def purge(self, ranking: int) -> None:
        """Remove impressions and requests of a deleted ranking."""
        gone = await _found(self.impressions.values(), lambda impression: impression.ranking == ranking)
        known = await _found(self.requests, lambda key: key[0] == ranking)
        self._remove_purged(gone, known)

    async def purge_learner(self, learner: int) -> None:
        """Remove impressions of a deleted learner, and the requests for them."""
        gone = await _found(self.impressions.values(), lambda impression: impression.learner == learner)
        purged = {impression.id for impression in gone}

        def is_purged(key: tuple[int, str]) -> bool:
            request = self.requests.get(key)
            return request is not None and request.impression in purged

        self._remove_purged(gone, list(filter(is_purged, await _found(self.requests, is_purged))) if purged else [])

    def _remove_purged(self, gone: list[ImpressionState], known: list[tuple[int, str]]) -> None:
        for impression in filter(self.has, gone):
            self._remove_impression(impression)
        for key in known:
            self.requests.pop(key, None)

    def forget(self, learners: set[int], seq: int) -> None:
        """Remove impressions of some learners that were closed by events up to `seq`, as the store does.

        This looks at all impressions in memory, once for all of these learners.
        """
        theirs = [impression for impression in self.impressions.values() if impression.learner in learners]
        for impression in theirs:
            if not impression.is_open and impression.last_seq <= seq:
                self._remove_impression(impression)


async def _found(values: Iterable[T], fits: Callable[[T], bool]) -> list[T]:
    """Those of very many values that fit; gives way to others meanwhile."""
    found: list[T] = []
    everything = list(values)
    for begin in range(0, len(everything), SCANNED_AT_ONCE):
        found += filter(fits, everything[begin : begin + SCANNED_AT_ONCE])
        await asyncio.sleep(0)
    return found
