"""hiranandani2019: figure 1 at full size with fewer runs, and all experiments on made-up ratings and made-up curves."""

import re
from dataclasses import replace

import numpy as np
import pytest
from made_up import Curve, drawn, played
from shapes import about, flat, linear, outcomes, result

import toplist
from toplist.clicks import DCM, Cascade
from toplist.core.randomness import branch
from toplist.datasets.ratings import synthetic_ratings
from toplist.engine.player import Player, RunSetup
from toplist.engine.result import Result
from toplist.engine.starts import OneSample
from toplist.experiments.experiment import DataSet, Findings, Measure, Outcome, Play, Size
from toplist.experiments.hiranandani2019 import figure1 as first
from toplist.experiments.hiranandani2019 import figure2, figure3, figure4, figure5, figure6a, ratio
from toplist.experiments.hiranandani2019.both_alphas import ALL, FORMULAS, PRINTED, SCALED, ask, linear_in
from toplist.experiments.hiranandani2019.problems import figure1
from toplist.experiments.hiranandani2019.problems import figure6a as problem6a
from toplist.experiments.verdicts import FLAT, LINEAR, late_share

NORM = float(np.linalg.norm([0.6, 0.4]))
RATED = (ratio, figure2, figure3, figure4, figure5)  # made of ratings
DATA = DataSet("movielens", "made up", synthetic_ratings(people=60, items=30, topics=40, seed=0))

# Figure 1 ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both() -> Findings:
    return played(first.EXPERIMENT, Size(20_000, 8, seed=1))


@pytest.mark.slow
def test_figure_1_comes_from_alpha_without_sigma(both: Findings) -> None:
    claims = first.EXPERIMENT.judge(both)
    assert about(claims, "CascadeLSB flattens").outcome is Outcome.MET
    assert about(claims, "CascadeKL-UCB flattens").outcome is Outcome.MET
    assert about(claims, "less regret than LSBGreedy").outcome is Outcome.MET
    assert about(claims, "less regret than CascadeLinUCB").outcome is Outcome.MET
    for words in ("LSBGreedy grows", "CascadeLinUCB grows", "CascadeLinUCB converges", "order of magnitude"):
        claim = about(claims, words)
        assert claim.outcome is Outcome.SCALED
        assert "1/sigma = 10" in claim.remark
        assert "; as printed: " in claim.number
    assert "vacuous here" in claims[0].remark
    drawn(first.EXPERIMENT, both)


@pytest.mark.slow
def test_figure_1_without_sigma_has_the_printed_shapes(both: Findings) -> None:
    found = both.results[SCALED]
    assert late_share(found, "CascadeLSB", 0.1).value < FLAT
    assert late_share(found, "CascadeKL-UCB", 0.1).value < FLAT
    assert late_share(found, "LSBGreedy", 0.5).value > LINEAR
    assert late_share(found, "CascadeLinUCB", 0.5).value > LINEAR
    assert found.difference("CascadeKL-UCB", "CascadeLSB").ratio > 4
    assert found.difference("CascadeLSB", "LSBGreedy", confidence=0.999).high < 0


@pytest.mark.slow
def test_figure_1_with_the_printed_alpha_has_the_trial_numbers(both: Findings) -> None:
    """176, 225, 645 and 758 in an independent trial; within 20%."""
    found = both.results[PRINTED]
    for policy, number in (("CascadeLSB", 176), ("LSBGreedy", 225), ("CascadeLinUCB", 645), ("CascadeKL-UCB", 758)):
        assert float(found.mean(policy)[-1]) == pytest.approx(number, rel=0.2)


@pytest.mark.slow
def test_both_alphas_meet_the_same_visitors(both: Findings) -> None:
    """CascadeKL-UCB has no alpha, so its regret is bit-equal in both plays: visitors are paired."""
    printed, scaled = (both.results[alpha].regret["CascadeKL-UCB"] for alpha in (PRINTED, SCALED))
    np.testing.assert_array_equal(printed, scaled)


