"""The life of an impression after its list was made: reported, activated, learned once, or dropped."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

from msgspec import Struct

from toplist.service.errors import NotFound, Refused
from toplist.service.live.guardrail import broken_guardrail, stop_rows
from toplist.service.live.impression_state import REJECTIONS, ImpressionState, report_in_positions
from toplist.service.live.learners import LoadedLearner
from toplist.service.live.quarantine import Contained, reason_of
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.state import LiveState
from toplist.service.live.together import Changed, Together
from toplist.service.live.transaction import Transactions
from toplist.service.live.uplift_sums import compared_list
from toplist.service.log.events import ListEvent, ListOutcome, MergedReport, QuarantinedEvent, decode_learner, encode
from toplist.service.log.replay import UNREADABLE, learn_list
from toplist.service.log.tallies import ClosedList
from toplist.service.store.row_kinds import (
    ACTIVATED,
    DEFERRED,
    DROP,
    DROPPED,
    LEARN,
    LEARNED,
    OPEN,
    QUARANTINED,
    REPORT,
    EventRow,
    ImpressionChange,
    Row,
)
from toplist.service.wire import Report, ReportReply

CLOSED_AT_ONCE = 100  # impressions; more would keep requests waiting
FEW_CLICKS = 100  # of a report; one with more takes as long as several others
BYTES_CLOSED_AT_ONCE = 16 << 20  # of their lists, where these have many features

ListEvents = dict[int, ListEvent]  # lists that had to be read from the log, by seq
Prepared = tuple[LiveState, ImpressionState, ListEvents]


class TakenReport(Struct, frozen=True, gc=False):
    """A report that was taken in."""

    reply: ReportReply
    outcome: str  # counted, duplicate (it counts, and said nothing new), late, contradicts or dropped
    ranking: str | None  # its name; None if it was deleted


Outcome = tuple[TakenReport, str | None]  # with what closed the list, if the report did


class Impressions:
    """Reports, and the closing of impressions whose click window is over."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._together = Together(transactions, self._take_at_hand)
        self.learned: Counter[str] = Counter()  # lists since the start, by what closed them

    async def report(self, impression: str, report: Report) -> ReportReply:
        """Take in a report of a list; it counts once, however often and in whatever order reports come."""
        return (await self.take(impression, report)).reply

    async def take(self, impression: str, report: Report) -> TakenReport:
        """Take in a report of a list, and say what became of it; equal reports get equal replies at any time."""
        is_short = report.seen is None and len(report.clicks) <= FEW_CLICKS
        known = await self._together.ask(impression, report) if is_short else None
        taken, reason = known if known is not None else await self._take_prepared(impression, report)
        self._count_learned(reason)
        return taken

    def _take_at_hand(self, now: int, impression: str, report: Report) -> Changed[Outcome] | None:
        """Take in a report; None if that needs a read."""
        prepared = self._at_hand(impression, self._until(now), report.final)
        return None if prepared is None else self._take(impression, prepared, report, now)

    async def _take_prepared(self, impression: str, report: Report) -> Outcome:
        """Take in a report, after the reads that it needs."""
        now = self._transactions.clock()
        prepared = await self._prepare(impression, now, self._until(now), final=report.final)
        with self._transactions.change():
            outcome, rows = self._take(impression, prepared, report, now)
        del prepared  # perhaps with large lists, and the disk may be slow
        await self._transactions.commit(rows)
        return outcome

    def _until(self, now: int) -> int:
        """The time up to which click windows have ended: none has while the clock is not believed."""
        return now if self._transactions.clock.is_believed else 0

    def _take(self, impression: str, prepared: Prepared, report: Report, now: int) -> Changed[Outcome]:
        state, one, lists = prepared
        was_open = one.is_open
        if one.damage is not None and was_open:
            merged, rows = MergedReport(), close_rows(state, one, lists, now, one.due)
        elif one.items is None:
            raise NotFound(f"The list of this impression cannot be read: {one.damage}")
        else:
            merged = report_in_positions(report, one.items)
            rows = close_rows(state, one, lists, now, self._until(now)) or report_rows(state, one, merged, lists, now)
        reply = report_reply(impression, one, merged)
        ranking = state.rankings_by_id.get(one.ranking)
        outcome = ("counted" if rows else "duplicate") if reply.counted else str(reply.why)
        taken = TakenReport(reply, outcome, None if ranking is None else ranking.name)
        # The reason now, as another report may close it during the commit.
        return (taken, one.outcome.reason if was_open else None), rows

    async def activate(self, impression: str) -> ReportReply:
        """Start the click window of a deferred list, which is shown now."""
        now = self._transactions.clock()
        until = now if self._transactions.clock.is_believed else 0
        state, one, lists = await self._prepare(impression, now, until, final=False, items=False)
        with self._transactions.change():
            was_open = one.is_open
            rows = close_rows(state, one, lists, now, until)
            if one.state == DEFERRED:
                rows += activate_rows(state, one, now)
                rows.append(change_row(one))
            reply = report_reply(impression, one, MergedReport())
            reason = one.outcome.reason if was_open else None
        del lists
        await self._transactions.commit(rows)
        self._count_learned(reason)
        return reply

    async def close_all_due(self) -> None:
        """Close all impressions whose click window is over, while others are served; drop those that nobody saw."""
        await self._drop_unshown(self._transactions.unshown)
        while await self.close_due() >= CLOSED_AT_ONCE:
            pass

    async def _drop_unshown(self, ids: list[bytes]) -> None:
        """Drop impressions whose callers got a list from memory instead, if they were recorded after all."""
        while ids:
            id = ids[-1]  # others may come, and this one may be shown after all
            state = await self._transactions.state()
            one = await state.load_impression(id)
            if one is not None and one.is_open and one.damage is None and not state.is_deleted(one):
                lists = await state.load_lists([one]) if needs_list(state, one) else {}
                is_complete = one.seq in lists or not needs_list(state, one)
                is_ready = is_complete and state.has(one) and self._transactions.is_current(state)
                if not is_ready or id not in ids:
                    continue
                with self._transactions.change():
                    rows = drop_rows(state, one, lists, self._transactions.clock())
                await self._transactions.commit(rows)
            if id in ids:
                ids.remove(id)

    async def close_due(self, now: int | None = None) -> int:
        """Close impressions whose click window is over, a hundred at most; returns their number."""
        read = self._transactions.clock()
        if not self._transactions.clock.is_believed:
            return 0
        at = read if now is None else now
        while True:
            state = await self._transactions.state()
            with self._transactions.change():
                shifted = self._transactions.shift_windows(state)
            if shifted:
                await self._transactions.commit(shifted)
                continue
            due = _fitting(state, await state.load_due(at, CLOSED_AT_ONCE))
            lists = await state.load_lists([one for one in due if needs_list(state, one)])
            for learner in {one.learner for one in due}:
                if (behind := state.learners.far_behind(learner)) is not None:
                    await state.learners.catch_up(behind)
            for one in due:
                if one.damage is not None:
                    await load_learner(state, one)
            measured = [one for one in due if is_measured(state, one)]
            complete = not measured or await load_sums(state, measured, at)
            complete = complete and all(one.seq in lists for one in due if needs_list(state, one))
            if complete and self._transactions.is_current(state):
                break
        rows: list[Row] = []
        reasons: list[str | None] = []
        with self._transactions.change():
            for one in due:
                if one.is_open and state.has(one):  # a report may have closed it during the reads
                    rows += close_rows(state, one, lists, at, at)
                    reasons.append(one.outcome.reason)
            state.evict_impressions()
        del lists
        await self._transactions.commit(rows)
        for reason in reasons:
            self._count_learned(reason)
        return len(reasons)

    def _at_hand(self, impression: str, until: int, final: bool) -> Prepared | None:
        """An impression if all that a report of it needs is in memory, as that of most is; what `_prepare` returns."""
        state = self._transactions.ready_state
        one = None if state is None else state.remembered_impression(impression)
        if state is None or one is None or one.items is None or one.damage is not None:
            return None
        if one.is_open and (final or one.due <= until):  # it will be closed
            is_behind = state.learners.far_behind(one.learner) is not None
            if is_behind or is_measured(state, one) or needs_list(state, one):
                return None
        return state, one, {}

    async def _prepare(self, impression: str, now: int, until: int, *, final: bool, items: bool = True) -> Prepared:
        """Load an impression with all that a report of it may need."""
        while True:
            state = self._transactions.ready_state or await self._transactions.state()
            one = state.remembered_impression(impression) or await state.find_impression(impression)
            lists: ListEvents = {}
            closes = one.is_open and (final or one.due <= until)
            if closes and (behind := state.learners.far_behind(one.learner)) is not None:
                await state.learners.catch_up(behind)
            needed, is_ready = closes and needs_list(state, one), True
            if needed or (items and one.items is None):
                lists = await state.load_lists([one])
                needed = closes and needs_list(state, one)  # perhaps now: the learner was loaded, or the policy changed
            if one.damage is not None and one.is_open:
                await load_learner(state, one)
            if closes and is_measured(state, one):
                is_ready = await load_sums(state, [one], now)
                needed = needs_list(state, one)
            if needed and one.seq not in lists:
                continue
            if is_ready and state.has(one) and self._transactions.is_current(state):
                return state, one, lists

    def _count_learned(self, reason: str | None) -> None:
        if reason is not None:
            self.learned[reason] += 1


