"""Topic and contextual worlds: closed forms, brute force, and guarantees for the best list."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.bounds import hiranandani2019_theorem1
from toplist.clicks import PBM, Cascade, ChangingDCM
from toplist.core.coverage import COVERAGE_KINDS, gains
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, empty_page
from toplist.experiments.hiranandani2019.problems import figure1, figure6a
from toplist.worlds import Contextual, Fixed, TopicCoverage, exact_best, greedy_best


def reward(world: TopicCoverage, items: Any, termination: float = 1.0) -> float:
    attraction = gains(np.asarray(world.topics)[list(items)], world.coverage) @ np.asarray(world.preferences)
    return float(1.0 - np.prod(1.0 - termination * attraction))


def random_world(seed: int, items: int, positions: int, d: int, kind: str = "probabilistic") -> TopicCoverage:
    rng = np.random.default_rng(seed)
    topics = rng.uniform(size=(items, d)) * (rng.uniform(size=(items, d)) < 0.6)
    return TopicCoverage(topics, rng.dirichlet(np.ones(d)), positions, kind)


@pytest.mark.parametrize("kind", COVERAGE_KINDS)
@pytest.mark.parametrize("termination", [1.0, 0.6])
def test_the_exact_list_is_the_best_of_all_lists(kind: str, termination: float) -> None:
    for seed in range(30):
        world = random_world(seed, 6, 3, 4, kind)
        items, most = exact_best(world, termination)
        everything = [reward(world, some, termination) for some in itertools.permutations(range(6), 3)]
        assert most == pytest.approx(max(everything))
        assert reward(world, items, termination) == pytest.approx(most)


@pytest.mark.parametrize("kind", COVERAGE_KINDS)
def test_what_the_search_leaves_out_is_no_better(kind: str) -> None:
    """Longer lists, degrees that tie and high termination: where a search that prunes too much would fail."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        topics = rng.integers(0, 5, size=(7, 3)) / 4 * (rng.uniform(size=(7, 3)) < 0.7)
        world = TopicCoverage(topics, rng.dirichlet(np.ones(3)), 4, kind)
        everything = [reward(world, some) for some in itertools.permutations(range(7), 4)]
        assert exact_best(world)[1] == pytest.approx(max(everything), abs=1e-14)
        greedy, worth = greedy_best(world)
        assert reward(world, greedy) == pytest.approx(worth, abs=1e-14)


def test_the_greedy_list_keeps_its_guarantee_on_thousands_of_worlds() -> None:
    ratios = []
    for seed in range(3000):
        world = random_world(seed, 3 + seed % 6, 1 + seed % 3, 1 + seed % 5, list(COVERAGE_KINDS)[seed % 2])
        alone = max(reward(world._replace(positions=1), [item]) for item in range(len(world.topics)))
        optimum = exact_best(world)[1]
        ratio = greedy_best(world)[1] / optimum if optimum > 0.0 else 1.0
        assert ratio >= hiranandani2019_theorem1(world.positions, alone) - 1e-12
        ratios.append(ratio)
    assert np.mean(ratios) > 0.99


@settings(max_examples=40)
@given(st.integers(0, 100_000), st.sampled_from(list(COVERAGE_KINDS)))
def test_attraction_is_the_gain_in_the_eyes_of_the_person(seed: int, kind: str) -> None:
    world = random_world(seed, 8, 4, 5, kind)
    ready, items, attraction = world.checked(), np.random.default_rng(seed).permutation(8)[:4], np.zeros(4)
    ready.attract(ready.begin(), items, attraction)
    expected = gains(np.asarray(world.topics)[items], kind) @ np.asarray(world.preferences)
    np.testing.assert_allclose(attraction, expected, atol=1e-12)
    cascade = Cascade().prepare(Problem(8, 4))
    assert cascade.reward(None, items, attraction) == pytest.approx(reward(world, items))


