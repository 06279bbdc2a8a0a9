"""Sets aside what cannot be read or learned, one impression or one learner at a time; all others go on."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from time import monotonic

from toplist.core.problem import InvalidInput
from toplist.service.log.events import QuarantinedEvent, encode
from toplist.service.log.replay import SkippedList
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.row_kinds import QUARANTINED, EventRow

LONGEST_REASON = 300  # characters
RETRY_AFTER = 60.0  # seconds until a learner in quarantine is tried again: a replay may take long

logger = logging.getLogger("toplist.service")


class Contained(Exception):
    """An error in a change whose effects were undone: the rest of the state in memory is sound."""


def reason_of(problem: BaseException) -> str:
    """An error in a few words."""
    text = str(problem) if isinstance(problem, InvalidInput) else f"{type(problem).__name__}: {problem}"
    return text[:LONGEST_REASON]


class QuarantineCounts:
    """Impressions and learners that were set aside since the start, also in the log of the process."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, what: str, ranking: int, learner: int, reason: str, list_seq: int | None = None) -> None:
        """Count and log one more; names and segments may be personal data, so the log has the numbers of events."""
        self.counts[what] += 1
        place = f"the learner of event {learner} of the ranking of event {ranking}"
        if list_seq is not None:
            place = f"the list of event {list_seq}, of {place}"
        logger.error("quarantined: %s: %s", place, reason)


class QuarantinedLearners:
    """Learners that could not be loaded; requests for them are refused, and after a while they are tried again.

    A change of the policy makes new learners, which are not in quarantine.
    """

    def __init__(self, commits: GroupCommit, counts: QuarantineCounts, next_seq: Callable[[], int]) -> None:
        self._commits, self._counts, self._next_seq = commits, counts, next_seq
        self._reasons: dict[int, tuple[int, str]] = {}  # by learner: the policy's seq, and the reason
        self._since: dict[int, float] = {}  # by learner

    def reason(self, learner: int, policy_seq: int) -> str | None:
        """Why a learner is in quarantine; None if it is not, or may be tried again."""
        kept, reason = self._reasons.get(learner, (-1, ""))
        return reason if kept == policy_seq and monotonic() < self._since[learner] + RETRY_AFTER else None

    def add(self, ranking: int, learner: int, policy_seq: int, problem: BaseException) -> str:
        """Set a learner aside, with an event of the log; the reason."""
        reason = reason_of(problem)
        self._since[learner] = monotonic()
        if self._reasons.get(learner) != (policy_seq, reason):
            self._reasons[learner] = policy_seq, reason
            self._counts.add("learner", ranking, learner, reason)
            body = encode(QuarantinedEvent(reason))
            # Without a time, an event is dated like the one before it.
            written = self._commits.write([EventRow(self._next_seq(), 0, ranking, learner, QUARANTINED, None, body)])
            written.add_done_callback(lambda done: done.cancelled() or done.exception())
        return reason

    def skip_lists(self, skipped: list[SkippedList]) -> list[EventRow]:
        """Note lists of a learner that could not be learned when it was loaded; the events of the log."""
        rows: list[EventRow] = []
        for event, reason in skipped:
            self._counts.add("impression", event.ranking, event.learner, reason[:LONGEST_REASON], event.seq)
            body = encode(QuarantinedEvent(reason[:LONGEST_REASON], event.seq))
            rows.append(event._replace(seq=self._next_seq(), at=0, kind=QUARANTINED, body=body))
        return rows
