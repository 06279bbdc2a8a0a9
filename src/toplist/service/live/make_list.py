"""A list is made: in memory, and in rows to write."""

from __future__ import annotations

import hashlib

from toplist.core.problem import InvalidInput
from toplist.service.live.impression import Impression, Numbers, as_text
from toplist.service.live.learners import HotLearner
from toplist.service.live.request_errors import check_sizes, length, pinned, pointed
from toplist.service.live.state import Memory
from toplist.service.log.events import ListBody, Outcome, encode
from toplist.service.store.protocol import DEFERRED, LIST, OPEN, EventRow, NewImpression, Row
from toplist.service.wire import ListReply, ListRequest

SMALL_RECORD = 4096  # bytes of a list that are kept at hand; larger ones are read again

NOTHING_YET = Outcome()
NOTHING_REPORTED = encode(NOTHING_YET)


def listed(
    memory: Memory, numbers: Numbers, learner: HotLearner, request: ListRequest, now: int, rows: list[Row]
) -> Impression:
    """Make a list, and its rows."""
    ranking, ranker = learner.ranking, learner.ranker
    try:
        if request.person or request.features:
            check_sizes(request, ranking)
        pins = pinned(request.pins) if request.pins else None
        items, record = ranker.make(
            request.among, length(request, ranking.spec), exclude=request.exclude or None, pins=pins,
            person=request.person, features=request.features if ranking.can.needs_features else None,
        )  # fmt: skip
    except (InvalidInput, ValueError) as problem:
        if rows:  # the learner is new, and was not worth the while
            memory.learners.undo(learner)
        raise pointed(problem, request, ranking) from problem
    ranking.longest = max(ranking.longest, len(items))
    seq, id = memory.next_seq(), numbers.next(now)
    state = DEFERRED if request.deferred else OPEN
    due = now + round(ranking.spec.click_window * 1000)
    one = Impression(id, seq, ranking.id, learner.id, state, due, items, NOTHING_YET, seq)
    if len(record.rows) + len(record.memo) <= SMALL_RECORD:
        one.record = record
    memory.remember(one)
    learner.seq = seq
    learner.unkept += 1
    rows += (
        EventRow(seq, now, ranking.id, learner.id, LIST, id, encode(ListBody.of(items, record, request))),
        NewImpression(id, seq, ranking.id, learner.id, state, due, NOTHING_REPORTED),
    )
    if learner.wants_snapshot:
        rows.append(learner.snapshot())
    return one


def digest(request: ListRequest) -> bytes:
    """What was asked for, in short: equal for equal requests."""
    return hashlib.blake2b(encode(request), digest_size=16).digest()


def reply_of(one: Impression, items: list[str], name: str, request: ListRequest) -> ListReply:
    """A list as it is sent."""
    return ListReply(impression=as_text(one.id), items=items, ranking=name, key=request.key, deferred=request.deferred)
