"""Numbers of events in a store that is divided in another way: each part of a store counts its own events.

Rankings, learners and measurings are named by the number of their first event, and some events name others. So a row
that moves to another part is written with the numbers that these events have there. Beliefs have no numbers in them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from typing import Any, NamedTuple

import msgspec

from toplist.service.log.replay import UNREADABLE
from toplist.service.store.queries import TableReader
from toplist.service.store.row_kinds import (
    DROP,
    ERASED,
    FORGOTTEN,
    LEARN,
    LEARNER,
    NO_RANKING,
    QUARANTINED,
    RANKING,
    SEGMENT_SLICE,
    VISITORS_SLICE,
    DeletedLearnerRow,
    DeletedRow,
    EventRow,
    ImpressionRow,
    ItemRow,
    LearnerRow,
    RankingRow,
    RequestRow,
    SnapshotRow,
    TallyRow,
)

# Which fields of a body name events, by the kind of the event.
_NAMED: dict[str, tuple[str, ...]] = {
    RANKING: ("policy", "floor", "measured", "stopped"), LEARNER: ("pool",), LEARN: ("list",), DROP: ("list",),
    QUARANTINED: ("list",), FORGOTTEN: ("until",), ERASED: ("learner",),
}  # fmt: skip
_encode = msgspec.json.Encoder().encode


class Numbers:
    """New numbers of events, in the order of the old ones."""

    def __init__(self) -> None:
        self._old, self._new = array("q"), array("q")

    def add(self, old: int, new: int) -> None:
        """The next event."""
        self._old.append(old)
        self._new.append(new)

    def __call__(self, old: int) -> int:
        """The new number of an event, or of the last one before it that is still there; 0 before the first."""
        place = bisect_right(self._old, old)
        return self._new[place - 1] if place else 0


class Division:
    """Where the rows of some parts go, and under which numbers.

    Parameters
    ----------
    sources : sequence of TableReader
        All parts of a store, each within a snapshot.
    targets : int
        Number of parts that it is copied to.
    part_of : callable
        The part of a ranking, by its name.
    """

    def __init__(self, sources: Sequence[TableReader], targets: int, part_of: Callable[[str], int]) -> None:
        self._targets, self._part_of = targets, part_of
        self._parts = [self._parts_of_rankings(source) for source in sources]
        self._learners = [
            {row.id: row.ranking for _, _, row in source.all_rows(LearnerRow)}
            | {row.learner: row.ranking for _, _, row in source.all_rows(DeletedLearnerRow)}
            for source in sources
        ]
        self._numbers = [[Numbers() for _ in range(targets)] for _ in sources]
        last = [0] * targets
        for event in merge(*(self._named(number, source) for number, source in enumerate(sources))):
            for target in self._targets_of(event.source, event.ranking):
                last[target] += 1
                self._numbers[event.source][target].add(event.seq, last[target])

    def _parts_of_rankings(self, source: TableReader) -> dict[int, int]:
        """The new part of each ranking, also of those that were deleted."""
        names = {row.id: row.name for row in source.rankings()}
        for event in source.events_of_kind(RANKING):
            if event.ranking not in names:
                names[event.ranking] = str(msgspec.json.decode(event.body)["spec"]["name"])
        return {id: self._part_of(name) for id, name in names.items()}

    def _named(self, number: int, source: TableReader) -> Iterator[_Numbered]:
        """Events by number, with those that are gone and name a ranking or a learner; times do not fall."""
        learners = self._learners[number]
        gone = [(id, 0, id) for id in self._parts[number]] + [(id, 0, learners[id]) for id in learners]
        there = ((row.seq, row.at, row.ranking) for _, _, row in source.all_rows(EventRow))
        time = before = 0
        for seq, at, ranking in merge(there, sorted(gone), key=lambda one: one[0]):
            time = max(time, at)
            if seq != before:
                yield _Numbered(time, number, seq, ranking)
            before = seq

    def _targets_of(self, source: int, ranking: int) -> Iterable[int]:
        """The parts that have the events of a ranking; a correction of the clock is in all of them."""
        return range(self._targets) if ranking == NO_RANKING else (self._parts[source].get(ranking, 0),)

    def divided(self, source: int, row: Any) -> Iterator[tuple[int, Any]]:
        """A row of a part with the parts it goes to, as it is there."""
        if isinstance(row, SnapshotRow):
            ranking = self._learners[source].get(row.learner, NO_RANKING)
        else:
            ranking = row.id if isinstance(row, RankingRow) else row.ranking
        for target in self._targets_of(source, ranking):
            yield target, renumbered(row, self._numbers[source][target])


class _Numbered(NamedTuple):
    """An event with its number, in the order in which events of all parts are counted."""

    time: int
    source: int
    seq: int
    ranking: int


def renumbered(row: Any, new: Callable[[int], int]) -> Any:
    """A row whose events have new numbers."""
    match row:
        case EventRow():
            body = _with_numbers(row.body, _NAMED.get(row.kind, ()), new)
            return row._replace(seq=new(row.seq), ranking=new(row.ranking), learner=new(row.learner), body=body)
        case ImpressionRow():
            outcome = _with_numbers(row.outcome, ("list",), new)
            return row._replace(
                seq=new(row.seq), ranking=new(row.ranking), learner=new(row.learner), outcome=outcome
            )  # fmt: skip
        case RankingRow():
            settings = _with_numbers(row.settings, _NAMED[RANKING], new)
            return row._replace(id=new(row.id), policy_seq=new(row.policy_seq), settings=settings)
        case LearnerRow():
            return row._replace(id=new(row.id), ranking=new(row.ranking))
        case SnapshotRow():
            return row._replace(learner=new(row.learner), seq=new(row.seq), policy_seq=new(row.policy_seq))
        case DeletedRow():
            return row._replace(ranking=new(row.ranking), seq=new(row.seq), last=new(row.last))
        case DeletedLearnerRow():
            return row._replace(learner=new(row.learner), ranking=new(row.ranking))
        case TallyRow():
            return row._replace(
                ranking=new(row.ranking), measured=new(row.measured), slice=_renumbered_slice(row.slice, new)
            )  # fmt: skip
        case RequestRow() | ItemRow():
            return row._replace(ranking=new(row.ranking))
    raise TypeError(type(row).__name__)


def _renumbered_slice(slice: str, new: Callable[[int], int]) -> str:
    for named in (SEGMENT_SLICE, VISITORS_SLICE):
        if slice.startswith(named):
            return f"{named}{new(int(slice.removeprefix(named)))}"
    return slice


def _with_numbers(body: bytes, fields: Iterable[str], new: Callable[[int], int]) -> bytes:
    """A body with other numbers in some fields; one that cannot be read stays as it is."""
    if not fields:
        return body
    try:
        read = msgspec.json.decode(body)
    except UNREADABLE:
        return body
    named = [field for field in fields if read.get(field)]
    return _encode({**read, **{field: new(read[field]) for field in named}}) if named else body
