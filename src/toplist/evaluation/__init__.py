"""Offline evaluation: what would another ranking have earned?

`toplist.evaluate` answers from a click log. An estimator asks the policy that it judges, a `TargetPolicy`, for the
probabilities of what the log shows.
"""

from toplist.evaluation.doubly_robust import cascade_doubly_robust
from toplist.evaluation.evaluate import evaluate
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.named_estimators import ESTIMATORS
from toplist.evaluation.position_bias import Neighbours, PositionBias, position_bias
from toplist.evaluation.ranker_target import make_target, ranker_target
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.result import PolicyEstimate, PolicyEvaluation
from toplist.evaluation.sampled_ranker import sample_ranker
from toplist.evaluation.targets import (
    GivenProbabilities,
    ListMixture,
    PerQuery,
    RankedGroups,
    SampledTarget,
    ShownLists,
    TargetPolicy,
)

__all__ = [
    "ESTIMATORS",
    "CannotEstimate",
    "GivenProbabilities",
    "ListMixture",
    "LoggedLists",
    "Neighbours",
    "PerQuery",
    "PolicyEstimate",
    "PolicyEvaluation",
    "PositionBias",
    "RankedGroups",
    "SampledTarget",
    "ShownLists",
    "TargetPolicy",
    "cascade_doubly_robust",
    "evaluate",
    "make_target",
    "position_bias",
    "ranker_target",
    "sample_ranker",
]