def last_lists(policy: str, count: int) -> list[frozenset[int]]:
    """The lists that a policy shows at the end of a run of figure 1, as sets of items counted from 1."""
    setting = RunSetup.of(toplist.make(f"{policy}(norm={NORM})"), figure1(), Cascade(), OneSample(), 20_000)
    player = Player(setting, branch(1, 0), np.array([20_000]))
    player.play(20_000 - count)
    shown = []
    for step in range(20_000 - count, 20_000):
        player.play(step + 1)
        shown.append(frozenset(int(item) + 1 for item in player.run.slate.items))
    return shown


@pytest.mark.slow
def test_who_is_stuck_where_in_figure_1() -> None:
    """CascadeLinUCB shows items 1 and 2 for ever; CascadeLSB has one item of each topic."""
    assert set(last_lists("cascade-lin-ucb", 200)) == {frozenset({1, 2})}
    assert set(last_lists("cascade-lsb", 200)) == {frozenset({1, 3}), frozenset({2, 3})}


@pytest.mark.slow
def test_lsb_greedy_oscillates_between_items_2_and_3_in_figure_1() -> None:
    """Below an item of topic 1 stands now the other one, now item 3, each in a quarter of the lists or more.

    In the last half of a run, where it goes to and fro at least twenty times, also in its last quarter. What is clicked
    in the first place keeps the second from being seen; item 3 is thought worse than it is, until it is shown less.
    """
    shown = last_lists("lsb-greedy", 10_000)
    third = np.array([3 in items for items in shown])
    assert set(shown) == {frozenset({1, 2}), frozenset({1, 3}), frozenset({2, 3})}
    assert 0.25 < third.mean() < 0.75
    for some in np.split(third, 2):
        assert np.count_nonzero(some[1:] & ~some[:-1]) >= 20
        assert np.count_nonzero(~some[1:] & some[:-1]) >= 20


def test_lists_of_figure_1_by_hand() -> None:
    """The watched lists and the claim on them: item 3 in half of the lists is oscillation, in a tenth it is not."""

    def seen(share: float) -> np.ndarray:
        return np.tile(np.where(np.arange(100) % 10 < 10 * share, first.ONE_OF_EACH, first.BOTH_OF_TOPIC_1), (20, 1))

    def judged(greedy: float, linear_ucb: float) -> list[Outcome]:
        lists = {"LSBGreedy": seen(greedy), "CascadeLinUCB": seen(linear_ucb)}
        curves = result({name: linear(9.0) for name in ALL}, 20_000)
        both = dict.fromkeys((PRINTED, SCALED), curves)
        found = Findings(Size(20_000, 20), both, watched=dict.fromkeys((PRINTED, SCALED), lists))
        claims = first.EXPERIMENT.judge(found)
        return [about(claims, words).outcome for words in ("oscillates", "converges to")]

    assert judged(0.5, 0.0) == [Outcome.MET, Outcome.MET]
    assert judged(0.1, 0.5) == [Outcome.NOT_MET, Outcome.NOT_MET]
    assert judged(0.9, 0.1) == [Outcome.NOT_MET, Outcome.NOT_MET]


# Figure 6(a) ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_figure_6a_dcm_lsb_flattens_and_lsb_greedy_does_not() -> None:
    found = toplist.simulate(["dcm-lsb", "lsb-greedy"], problem6a(), DCM(0.8), steps=200_000, runs=2, seed=1)
    assert late_share(found, "dcm-lsb", 0.1).value < FLAT
    assert late_share(found, "lsb-greedy", 0.5).value > LINEAR
    assert found.difference("dcm-lsb", "lsb-greedy").ratio < 0.2


@pytest.mark.slow
def test_figure_6a_in_short() -> None:
    found = played(figure6a.EXPERIMENT, Size(400, 2))
    best, *others = figure6a.EXPERIMENT.judge(found)
    assert best.outcome is Outcome.MET
    assert best.number.startswith("1, 4, 7, 10, 2, 5, 8, 11")
    assert set(outcomes(others)) == {Outcome.UNDECIDED}
    drawn(figure6a.EXPERIMENT, found)


