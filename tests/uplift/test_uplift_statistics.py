"""The statistics of the uplift, against sums over all visitors and against simulated experiments."""

import math

import numpy as np
import pytest
from uplift_study import (
    BETTER,
    CLICKS,
    FEW,
    HARMFUL,
    LOST,
    SAME,
    Closed,
    Setting,
    draw,
    evidence_by_predictions,
    follow,
    stream,
    study,
    true_mean,
)

from toplist.uplift import METRICS, GroupSums, StopRule, Tally, VisitorCounts, is_held_out, log_evidence, visitor_hash
from toplist.uplift.intervals import compare, compare_ratio
from toplist.uplift.sample_ratio import ALARM_LEVEL
from toplist.uplift.sums import RatioEstimate

EXPERIMENTS = 150


def test_sums_are_those_over_all_visitors_whatever_the_order_of_their_lists() -> None:
    rng = np.random.default_rng(1)
    counts = {n: VisitorCounts() for n in range(30)}
    sums = GroupSums()
    for _ in range(500):
        visitor, clicks = int(rng.integers(30)), int(rng.integers(4))
        after = counts[visitor].plus(VisitorCounts(1, int(clicks > 0), clicks, int(rng.integers(2))))
        sums, counts[visitor] = sums.changed(counts[visitor], after), after
    lists, *results = np.array(list(counts.values())).T
    assert (sums.visitors, sums.lists, sums.lists_squared) == (30, lists.sum(), (lists**2).sum())
    for n, result in enumerate(results):
        mean, spread = result.sum() / lists.sum(), result - result.sum() / lists.sum() * lists
        found = sums.estimate(n)
        assert found is not None
        assert found.mean == pytest.approx(mean)
        assert found.variance == pytest.approx(30 * spread.var(ddof=1) / lists.sum() ** 2)


def test_the_variance_by_visitor_is_that_of_a_bootstrap_of_visitors() -> None:
    rng = np.random.default_rng(2)
    lists = rng.geometric(0.3, 400)
    clicks = rng.binomial(lists, rng.beta(1.0, 3.0, 400))
    sums = GroupSums()
    for n, y in zip(lists.tolist(), clicks.tolist(), strict=True):
        sums = sums.changed(VisitorCounts(), VisitorCounts(n, 0, y, 0))
    drawn = rng.integers(400, size=(4000, 400))
    means = clicks[drawn].sum(axis=1) / lists[drawn].sum(axis=1)
    found = sums.estimate(CLICKS)
    assert found is not None
    assert found.variance == pytest.approx(means.var(), rel=0.1)


def test_the_vectorised_looks_of_the_study_are_those_of_the_streaming_state() -> None:
    setting = Setting("short", 2000, 0.4, 1.1)
    closed = draw(setting, np.random.default_rng(4))
    looks, tallies = follow(closed), stream(closed, setting.share)
    begun = [n for n, tally in enumerate(tallies) if tally.starts[CLICKS].ratio > 0.0]
    assert begun[0] == looks.begin
    for at in (looks.begin, looks.begin + 50, len(tallies) - 1):
        ours = tallies[at].difference("clicks_per_list")
        assert ours is not None
        start = 0.25 / looks.difference.variance[looks.begin]
        found = compare(RatioEstimate(looks.difference.mean[at], looks.difference.variance[at]), start)
        assert ours.estimate == pytest.approx(found.estimate)
        assert ours.sequence == pytest.approx(found.sequence)
        assert ours.fixed_horizon == pytest.approx(found.fixed_horizon)
        logarithm = RatioEstimate(looks.ratio.mean[at], looks.ratio.variance[at])
        relative = tallies[at].ratio("clicks_per_list")
        assert relative is not None
        expected = compare_ratio(logarithm, 0.25 / looks.ratio.variance[looks.begin])
        assert relative.sequence == pytest.approx(expected.sequence)
    came = np.flatnonzero(np.diff(looks.holdout + looks.policy, prepend=0))
    counts = looks.holdout[came], looks.policy[came]
    evidence = evidence_by_predictions(*counts, setting.share)
    assert evidence == pytest.approx([log_evidence(int(x), int(y), 0.4) for x, y in zip(*counts, strict=True)])
    assert tallies[-1].evidence == pytest.approx(max(0.0, evidence.max()))


@pytest.mark.parametrize("setting", [SAME, FEW, BETTER], ids=lambda setting: setting.title)
def test_intervals_hold_the_truth_as_often_as_they_say(setting: Setting) -> None:
    rates = study(setting, EXPERIMENTS, seed=1)
    assert min(rates.sequence, rates.ratio_sequence) >= 0.95
    assert 0.90 <= min(rates.fixed, rates.ratio_fixed) <= max(rates.fixed, rates.ratio_fixed) <= 0.99
    assert rates.widest <= 2.5
    assert rates.alarm <= ALARM_LEVEL + 0.02
    assert rates.stopped <= 0.05


