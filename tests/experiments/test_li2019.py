"""Cascading non-stationary bandits: both figures on synthetic models, and the tests behind their verdicts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up import drawn, played
from shapes import about, outcomes

import toplist
from toplist.bounds import li2019_theorem3
from toplist.clicks import Cascade
from toplist.datasets.click_models import ClickModels
from toplist.experiments import verdicts
from toplist.experiments.experiment import DataSet, Findings, Outcome, Play, Size
from toplist.experiments.li2019 import figure1, figure2, jumping_queries
from toplist.experiments.li2019.jumping_queries import DISCOUNTED, EPOCH, HALVED, LEFT_BEHIND, POLICIES, WINDOWED
from toplist.experiments.pooled_results import pool_results
from toplist.worlds import b_l, b_top_k, jumping

BOTH = [figure1.EXPERIMENT, figure2.EXPERIMENT]


def models(count: int = 2) -> DataSet:
    """A number of synthetic, equal queries of ten documents."""
    own = {"CM": {"attr": np.linspace(0.3, 0.02, 10)}}
    content = ClickModels(Path("made-up.json"), 10, {str(query): own for query in range(count)})
    return DataSet("click models", "made up", content)


# Played ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("experiment", BOTH)
def test_both_figures_in_short(experiment: Any) -> None:
    """Two epochs of two queries are played, drawn and judged, and decide nothing."""
    found = played(experiment, Size(20_000, 1), models())
    assert list(found.results) == ["0", "1"]
    assert [one.breakpoints for one in found.results.values()] == [[[10_000]]] * 2
    claims = experiment.judge(found)
    assert set(outcomes(claims)) == {Outcome.UNDECIDED}
    assert "vacuous here" in about(claims, f"{WINDOWED} converges").remark
    assert "100,000 steps, and 20,000 were played" in claims[0].remark
    drawn(experiment, found)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", BOTH)
def test_less_than_an_epoch_is_judged_and_drawn(experiment: Any) -> None:
    found = played(experiment, Size(30, 2), models(1))
    assert set(outcomes(experiment.judge(found))) == {Outcome.UNDECIDED}
    drawn(experiment, found)


def test_queries_have_visitors_and_jumps_of_their_own() -> None:
    jobs = figure1.EXPERIMENT.jobs(Size(20_000, 2), models())
    found = []
    for job in jobs:
        assert isinstance(job, Play)
        found.append(
            toplist.simulate("random", job.world, job.users, job.steps, job.runs, job.seed, checkpoints=job.checkpoints)
        )
    assert not np.array_equal(found[0].regret["random"], found[1].regret["random"])
    whole = pool_results(found)
    assert whole.runs == 4
    assert whole.regret["random"][2:].tobytes() == found[1].regret["random"].tobytes()
    assert whole.breakpoints == [[10_000]] * 4
    halves = verdicts.half_epochs(whole.regret["random"], whole.checkpoints, EPOCH)
    for epoch in (1, 2):
        assert jumping_queries.epoch_regret(whole, "random", epoch).mean == pytest.approx(
            halves[:, epoch - 1].sum() / 4
        )


def test_quick_plays_fewer_queries() -> None:
    many = models(120)
    assert len(figure1.EXPERIMENT.jobs(figure1.EXPERIMENT.quick, many)) == figure1.QUICK_QUERIES
    assert len(figure1.EXPERIMENT.jobs(figure1.EXPERIMENT.full, many)) == 100
    assert len(figure2.EXPERIMENT.jobs(figure2.EXPERIMENT.full, many)) == 20


def test_checkpoints_have_the_ends_of_halves() -> None:
    kept = jumping_queries.checkpoints(25_300)
    assert set(range(5000, 25_001, 5000)) <= set(kept.tolist())
    assert kept[-1] == 25_300
    assert jumping_queries.checkpoints(300).tolist() == [300]


# Verdicts -------------------------------------------------------------------------------------------------------------


def curve(*halves: float, runs: int = 20, spread: float = 0.01) -> Any:
    """Curves of runs that add about so much in each half of an epoch."""
    rng = np.random.default_rng(0)
    return np.cumsum(np.array(halves) * (1 + spread * rng.uniform(-1, 1, (runs, len(halves)))), axis=1)


def judged(curves: dict[str, Any], experiment: Any = figure1.EXPERIMENT, count: int = 1) -> list[Any]:
    """The claims for given regrets per half epoch; policies not given follow the changes."""
    follower = curve(*[5.0, 5.0, *[40.0, 10.0] * 9])
    names = {**POLICIES, **figure2.SHOWN}
    every = {name: curves.get(name, follower) for name in names}
    kept = np.arange(1, 21) * EPOCH // 2
    results = {str(query): toplist.Result(kept, every, every) for query in range(count)}
    runs = len(next(iter(curves.values())))
    found = Findings(Size(100_000, runs), results, data=models(count))
    return list(experiment.judge(found))


@pytest.mark.parametrize(
    ("halves", "outcome"),
    [
        ((5.0, 5.0, 4.0, 1.9, *[4.0, 1.9] * 8), Outcome.MET),  # the first epoch does not count
        ((5.0, 5.0, 4.0, 2.2, *[4.0, 1.9] * 8), Outcome.NOT_MET),
        ((5.0, 0.0, *[4.0, 1.9] * 8, 4.0, 2.2), Outcome.NOT_MET),
        ((5.0, 0.0, *[4.0, 1.9] * 8, 4.0, 2.0), Outcome.UNDECIDED),
    ],
)
def test_convergence_is_judged_in_every_epoch_after_the_first_break(halves: Any, outcome: Outcome) -> None:
    for experiment, count in ((figure1.EXPERIMENT, 1), (figure2.EXPERIMENT, 3)):
        claims = judged({WINDOWED: curve(*halves)}, experiment, count)
        assert about(claims, f"{WINDOWED} converges after each break").outcome is outcome


def test_convergence_of_the_discounted_may_need_half_the_radius() -> None:
    slow, quick, open_ = (curve(*[5.0, 5.0, *[4.0, second] * 9]) for second in (3.0, 1.0, 2.0))
    for printed, halved, outcome in (
        (quick, quick, Outcome.MET),
        (slow, quick, Outcome.SCALED),
        (slow, slow, Outcome.NOT_MET),
        (slow, open_, Outcome.UNDECIDED),
        (open_, slow, Outcome.UNDECIDED),
    ):
        claim = about(judged({DISCOUNTED: printed, HALVED: halved}), f"{DISCOUNTED} converges")
        assert claim.outcome is outcome
        assert ("half the printed radius" in claim.remark) == (printed is not quick)


def test_chance_of_many_tests_is_no_failure() -> None:
    """Three runs, of which the second half adds 1.1 ± 0.06 too much: enough for one test, not for the worst of many."""
    own = np.array([[[5.0, 5.0], [10.0, 5.0 + more]] for more in (1.0, 1.1, 1.2)])
    assert verdicts.converges(own) is False
    assert verdicts.converges(own, among=100) is None
    assert verdicts.converges(own[:, [0, *[1] * 50]]) is None
    assert verdicts.converges(own[:, :1]) is None  # before the first break


def test_who_does_not_follow_is_judged_at_the_end() -> None:
    follower = curve(*[5.0] * 20, spread=0.0)
    for share, outcome in ((1.52, Outcome.MET), (1.48, Outcome.NOT_MET)):
        claims = judged({WINDOWED: follower, "RankedExp3": share * curve(*[5.0] * 20)})
        assert about(claims, "RankedExp3 does not converge").outcome is outcome
    few = judged({WINDOWED: follower[:1].repeat(20, axis=0), "BatchRank": curve(*[7.6] * 20, spread=0.9)})
    assert about(few, "BatchRank does not converge").outcome is Outcome.UNDECIDED


def test_the_windowed_must_be_clearly_under_the_discounted() -> None:
    own = curve(*[5.0] * 20)
    for times, outcome in ((1.1, Outcome.MET), (1.0, Outcome.UNDECIDED), (0.9, Outcome.NOT_MET)):
        claims = judged({WINDOWED: own, DISCOUNTED: times * curve(*[5.0] * 20)[::-1]})
        assert about(claims, f"{WINDOWED} is better than {DISCOUNTED}").outcome is outcome


def test_printed_epochs() -> None:
    for first, outcome in ((115.0, Outcome.MET), (140.0, Outcome.NOT_MET)):
        halves = [first / 2, first / 2, *[100.0] * 14, 230.0, 230.0, 100.0, 100.0]
        claims = judged({"CascadeKL-UCB": curve(*halves)})
        assert about(claims, "in epoch 1").outcome is outcome
        assert about(claims, "in epoch 9").outcome is Outcome.MET


def test_single_queries_that_fail_are_named() -> None:
    slow = curve(*[5.0, 5.0, *[4.0, 3.0] * 9])
    claim = about(judged({WINDOWED: slow}, figure2.EXPERIMENT, 2), f"{WINDOWED} converges")
    assert "not on 0, 1, whose best item has attraction 0.30" in claim.remark
    assert claim.number.startswith("in 0 of 2 queries, undecided in 0, not in 2")


# The paper's users, reduced -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_on_the_papers_users_those_that_forget_lose_least() -> None:
    """Made-up attractions like those of a query; 4 runs of 1e5 steps. Measured: 2.4, 3.4, 9 and 10 thousand."""
    attraction = [0.36, 0.16, 0.2, 0.08, 0.07, 0.02, 0.09, 0.08, 0.09, 0.08]
    result = toplist.simulate(
        POLICIES, jumping(attraction, 3), Cascade(), jumping_queries.STEPS, runs=4,
        checkpoints=jumping_queries.checkpoints(jumping_queries.STEPS).tolist(),
    )  # fmt: skip
    assert result.difference(WINDOWED, DISCOUNTED).high < 0
    for name in LEFT_BEHIND:
        assert result.difference(name, WINDOWED).ratio > verdicts.MUCH_WORSE
    # With the printed radius CascadeDUCB goes on exploring for ever; with half of it, it converges.
    for name, holds in ((WINDOWED, True), (DISCOUNTED, False), (HALVED, True)):
        halves = verdicts.half_epochs(result.regret[name], result.checkpoints, EPOCH)
        slowest = (halves.mean(axis=0)[1:, 1] / halves.mean(axis=0)[1:, 0]).max()
        assert (slowest < verdicts.CONVERGED) == holds
        assert verdicts.converges(halves) is not (not holds)
    assert result.difference(jumping_queries.RESETTING, WINDOWED).high < 0
    found = result.detections[jumping_queries.RESETTING]
    for run in found:  # every break is found before the next, and hardly anything else
        assert {step // EPOCH for step in run} == set(range(1, 10))
        assert len(run) <= 12


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.15, 0.075])
def test_on_people_who_do_not_change_watching_costs_at_most_a_tenth(gap: float) -> None:
    """CascadeKL-UCB with GLR beside the plain one; 8 runs of 1e5 steps, the same visitors."""
    watching, plain = "cascade-kl-ucb-resetting", "cascade-kl-ucb"
    result = toplist.simulate(
        [watching, plain], b_top_k(16, 4, 0.2, gap), Cascade(), jumping_queries.STEPS, runs=8, seed=1
    )
    assert result.difference(watching, plain).ratio <= 1.1


@pytest.mark.slow
def test_no_policy_is_below_the_lower_bound() -> None:
    """B_L with L = 8 and n = 3000; the bound is for large n and the worst case, and is kept here by all."""
    world, steps = b_l(8, 0.3, 0.2, 3000), 3000
    bound = li2019_theorem3(8, 0.3, 0.2, steps)
    policies = ["cascade-swucb", "cascade-ducb", "cascade-kl-ucb"]
    result = toplist.simulate(policies, world, Cascade(), steps, runs=2, compiled=False)
    assert min(float(result.mean(name)[-1]) for name in result.policies) > bound > 70