def test_figure_6a_by_hand() -> None:
    """The paper's steps and ten times as many are judged separately: a claim may hold only in the long run."""
    good, bad = {"dcmLSB": flat(10.0), "LSBGreedy": linear(100.0)}, {"dcmLSB": linear(90.0), "LSBGreedy": flat(100.0)}
    for items, outcome in (([2, 5, 8, 11, 1, 4, 7, 10], Outcome.MET), ([1, 4, 7, 10, 2, 5, 11, 8], Outcome.NOT_MET)):
        results = {}
        for alpha in (PRINTED, SCALED):
            results[f"{figure6a.PAPERS}, {alpha}"] = result(bad, 20_000)
            results[f"{figure6a.LONG}, {alpha}"] = result(good, 200_000)
        found = Findings(Size(20_000, 20), results, {figure6a.BEST: {"items": np.array(items, dtype=float)}})
        claims = figure6a.EXPERIMENT.judge(found)
        assert outcomes(claims) == [outcome, *[Outcome.NOT_MET] * 3, *[Outcome.MET] * 3]
        assert ["not in the paper" in claim.remark for claim in claims] == [False] * 4 + [True] * 3


# Problems made of ratings -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("module", RATED, ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_experiment_on_made_up_ratings(module: object) -> None:
    """Few steps decide only the claims that need no simulation."""
    experiment = module.EXPERIMENT  # type: ignore[attr-defined]
    found = played(experiment, Size(3, 4), DATA)
    claims = experiment.judge(found)
    of_play = [claim for claim in claims if "pairs of person" not in claim.text and module is not ratio]
    assert set(outcomes(of_play)) <= {Outcome.UNDECIDED}
    drawn(experiment, found)
    for label, one in found.results.items():
        more = figure2.MORE if label.startswith("d = 18") else 1
        assert one.runs == (2 if label.endswith(PRINTED) else 4 * more)  # a third of them, rounded up


@pytest.mark.parametrize("module", [figure2, figure3, figure4, figure5])
def test_a_given_number_of_people_is_that_of_all_panels(module: object) -> None:
    for runs in (4, 100):
        jobs = module.EXPERIMENT.jobs(Size(40, runs, runs_given=True), DATA)  # type: ignore[attr-defined]
        plays = [job for job in jobs if isinstance(job, Play)]
        assert {job.runs for job in plays} == {runs}
        assert sum(job.label.endswith(PRINTED) for job in plays) == len(plays) / 2 > 0


def test_what_the_data_have_no_topics_for_is_not_played() -> None:
    few = DataSet("songs", "made up", synthetic_ratings(people=60, items=50, topics=12, seed=0))
    labels = [job.label for job in figure3.EXPERIMENT.jobs(Size(40, 4), few)]
    assert labels == ["pairs", f"d = 10, K = 8, {PRINTED}", f"d = 10, K = 8, {SCALED}"]
    found = judged_songs({"d = 10, K = 8": 0.85})
    claim = about(figure3.EXPERIMENT.judge(found), "About 15%")
    assert claim.outcome is Outcome.UNDECIDED
    assert "fewer than 40 topics" in claim.number


def judged_songs(panels: dict[str, float], substitute: str = "") -> Findings:
    """Made-up results of figure 3, as if LSBGreedy had 100 times the share that is given per panel."""
    results = {}
    for panel, share in panels.items():
        curves = {"LSBGreedy": 100.0, "CascadeLSB": 100 * share, "CascadeLinUCB": 150.0, "CascadeKL-UCB": 900.0}
        for alpha in (PRINTED, SCALED):
            results[f"{panel}, {alpha}"] = result({name: linear(end) for name, end in curves.items()}, 20_000)
    data = DataSet("songs", "made up", None, substitute)
    return Findings(Size(20_000, 20), results, {"pairs": {"share": np.array([0.031])}}, data=data)


