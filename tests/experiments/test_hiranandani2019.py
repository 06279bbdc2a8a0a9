"""hiranandani2019, figures 1 and 6(a), at full size with fewer runs."""

import numpy as np
import pytest

import toplist
from toplist.clicks import DCM, Cascade
from toplist.engine.player import Player, Setting
from toplist.engine.result import Result
from toplist.randomness import branch
from toplist.starts import OneSample
from toplist.worlds import TopicCoverage

NORM = float(np.linalg.norm([0.6, 0.4]))
FLAT, LINEAR = 0.04, 0.45  # shares of the regret that the last tenth, and the last half, of the steps add


def figure1() -> TopicCoverage:
    topics = np.zeros((53, 3))
    topics[:2, 0], topics[2, 1], topics[3:, 2] = 0.5, 0.5, 1.0
    return TopicCoverage(topics, [0.6, 0.4, 0.0], 2)


def figure6a() -> TopicCoverage:
    topics = np.zeros((61, 5))
    for item in range(11):
        topics[item, min(item // 3, 3)] = 0.5
    topics[11:, 4] = 1.0
    return TopicCoverage(topics, [0.3, 0.275, 0.225, 0.2, 0.0], 8)


def late(result: Result, policy: str, share: float) -> float:
    """What the last share of the steps adds to the regret."""
    mean = result.mean(policy)
    return float(1.0 - mean[round((1.0 - share) * len(mean)) - 1] / mean[-1])


def play(alpha: str) -> Result:
    policies = {
        "CascadeLSB": f"cascade-lsb(alpha={alpha}, norm={NORM})",
        "LSBGreedy": f"lsb-greedy(alpha={alpha}, norm={NORM})",
        "CascadeLinUCB": f"cascade-lin-ucb(alpha={alpha}, norm={NORM})",
        "CascadeKL-UCB": "cascade-kl-ucb",
    }
    return toplist.simulate(policies, figure1(), Cascade(), steps=20_000, runs=20, seed=1)


@pytest.mark.slow
def test_figure_1_as_printed_comes_from_alpha_without_sigma() -> None:
    result = play("figures")
    assert late(result, "CascadeLSB", 0.1) < FLAT
    assert late(result, "CascadeKL-UCB", 0.1) < FLAT
    assert late(result, "LSBGreedy", 0.5) > LINEAR
    assert late(result, "CascadeLinUCB", 0.5) > LINEAR
    assert result.difference("CascadeKL-UCB", "CascadeLSB").ratio > 4
    assert result.difference("CascadeLSB", "LSBGreedy", confidence=0.999).high < 0


@pytest.mark.slow
def test_figure_1_with_the_printed_alpha_has_the_trial_numbers() -> None:
    """176, 225, 645 and 758 in an independent trial; within 20%."""
    result = play("theory")
    for policy, number in (("CascadeLSB", 176), ("LSBGreedy", 225), ("CascadeLinUCB", 645), ("CascadeKL-UCB", 758)):
        assert float(result.mean(policy)[-1]) == pytest.approx(number, rel=0.2)


def last_lists(policy: str, count: int = 200) -> set[frozenset[int]]:
    """The lists that a policy shows at the end of a run of figure 1, as sets of items counted from 1."""
    setting = Setting.of(toplist.make(policy), figure1(), Cascade(), OneSample(), 20_000)
    player = Player(setting, branch(1, 0), np.array([20_000]))
    player.play(20_000 - count)
    shown = set()
    for step in range(20_000 - count, 20_000):
        player.play(step + 1)
        shown.add(frozenset(int(item) + 1 for item in player.run.slate.items))
    return shown


@pytest.mark.slow
def test_who_is_stuck_where_in_figure_1() -> None:
    """CascadeLinUCB shows items 1 and 2 for ever; CascadeLSB has one item of each topic."""
    assert last_lists(f"cascade-lin-ucb(norm={NORM})") == {frozenset({1, 2})}
    assert all(len(shown & {1, 2}) == 1 and 3 in shown for shown in last_lists(f"cascade-lsb(norm={NORM})"))


@pytest.mark.slow
def test_figure_6a_dcm_lsb_flattens_and_lsb_greedy_does_not() -> None:
    result = toplist.simulate(["dcm-lsb", "lsb-greedy"], figure6a(), DCM(0.8), steps=200_000, runs=4, seed=1)
    assert late(result, "dcm-lsb", 0.1) < FLAT
    assert late(result, "lsb-greedy", 0.5) > LINEAR
    assert result.difference("dcm-lsb", "lsb-greedy").ratio < 0.2
