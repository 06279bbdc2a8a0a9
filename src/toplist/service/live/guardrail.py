"""The guardrail: puts a ranking back to its baseline once the policy is certainly worse than accepted."""

from __future__ import annotations

import logging

from toplist.service.live.ranking import LiveRanking
from toplist.service.live.rankings import ranking_rows
from toplist.service.log.events import StoppedEvent, encode
from toplist.service.store.row_kinds import STOPPED, WHOLE_RANKING, EventRow, Row
from toplist.uplift import GroupComparison, StopRule, Tally

BY_GUARDRAIL = "stop_if"  # who changed the ranking, in the log

logger = logging.getLogger("toplist.service")


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