def _fitting(state: LiveState, due: list[ImpressionState]) -> list[ImpressionState]:
    """As many of the first impressions as there is memory for, at least one."""
    size = 0
    for n, one in enumerate(due):
        ranking = state.rankings_by_id.get(one.ranking)
        if ranking is not None and ranking.can.needs_features:
            size += ranking.list_bytes(None)
            if n and size > BYTES_CLOSED_AT_ONCE:
                return due[:n]
    return due


def report_reply(impression: str, one: ImpressionState, merged: MergedReport) -> ReportReply:
    """The reply to a report."""
    why = one.rejection(merged)
    if why is None:
        return ReportReply(impression=impression, counted=True)
    return ReportReply(impression=impression, counted=False, why=why, detail=REJECTIONS[why])


def needs_list(state: LiveState, one: ImpressionState) -> bool:
    """Whether closing an impression takes its list from the log: its learner is in memory, and the record is not."""
    ranking = state.rankings_by_id.get(one.ranking)
    if ranking is None or one.damage is not None:
        return False
    if 0 < ranking.settings.measured < one.seq and one.placed is None:  # it may count for the uplift
        return True
    if one.record is not None and one.seq > ranking.settings.policy_seq:
        return False
    return state.learners.is_loaded(one.learner) and one.seq > ranking.settings.first_event(one.learner)


