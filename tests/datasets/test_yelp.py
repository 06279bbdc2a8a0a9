"""Yelp as JSON and as a graph: both give the same ratings, and errors of damaged files."""

import json
from pathlib import Path

import numpy as np
import pytest
from damage import Damage, cut, end, put, without

from toplist.core.problem import InvalidInput
from toplist.datasets import generated, yelp
from toplist.datasets.ratings import synthetic_ratings

SYNTHETIC = synthetic_ratings(people=30, items=25, topics=6, seed=3)
REVIEWS, BUSINESSES = "yelp_academic_dataset_review.json", "yelp_academic_dataset_business.json"
GRAPH, CATEGORIES = "user_business.dat.gz", "business_category.dat.gz"


def test_the_graph_as_it_is_written(tmp_path: Path) -> None:
    generated.write("yelp-graph", tmp_path, SYNTHETIC)
    found = yelp.read(tmp_path)
    assert all(map(np.array_equal, found[:3], SYNTHETIC[:3]))
    for number, topics in SYNTHETIC.topics.items():  # Topic 4 is the fourth
        assert set(found.topics[number]) == {topic.removeprefix("Topic ") for topic in topics}
    assert (found.least, found.unit) == (4.0, "stars")


def test_the_academic_files_as_they_are_written(tmp_path: Path) -> None:
    """Users are numbered in order of appearance, businesses in the order of their file, here by their numbers."""
    generated.write("yelp", tmp_path, SYNTHETIC)
    found = yelp.read(tmp_path)
    assert all(map(np.array_equal, found[:3], SYNTHETIC[:3]))
    assert found.topics == SYNTHETIC.topics
    assert found.names[4] == "Generated business 4"
    for old in (REVIEWS, BUSINESSES):
        (tmp_path / old).rename(tmp_path / old.removeprefix(yelp.PREFIX))
    assert all(map(np.array_equal, yelp.read(tmp_path)[:3], SYNTHETIC[:3]))


def test_categories_of_all_releases(tmp_path: Path) -> None:
    """A text with commas, a list, null, or nothing; the last line may lack its end."""
    given = [
        {"business_id": "x", "name": "A", "categories": "Restaurants, Thai,  Food"},
        {"business_id": "y", "name": "B", "categories": ["Restaurants", "Bars"]},
        {"business_id": "z", "name": "C", "categories": None},
        {"business_id": "w", "name": "D"},
    ]
    (tmp_path / "business.json").write_text("\n".join(map(json.dumps, given)))
    reviews = [("p", "x", 4.0), ("p", "y", 5), ("q", "z", 1), ("q", "x", 3), ("p", "x", 1)]
    lines = [json.dumps({"user_id": a, "business_id": b, "stars": c, "text": 'stars": 9'}) for a, b, c in reviews]
    (tmp_path / "review.json").write_text("\n".join(lines))
    found = yelp.read(tmp_path)
    assert found.topics == {1: ("Restaurants", "Thai", "Food"), 2: ("Restaurants", "Bars"), 3: (), 4: ()}
    assert [each.tolist() for each in found[:3]] == [[1, 1, 2, 2, 1], [1, 2, 3, 1, 1], [4, 5, 1, 3, 1]]
    assert str(found) == "5 ratings of 3 items by 2 people; 2 items in 4 topics; 2 with 4 stars or more"
    eaten = yelp.read(tmp_path, within="Restaurants")
    assert eaten.topics == {1: ("Thai", "Food"), 2: ("Bars",)}
    assert eaten.item.tolist() == [1, 2, 1, 1]
    assert eaten.names == {1: "A", 2: "B"}
    with pytest.raises(InvalidInput, match=r"The category is 'Restaurant', but .*; perhaps you mean 'Restaurants'"):
        yelp.read(tmp_path, within="Restaurant")


def review(business: object, stars: object) -> Damage:
    """Append a review."""
    return end(REVIEWS, json.dumps({"user_id": "u1", "business_id": business, "stars": stars}) + "\n")


@pytest.mark.parametrize(
    ("layout", "damage", "message"),
    [
        ("yelp", without(BUSINESSES), "must be one with business.json or yelp_academic_dataset_business.json"),
        ("yelp", without(REVIEWS), "must be one with user_business.dat or review.json or yelp_academic_dataset_review"),
        ("yelp", cut(REVIEWS, 9), r"Line \d+ of .*review.json is '.*', but must be one line of JSON"),
        ("yelp", put(REVIEWS, ""), "review.json is empty"),
        ("yelp", put(REVIEWS, "[1, 2]\n"), r"Line 1 of .*review.json is '\[1, 2\]', but must be {\"user_id\": text"),
        ("yelp", review("b1", 6), "is \"6 stars by 'u1' on 'b1'\", but"),
        ("yelp", review("b1", None), "None stars by 'u1' on 'b1'\", but"),
        ("yelp", review([], 5), "is \"5 stars by 'u1' on \\[\\]\", but"),
        ("yelp", review("?", 5), "on business '\\?', which is not"),
        ("yelp", end(BUSINESSES, '{"business_id": 5}\n'), "is '5 with categories None', but must be"),
        ("yelp", end(BUSINESSES, '{"business_id": "c", "categories": 5}\n'), "with categories 5\", but must be"),
        ("yelp-graph", without(CATEGORIES), "must be one with business_category.dat"),
        ("yelp-graph", cut(GRAPH, 9), "user_business.dat.gz is truncated or damaged"),
        ("yelp-graph", end(GRAPH, "1\t2\t6\n"), r"user_business.dat.gz is '1\\t2\\t6', but must be user"),
        ("yelp-graph", end(CATEGORIES, "1\t2\t0\n"), r"category.dat.gz is '1\\t2\\t0', but .* the last is 1"),
        ("yelp-graph", end(CATEGORIES, "1\tThai\t1\n"), r"category.dat.gz is '1\\tThai\\t1', but must be business"),
    ],
)  # fmt: skip
def test_damage_gives_a_clear_error(layout: str, damage: Damage, message: str, tmp_path: Path) -> None:
    generated.write(layout, tmp_path, SYNTHETIC)
    damage(tmp_path)
    with pytest.raises(InvalidInput, match=message) as caught:
        yelp.read(tmp_path)
    assert str(caught.value).endswith("unpack or copy the data again.")
    assert "\n" not in str(caught.value)
