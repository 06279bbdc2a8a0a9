"""Rankers whose items have integers as ids, beside texts that look like them."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toplist import InvalidInput, Ranker
from toplist.core.beliefs import array_bytes
from toplist.ranker import LoggedRanker
from toplist.ranker.labels import label
from toplist.ranker.list_positions import ListPositions
from toplist.ranker.logged_ranker import NO_LIMIT

TWINS: list[Any] = [1, "1", 2, "2", 3, "3"]


def plain_ranker(items: Any = TWINS, positions: int = 3, **more: Any) -> Ranker:
    return Ranker(items, positions, more.pop("policy", "cascade-ucb1"), compiled=False, **more)


def test_they_are_added_ranked_and_removed_beside_their_twins() -> None:
    ranker, nine = plain_ranker([7, "7"]), np.int64(9)
    new: list[Any] = ["8", nine]
    ranker.add(8)
    ranker.add(new)
    assert ranker.items == [7, "7", 8, "8", 9]
    assert [type(item) for item in ranker.items] == [int, str, int, str, int]
    ranker.hide(7)
    ranker.hide(["8"])
    assert ranker.hidden == [7, "8"]
    assert set(ranker.rank().items) == {"7", 8, 9}
    ranker.unhide([7, "8"])
    ranker.remove(8)
    assert ranker.items == [7, "7", "8", 9]
    assert (7 in ranker, "7" in ranker, 8 in ranker, 7.0 in ranker, True in ranker) == (True, True, False, False, False)
    assert set(ranker.rank(among=[7, "7", 9], exclude=[9], pins={2: 7}).items) == {7, "7"}
    pins: dict[int, Any] = {1: nine}
    assert ranker.rank(pins=pins)[0] == 9
    assert repr(ranker.adopt([9, "7"])).endswith(": 9, 7>")


def test_an_item_of_the_other_kind_is_suggested() -> None:
    ranker = plain_ranker([7, "8"])
    for wrong, meant in (("7", "7"), (8, "'8'")):
        with pytest.raises(InvalidInput, match=f"must be one of the ranker's items; perhaps you mean {meant}"):
            ranker.remove(wrong)
    others: list[Any] = [7.0, True, 10**30]
    for other in others:
        with pytest.raises(InvalidInput, match="must be one of the ranker's items"):
            ranker.rank(among=[other])


def test_they_have_random_numbers_of_their_own() -> None:
    assert len({label(id) for id in (7, "7", "\t7", 8)}) == 4


def test_features_by_integer() -> None:
    rows = {7: [1.0, 0.0], "7": [0.0, 1.0]}
    ranker = plain_ranker(list(rows), 2, policy="cascade-lin-ucb", features=rows)
    ranker.add(8, features=[0.5, 0.5])
    ranker.change(7, [0.0, 0.5])
    shown = ranker.rank(features={7: [0.1, 0.1], "7": [0.2, 0.2], 8: [0.3, 0.3]})
    ranker.learn(shown, clicks=[{"item": shown[0]}])
    assert ranker.learned == 1


@given(
    st.permutations(TWINS).map(lambda items: items[:3]),
    st.lists(st.sampled_from([1, 2, 3]), unique=True),
    st.booleans(),
)
def test_an_entry_says_whether_it_is_a_position_or_an_item(items: Any, places: list[int], by_item: bool) -> None:
    ranker, twin = plain_ranker(), plain_ranker(list("abcdef"))
    entries = [{"item": items[place - 1]} if by_item else {"position": place} for place in places]
    shares = [entry | {"probability": 0.5} for entry in entries]
    ranker.learn(ranker.adopt(items), clicks=entries, seen=shares)
    named = ["abcdef"[TWINS.index(item)] for item in items]
    twin.learn(twin.adopt(named), clicks=places, seen=dict.fromkeys(places, 0.5))
    assert array_bytes(ranker.belief) == array_bytes(twin.belief)


def test_a_number_is_a_position_or_an_item_but_not_both() -> None:
    listed = ListPositions([2, 1, 3, 40, "5"])
    assert [listed.find(given, "A click") for given in (3, 4, 5, 40, "5", np.int64(40))] == [3, 4, 5, 4, 5, 4]
    sentence = (
        'A click is 2, which is a position and also the item at position 1; write {"position": 2} or {"item": 2}.'
    )
    with pytest.raises(InvalidInput) as refused:
        listed.find(2, "A click")
    assert str(refused.value) == sentence
    for wrong in ({"item": 4}, {"position": 6}, {"item": 2, "position": 1}, {}, 41, 0, -1, True, 3.0, "2"):
        with pytest.raises(InvalidInput):
            listed.find(wrong, "A click")


def test_clicks_by_id_are_learned_for_the_right_item() -> None:
    ranker = plain_ranker([101, "101", 102], positions=2)
    for _ in range(30):
        shown = ranker.rank()
        ranker.learn(shown, clicks=[item for item in shown if item == "101"])
    estimates = ranker.estimates()
    assert estimates["101"]["mean"] == 1.0
    assert (estimates[101]["mean"], estimates[102]["mean"]) == (0.0, 0.0)
    assert "101     " in str(estimates)


def test_large_ids_are_printed_as_they_are() -> None:
    ranker = plain_ranker([1234567, 89], positions=1)
    ranker.learn(ranker.adopt([1234567]), clicks=[1])
    assert [line.split()[0] for line in str(ranker.estimates()).splitlines()[2:]] == ["89", "1234567"]
    assert "1234567" in str(ranker.explain(ranker.adopt([1234567])))


def test_files_pickles_slates_and_snapshots_keep_both(tmp_path: Path) -> None:
    ranker = plain_ranker()
    ranker.learn(ranker.rank(), clicks=[{"position": 1}])
    ranker.hide([2, "3"])
    late = ranker.rank()
    kept = late.as_dict()
    ranker.save(tmp_path / "ranker.npz")
    copies = [Ranker.load(tmp_path / "ranker.npz", compiled=False), copy.deepcopy(ranker)]
    following = ranker.rank().items
    for other in copies:
        assert (other.items, other.hidden) == (TWINS, [2, "3"])
        assert other.rank().items == following
    shown = ranker.shown(kept)
    assert shown.items == late.items
    ranker.learn(shown, clicks=[{"item": shown[0]}])


def test_detected_changes_name_the_item() -> None:
    ranker = plain_ranker([7, "7"], positions=1, policy="cascade-kl-ucb-resetting")
    for number in range(400):
        shown = ranker.adopt([7])
        ranker.learn(shown, clicks=[1] if number < 200 else [])
    rows = ranker.changes().rows()
    assert rows
    assert {row["item"] for row in rows} == {7}


def test_a_logged_ranker_is_rebuilt_with_both() -> None:
    def made() -> LoggedRanker:
        return LoggedRanker(TWINS, 3, "cascade-ucb1", 1, open_slates=NO_LIMIT, name="both", compiled=False)

    live, replayed = made(), made()
    for number in range(20):
        items, record = live.make(exclude=[1])
        live.settle(record, [1 + number % 3])
        replayed.learn(replayed.recall(items, record), [{"position": 1 + number % 3}])
    assert replayed.to_bytes() == live.to_bytes()
    back = LoggedRanker.from_bytes(live.to_bytes(), "cascade-ucb1", "both", compiled=False)
    assert (back.items, back.to_bytes()) == (TWINS, live.to_bytes())
