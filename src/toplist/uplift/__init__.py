"""Does the learned order earn more than the baseline? Groups of visitors, sums per group, and intervals of the uplift.

The unit is the visitor: lists of one visitor are alike, and a few visitors have most of the lists. `holdout` assigns
visitors to groups, `sums` keeps what is known of a group in a dozen whole numbers, `intervals` compares two groups,
`sample_ratio` checks the assignment, `guardrail` says when to stop, and `tally` is all of it for lists that come one
by one.
"""

from toplist.uplift.guardrail import StopRule
from toplist.uplift.holdout import is_held_out, visitor_hash
from toplist.uplift.intervals import GroupComparison, SequenceStart, UpliftInterval, compare_ratio, difference, ratio
from toplist.uplift.sample_ratio import log_evidence
from toplist.uplift.sums import METRICS, GroupSums, RatioEstimate, VisitorCounts
from toplist.uplift.tally import Tally, merged_tally

__all__ = [
    "METRICS", "GroupComparison", "GroupSums", "RatioEstimate", "SequenceStart", "StopRule", "Tally", "UpliftInterval",
    "VisitorCounts", "compare_ratio", "difference", "is_held_out", "log_evidence",
    "merged_tally", "ratio", "visitor_hash",
]  # fmt: skip
