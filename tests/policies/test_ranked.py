"""Ranked bandits: proposals, collisions, and which bandit learns from which click."""

from typing import Any

import numpy as np
import pytest

from toplist.clicks import DCM
from toplist.core.beliefs import MANY, ItemRows
from toplist.core.problem import Problem
from toplist.core.randomness import CHOICES, branch
from toplist.core.slate import Request, empty_page
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.parts.index.ties import standing
from toplist.policies import make
from toplist.worlds import Fixed

PROBLEM = Problem(5, 3, 0, 100)
NOTHING = np.zeros(0, dtype=np.int64)


def ready(name: str) -> tuple[Any, Any, Any]:
    policy = make(name).prepare(PROBLEM)
    return policy, policy.begin(PROBLEM), policy.scratch(PROBLEM)


def show(policy: Any, belief: Any, cache: Any, key: int = 1, pins: Any = NOTHING) -> Any:
    slate = policy.slate(PROBLEM)
    request = Request(np.arange(5), 3, np.asarray(pins), NOTHING, np.zeros((5, 0)), 0, np.arange(5), key)
    policy.rank(belief, cache, request, slate)
    return slate


def favour(belief: Any, arms: dict[tuple[int, int], float]) -> None:
    """Give the bandit of a position (from 0) a mean for an item, out of many observations; all others get 0."""
    belief.examined[:] = 1e9
    for (item, place), mean in arms.items():
        belief.clicked[item * 3 + place] = 1e9 * mean


def test_each_bandit_chooses_among_the_items_not_placed_above_it() -> None:
    policy, belief, cache = ready("ranked-ucb1")
    favour(belief, {(2, 0): 0.9, (2, 1): 0.9, (4, 1): 0.8, (2, 2): 0.9, (4, 2): 0.8, (0, 2): 0.7})
    slate = show(policy, belief, cache)
    assert slate.items.tolist() == [2, 4, 0]
    assert slate.memo[:, 0].tolist() == [2, 4, 0]
    assert slate.memo[:, 2].tolist() == [5, 4, 3]


def test_a_proposal_that_is_taken_is_replaced_at_random_and_earns_nothing() -> None:
    policy, belief, cache = ready("ranked-ucb1(collision='random')")
    favour(belief, {(2, 0): 0.9, (2, 1): 0.9, (4, 2): 0.8})
    replaced = set()
    for key in range(60):
        slate = show(policy, belief, cache, key)
        assert slate.items[0] == 2
        assert slate.memo[:, 0].tolist() == [2, 2, 4]
        assert slate.items[1] != 2
        replaced.add(int(slate.items[1]))
    assert replaced == {0, 1, 3, 4}
    before = belief.clicked.copy()
    page = empty_page(3)
    page.clicks[:] = 1
    policy.learn(belief, slate, page)
    gained = (belief.clicked - before).reshape(5, 3)
    assert gained[2].tolist() == [1, 0, 0]
    assert belief.examined.reshape(5, 3)[2].tolist() == [1e9 + 1, 1e9 + 1, 1e9]


@pytest.mark.parametrize(("clicks", "credited"), [("every", [1, 0, 1]), ("last", [0, 0, 1])])
def test_every_position_learns_the_click_at_it(clicks: str, credited: list[int]) -> None:
    policy, belief, cache = ready(f"ranked-kl-ucb(clicks='{clicks}')")
    slate = show(policy, belief, cache)
    page = empty_page(3)
    page.clicks[[0, 2]] = 1
    policy.learn(belief, slate, page)
    arms = slate.items * 3 + np.arange(3)
    assert belief.examined[arms].tolist() == [1, 1, 1]
    assert belief.examined.sum() == 3
    assert belief.clicked[arms].tolist() == credited


@pytest.mark.parametrize(("name", "learned"), [("ranked-ucb1", [1, 1, 1]), ("ranked-exp3(exploration=0.2)", [1, 0, 1])])
def test_pinned_places_teach_those_who_count_and_not_those_who_weigh(name: str, learned: list[int]) -> None:
    policy, belief, cache = ready(name)
    slate = show(policy, belief, cache, pins=[-1, 3, -1])
    assert slate.items[1] == 3
    page = empty_page(3)
    page.clicks[:] = 1
    policy.learn(belief, slate, page)
    table = belief.examined if hasattr(belief, "examined") else belief.logarithm
    assert np.count_nonzero(table.reshape(5, 3), axis=0).tolist() == learned