def test_the_study_tells_intervals_and_tests_for_one_look_from_those_for_all() -> None:
    rates = study(SAME, 60, seed=2)
    assert rates.fixed_always < 0.85  # looked at all the time, the interval for one look misses the truth
    assert rates.repeated_alarm > 3 * ALARM_LEVEL  # so does a test for one look
    assert rates.stopped_fixed > 0.05  # and a guardrail that is made of one


def test_a_harmful_policy_is_stopped() -> None:
    assert study(HARMFUL, 60, seed=3).stopped >= 0.9


def test_visitors_that_get_lost_raise_an_alarm() -> None:
    assert study(LOST, 60, seed=4).alarm >= 0.5


def test_lists_as_the_unit_would_give_intervals_that_miss_the_truth() -> None:
    """The same intervals with every list as a visitor of its own, as many tools compute them."""
    missed = 0
    truth = true_mean(1.0)
    for number in range(80):
        closed = draw(SAME, np.random.default_rng([5, number]))
        clicks = closed.clicks[~closed.in_holdout]
        missed += abs(clicks.mean() - truth) > 1.96 * clicks.std() / math.sqrt(len(clicks))
    assert missed / 80 > 0.1


def test_no_interval_before_there_are_enough_visitors() -> None:
    tally = Tally()
    for n in range(99):
        for held in (True, False):
            tally = tally.counted(held, VisitorCounts(), VisitorCounts(1, 1, 1 + n % 2, 0), share=0.5)
    found = tally.ratio("clicks_per_list")
    assert found is not None
    assert found.sequence is None
    assert found.fixed_horizon is None
    for held in (True, False):
        tally = tally.counted(held, VisitorCounts(), VisitorCounts(1, 1, 1, 0), share=0.5)
    found = tally.ratio("clicks_per_list")
    assert found is not None
    assert found.sequence is not None
    assert tally.ratio("clicks_at_1") is None  # nobody has clicked there
    assert tally.difference("clicks_at_1") == (0.0, None, None)


def test_a_few_visitors_with_most_lists_are_not_enough() -> None:
    tally = Tally()
    for n in range(150):
        for held in (True, False):
            lists = 500 if n == 0 else 1
            tally = tally.counted(held, VisitorCounts(), VisitorCounts(lists, lists // 2 + n % 2, lists, 0), share=0.5)
    assert tally.policy.effective_visitors < 3
    assert all(start.ratio == 0.0 for start in tally.starts)


@pytest.mark.parametrize("metric", METRICS)
def test_a_guardrail_waits_until_it_is_certain(metric: str) -> None:
    rule, tally = StopRule(metric, worse_by=0.1), Tally()
    broken: list[bool] = []
    for n in range(1500):
        worse, better = VisitorCounts(1, *[int(n % 5 == 0)] * 3), VisitorCounts(1, *[int(n % 3 == 0)] * 3)
        tally = tally.counted(False, VisitorCounts(), worse, 0.5).counted(True, VisitorCounts(), better, 0.5)
        found = tally.ratio(metric)
        broken.append(found is not None and rule.is_broken(found))
    assert not any(broken[:150])
    assert all(broken[1000:])


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
def test_shares_are_exact_to_within_chance_and_a_larger_one_keeps_its_members(share: float) -> None:
    hashes = [visitor_hash(b"0123456789abcdef", f"visitor-{n}") for n in range(100_000)]
    held = np.array([is_held_out(hashed, share) for hashed in hashes])
    assert abs(held.sum() - 100_000 * share) < 4 * math.sqrt(100_000 * share * (1 - share))
    larger = np.array([is_held_out(hashed, min(1.0, share * 1.5)) for hashed in hashes])
    assert np.all(larger[held])
    assert larger.sum() > held.sum()
    assert all(is_held_out(hashed, 1.0) for hashed in hashes[:1000])
    assert not any(is_held_out(hashed, 0.0) for hashed in hashes[:1000])


def test_groups_of_two_rankings_and_of_two_kinds_of_ids_are_unrelated() -> None:
    salts, ids = (b"one salt", b"another salt"), [str(n) for n in range(20_000)]
    held = [np.array([is_held_out(visitor_hash(salt, id), 0.5) for id in ids]) for salt in salts]
    requests = np.array([is_held_out(visitor_hash(salts[0], id, "request"), 0.5) for id in ids])
    for other in (held[1], requests):
        assert abs(np.mean(held[0] == other) - 0.5) < 4 * math.sqrt(0.25 / 20_000)


def test_counts_of_lists_are_exact_however_large() -> None:
    huge = VisitorCounts(3_000_000_000, 2_000_000_000, 4_000_000_001, 7)
    sums = GroupSums().changed(VisitorCounts(), huge).changed(huge, VisitorCounts(1, 1, 1, 1))
    assert sums == GroupSums(1, *[1] * 11)


def test_closed_lists_of_a_study_are_heavy_tailed() -> None:
    closed: Closed = draw(SAME, np.random.default_rng(6))
    lists = np.bincount(closed.visitor)
    assert lists.max() > 15 * lists.mean()
    assert lists.sum() ** 2 / (lists**2).sum() < 0.6 * len(lists)
