"""Probabilities of lists: they sum to 1 over all lists, and agree with how often each list is drawn."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from toplist.clicks import DCM
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Ints, Request
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.policies import make
from toplist.policies.propensity.repeated_draws import probabilities_by_repetition
from toplist.policies.propensity.several_lists import weigh_lists
from toplist.worlds import Fixed

ITEMS, POSITIONS = 5, 3
ATTRACTION = np.array([0.5, 0.45, 0.4, 0.3, 0.2])
DRAWS = 1000
EXACT = [
    "random", "cascade-ts", "dcm-ts", "pbm-ts", "cascade-kl-ucb", "cascade-ucb1", "pbm-ucb", "bubble-rank", "top-rank",
    "uni-rank", "batch-rank", "cascade-swucb(tau=30)", "cascade-ducb(gamma=0.97)", "last-click", "cascade-ucb-v",
    "cascade-moss", "cascade-kl-ucb-plus-plus", "ts-cascade", "pbm-pie", "glrt-cascade-ucb(share=0.6)",
    "glrt-cascade-kl-ucb",
]  # fmt: skip
RANKED = ["ranked-exp3", "ranked-ucb1", "ranked-kl-ucb"]
LENGTHS = (0, 7, 200)  # lists learned


class Trial:
    """A policy after some lists, whose lists can be drawn and weighed."""

    def __init__(self, policy: str, learned: int, pins: Ints = NONE, order: Ints = NONE, positions: int = POSITIONS):
        self.problem = Problem(ITEMS, POSITIONS, steps=1000)
        setup = RunSetup.of(make(policy), Fixed(ATTRACTION, POSITIONS), DCM([0.7, 0.6, 0.5]), OneSample(), 1000)
        player = Player(setup, 3, np.array([1000]), compiled=False)
        player.play(learned)
        self.policy, self.belief = setup.policy, player.belief
        self.request = Request(
            np.arange(ITEMS), positions, pins, order, np.zeros((ITEMS, 0)), 0, np.arange(ITEMS) + 11, 0
        )
        self.cache = self.policy.scratch(self.problem)

    def draw(self, number: int) -> Ints:
        slate = self.policy.slate(self.problem)
        self.policy.rank(self.belief, self.cache, self.request._replace(key=branch(77, number)), slate)
        drawn: Ints = slate.items[: slate.size[0]].copy()
        return drawn

    def weigh(self, items: Any) -> Any:
        return self.policy.list_probabilities(self.belief, self.request, np.array(items))

    def lists(self) -> list[tuple[int, ...]]:
        return list(permutations(range(ITEMS), len(self.draw(0))))


def expect_agreement(trial: Trial) -> None:
    """All probabilities sum to 1, marginals are sums of them, and frequencies are within 4.5 standard errors, or 1."""
    lists = trial.lists()
    at_once = weigh_lists(trial.policy, trial.belief, trial.request, np.array(lists))
    assert at_once is not None
    weighed = {items: at_once.of_list(number) for number, items in enumerate(lists)}
    whole = {items: float(np.prod(one.conditional)) for items, one in weighed.items()}
    for items in lists[::4]:  # one by one they are the same
        alone = trial.weigh(items)
        assert alone.conditional == pytest.approx(weighed[items].conditional, abs=1e-12)
        assert alone.marginal == pytest.approx(weighed[items].marginal, abs=1e-12, nan_ok=True)
    assert sum(whole.values()) == pytest.approx(1.0, abs=1e-9)
    for items, one in weighed.items():
        for position, item in enumerate(items):
            stands = sum(chance for other, chance in whole.items() if other[position] == item)
            if not np.isnan(one.marginal[position]):
                assert one.marginal[position] == pytest.approx(stands, abs=1e-9)
            begins = sum(chance for other, chance in whole.items() if other[: position + 1] == items[: position + 1])
            assert np.prod(one.conditional[: position + 1]) == pytest.approx(begins, abs=1e-9)
    counts = dict.fromkeys(lists, 0)
    for number in range(DRAWS):
        counts[tuple(trial.draw(number).tolist())] += 1
    for items, chance in whole.items():
        error = np.sqrt(DRAWS * chance * (1.0 - chance))
        assert abs(counts[items] - DRAWS * chance) <= 4.5 * error + 1.0, (items, counts[items], DRAWS * chance)


@pytest.mark.parametrize("learned", LENGTHS)
@pytest.mark.parametrize("policy", EXACT + RANKED)
def test_probabilities_sum_to_one_and_match_frequencies(policy: str, learned: int) -> None:
    expect_agreement(Trial(policy, learned))


@pytest.mark.parametrize(
    "policy", ["random", "dcm-ts", "cascade-ucb1", "bubble-rank", "top-rank", "ts-cascade", "pbm-pie", *RANKED]
)
def test_pinned_items_are_certain(policy: str) -> None:
    trial = Trial(policy, 7, pins=np.array([-1, 4, -1]))
    expect_agreement(trial)
    assert trial.weigh(trial.draw(0)).conditional[1] == 1.0


@pytest.mark.parametrize("learned", [0, 200])
@pytest.mark.parametrize("inner", ["dcm-ts", "cascade-ucb1", "top-rank", "bubble-rank", "ranked-exp3"])
def test_lists_mixed_with_random_ones(inner: str, learned: int) -> None:
    expect_agreement(Trial(f"exploring(policy='{inner}', share=0.3)", learned))
    pinned = Trial(f"exploring(policy='{inner}', share=0.3)", learned, pins=np.array([-1, 4, -1]))
    expect_agreement(pinned)


@pytest.mark.parametrize("pins", [NONE, np.array([-1, -1, 4])])
def test_lists_with_exchanged_neighbours(pins: Ints) -> None:
    expect_agreement(Trial("exploring(policy='cascade-ucb1', share=0.3, by='swaps')", 200, pins))


def test_exchanged_neighbours_of_a_random_list_have_no_closed_form() -> None:
    trial = Trial("exploring(policy='dcm-ts', share=0.3, by='swaps')", 7)
    assert trial.weigh(trial.draw(0)) is None


@pytest.mark.parametrize("policy", ["random", "cascade-ucb1", "bubble-rank", "top-rank"])
def test_positions_in_another_order(policy: str) -> None:
    expect_agreement(Trial(policy, 7, order=np.array([2, 0, 1])))


@pytest.mark.parametrize(
    "policy", ["random", "dcm-ts", "cascade-ucb1", "bubble-rank", "top-rank", "batch-rank", "ts-cascade", "pbm-pie"]
)
def test_shorter_lists(policy: str) -> None:
    expect_agreement(Trial(policy, 7, positions=2))


def test_draws_that_are_not_in_the_order_of_the_positions_have_no_closed_form() -> None:
    trial = Trial("dcm-ts", 7, order=np.array([2, 0, 1]))
    assert trial.weigh(trial.draw(0)) is None


def test_features_have_no_closed_form() -> None:
    policy = make("cascade-lin-ts")
    assert policy.list_probabilities(None, None, np.arange(2)) is None


def test_a_list_that_cannot_be_shown_has_probability_zero() -> None:
    trial = Trial("cascade-ucb1", 400)
    shown = trial.draw(0)
    other = np.array([item for item in range(ITEMS) if item not in shown][:1] + shown[:2].tolist())
    assert trial.weigh(other).conditional.tolist() == [0.0, 0.0, 0.0]
    assert trial.weigh(shown).conditional.tolist() == [1.0, 1.0, 1.0]


def test_repeated_draws_agree_with_the_closed_form() -> None:
    trial = Trial("dcm-ts", 7)
    shown = trial.draw(0)
    exact, drawn = trial.weigh(shown), probabilities_by_repetition(trial.draw, shown, DRAWS)
    for name in ("conditional", "marginal"):
        error = getattr(drawn, f"{name}_error")
        assert np.all(np.abs(getattr(drawn, name) - getattr(exact, name)) <= 4.0 * error)
        assert np.all((error > 0.0) & (error < 0.15))


def test_a_list_that_was_shown_never_has_probability_zero() -> None:
    impossible = np.array([4, 3, 2])
    drawn = probabilities_by_repetition(lambda _: np.array([0, 1, 2]), impossible, 99)
    assert drawn.conditional.tolist() == [0.01, 1.0, 1.0]
    assert drawn.marginal.tolist() == [0.01, 0.01, 1.0]


@pytest.mark.parametrize("scale", [1e2, 1e5, 1e9])
def test_two_items_with_very_many_examinations(scale: float) -> None:
    """Against the normal limit: of two equal posteriors each wins half of the time, whatever their width."""
    trial = Trial("dcm-ts", 1)
    trial.belief.examined[:2], trial.belief.clicked[:2] = scale, 0.1 * scale
    trial.request = trial.request._replace(candidates=np.arange(2), positions=2)
    assert trial.weigh([1, 0]).conditional == pytest.approx([0.5, 1.0], abs=1e-9)
    trial.belief.clicked[1] += np.sqrt(0.09 * scale)  # one standard deviation of a mean
    normal = 0.7602499389065233  # P(N(1, 2) > 0)
    assert trial.weigh([1, 0]).conditional[0] == pytest.approx(normal, abs=1.5 / np.sqrt(scale))