def test_the_best_list_of_the_papers_large_problem_is_as_printed() -> None:
    """1, 4, 7, 10, 2, 5, 8, 11, up to exchange within a topic."""
    topics = [min(item // 3, 3) for item in greedy_best(figure6a())[0]]
    assert topics == [0, 1, 2, 3, 0, 1, 2, 3]
    assert greedy_best(figure1())[0] == exact_best(figure1())[0] == [0, 2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"topics": [[0.5, 1.5]]}, "must be a row per item of numbers in"),
        ({"topics": [[0.5], [0.5, 0.1]]}, "must be a row per item"),
        ({"preferences": [0.9, 0.9]}, "add up to at most 1"),
        ({"preferences": [0.9]}, "2 numbers of at least 0"),
        ({"preferences": [-0.1, 0.5]}, "at least 0"),
        ({"preferences": [0.5, np.nan]}, "at least 0"),
        ({"preferences": [[0.5, 0.5], [0.9, 0.9]]}, "or rows of these"),
        ({"preferences": [[0.5, 0.5], [0.9]]}, "or rows of these"),
        ({"preferences": np.zeros((0, 2))}, "or rows of these"),
        ({"positions": 5}, "only L = 2 items"),
        ({"coverage": "total"}, "'probabilistic' or 'maximum'"),
        ({"known": [[1.0, np.nan], [0.0, 0.0]]}, "2 rows of finite numbers"),
        ({"known": [[1.0, 2.0]]}, "2 rows of finite numbers"),
    ],
)
def test_wrong_worlds_are_refused(wrong: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {"topics": [[0.5, 0.1], [0.2, 0.3]], "preferences": [0.5, 0.5], "positions": 1}
    with pytest.raises(InvalidInput, match=message):
        TopicCoverage(**(right | wrong)).checked()


def test_every_run_draws_one_of_several_users() -> None:
    """Two users who want one topic each: attraction and best list show whose run it is."""
    world = TopicCoverage([[0.5, 0.0], [0.0, 0.4]], [[1.0, 0.0], [0.0, 1.0]], 1).checked()
    drawn = []
    for run in range(1000):
        moment, items, attraction = world.begin(), np.array([0]), np.zeros(1)
        assert world.advance(moment, 0, branch(3, run))
        world.best_list(moment, None, items)
        world.attract(moment, items, attraction)
        assert attraction[0] == (0.5, 0.4)[items[0]]
        assert not world.advance(moment, 1, branch(3, run))
        drawn.append(int(items[0]))
    assert 450 < sum(drawn) < 550  # 3.2 standard deviations
    with pytest.raises(InvalidInput, match="for one user, but this world has 2"):
        exact_best(world)


def test_what_policies_know_may_differ_from_what_is_true() -> None:
    world = Fixed([0.5, 0.2], 1, [[1.0, 0.0], [0.0, 1.0]]).checked()
    assert world.problem().features == 2
    with pytest.raises(InvalidInput, match="Fixed's known"):
        Fixed([0.5, 0.2], 1, [[1.0], [np.inf]]).checked()


# Users without position bias ------------------------------------------------------------------------------------------


def test_position_based_clicks_have_the_frequencies_of_the_formula() -> None:
    """20,000 visitors: within 5 standard errors at each position."""
    users = PBM([0.9, 0.3, 0.6]).prepare(Problem(5, 3))
    items, attraction, page = np.array([4, 0, 2]), np.array([0.5, 0.8, 0.1]), empty_page(3)
    total = np.zeros(3)
    for visitor in range(20_000):
        users.click(None, items, attraction, np.arange(5), visitor, page)
        total += page.clicks
    expected = np.array([0.9, 0.3, 0.6]) * attraction
    assert np.all(np.abs(total / 20_000 - expected) < 5 * np.sqrt(expected * (1 - expected) / 20_000))
    assert users.reward(None, items, attraction) == pytest.approx(expected.sum())
    best = np.zeros(3, dtype=np.int64)
    users.best(None, np.array([0.1, 0.5, 0.3, 0.9, 0.2]), best)
    assert best.tolist() == [3, 2, 1]


# Contexts -------------------------------------------------------------------------------------------------------------


def test_a_text_is_no_boolean() -> None:
    with pytest.raises(ValueError, match="Contextual's fresh is 'false', but must be True or False"):
        Contextual(fresh="false").checked()  # type: ignore[arg-type]
    assert Contextual(fresh=np.False_).checked().fresh is False  # type: ignore[arg-type]


def moments(world: Contextual, steps: int, key: int = 5) -> list[dict[str, Floats]]:
    ready = world.checked()
    moment = ready.begin()
    seen = []
    for step in range(steps):
        assert ready.advance(moment, step, key)
        seen.append({name: np.copy(array) for name, array in moment._asdict().items()})
    return seen


@pytest.mark.parametrize("fresh", [True, False])
def test_contexts_are_drawn_as_the_paper_says(fresh: bool) -> None:
    seen = moments(Contextual(items=6, positions=3, dimension=4, length=2.0, fresh=fresh), 20)
    for moment in seen:
        np.testing.assert_allclose(np.linalg.norm(moment["features"], axis=1), 1.0)
        np.testing.assert_allclose(np.linalg.norm(moment["weights"]), 2.0)
        expected = 1.0 / (1.0 + np.exp(-moment["features"] @ moment["weights"]))
        np.testing.assert_allclose(moment["attraction"], expected)
        assert moment["places"].tolist() == np.argsort(-moment["termination"]).tolist()
        assert np.array_equal(moment["weights"], seen[0]["weights"])
    assert np.array_equal(seen[0]["features"], seen[1]["features"]) != fresh
    assert not np.array_equal(seen[0]["termination"], seen[1]["termination"])
    assert seen[-1]["revisions"][0] == (20 if fresh else 1)
    directions = np.array([moment["features"] for moment in moments(Contextual(fresh=True), 200)]).reshape(-1, 10)
    assert np.all(np.abs(directions.mean(axis=0)) < 5 / np.sqrt(10 * len(directions)))


def test_the_best_list_puts_the_most_attractive_where_people_leave() -> None:
    world = Contextual(items=5, positions=3, dimension=2).checked()
    moment, users = world.begin(), ChangingDCM().prepare(Problem(5, 3))
    for step in range(10):
        world.advance(moment, step, 3)
        items, attraction = np.zeros(3, dtype=np.int64), np.zeros(3)
        world.best_list(moment, users, items)
        world.attract(moment, items, attraction)
        best = users.reward(moment, items, attraction)
        everything = [
            1.0 - np.prod(1.0 - moment.termination * moment.attraction[list(some)])
            for some in itertools.permutations(range(5), 3)
        ]
        assert best == pytest.approx(max(everything))