def change_row(one: ImpressionState) -> ImpressionChange:
    """The row of an impression's new state."""
    return ImpressionChange(one.id, one.seq, one.ranking, one.learner, one.state, one.due, encode(one.outcome))


def activate_rows(state: LiveState, one: ImpressionState, now: int) -> list[Row]:
    """Open a deferred impression: its click window begins."""
    if one.state != DEFERRED:
        return []
    one.state, one.last_seq = OPEN, state.next_seq()
    one.due = now + state.rankings_by_id[one.ranking].click_window
    state.expect_due(one.due)
    return [EventRow(one.last_seq, now, one.ranking, one.learner, ACTIVATED, one.id, b"{}")]


def report_rows(state: LiveState, one: ImpressionState, report: MergedReport, lists: ListEvents, now: int) -> list[Row]:
    """Merge a report into an impression: it opens a deferred one, and a final one closes it."""
    if not one.is_open:
        return []
    merged = one.outcome.merged.merge(report)
    if report.final:
        return learn_rows(state, one, merged, "final", lists, now)
    if merged == one.outcome.merged and one.state == OPEN:
        return []
    rows = activate_rows(state, one, now)
    one.outcome = ListOutcome(merged)
    one.last_seq = state.next_seq()
    rows.append(EventRow(one.last_seq, now, one.ranking, one.learner, REPORT, one.id, encode(report)))
    rows.append(change_row(one))
    return rows


def close_rows(state: LiveState, one: ImpressionState, lists: ListEvents, now: int, until: int) -> list[Row]:
    """Close an impression if its window was over at `until` or its ranking or segment is deleted."""
    if not one.is_open:
        return []
    if state.is_deleted(one):  # one event of the log says so for all lists of the ranking or segment
        one.state, one.record = DROPPED, None
        return [change_row(one)]
    if one.due > until:
        return []
    if one.damage is not None:
        return quarantine_rows(state, one, one.damage, now)
    if one.state == DEFERRED:
        return drop_rows(state, one, lists, now)
    return learn_rows(state, one, one.outcome.merged, "window", lists, now)


def drop_rows(state: LiveState, one: ImpressionState, lists: ListEvents, now: int) -> list[Row]:
    """Drop a deferred impression that was not shown in time."""
    learner = loaded_learner(state, one)
    one.state, one.last_seq = DROPPED, state.next_seq()
    if learner is not None and one.seq > learner.ranking.settings.first_event(learner.id):
        learner.ranker.drop(lists[one.seq].number if one.record is None else one.record.number)
        learner.count_event(one.last_seq)
    one.record = None
    body = encode(ListOutcome(one.outcome.merged, None, one.seq))
    return [EventRow(one.last_seq, now, one.ranking, one.learner, DROP, one.id, body), change_row(one)]


async def load_learner(state: LiveState, one: ImpressionState) -> None:
    """Load the learner of an impression, if that is possible."""
    created = (await state.load_events([one.learner])).get(one.learner)
    ranking = state.rankings_by_id.get(one.ranking)
    if created is not None and ranking is not None:
        with suppress(Refused, *UNREADABLE):
            await state.learners.load(ranking, decode_learner(created.body).segment)


