"""The state of an experiment for lists that are closed one by one: each costs the same, however many came before.

Besides this state of some forty numbers, whoever counts keeps the `VisitorCounts` of each visitor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toplist.uplift.intervals import (
    GroupComparison,
    SequenceStart,
    compare,
    compare_ratio,
    difference,
    first_information,
    is_enough,
)
from toplist.uplift.intervals import ratio as log_ratio
from toplist.uplift.sample_ratio import log_evidence
from toplist.uplift.sums import METRICS, GroupSums, VisitorCounts

NO_STARTS = (SequenceStart(),) * len(METRICS)


class Tally(NamedTuple):
    """Sums of both groups, where their sequences began, and the largest evidence against the assigned share.

    Examples
    --------
    >>> tally = Tally().counted(True, VisitorCounts(), VisitorCounts(lists=1), share=0.5)
    >>> tally = tally.counted(False, VisitorCounts(), VisitorCounts(1, 1, 2, 1), share=0.5)
    >>> tally.holdout.lists, tally.policy.clicks
    (1, 2)
    """

    policy: GroupSums = GroupSums()
    holdout: GroupSums = GroupSums()
    starts: tuple[SequenceStart, ...] = NO_STARTS  # by metric
    evidence: float = 0.0  # logarithm of the largest so far

    def counted(self, in_holdout: bool, before: VisitorCounts, after: VisitorCounts, share: float) -> Tally:
        """The state once a visitor's counts are `after` instead of `before`; `share` is assigned to the holdout."""
        policy, holdout, evidence = self.policy, self.holdout, self.evidence
        if in_holdout:
            holdout = holdout.changed(before, after)
        else:
            policy = policy.changed(before, after)
        if before.lists == 0 and 0.0 < share < 1.0:
            evidence = max(evidence, log_evidence(holdout.visitors, policy.visitors, share))
        starts = self.starts
        if any(start.ratio == 0.0 for start in starts):
            starts = tuple(_started(n, start, policy, holdout) for n, start in enumerate(starts))
        return Tally(policy, holdout, starts, evidence)

    def difference(self, metric: str) -> GroupComparison | None:
        """The policy's mean per list minus the holdout's; None without two visitors in each."""
        at = METRICS.index(metric)
        policy, holdout = self.policy.estimate(at), self.holdout.estimate(at)
        if policy is None or holdout is None:
            return None
        return compare(difference(policy, holdout), self.starts[at].difference)

    def ratio(self, metric: str, alpha: float = 0.05) -> GroupComparison | None:
        """The policy's mean per list over the holdout's; None where there is none."""
        at = METRICS.index(metric)
        policy, holdout = self.policy.estimate(at), self.holdout.estimate(at)
        if policy is None or holdout is None or policy.mean == 0.0 or holdout.mean == 0.0:
            return None
        return compare_ratio(log_ratio(policy, holdout), self.starts[at].ratio, alpha)


def merged_tally(tallies: Sequence[Tally], share: float) -> Tally:
    """One state of experiments whose lists were counted apart, such as those of several partitions.

    A visitor who came to several of them counts once in each. The sequences of a metric begin where those of the first
    one do that have begun, and the evidence is that of all visitors now.

    Examples
    --------
    >>> one = Tally().counted(True, VisitorCounts(), VisitorCounts(lists=1), share=0.5)
    >>> merged_tally([one, one], 0.5).holdout[:3]
    (2, 2, 2)
    """
    if len(tallies) < 2:
        return tallies[0] if tallies else Tally()
    policy, holdout = _added([one.policy for one in tallies]), _added([one.holdout for one in tallies])
    begun = ([one.starts[n] for one in tallies if one.starts[n].ratio != 0.0] for n in range(len(METRICS)))
    starts = tuple(found[0] if found else SequenceStart() for found in begun)
    evidence = log_evidence(holdout.visitors, policy.visitors, share) if 0.0 < share < 1.0 else 0.0
    return Tally(policy, holdout, starts, max(0.0, evidence))


def _added(groups: Sequence[GroupSums]) -> GroupSums:
    return GroupSums(*map(sum, zip(*groups, strict=True)))


def _started(metric: int, start: SequenceStart, policy: GroupSums, holdout: GroupSums) -> SequenceStart:
    """The start of a metric's sequences, once both groups have enough visitors."""
    if start.ratio != 0.0 or not (is_enough(policy, metric) and is_enough(holdout, metric)):
        return start
    ours, theirs = policy.estimate(metric), holdout.estimate(metric)
    assert ours is not None
    assert theirs is not None
    return SequenceStart(first_information(difference(ours, theirs)), first_information(log_ratio(ours, theirs)))
