"""A store with a long log, written by the store's own code without running a service."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.contenders import Size
from benchmarks.server import item_names
from toplist.ranker import Record
from toplist.service.log.events import (
    ItemsEvent,
    LearnerEvent,
    ListEvent,
    ListOutcome,
    MergedReport,
    PutItem,
    RankingEvent,
    encode,
)
from toplist.service.log.impression_id import ImpressionIds
from toplist.service.store import row_kinds
from toplist.service.store.row_kinds import (
    WHOLE_RANKING,
    EventRow,
    ImpressionRow,
    ItemRow,
    LearnerRow,
    RankingRow,
    RequestRow,
    Row,
)
from toplist.service.store.sqlite import SQLiteStore
from toplist.service.wire import ListRequest, RankingSpec

KEYS = 1000
OPEN = 1000  # impressions still open at the end of the log
AT_ONCE = 20_000  # impressions of a commit


def write_long_log(path: Path, name: str, size: Size, impressions: int, seed: int = 8) -> None:
    """Write impressions of a ranking with a report each; all but the last ones are learned."""
    store = SQLiteStore(path)
    rows: list[Row] = []
    for number, some in enumerate(_history(name, size, impressions, random.Random(seed)), 1):
        rows += some
        if number % AT_ONCE == 0:
            _commit(store, rows)
            rows = []
    _commit(store, rows)
    store.close()


def _commit(store: SQLiteStore, rows: list[Row]) -> None:
    store.write(rows)
    store.commit()


def _history(name: str, size: Size, impressions: int, chance: random.Random) -> Iterator[list[Row]]:
    """Rows of one event after the other."""
    window = 1800_000
    now = time.time_ns() // 1_000_000 - 2 * window - impressions
    names, numbers = item_names(size.items), ImpressionIds()
    spec = RankingSpec(name=name, positions=size.positions, policy="dcm-kl-ucb", click_window=window / 1000)
    body = encode(RankingEvent(spec, policy_seq=1))
    yield [EventRow(1, now, 1, WHOLE_RANKING, row_kinds.RANKING, None, body), RankingRow(1, name, now, 1, body)]
    put = encode(ItemsEvent(put=[PutItem(item) for item in names]))
    items = [ItemRow(1, item, (2 << 20) + n, None, False) for n, item in enumerate(names)]
    yield [EventRow(2, now, 1, WHOLE_RANKING, row_kinds.ITEMS, None, put), *items]
    seq = 2
    learners: list[int] = []
    for n in range(min(KEYS, impressions)):
        seq += 1
        learners.append(seq)
        event = EventRow(seq, now, 1, seq, row_kinds.LEARNER, None, encode(LearnerEvent(f"key-{n}")))
        yield [event, LearnerRow(seq, 1, f"key-{n}")]
    for n in range(impressions):
        now += 1
        seq += 1
        learner, id = learners[n % len(learners)], numbers.next(now)
        slots = tuple(chance.sample(range(size.items), size.positions))
        record = Record(n // len(learners) + 1, slots, b"", b"", n // len(learners))
        request = ListRequest(request_id=f"request-{n}")
        list_body = ListEvent.of([names[slot] for slot in slots], record, request)
        rows: list[Row] = [
            EventRow(seq, now, 1, learner, row_kinds.LIST, id, encode(list_body)),
            RequestRow(1, f"request-{n}", bytes(16), id, now),
        ]
        outcome, state = ListOutcome(), row_kinds.OPEN
        if n < impressions - OPEN:
            outcome = ListOutcome(MergedReport((chance.randint(1, size.positions),), final=True), "final", seq)
            state = row_kinds.LEARNED
            rows.append(EventRow(seq + 1, now, 1, learner, row_kinds.LEARN, id, encode(outcome)))
        rows.append(ImpressionRow(id, seq, 1, learner, state, now + window, encode(outcome)))
        seq = seq + 1 if state == row_kinds.LEARNED else seq
        yield rows