def loaded_learner(state: LiveState, one: ImpressionState) -> LoadedLearner | None:
    """The learner of an impression if it is in memory and sound; else it learns when it is next loaded."""
    try:
        return state.learners.by_id(one.learner)
    except Contained:
        return None


def quarantine_rows(state: LiveState, one: ImpressionState, reason: str, now: int) -> list[Row]:
    """Close an impression that cannot be read or learned, so that it is not tried again and all others go on."""
    state.quarantine.add("impression", one.ranking, one.learner, reason, one.seq)
    one.state, one.last_seq = DROPPED, state.next_seq()
    body = encode(QuarantinedEvent(reason, one.seq))
    rows: list[Row] = [
        EventRow(one.last_seq, now, one.ranking, one.learner, QUARANTINED, one.id, body), change_row(one)
    ]  # fmt: skip
    learner = loaded_learner(state, one)
    if learner is not None and one.seq > learner.ranking.settings.first_event(learner.id):
        if one.record is not None:
            learner.ranker.drop(one.record.number)
        learner.count_event(one.last_seq)
        # The log can no longer tell which list of the learner it was: rebuilds begin after it.
        rows.append(learner.snapshot(base=True))
    one.record = None
    return rows


def learn_rows(
    state: LiveState, one: ImpressionState, merged: MergedReport, reason: str, lists: ListEvents, now: int
) -> list[Row]:
    """Learn an impression, once, and close it. A learner that is not in memory learns when it is next loaded."""
    outcome = ListOutcome(merged, reason, one.seq)
    learner = loaded_learner(state, one)
    if learner is not None:
        settings = learner.ranking.settings
        own = one.seq > settings.policy_seq
        try:
            if own and one.record is not None:
                learner.ranker.settle(one.record, *merged.for_learning())
            elif one.seq > settings.first_event(learner.id):
                learn_list(learner.ranker, lists[one.seq], outcome, own)
        except MemoryError:
            raise
        except Exception as problem:  # the learner may be half changed: it is loaded again, without this list
            state.learners.discard(learner)
            return quarantine_rows(state, one, reason_of(problem), now)
    one.state, one.outcome, one.last_seq = LEARNED, outcome, state.next_seq()
    body = encode(outcome)
    rows: list[Row] = [
        EventRow(one.last_seq, now, one.ranking, one.learner, LEARN, one.id, body),
        ImpressionChange(one.id, one.seq, one.ranking, one.learner, LEARNED, one.due, body),
    ]
    if learner is not None:
        learner.count_event(one.last_seq)
        if learner.needs_snapshot:
            rows += state.learners.snapshot_rows(learner)
    one.record = None
    if is_measured(state, one):
        rows += uplift_rows(state, one, merged, now)
    return rows


def is_measured(state: LiveState, one: ImpressionState) -> bool:
    """Whether an impression was made since the uplift of its ranking is measured."""
    ranking = state.rankings_by_id.get(one.ranking)
    return ranking is not None and 0 < ranking.settings.measured < one.seq


async def load_sums(state: LiveState, impressions: list[ImpressionState], now: int) -> bool:
    """Load the sums that impressions change when they are closed; False if not all of them are in memory then."""

    def lists() -> list[tuple[LiveRanking, ClosedList]]:
        at = max(now, state.commits.last_time)  # of the event, as the log will have it
        pairs = ((state.rankings_by_id.get(one.ranking), one) for one in impressions)
        compared = ((ranking, compared_list(ranking, one, one.outcome.merged, at)) for ranking, one in pairs)
        return [(ranking, closed) for ranking, closed in compared if ranking is not None and closed is not None]

    await state.uplift.load(lists())
    return all(state.uplift.has(ranking, closed) for ranking, closed in lists())


def uplift_rows(state: LiveState, one: ImpressionState, merged: MergedReport, now: int) -> list[Row]:
    """Count an impression that was just closed for the uplift, and stop the policy if that breaks its guardrail."""
    ranking = state.rankings_by_id[one.ranking]
    closed = compared_list(ranking, one, merged, max(now, state.commits.last_time))
    if closed is None:
        return []
    counted, tally = state.uplift.count(ranking, closed, one.last_seq)
    rows: list[Row] = [*counted]
    if ranking.is_divided:  # the sums of all divisions decide
        return rows
    if (found := broken_guardrail(ranking, tally)) is not None:
        rows += stop_rows(ranking, tally, found, (state.next_seq(), state.next_seq()), now)
    return rows