def test_replacements_are_uniform_whatever_was_drawn() -> None:
    """The replacement must not be correlated with Exp3's draw: shares of the free items within 4.5 standard errors."""
    policy, belief, cache = ready("ranked-exp3(exploration=0.5)")
    belief.logarithm.reshape(5, 3)[2] = 3.0
    seen = np.zeros(5)
    for key in range(12_000):
        slate = show(policy, belief, cache, key)
        if slate.items[0] == 2 and slate.memo[1, 0] == 2:
            seen[slate.items[1]] += 1
    shares = seen / seen.sum()
    assert shares[2] == 0
    assert np.abs(shares[[0, 1, 3, 4]] - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / seen.sum())


def test_exp3_remembers_with_which_probability_it_drew() -> None:
    policy, belief, cache = ready("ranked-exp3(exploration=0.2)")
    slate = show(policy, belief, cache)
    assert slate.memo[:, 1].tolist() == pytest.approx([0.2] * 3)  # five equal weights
    page = empty_page(3)
    page.clicks[0] = 1
    policy.learn(belief, slate, page)
    assert belief.logarithm[slate.items[0] * 3] == pytest.approx(0.2 / (0.2 * 5))
    assert np.count_nonzero(belief.logarithm) == 1


def lists_of_every_arm(player: Player, candidates: Any) -> list[int]:
    """The next list, from the index of every arm; among equals, the highest standing of the arms as they are stored."""
    policy, positions, labels = player.policy, player.setup.problem.positions, player.run.request.labels
    numbering = player.cache.arms
    stored = np.array([[numbering.arm_number(n, k, positions) for k in range(positions)] for n in range(len(labels))])
    arm_labels = np.zeros(len(numbering.numbers), dtype=np.int64)
    arm_labels[stored] = labels[:, np.newaxis]
    key = branch(branch(player.run.request.key, CHOICES), player.step)
    arms = np.arange(len(labels) * positions)
    index = policy.scoring.exact(player.belief, player.run.request._replace(candidates=arms)).reshape(-1, positions)
    items: list[int] = []
    for place in range(positions):
        free = np.setdiff1d(candidates, items)
        best = free[index[free, place] == index[free, place].max()]
        standings = [standing(int(arm), arm_labels, branch(key, place)) for arm in stored[best, place]]
        items.append(int(best[np.argmax(standings)]))
    return items


@pytest.mark.parametrize("name", ["ranked-ucb1", "ranked-kl-ucb"])
@pytest.mark.parametrize(("items", "positions"), [(700, 6), (9, 3)])
def test_lists_are_those_of_scoring_every_arm(name: str, items: int, positions: int) -> None:
    """List for list, of so many arms that blocks of them have ceilings; also after an item was replaced by another."""
    assert (items * positions >= MANY) == (items == 700)
    random = np.random.default_rng(3)
    world = Fixed(0.6 * random.random(items) ** 3, positions)
    setup = RunSetup.of(make(name), world, DCM(0.5), OneSample(), 3000)
    labels = random.integers(-(2**62), 2**62, items)
    player = Player(setup, 1, np.array([3000]), labels)
    layout = ItemRows.of(player.policy, setup.problem)
    everything = np.arange(items)
    for step in [*range(1, 100), *range(1500, 1600)]:
        player.play(step)
        if step % 7 == 0:
            labels[step % items] += 1
            layout.forget(player.belief, step % items)
        expected = lists_of_every_arm(player, everything)
        player.play(step + 1)
        assert player.run.slate.items.tolist() == expected


def test_lists_of_some_of_many_items_are_those_of_scoring_every_arm() -> None:
    """Subsets of the items, and pinned ones, between lists of all of them."""
    random = np.random.default_rng(4)
    items, positions = 140, 30
    setup = RunSetup.of(make("ranked-ucb1"), Fixed(random.random(items), positions), DCM(0.5), OneSample(), 300)
    player = Player(setup, 1, np.array([300]), compiled=False)
    assert len(player.belief.touched) > 0
    for step in range(1, 8):
        player.play(step)
        some = np.flatnonzero(random.random(items) < 0.5)
        pins = np.full(positions, -1)
        pins[5] = some[3]
        key = branch(branch(player.run.request.key, CHOICES), player.step)
        slate = player.policy.slate(setup.problem)
        request = player.run.request._replace(candidates=some, key=key)
        player.policy.rank(player.belief, player.cache, request, slate)
        assert slate.items.tolist() == lists_of_every_arm(player, some)
        player.policy.rank(player.belief, player.cache, request._replace(pins=pins), slate)
        others = np.setdiff1d(some, [some[3]])
        assert slate.items[:5].tolist() == lists_of_every_arm(player, others)[:5]
        assert slate.items[5] == some[3]
