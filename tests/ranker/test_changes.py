"""The changes that a ranker reports."""

from pathlib import Path

import pytest

from toplist import Ranker
from toplist.core.problem import InvalidInput
from toplist.parts.detectors import GLR
from toplist.parts.feedback import EveryPlace
from toplist.parts.index import KLUCB
from toplist.parts.memory import Resetting
from toplist.policies import Ranked


def visit(ranker: Ranker, liked: str, lists: int) -> None:
    """Visitors who click one item and nothing else, one per list."""
    for _ in range(lists):
        shown = ranker.rank()
        ranker.learn(shown, clicks=[liked] if liked in shown.items else [])


def test_changes_are_reported_with_their_list_item_and_mean(tmp_path: Path) -> None:
    ranker = Ranker(["tea", "milk"], positions=2, policy="cascade-kl-ucb-resetting", seed=1)
    visit(ranker, "tea", 200)
    assert len(ranker.changes()) == 0
    assert str(ranker.changes()).startswith("0 changes found")
    visit(ranker, "nothing", 40)
    found = ranker.changes().rows()
    assert [change["item"] for change in found] == ["tea"]
    assert 200 < found[0]["list"] < 220
    assert found[0]["mean until then"] > 0.9
    assert ranker.estimates()["tea"]["mean"] == 0.0
    ranker.save(tmp_path / "ranker")
    again = Ranker.load(tmp_path / "ranker")
    assert again.changes().rows() == found
    for each in (again, ranker):
        visit(each, "tea", 100)
    assert again.changes().rows() == ranker.changes().rows() != found


def test_a_change_keeps_the_name_the_item_had() -> None:
    ranker = Ranker(["tea", "milk"], positions=1, policy="cascade-kl-ucb-resetting", seed=1)
    visit(ranker, "tea", 200)
    visit(ranker, "nothing", 60)
    assert [change["item"] for change in ranker.changes()] == ["tea"]
    ranker.remove("tea")
    ranker.add("water")
    visit(ranker, "water", 20)
    assert [change["item"] for change in ranker.changes()] == ["tea"]


def test_ranked_bandits_report_the_item_of_an_arm() -> None:
    policy = Ranked(EveryPlace(), Resetting(GLR()), KLUCB())
    ranker = Ranker(["tea", "milk", "water"], positions=2, policy=policy, seed=1, compiled=False)
    visit(ranker, "water", 200)
    visit(ranker, "nothing", 60)
    assert [change["item"] for change in ranker.changes()] == ["water"]


def test_a_change_makes_the_policy_forget_everything() -> None:
    ranker = Ranker(["tea", "milk"], positions=2, policy="cascade-kl-ucb-resetting", seed=1)
    visit(ranker, "tea", 200)
    visit(ranker, "nothing", 30)
    change = ranker.changes().rows()[0]
    since = 230 - change["list"]
    # In that list, the item below was learned after the reset.
    assert sum(item["examined"] for item in ranker.estimates()) == 2 * since + 1
    assert ranker.belief.clock[0] == since


def test_a_change_makes_the_policy_forget_one_item_if_asked() -> None:
    ranker = Ranker(["tea", "milk"], positions=2, policy="cascade-kl-ucb-resetting(forgets=item)", seed=1)
    visit(ranker, "tea", 200)
    visit(ranker, "nothing", 30)
    (change,) = ranker.changes().rows()
    assert change["item"] == "tea"
    assert ranker.estimates()["tea"]["examined"] == 230 - change["list"]
    assert ranker.estimates()["milk"]["examined"] >= 30
    assert ranker.belief.clock[0] == 230


def test_a_policy_without_a_detector_refuses() -> None:
    with pytest.raises(InvalidInput, match="cascade-kl-ucb does not look for changes; use one with a Resetting memory"):
        Ranker(["tea"], positions=1, policy="cascade-kl-ucb").changes()
