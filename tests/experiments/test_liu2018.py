"""liu2018, figure 1, as it comes out: with fresh contexts, and with contexts that stay with their items."""

import pytest

import toplist
from toplist.clicks import ChangingDCM
from toplist.feedback import ThroughLastClick
from toplist.index import LogisticBound
from toplist.memory import Logistic
from toplist.policies import Policy
from toplist.worlds import Contextual


@pytest.mark.slow
def test_fresh_contexts_are_hard_for_those_who_ignore_them() -> None:
    """dcmKL-UCB loses most by far; 99.9%, paired."""
    policies = ["gl-cdcm", "lr", "gl-cdcm-sgd", "lr-sgd", "dcm-kl-ucb"]
    result = toplist.simulate(policies, Contextual(), ChangingDCM(), steps=3000, runs=16, seed=1)
    for policy in policies[:-1]:
        assert result.difference(policy, "dcm-kl-ucb", confidence=0.999).high < 0
        assert result.difference(policy, "dcm-kl-ucb").ratio < 0.3


@pytest.mark.slow
def test_ordering_by_the_capped_value_is_worse() -> None:
    """Early values all tie at 1, and the list is a lottery."""
    capped = Policy(ThroughLastClick(none="nothing"), Logistic(), LogisticBound(capped=True))
    policies = {"capped": capped, "as it is": "gl-cdcm"}
    result = toplist.simulate(policies, Contextual(), ChangingDCM(), steps=2000, runs=16, seed=1)
    assert result.difference("as it is", "capped", confidence=0.99).high < 0


@pytest.mark.slow
def test_where_contexts_stay_exploring_pays() -> None:
    """|theta*| = 3, L = 100, K = 5, d = 20: GL-CDCM at a tenth of the printed radius is under LR, 95%, paired."""
    world = Contextual(items=100, positions=5, dimension=20, length=3.0, fresh=False)
    result = toplist.simulate(["gl-cdcm(scale=0.1)", "lr"], world, ChangingDCM(), steps=10_000, runs=24, seed=1)
    assert result.difference("gl-cdcm(scale=0.1)", "lr").high < 0
