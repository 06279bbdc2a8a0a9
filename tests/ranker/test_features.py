"""Rankers whose items have features: given once, added later, per call, joined with a visitor's, and refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from toplist import InvalidInput, Ranker
from toplist.core.beliefs import array_bytes

FILMS = {
    "alien": [0.9, 0.0, 0.0],
    "solaris": [0.8, 0.1, 0.0],
    "heat": [0.0, 0.9, 0.0],
    "ronin": [0.0, 0.8, 0.0],
    "amelie": [0.0, 0.0, 0.9],
}


def ranker(policy: str = "cascade-lsb", features: Any = None, **more: Any) -> Ranker:
    return Ranker(FILMS, 3, policy, features=FILMS if features is None else features, compiled=False, **more)


def test_lists_are_diverse_and_say_why() -> None:
    films = ranker()
    for _ in range(60):
        shown = films.rank()
        films.learn(shown, clicks=[item for item in shown if item in ("alien", "solaris")][:1])
    shown = films.rank()
    topics = [int(np.argmax(FILMS[item])) for item in shown]
    assert len(set(topics)) == 3
    assert topics[0] == 0
    first = films.explain(shown).rows()[0]
    assert first["why"] == f"adds most to those above: topic 1 by {FILMS[shown[0]][0]:.2f}"
    assert first["index"] == pytest.approx(first["mean"] + first["bonus"])
    weights = films.preferences()
    assert weights[1]["weight"] == max(row["weight"] for row in weights)
    assert weights[1]["weight"] == pytest.approx(1.0, abs=0.35)
    assert all(row["deviation"] > 0 for row in weights)


def test_dense_sparse_and_named_rows_are_the_same() -> None:
    rows = np.array(list(FILMS.values()))
    lists = [
        [ranker(features=features).rank().items for _ in range(3)]
        for features in (
            FILMS,
            rows,
            rows.tolist(),
            sparse.csr_array(rows),
            [sparse.csr_array(row) for row in rows[:, None]],
        )
    ]
    assert all(some == lists[0] for some in lists)


def test_items_with_features_are_added_and_removed() -> None:
    films = ranker("cascade-lin-ucb(alpha=1)")
    for _ in range(30):
        films.learn(films.rank(), clicks=["heat"] if "heat" in films.rank() else [])
    for _ in range(40):
        films.learn(films.adopt(["heat", "ronin"]), clicks=["heat"])
    films.add("matrix", features=[0.0, 0.95, 0.0])
    films.add(["up", "big"], features={"up": [0, 0, 0.1], "big": [0, 0, 0.2]})
    films.remove("alien")
    row = films.estimates()["matrix"]
    assert row["mean"] == pytest.approx(0.95 * films.preferences()[2]["weight"])
    assert films.estimates()["heat"]["high"] - films.estimates()["heat"]["low"] < 1.0
    assert row["low"] < row["mean"] < row["high"]
    assert films.rank(among=["matrix", "amelie", "up"])[0] == "matrix"
    with pytest.raises(InvalidInput, match="give a row for every new item"):
        films.add("jaws")
    assert "jaws" not in films


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.1, 0.2], "must be 3 finite numbers; give one number per feature, not 2"),
        ([0.1, 0.2, np.nan], "one of them is not finite"),
        ([0.1, 0.2, np.inf], "one of them is not finite"),
        ("abc", "must be 3 finite numbers"),
        ([], "must be 3 finite numbers"),
        ([0.1, 0.2, 1.5], r"numbers in \[0, 1\]"),
        ([0.1, 0.2, -0.5], r"numbers in \[0, 1\]"),
    ],
)
def test_wrong_features_change_nothing(row: Any, message: str) -> None:
    films = ranker()
    before = array_bytes(films.belief)
    with pytest.raises(InvalidInput, match=message):
        films.add("jaws", features=row)
    with pytest.raises(InvalidInput, match=message):
        films.rank(features={"heat": row})
    assert "jaws" not in films
    assert array_bytes(films.belief) == before
    assert films.rank().number == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": None}, r"The policy cascade-lin-ucb learns from features; give features="),
        ({"features": {"alien": [1, 0]}}, "features lacks the item 'solaris'"),
        ({"features": [[1.0, 0.0]]}, "The number of rows of features is 1, but must be 5, one per item"),
        ({"features": [[1.0], [1.0], [1.0], [1.0], [1.0, 2.0]]}, "features of 'amelie'"),
        ({"features": 7}, "must be a row per item"),
        ({"person": -1}, "person is -1"),
        ({"policy": "dcm-kl-ucb"}, "dcm-kl-ucb does not use features; leave them out"),
        ({"features": None, "person": 2}, "learns from features; give features="),
        ({"join": "sum"}, "must be 'concatenate' or 'outer'"),
    ],
)
def test_wrong_rankers_are_refused(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"features": FILMS, "policy": "cascade-lin-ucb"}
    with pytest.raises(InvalidInput, match=message):
        Ranker(FILMS, 3, **(given | arguments))


def test_policies_without_features_have_no_preferences() -> None:
    with pytest.raises(InvalidInput, match="learns about each item separately"):
        Ranker(list(FILMS), 3, "dcm-kl-ucb").preferences()


def test_norms_above_1_are_scaled_with_one_warning() -> None:
    large = {name: [10 * number for number in row] for name, row in FILMS.items()}
    with pytest.warns(UserWarning, match="Features are divided by 9, the largest norm among the items"):
        films = ranker("cascade-lin-ucb", features=large)
    films.add("jaws", features=[4.5, 0.0, 0.0])
    shown = films.rank(pins={1: "jaws"})
    assert shown.slate.rows[0].tolist() == [0.5, 0.0, 0.0]  # divided by 9, too
    topics = ranker("cascade-lsb", features={name: [1.0, 1.0, 1.0] for name in FILMS})  # degrees are never scaled
    assert topics.rank().slate.rows[0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("join", ["concatenate", "outer"])
def test_a_visitors_features_are_joined_with_the_items(join: str, tmp_path: Path) -> None:
    """Two kinds of visitors with opposite tastes: only the outer product can distinguish them."""
    films = ranker("cascade-lin-ucb(alpha=0.5)", person=2, join=join)
    tastes = {0: "alien", 1: "heat"}
    for visit in range(300):
        who = visit % 2
        shown = films.rank(person=np.eye(2)[who])
        films.learn(films.shown(shown.as_dict()), clicks=[tastes[who]] if tastes[who] in shown else [])
    x = films.rank(person=[1, 0]).slate.rows[0]
    assert len(x) == (5 if join == "concatenate" else 6)
    assert np.linalg.norm(x) <= 1.0 + 1e-12
    films.save(tmp_path / "films.npz")
    again = Ranker.load(tmp_path / "films.npz", compiled=False)
    for copy in (films, again):
        first = [copy.rank(person=np.eye(2)[who])[0] for who in (0, 1)]
        assert (first == ["alien", "heat"]) == (join == "outer")
    with pytest.raises(InvalidInput, match="This ranker needs the 2 features of a visitor; give person="):
        films.rank()
    with pytest.raises(InvalidInput, match="needs the 2 features of a visitor"):
        films.estimates()
    best = films.estimates(person=[1, 0]).rows()[0]["item"]
    assert best == films.rank(person=[1, 0])[0]
    assert films.explain(films.rank(person=[1, 0])).rows()[0]["why"] == "by its index"
    with pytest.raises(InvalidInput, match=r"person is .* must be 2 finite numbers"):
        films.rank(person=[1, 2, 3])
    with pytest.warns(UserWarning, match="norm above 1 are divided by their norm"):
        films.rank(person=[3, 4])
    with pytest.raises(InvalidInput, match="takes no features of visitors"):
        ranker().rank(person=[1, 0])
    with pytest.raises(InvalidInput, match="topics, which only items have"):
        ranker("cascade-lsb", person=2)


def test_features_of_one_call_hold_for_that_call_only() -> None:
    films = ranker("lr")
    for _ in range(60):
        films.learn(films.adopt(["amelie", "heat"]), clicks=["heat"])
    assert films.rank()[0] == "heat"
    assert films.rank(features={"amelie": [0.0, 1.0, 0.0], "heat": [0.0, 0.0, 0.0]})[0] == "amelie"
    assert films.rank()[0] == "heat"
    shown = films.adopt(["amelie"], features={"amelie": [0.0, 0.5, 0.0]})
    assert shown.slate.rows[0].tolist() == [0.0, 0.5, 0.0]
    with pytest.raises(InvalidInput, match="a mapping from items to rows"):
        films.rank(features=[[1, 0, 0]])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="An item of features is 'jaws'"):
        films.rank(features={"jaws": [1, 0, 0]})


def test_adopted_diverse_lists_are_learned_by_their_gains() -> None:
    films = ranker("lsb-greedy")
    shown = films.adopt(["alien", "solaris", "heat"])
    np.testing.assert_allclose(shown.slate.rows[1], [0.08, 0.1, 0.0], atol=1e-12)
    films.learn(shown, clicks=[3])
    assert films.preferences()[2]["weight"] > films.preferences()[1]["weight"]
