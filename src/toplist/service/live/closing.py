"""What becomes of an impression: found, activated, learned once, or dropped; in memory, and in rows to write."""

from __future__ import annotations

from toplist.service.errors import NotFound
from toplist.service.live.impression import DETAILS, UNKNOWN, Impression, Merged, as_id
from toplist.service.live.state import Memory
from toplist.service.log import replay
from toplist.service.log.events import Outcome, encode
from toplist.service.store.protocol import (
    ACTIVATED,
    DEFERRED,
    DROP,
    DROPPED,
    LEARN,
    LEARNED,
    OPEN,
    REPORT,
    EventRow,
    ImpressionRow,
    Row,
)
from toplist.service.wire import ReportReply


def found(memory: Memory, impression: str) -> Impression:
    """The impression that somebody named."""
    id = as_id(impression)
    one = None if id is None else memory.impression(id)
    if one is None:
        raise NotFound(DETAILS[UNKNOWN])
    return one


def verdict(impression: str, one: Impression, told: Merged) -> ReportReply:
    """The answer to a report."""
    why = one.verdict(told)
    if why is None:
        return ReportReply(impression=impression, counted=True)
    return ReportReply(impression=impression, counted=False, why=why, detail=DETAILS[why])


def activated(memory: Memory, one: Impression, now: int) -> list[Row]:
    """Open a deferred impression: its window begins."""
    if one.state != DEFERRED:
        return []
    one.state, one.touched = OPEN, memory.next_seq()
    one.due = now + round(memory.by_id[one.ranking].spec.click_window * 1000)
    return [EventRow(one.touched, now, one.ranking, one.learner, ACTIVATED, one.id, b"{}")]


def taken(memory: Memory, one: Impression, told: Merged, now: int) -> list[Row]:
    """Take in a report, which opens a deferred impression, and closes one where it is final."""
    if not one.is_open:
        return []
    merged = one.outcome.merged.with_(told)
    if told.final:
        return learned(memory, one, merged, "final", now)
    if merged == one.outcome.merged and one.state == OPEN:
        return []
    rows = activated(memory, one, now)
    one.outcome = Outcome(merged)
    one.touched = memory.next_seq()
    rows.append(EventRow(one.touched, now, one.ranking, one.learner, REPORT, one.id, encode(told)))
    rows.append(ImpressionRow(one.state, one.due, encode(one.outcome), one.id))
    return rows


def closed(memory: Memory, one: Impression, now: int) -> list[Row]:
    """Close an impression whose time is over, or whose ranking is gone."""
    if not one.is_open:
        return []
    if one.ranking not in memory.by_id:  # which the log says once for all of its lists
        one.state, one.record = DROPPED, None
        return [ImpressionRow(one.state, one.due, encode(one.outcome), one.id)]
    if one.state == DEFERRED and one.due <= now:
        one.state, one.touched, one.record = DROPPED, memory.next_seq(), None
        learner = memory.learners.hot(one.learner)
        if learner is not None and one.seq > replay.first_event(learner.ranking.setting, learner.id):
            learner.ranker.drop(memory.list_of(one).number)
            learner.seq = one.touched
            learner.unkept += 1
        body = encode(Outcome(one.outcome.merged, None, one.seq))
        return [
            EventRow(one.touched, now, one.ranking, one.learner, DROP, one.id, body),
            ImpressionRow(one.state, one.due, encode(one.outcome), one.id),
        ]
    if one.due <= now:
        return learned(memory, one, one.outcome.merged, "window", now)
    return []


def learned(memory: Memory, one: Impression, merged: Merged, reason: str, now: int) -> list[Row]:
    """Learn an impression, once: it is closed from here on. A learner in the store learns when it is next used."""
    outcome = Outcome(merged, reason, one.seq)
    one.state, one.outcome, one.touched = LEARNED, outcome, memory.next_seq()
    body = encode(outcome)
    rows: list[Row] = [
        EventRow(one.touched, now, one.ranking, one.learner, LEARN, one.id, body),
        ImpressionRow(LEARNED, one.due, body, one.id),
    ]
    learner = memory.learners.hot(one.learner)
    if learner is not None:
        setting = learner.ranking.setting
        own = one.seq > setting.policy
        if own and one.record is not None:
            learner.ranker.settle(one.record, *merged.learnable())
        elif one.seq > replay.first_event(setting, learner.id):
            replay.learn(learner.ranker, memory.list_of(one), outcome, own)
        learner.seq = one.touched
        learner.unkept += 1
        if learner.wants_snapshot:
            rows.append(learner.snapshot())
    one.record = None
    return rows
