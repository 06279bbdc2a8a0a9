"""Problems made of ratings, small and synthetic ones, and the command that prints the share of attracted pairs."""

import re
from pathlib import Path

import numpy as np
import pytest

import toplist
from toplist.clicks import Cascade
from toplist.core.problem import InvalidInput
from toplist.datasets import generated, lastfm, million_song, movielens, yelp
from toplist.datasets.ratings import Ratings, synthetic_ratings
from toplist.experiments.hiranandani2019 import attraction_shares, ratings, ratio
from toplist.support.script import run_script

# Items 10, 20, 30 and 40, of which 40 is rated least; people 1 to 5, of whom 5 rates least.
BY_HAND = Ratings(
    person=np.array([1, 1, 1, 2, 2, 3, 3, 4, 4, 5]),
    item=np.array([10, 20, 30, 10, 20, 20, 30, 10, 30, 40]),
    value=np.array([5.0, 4.0, 5.0, 5.0, 5.0, 5.0, 3.0, 5.0, 2.0, 5.0]),
    topics={10: ("a",), 20: ("a", "b"), 30: ("b", "c"), 40: ("d",), 50: ("e",)},
)


def test_feedback_by_hand() -> None:
    """F and G of section 8.4: rows are people 1 to 4, columns items 10, 20, 30; two of three topics."""
    found = ratings.feedback(BY_HAND, items=3, people=4, topics=2)
    assert found.topics == ("a", "b")
    assert found.attracted.astype(int).tolist() == [[1, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert found.belongs.astype(int).tolist() == [[1, 0], [1, 1], [0, 1]]
    assert ratings.feedback(BY_HAND, items=3, people=4, topics=2, least=4.0).attracted[0].all()


def test_attraction_by_hand() -> None:
    """Four were attracted to topic a, three of them to item 10; three to topic b, two of them to 20 and one to 30."""
    found = ratings.feedback(BY_HAND, items=3, people=4, topics=2)
    expected = [[3 / 4, 0.0], [2 / 4, 2 / 3], [0.0, 1 / 3]]
    np.testing.assert_allclose(ratings.attraction(found.attracted, found.belongs), expected)


def test_a_topic_without_attraction() -> None:
    attracted, belongs = np.array([[True, False]]), np.array([[True, False], [False, True]])
    assert ratings.attraction(attracted, belongs).tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_preferences_by_hand() -> None:
    """Person 1 liked an item of a and one of b; 2 liked two of a and one of b; 3 one that is both; 4 one of a."""
    found = ratings.feedback(BY_HAND, items=3, people=4, topics=2)
    expected = [[1 / 2, 1 / 2], [2 / 3, 1 / 3], [1 / 2, 1 / 2], [1.0, 0.0]]
    np.testing.assert_allclose(ratings.preferences(found.attracted, found.belongs), expected)
    with_unattracted = np.vstack([found.attracted, [[False] * 3]])
    assert len(ratings.preferences(with_unattracted, found.belongs)) == 4


def test_a_problem_of_two_halves_by_hand() -> None:
    """Four people and three items, of which the last has no topic; whichever two are the test half, by hand.

    Persons 1 and 2 are attracted to items 10 and 20, person 3 to item 20 and to the one without a topic, and person 4
    to that one alone, so that nothing is known of what person 4 prefers.
    """
    given = Ratings(
        person=np.array([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]),
        item=np.array([10, 20, 30] * 4),
        value=np.array([9.0, 7.0, 1.0, 8.0, 7.0, 6.0, 1.0, 7.0, 9.0, 2.0, 3.0, 9.0]),
        topics={10: ("a",), 20: ("a", "b")},
        least=7.0,
        unit="plays",
    )
    found = ratings.feedback(given, items=3, people=4, topics=2)
    assert found.attracted.astype(int).tolist() == [[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]]
    assert found.belongs.astype(int).tolist() == [[1, 0], [1, 1], [0, 0]]
    # Per pair of people: how far items 10 and 20 cover a, how far 20 covers b, and what those of the pair prefer.
    liked = [[2 / 3, 1 / 3], [2 / 3, 1 / 3], [1 / 2, 1 / 2]]
    by_hand = {
        (0, 1): (1.0, 1.0, 1.0, [liked[0], liked[1]]),
        (0, 2): (0.5, 1.0, 1.0, [liked[0], liked[2]]),
        (0, 3): (1.0, 1.0, 1.0, [liked[0]]),
        (1, 2): (0.5, 1.0, 1.0, [liked[1], liked[2]]),
        (1, 3): (1.0, 1.0, 1.0, [liked[1]]),
        (2, 3): (0.0, 1.0, 1.0, [liked[2]]),
    }
    seen = set()
    for seed in range(40):
        train, test = (tuple(half.tolist()) for half in ratings.split_people(4, seed))
        seen.add(test)
        world = ratings.world(found, positions=2, seed=seed).checked()
        ten, twenty, other, tastes = by_hand[test]
        np.testing.assert_allclose(world.topics, [[ten, 0.0], [twenty, other], [0.0, 0.0]])
        np.testing.assert_allclose(world.preferences, tastes)
        ten, twenty, other, _ = by_hand[train]
        np.testing.assert_allclose(world.known, [[ten, 0.0], [twenty, other], [0.0, 0.0]])
    assert seen == set(by_hand)


def test_a_half_that_nothing_attracted_is_refused() -> None:
    found = ratings.feedback(BY_HAND, items=3, people=4, topics=2, least=6.0)
    with pytest.raises(InvalidInput, match="The feedback is '0 pairs of person and item that attracted', but must be"):
        ratings.world(found, positions=2, seed=0)


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        *((layout, "movielens") for layout in ("ml-1m", "ml-1m-csv", "ml-100k", "ml-latest")),
        *(("million-song", "million-song"), ("lastfm", "lastfm"), ("yelp", "yelp"), ("yelp-graph", "yelp")),
    ],
)
def test_every_data_set_becomes_a_problem_and_tells_its_share(layout: str, name: str, tmp_path: Path) -> None:
    """Plays are made of stars, so that five of either attract the same pairs; Yelp's four attract more."""
    given = synthetic_ratings(people=60, items=50, topics=8, seed=0)
    generated.write(layout, tmp_path, given)
    read = {"movielens": movielens, "million-song": million_song, "lastfm": lastfm, "yelp": yelp}[name].read
    found = ratings.feedback(read(tmp_path), items=50, people=60, topics=6)
    share = (given.value >= (4 if name == "yelp" else 5)).sum() / (50 * 60)
    assert found.attracted.mean() == pytest.approx(share)
    world = ratings.world(found, positions=4, seed=0).checked()
    result = toplist.simulate(["best"], world, Cascade(), steps=5, runs=1)
    assert result.mean("best")[-1] == 0.0
    lines: list[str] = []
    assert attraction_shares.main([f"--{name}", str(tmp_path), "--pool", "50"], lines.append) == 0
    assert "ratings of 50 items by 60 people; 50 items in 8 topics" in lines[0]
    assert re.fullmatch(rf"{name} +[38-]%? +\d+\.\d\d%  [45] (stars|plays) or more", lines[2])


