"""What stays in memory when another server has changed a divided ranking: what has seen nothing uncommitted."""

from __future__ import annotations

from typing import NamedTuple

from toplist.service.live.ranking import LiveRanking
from toplist.service.live.state import LiveState, StateRows, read_rankings
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import ITEMS, EventRow


class MovedState(NamedTuple):
    """A state that was dropped since the log has moved on, and what of it was committed."""

    state: LiveState
    refused_from: int  # seq of its first event that was not committed


class MovedRows(NamedTuple):
    """All rows for the state, and the changes of items that came since the former one."""

    rows: StateRows
    changes: list[EventRow]


def read_since(reader: LogReader, moved: MovedState | None) -> MovedRows:
    """Read the rows for the state, with what has changed since it was dropped."""
    rows = read_rankings(reader)
    if moved is None:
        return MovedRows(rows, [])
    return MovedRows(rows, list(reader.events_of_kinds([ITEMS], moved.refused_from - 1, rows.mark.seq)))


def keep_committed(moved: MovedState, state: LiveState, changes: list[EventRow]) -> None:
    """Take over the rankings and learners that have seen nothing but what is committed.

    A ranking that is getting another policy goes on with that; learners apply the changes when they are next used.

    Parameters
    ----------
    moved : MovedState
        The former state, whose learners are no longer in it afterwards.
    state : LiveState
        The new state, which has no learners yet.
    changes : list of EventRow
        Changes of items that were committed in between.
    """
    kept: dict[int, LiveRanking] = {}
    for id, ranking in list(state.rankings_by_id.items()):
        before = moved.state.rankings_by_id.get(id)
        if before is None or before.settings.policy_seq != ranking.settings.policy_seq:
            continue
        own = [event for event in changes if event.ranking == id]
        if not own and before.settings == ranking.settings and before.changed < moved.refused_from:
            before.stay(ranking, moved.refused_from)
            state.add_ranking(before)
            kept[id] = before
        else:
            ranking.go_on_from(before, moved.refused_from, own)
            kept[id] = ranking
    for learner in moved.state.learners:  # the most recently used is last
        if learner.ranking.id in kept and learner.is_committed(moved.refused_from):
            moved.state.learners.discard(learner)
            state.learners.keep(learner, kept[learner.ranking.id])
