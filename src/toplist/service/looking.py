"""What the service knows, for people to read."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from toplist.problem import nearest
from toplist.service.bodies import decode_learner
from toplist.service.errors import NotFound
from toplist.service.impressions import Impression, as_text
from toplist.service.memory import Memory
from toplist.service.rankings import RankingState
from toplist.service.shapes import Event, Ranking
from toplist.service.shapes import Impression as ImpressionShape
from toplist.service.store.protocol import EVERYBODY, STATES, RankingRow, Store
from toplist.service.times import as_time

READ_AT_ONCE = 5000  # events of an export


def ranking_shape(ranking: RankingState) -> Ranking:
    """A ranking as it is read."""
    spec = msgspec.structs.asdict(ranking.spec)
    return Ranking(**spec, items=len(ranking.items), created=as_time(ranking.created))


def impression(memory: Memory, one: Impression) -> ImpressionShape:
    """A list that was made, and what is known of it."""
    event = memory.event_of(one)
    merged = one.outcome.merged
    seen = None if merged.seen is None else {str(place): chance for place, chance in merged.seen.items()}
    name, key = names(memory, one)
    return ImpressionShape(
        impression=as_text(one.id), ranking=name, key=key, items=list(memory.items_of(one)),
        state=STATES[one.state], made=as_time(event.at), due=as_time(one.due), clicks=list(merged.clicks),
        left=merged.left, seen=seen, reason=one.outcome.reason,
    )  # fmt: skip


def names(memory: Memory, one: Impression) -> tuple[str, str | None]:
    """The names of an impression's ranking and key, if these are there still."""
    ranking = memory.by_id.get(one.ranking)
    event = memory.event(one.learner)
    return ranking.name if ranking else "", None if event is None else decode_learner(event.body).key


def logged(store: Store, name: str | None = None) -> Iterator[Event]:
    """The log of a ranking, or of all rankings that there are, one after the other."""
    there = {row.name: row for row in store.rankings()}
    if name is not None and name not in there:
        raise NotFound(f"There is no ranking {name!r}; {nearest(name, there, 'leave it out for all of them')}.")
    for row in there.values() if name is None else [there[name]]:
        yield from events(store, row, 0)


def events(store: Store, ranking: RankingState | RankingRow, after: int) -> Iterator[Event]:
    """The log of a ranking, as far as it is committed when the end is reached."""
    keys: dict[int, str | None] = {EVERYBODY: None}
    while after < (last := store.last_seq()):
        until = min(after + READ_AT_ONCE, last)  # what comes while this is read belongs to the next round
        for event in store.events(ranking.id, after, until):
            if event.learner not in keys:
                begun = store.event(event.learner)
                keys[event.learner] = None if begun is None else decode_learner(begun.body).key
            yield Event(
                seq=event.seq, at=as_time(event.at), ranking=ranking.name, key=keys[event.learner], kind=event.kind,
                impression=None if event.impression is None else as_text(event.impression),
                body=msgspec.Raw(event.body),
            )  # fmt: skip
        after = until
