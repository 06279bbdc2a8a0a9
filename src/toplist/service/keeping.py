"""What is kept and for how long: old events go, once what was learned from them is kept in another way."""

from __future__ import annotations

from toplist.service.bodies import Forgotten, encode
from toplist.service.errors import Conflict
from toplist.service.memory import Memory
from toplist.service.rankings import RankingState
from toplist.service.store.protocol import FORGOTTEN, EventRow, Forget, LearnerRow, Row


def forgotten(memory: Memory, ranking: RankingState, learners: list[LearnerRow], now: int) -> tuple[list[Row], int]:
    """Forget what is older than a ranking wants to keep of some learners: the rows, and how many impressions."""
    assert ranking.spec.retention is not None
    until = memory.store.seq_at(now - round(ranking.spec.retention * 1000))
    rows: list[Row] = []
    impressions = 0
    for row in learners:
        count = memory.store.closed_before(row.id, until)
        try:
            learner = memory.learners.find(ranking, row.key) if count else None
        except Conflict:  # what it knows cannot be kept, so its events must be
            continue
        if learner is None:
            continue
        seq = memory.next_seq()
        rows += (
            learner.snapshot(base=True),
            Forget(ranking.id, row.id, until),
            EventRow(seq, now, ranking.id, row.id, FORGOTTEN, None, encode(Forgotten(until, count))),
        )
        learner.seq = seq  # so it stays in memory until all of this is committed
        memory.forget(row.id, until)
        impressions += count
    rows += memory.learners.evicted()
    return rows, impressions


def states(memory: Memory) -> dict[tuple[str, str | None], bytes]:
    """What the learners in memory know, to be compared with what the log says they should."""
    states: dict[tuple[str, str | None], bytes] = {}
    for learner in memory.learners:
        current = memory.learners.hot(learner.id)
        assert current is not None
        states[learner.ranking.name, learner.key] = current.ranker.to_bytes()
    return states
