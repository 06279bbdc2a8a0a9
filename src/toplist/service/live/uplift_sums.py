"""The sums of the uplift in memory: recently used ones, and the rows that a closed list adds."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from toplist.service.live.impression_state import ImpressionState
from toplist.service.live.quarantine import reason_of
from toplist.service.live.ranking import LiveRanking
from toplist.service.log.events import MergedReport
from toplist.service.log.replay import UNREADABLE
from toplist.service.log.tallies import ALL_KEY, ClosedList, Sum, TallyKey, count_list, decode_sum, tally_rows_of
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.protocol import LogReader, Store
from toplist.service.store.row_kinds import TallyRow
from toplist.uplift import Tally, merged_tally

logger = logging.getLogger("toplist.service")

REMEMBERED_SUMS = 50_000  # in memory, besides those that are not committed yet; others are read again
EVICTED_AT_ONCE = 1000

SumKey = tuple[int, int, TallyKey]  # ranking, measuring, and slice and visitor


class KnownSum:
    """A sum in memory; None where the store has none yet."""

    __slots__ = ("last_seq", "value")

    def __init__(self, value: Sum | None, last_seq: int) -> None:
        self.value, self.last_seq = value, last_seq


class UpliftSums:
    """Sums by ranking, measuring, slice and visitor: those of visitors who came lately are in memory."""

    def __init__(self, store: Store, commits: GroupCommit) -> None:
        self._store, self._commits = store, commits
        self._known: OrderedDict[SumKey, KnownSum] = OrderedDict()
        self._reads = 0  # in progress

    def __len__(self) -> int:
        return len(self._known)

    def known_sums(self) -> list[KnownSum]:
        """The sums in memory."""
        return list(self._known.values())

    def has(self, ranking: LiveRanking, closed: ClosedList) -> bool:
        """Whether all sums that a list changes are in memory."""
        return all(key in self._known for key in _keys(ranking, closed))

    async def load(self, lists: Iterable[tuple[LiveRanking, ClosedList]]) -> None:
        """Read the sums that lists will change, as far as they are not in memory."""
        missing: dict[tuple[int, int], dict[TallyKey, None]] = {}
        for ranking, closed in lists:
            for id, measured, key in _keys(ranking, closed):
                if (id, measured, key) in self._known:
                    self._known.move_to_end((id, measured, key))
                else:
                    missing.setdefault((id, measured), {})[key] = None
        if not missing:
            return

        def read(reader: LogReader) -> list[TallyRow]:
            return [row for (id, measured), keys in missing.items() for row in reader.tallies(id, measured, list(keys))]

        self._reads += 1  # what is in memory stays there meanwhile: it could be changed, and what is read be outdated
        try:
            rows = await self._store.read(read)
        finally:
            self._reads -= 1
        found = {(row.ranking, row.measured, (row.slice, row.visitor)): row for row in rows}
        for (id, measured), keys in missing.items():
            for key in keys:
                row = found.get((id, measured, key))
                value = None if row is None else readable_sum(row)
                self._known.setdefault((id, measured, key), KnownSum(value, 0))

    def count(self, ranking: LiveRanking, closed: ClosedList, seq: int) -> tuple[list[TallyRow], Tally]:
        """Count a list that event `seq` closes: the rows, and the sum over all lists; all sums must be in memory."""
        id, settings = ranking.id, ranking.settings

        def known(key: TallyKey) -> Sum | None:
            return self._known[id, settings.measured, key].value

        changed = count_list(closed, settings.share, known)
        for key, value in changed.items():
            one = self._known[id, settings.measured, key]
            one.value, one.last_seq = value, seq
        tally = changed[ALL_KEY]
        assert isinstance(tally, Tally)
        self._evict()
        return tally_rows_of(id, settings.measured, changed), tally

    def _evict(self) -> None:
        """Drop the sums that were not used for longest, if there are too many; stops at one that is not committed."""
        if len(self._known) < REMEMBERED_SUMS + EVICTED_AT_ONCE or self._reads:
            return
        pending = self._commits.first_pending_seq()
        while len(self._known) > REMEMBERED_SUMS:
            oldest = next(iter(self._known))
            if self._known[oldest].last_seq >= pending:
                break
            del self._known[oldest]


def readable_sum(row: TallyRow) -> Sum | None:
    """The sum in a row; None if it cannot be read: it begins anew, others go on, and `store check` names the row."""
    try:
        return decode_sum((row.slice, row.visitor), row.body)
    except UNREADABLE as problem:
        logger.error("A sum of the uplift of ranking %d cannot be read: %s", row.ranking, reason_of(problem))
        return None


def tally_of(rows: Sequence[TallyRow], share: float) -> Tally:
    """The sum of both groups over rows of several divisions."""
    found = map(readable_sum, rows)
    return merged_tally([one if isinstance(one, Tally) else Tally() for one in found], share)


def _keys(ranking: LiveRanking, closed: ClosedList) -> list[SumKey]:
    return [(ranking.id, ranking.settings.measured, key) for key in closed.changed_keys()]


def compared_list(
    ranking: LiveRanking | None, one: ImpressionState, merged: MergedReport, at: int
) -> ClosedList | None:
    """An impression as it would count for the uplift if it were closed now; None if it does not count."""
    if ranking is None or not 0 < ranking.settings.measured < one.seq or one.placed is None:
        return None
    return ClosedList.of(one.placed, one.learner, merged, at) if one.placed.is_compared else None
