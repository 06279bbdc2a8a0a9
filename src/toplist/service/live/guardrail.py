"""The guardrail: puts a ranking back to its baseline once the policy is certainly worse than accepted."""

from __future__ import annotations

import logging

from toplist.service.live.divided import Sources, sources_of
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.rankings import ranking_rows
from toplist.service.live.transaction import Transactions
from toplist.service.live.uplift_sums import tally_of
from toplist.service.log.division_sums import whole_sums
from toplist.service.log.events import StoppedEvent, encode
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import STOPPED, WHOLE_RANKING, EventRow, Row, TallyRow
from toplist.uplift import GroupComparison, StopRule, Tally

BY_GUARDRAIL = "stop_if"  # who changed the ranking, in the log

logger = logging.getLogger("toplist.service")


class SharedGuardrails:
    """Stops the policies of divided rankings that this partition decides about.

    The sums of the other divisions are those that are committed at the moment of the look.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def check(self) -> None:
        """Look at the sums of all divisions of each ranking with a guardrail."""
        state = await self._transactions.state()
        for ranking in list(state.rankings.values()):
            settings, rule = ranking.settings, ranking.spec.stop_if
            if not ranking.is_divided or not ranking.is_home or rule is None or not settings.measured:
                continue
            await self._transactions.settle()  # the measuring may have just begun
            sources = sources_of(ranking, state.store)

            def read(reader: LogReader, sources: Sources = sources) -> list[TallyRow]:
                with reader.snapshot_reads():
                    return whole_sums(sources(reader))

            tally = tally_of(await state.store.read(read), settings.share)
            if not self._transactions.is_current(state) or ranking.settings is not settings or ranking.is_deleted:
                continue
            if (found := broken_guardrail(ranking, tally)) is not None:
                with self._transactions.change():
                    seqs, now = (state.next_seq(), state.next_seq()), self._transactions.clock()
                    rows = stop_rows(ranking, tally, found, seqs, now)
                await self._transactions.commit(rows)


def broken_guardrail(ranking: LiveRanking, tally: Tally) -> GroupComparison | None:
    """The ratio of policy to holdout that breaks the guardrail; None if none does, or if the policy shows nothing."""
    rule = ranking.spec.stop_if
    if rule is None or ranking.settings.shows_baseline:
        return None
    found = tally.ratio(rule.metric, rule.level)
    if found is None or not StopRule(rule.metric, rule.worse_by, rule.level).is_broken(found):
        return None
    return found


def stop_rows(ranking: LiveRanking, tally: Tally, found: GroupComparison, seqs: tuple[int, int], now: int) -> list[Row]:
    """Put a ranking back to its baseline: the event that says why, and the new settings."""
    rule = ranking.spec.stop_if
    assert rule is not None
    assert found.sequence is not None
    why = StoppedEvent(
        metric=rule.metric, worse_by=rule.worse_by, level=rule.level, ratio=found.estimate, high=found.sequence.high,
        policy=tally.policy, holdout=tally.holdout,
    )  # fmt: skip
    logger.warning(  # without its name, which may be personal data
        "stopped: the ranking of event %d is back to its baseline: its %s is %.3f times that of the holdout, and "
        "certainly less than %.3f times", ranking.id, rule.metric, found.estimate, found.sequence.high,
    )  # fmt: skip
    before = ranking.settings
    ranking.change_settings(before._replace(stopped=seqs[0]))
    event = EventRow(seqs[0], now, ranking.id, WHOLE_RANKING, STOPPED, None, encode(why))
    return ranking.shared(before, [event, *ranking_rows(ranking, seqs[1], now, BY_GUARDRAIL)])
