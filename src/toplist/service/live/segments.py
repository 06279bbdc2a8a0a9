"""Deletes segments of rankings."""

from __future__ import annotations

from toplist.service.errors import NotFound, Refused
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.transaction import Transactions
from toplist.service.log.events import ErasedEvent, encode
from toplist.service.store.row_kinds import ERASED, WHOLE_RANKING, DeletedLearnerRow, DeleteLearner, EventRow


def check_segment_room(ranking: LiveRanking, segment: str | None, most: int) -> None:
    """Refuse one more segment than a ranking may have."""
    if segment is not None and ranking.segments >= most:
        raise Refused(
            f"The ranking {ranking.name!r} has {ranking.segments} segments, and {most} are the most; name one of them, "
            f"delete some, or raise limits.segments.", "/segment",
        )  # fmt: skip


class Segments:
    """Deletes segments, for example those of people who ask for it."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def delete(self, name: str, segment: str, by: str = "") -> None:
        """Delete a segment with its learner, its lists and all events about them; the rest is purged later, in parts.

        Its open lists are dropped. The next list for the segment starts a new learner.
        """
        while True:
            state = await self._transactions.state()
            ranking = state.ranking(name)
            ranking.check_segment(segment)
            row = await state.learners.find_row(ranking, segment)
            if row is None:
                raise NotFound(f"The ranking {name!r} has no such segment; GET its segments has all of them.")
            is_same = state.rankings.get(name) is ranking and row.id not in state.learners.deleted
            if is_same and self._transactions.is_current(state):
                break
        with self._transactions.change():
            now, seq = self._transactions.clock(), state.next_seq()
            state.learners.delete(row.id)
            ranking.segments -= 1
            state.has_deleted = True
            event = EventRow(seq, now, ranking.id, WHOLE_RANKING, ERASED, None, encode(ErasedEvent(row.id, by)))
        gone = DeletedLearnerRow(row.id, ranking.id)
        await self._transactions.commit([event, DeleteLearner(ranking.id, row.id), gone])
