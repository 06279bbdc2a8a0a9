"""Hidden items are in no list, but what was learned of them stays; and features that change."""

from pathlib import Path

import pytest

from toplist import InvalidInput, Ranker

ITEMS = ["a", "b", "c", "d"]


def ranker(policy: str = "cascade-ucb1", positions: int = 2) -> Ranker:
    return Ranker(ITEMS, positions, policy, seed=1, compiled=False)


def test_a_hidden_item_is_in_no_list_until_it_is_shown_again() -> None:
    ours = ranker(positions=4)
    ours.hide("b")
    assert (ours.hidden, set(ours.items)) == (["b"], set(ITEMS))
    assert set(ours.rank()) == {"a", "c", "d"}
    assert set(ours.rank(among=["a", "b"])) == {"a"}
    assert set(ours.rank(exclude=["a"])) == {"c", "d"}
    ours.hide(["c", "d"])
    assert ours.rank().items == ("a",)
    ours.unhide(["b", "c"])
    assert set(ours.rank()) == {"a", "b", "c"}


def test_late_clicks_on_a_hidden_item_are_learned() -> None:
    ours = ranker(positions=4)
    shown = ours.rank()
    ours.hide("b")
    ours.learn(shown, clicks=["b"])
    assert ours.estimates()["b"]["mean"] == 1.0
    assert len(ours.explain(shown)) == 4


def test_a_hidden_item_cannot_be_pinned_and_a_removed_one_comes_back_visible() -> None:
    ours = ranker()
    ours.hide("b")
    with pytest.raises(InvalidInput, match="pins is 'b', but must be items that are not hidden"):
        ours.rank(pins={1: "b"})
    ours.remove("b")
    ours.add("b")
    assert ours.hidden == []
    assert "b" in ours.rank(pins={1: "b"})


def test_hidden_items_are_saved(tmp_path: Path) -> None:
    ours = ranker()
    ours.hide(["d", "a"])
    ours.save(tmp_path / "ranker.npz")
    again = Ranker.load(tmp_path / "ranker.npz", compiled=False)
    assert again.hidden == ["a", "d"]
    assert set(again.rank()) == {"b", "c"}


def test_unknown_items_and_policies_that_show_everything_are_refused() -> None:
    with pytest.raises(InvalidInput, match="perhaps you mean"):
        ranker().hide("aa")
    with pytest.raises(InvalidInput, match="always shows all of its items"):
        ranker("batch-rank(steps=100)").hide("a")


def test_changed_features_apply_to_later_lists() -> None:
    rows = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.0, 0.5]}
    ours = Ranker(rows, positions=1, policy="cascade-lin-ucb", features=rows, compiled=False)
    shown = ours.rank(among=["a"])
    ours.change("a", features=[0.0, 0.25])
    ours.learn(shown, clicks=[1])
    weights = [row["weight"] for row in ours.preferences()]
    assert weights[0] > 0.0 == weights[1]  # by the features that the list was made with
    ours.learn(ours.rank(among=["a"]), clicks=[1])
    assert ours.preferences().rows()[1]["weight"] > 0.0
    with pytest.raises(InvalidInput, match="2 finite numbers"):
        ours.change("a", features=[1.0])
    with pytest.raises(InvalidInput, match="does not use features"):
        ranker().change("a", features=[1.0])