def test_figure_3_by_hand() -> None:
    names = [f"d = {topics}, K = 8" for topics in (10, 20, 40)]
    good = judged_songs(dict.fromkeys(names, 0.85))
    assert outcomes(figure3.EXPERIMENT.judge(good)) == [Outcome.MET] * 4
    other = judged_songs(dict.fromkeys(names, 0.85), "what the paper has")
    assert outcomes(figure3.EXPERIMENT.judge(other)) == [Outcome.SUBSTITUTE] * 4
    less = figure3.EXPERIMENT.judge(judged_songs(dict.fromkeys(names, 0.7)))
    assert outcomes(less) == [Outcome.MET, Outcome.MET, Outcome.NOT_MET, Outcome.MET]
    above = figure3.EXPERIMENT.judge(judged_songs({names[0]: 0.85, names[1]: 1.1, names[2]: 0.85}))
    assert outcomes(above) == [Outcome.MET, Outcome.NOT_MET, Outcome.MET, Outcome.MET]
    pairs = replace(good, measures={"pairs": {"share": np.array([0.04])}})
    assert figure3.EXPERIMENT.judge(pairs)[0].outcome is Outcome.NOT_MET


def nine(
    ours: float, linear_ucb: Curve, runs: int = 20, steps: int = 20_000, per_topic: float = 1.0
) -> dict[str, Result]:
    """Made-up results of the nine panels of figure 2."""
    found = {}
    for topics in figure2.TOPICS:
        for positions in figure2.POSITIONS:
            curves = {
                "CascadeLSB": flat(ours + per_topic * topics),
                "LSBGreedy": flat(100.0 + per_topic * topics),
                "CascadeLinUCB": linear_ucb,
                "CascadeKL-UCB": linear(5000.0),
            }
            found[f"d = {topics}, K = {positions}"] = result(curves, steps, runs)
    return found


def judged_nine(printed: dict[str, Result], scaled: dict[str, Result], size: Size) -> list[Outcome]:
    results = {f"{panel}, {PRINTED}": own for panel, own in printed.items()}
    results |= {f"{panel}, {SCALED}": own for panel, own in scaled.items()}
    found = Findings(size, results, {"pairs": {"share": np.array([0.0784])}})
    return outcomes(figure2.EXPERIMENT.judge(found))


def test_figure_2_by_hand() -> None:
    size, good, bad = Size(20_000, 20), nine(76.0, linear(400.0)), nine(150.0, flat(400.0))
    met, scaled, missed = Outcome.MET, Outcome.SCALED, Outcome.NOT_MET
    assert judged_nine(good, good, size) == [met] * 7
    # Pairs, the lowest, sublinear, 20%, the worst, linear, and growth with the topics.
    assert judged_nine(bad, good, size) == [met, scaled, met, scaled, met, scaled, met]
    assert judged_nine(good, bad, size) == [met] * 7
    assert judged_nine(bad, bad, size) == [met, missed, met, missed, met, missed, met]
    falling = nine(98.0, linear(400.0), per_topic=-1.0)
    assert judged_nine(falling, falling, size)[-1] is missed


def test_figure_2_is_open_with_fewer_steps_or_one_run() -> None:
    for size in (Size(2000, 20), Size(20_000, 1)):
        short = nine(76.0, linear(400.0), size.runs, size.steps)
        assert judged_nine(short, short, size) == [Outcome.MET, *[Outcome.UNDECIDED] * 6]