def test_shares_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        attraction_shares.main([])
    assert "name a folder with one of --movielens, --million-song, --lastfm, --yelp" in capsys.readouterr().err


def test_what_is_true_and_what_is_known_come_from_different_people() -> None:
    found = ratings.feedback(synthetic_ratings(seed=1), items=60, people=81, topics=10)
    train, test = ratings.split_people(81, seed=5)
    assert len(train) == 40
    assert sorted([*train, *test]) == list(range(81))
    assert ratings.split_people(81, seed=6)[0].tolist() != train.tolist()
    world = ratings.world(found, positions=4, seed=5).checked()
    np.testing.assert_array_equal(world.topics, ratings.attraction(found.attracted[test], found.belongs))
    np.testing.assert_array_equal(world.known, ratings.attraction(found.attracted[train], found.belongs))
    np.testing.assert_array_equal(world.preferences, ratings.preferences(found.attracted[test], found.belongs))
    np.testing.assert_allclose(world.preferences.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"items": 5}, "The number of items is 5, but must be at most 4"),
        ({"people": 6}, "The number of people is 6, but must be at most 5"),
        ({"topics": 4}, "The number of topics is 4, but must be at most 3"),
        ({"items": 0}, "The number of items is 0"),
    ],
)
def test_more_than_there_is(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ratings.feedback(BY_HAND, **({"items": 3, "people": 4, "topics": 2} | wrong))


def test_the_greedy_list_is_nearly_the_best_on_problems_made_of_ratings() -> None:
    """Section 8.1: on average above 0.99 for K = 1 to 4; two sets of made-up ratings, 40 people and 60 items each."""
    found: dict[int, list[float]] = {length: [] for length in ratio.PRINTED}
    for seed in (2, 3):
        feedback = ratings.feedback(synthetic_ratings(people=300, items=400, seed=seed), items=300, people=200)
        world = ratio.sample_world(ratings.world(feedback, 1, seed), items=60, people=40, seed=seed)
        assert world.topics.shape == (60, 18)
        assert len(world.preferences) == 40
        for length, each in found.items():
            each.extend(ratio.ratios(world, length).tolist())
    for length, each in found.items():
        assert 0.99 < np.mean(each) <= 1.0, length
        assert max(each) <= 1.0
    assert min(found[1]) == 1.0  # one item: the greedy list is the best
    assert min(found[4]) < 1.0  # of four items: not always


def test_commands_end_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script(lambda: attraction_shares.main(["--movielens", "/nowhere"])) == 2
    assert "must be a folder that holds MovieLens, or its zip file" in capsys.readouterr().err

    def interrupted() -> int:
        raise KeyboardInterrupt

    assert run_script(interrupted) == 130
    assert capsys.readouterr().err == "interrupted\n"
