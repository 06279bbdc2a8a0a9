"""Warm starts: a wrong prior is overcome in time, a right one pays, and segments cost no clicks."""

import pytest

import toplist
from toplist.core.prior import Prior
from toplist.engine.starts import NeverSeenFirst
from toplist.experiments.default_policy import attraction_around
from toplist.experiments.pooled_segments import SegmentStudy, division_effect
from toplist.experiments.warm_policy import WarmPolicy
from toplist.experiments.warm_starts import POLICIES, WITHIN, lists_to_overtake, prior_kinds
from toplist.policies.by_name import make


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("others_known", [True, False], ids=["others known", "others unknown"])
def test_items_that_were_thought_worthless_overtake_the_kth_best_in_time(policy: str, others_known: bool) -> None:
    """With mean 0 and strength 100 on the best items; `make warm-starts` plays more runs."""
    assert lists_to_overtake(policy, 3, others_known, most=WITHIN + 1) <= WITHIN


def test_without_the_cap_they_would_not() -> None:
    """The chance that a draw of Thompson sampling with such a prior reaches 0.16 is 0.84^101, one in 40 million."""
    capped = WarmPolicy.of(make("dcm-ts"), [Prior(0.0, 100.0), *[Prior(0.15, 100.0)] * 5], 2)
    assert (1.0 - 0.16) ** (1.0 + capped.strength[0]) > 0.05
    bare = WarmPolicy.of(make("dcm-ts"), [Prior(0.0, 100.0)] * 6, 2, capped=False)
    assert bare.strength[0] == 100.0
    assert (1.0 - 0.16) ** 101 < 1e-7


def test_right_priors_pay_and_wrong_ones_cost() -> None:
    attraction = attraction_around(0.2, 12)
    kinds = prior_kinds(attraction, 3)
    warm = {kind: WarmPolicy.of(make("dcm-ts"), priors, 3) for kind, priors in kinds.items()}
    result = toplist.simulate(
        warm, toplist.worlds.Fixed(attraction, 3), toplist.clicks.DCM(0.5), steps=400, runs=4, seed=2,
        start=NeverSeenFirst(), compiled=False, checkpoints=4,
    )  # fmt: skip
    regret = {kind: float(result.mean(kind, "regret")[-1]) for kind in kinds}
    assert regret["right"] < 0.7 * regret["none"]
    assert regret["right"] < 0.5 * regret["wrong"]


@pytest.mark.parametrize("differ", [0.0, 1.0], ids=["equal", "different"])
def test_segments_cost_no_clicks(differ: float) -> None:
    """The short form of what `make warm-starts` plays: a wider tolerance, since there are fewer lists and runs."""
    study = SegmentStudy(items=12, positions=3, segments=4, before=1500, after=1500, differ=differ)
    effect = division_effect(study, "prior", runs=3, seed=1)
    assert effect.mean > (0.0 if differ else -0.01)
    if not differ:
        assert division_effect(study, "none", runs=1, seed=1).mean < effect.mean - 0.02


def test_segments_with_features_cost_no_clicks() -> None:
    study = SegmentStudy(
        items=12, positions=3, segments=4, before=600, after=600, policy="dcm-lin-ucb", features=6, rate=0.2
    )
    effect = division_effect(study, "prior", runs=3, seed=1, compiled=False)
    assert effect.mean > -0.02
    assert division_effect(study, "none", runs=2, seed=1, compiled=False).mean < effect.mean