def test_figure_4_by_hand() -> None:
    for ours, outcome in ((100.0, Outcome.MET), (60.0, Outcome.NOT_MET), (75.1, Outcome.UNDECIDED)):
        curves = {"CascadeLSB": ours, "LSBGreedy": 100.0, "CascadeLinUCB": 95.0, "CascadeKL-UCB": 900.0}
        one = result({name: linear(end) for name, end in curves.items()}, 20_000)
        labels = [f"d = 10, K = {positions}, {alpha}" for positions in (4, 8, 12) for alpha in (PRINTED, SCALED)]
        found = Findings(Size(20_000, 20), dict.fromkeys(labels, one), {"pairs": {"share": np.array([0.0318])}})
        claims = figure4.EXPERIMENT.judge(found)
        assert outcomes(claims) == [Outcome.MET, outcome, Outcome.MET]
        open_claims = [claim for claim in claims if "neither met nor not met can be said" in claim.remark]
        assert [claim.outcome for claim in open_claims] == [Outcome.UNDECIDED] * (outcome is Outcome.UNDECIDED)
        for claim in open_claims:
            assert "because 0.75 lies within [0.74, 0.76] for CascadeLSB and LSBGreedy, d = 10, K = 4, " in claim.remark
            assert "; as printed 0.75 lies within [0.74, 0.76] for " in claim.remark


def test_figure_5_by_hand() -> None:
    for ours, outcome in ((60.0, Outcome.MET), (70.0, Outcome.NOT_MET), (66.7, Outcome.UNDECIDED)):
        one = result({"dcmLSB": flat(ours), "LSBGreedy": linear(100.0)}, 20_000)
        other = result({"dcmLSB": flat(90.0), "LSBGreedy": linear(100.0)}, 20_000)
        found = Findings(Size(20_000, 20), {SCALED: one, PRINTED: one if outcome is Outcome.MET else other})
        claims = figure5.EXPERIMENT.judge(found)
        assert outcomes(claims) == [Outcome.MET, Outcome.MET, outcome]
    assert claims[2].remark.endswith("; neither met nor not met can be said, because 1.5 lies within [1.49, 1.51]")
    short = figure5.EXPERIMENT.judge(Findings(Size(10_000, 20), {SCALED: one, PRINTED: other}))
    assert "neither" not in short[2].remark  # too few steps are the reason


def test_an_undecided_share_names_the_panels_whose_interval_has_the_limit() -> None:
    """Runs with regret t^0.8525 and t^0.8725, whose last half adds 45% on average, in five panels; straight in one."""
    steps = np.linspace(200, 20_000, 100)
    bent, straight = (
        Result(steps.astype(int), {"CascadeLinUCB": curves}, {"CascadeLinUCB": curves})
        for curves in (np.array([steps**0.8525, steps**0.8725] * 10), np.array([steps, steps] * 10))
    )
    panels = {"straight": straight} | {f"K = {place}": bent for place in range(5)}
    found = Findings(Size(20_000, 20), {f"{panel}, {alpha}": panels[panel] for panel in panels for alpha in FORMULAS})
    claim = ask(found, "It is linear", linear_in("CascadeLinUCB"), "a remark")
    assert claim.outcome is Outcome.UNDECIDED
    assert claim.number.startswith("the last half adds 45% to 50%, at least 45% required; as printed: ")
    assert re.search(
        r"; a remark; neither met nor not met can be said, because 45% lies within \[44\.\d%, 45\.\d%\] for K = 0, 45% "
        r".* for K = 2, 2 more alike; as printed 45% lies within \[.* for K = 2, 2 more alike$",
        claim.remark,
    )


def test_the_ratio_on_made_up_ratings() -> None:
    (job,) = ratio.EXPERIMENT.jobs(Size(1, 20), DATA)
    assert isinstance(job, Measure)
    measured = job.find()
    assert {len(measured[str(length)]) for length in ratio.PRINTED} == {20}
    assert job.about != ratio.EXPERIMENT.jobs(Size(1, 21), DATA)[0].about  # type: ignore[union-attr]
    assert outcomes(ratio.EXPERIMENT.judge(Findings(Size(1, 20), measures={job.label: measured}))) == [Outcome.MET] * 4
    low = dict(measured) | {"2": np.full(20, 0.985), "3": np.linspace(0.98, 1.0, 20)}
    judged = outcomes(ratio.EXPERIMENT.judge(Findings(Size(1, 20), measures={job.label: low})))
    assert judged == [Outcome.MET, Outcome.NOT_MET, Outcome.UNDECIDED, Outcome.MET]
