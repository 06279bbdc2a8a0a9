"""Families of rankers: segments apart, items together, and a new segment that begins with what the others know."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist import InvalidInput, Prior, Ranker, Rankers
from toplist.core.beliefs import array_bytes
from toplist.ranker import ForeignSlate

ITEMS = ["tea", "coffee", "milk", "water", "wine"]


def family(policy: Any = "dcm-ts", positions: int = 2, **more: Any) -> Rankers:
    return Rankers(ITEMS, positions, policy, compiled=False, name="bar", **more)


def teach(rankers: Rankers, segment: Any, rates: dict[str, float], lists: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(lists):
        shown = rankers.rank(segment)
        rankers.learn(segment, shown, [item for item in shown if rng.uniform() < rates.get(item, 0.0)])


def test_segments_learn_apart() -> None:
    rankers = family("cascade-kl-ucb", pool="none")
    teach(rankers, "monday", {"milk": 0.9}, 80)
    teach(rankers, "friday", {"wine": 0.9}, 80)
    assert [rankers.rank(segment)[0] for segment in ("monday", "friday")] == ["milk", "wine"]
    assert rankers.segments() == ["monday", "friday"]
    assert "friday" in rankers
    assert "sunday" not in rankers
    assert [len(rankers), list(rankers)] == [2, ["monday", "friday"]]
    assert rankers["monday"].learned == 80
    assert rankers.explain("monday", rankers.rank("monday")).rows()[0]["item"] == "milk"
    with pytest.raises(ForeignSlate):
        rankers.learn("friday", rankers.rank("monday"), ())


def test_without_a_pool_each_is_a_ranker_with_a_seed_of_its_own() -> None:
    rankers = family(pool="none", seed=5)
    plain = Ranker(ITEMS, 2, "dcm-ts", 5, compiled=False)
    assert [rankers.rank(None).items for _ in range(20)] == [plain.rank().items for _ in range(20)]
    lists = {segment: [rankers.rank(segment).items for _ in range(20)] for segment in ("a", "b", 7, "7")}
    assert len({str(several) for several in lists.values()}) == 4


def test_a_new_segment_begins_with_the_means_of_all_others() -> None:
    rankers = family(pool_strength=50.0)
    for segment in ("a", "b"):
        for _ in range(200):
            rankers.learn(segment, rankers.adopt(segment, ["tea", "milk"]), ["milk"])
    row = rankers.estimates("new")["milk"]
    assert row["mean"] == 1.0
    # 400 looks, half of them of each segment.
    rho = 1 / 51
    assert row["examined"] == pytest.approx(1 / (rho + (400 + rho * (2 * 200**2 - 400)) / 400**2) - 1)
    assert rankers.estimates("new")["wine"]["mean"] is None or np.isnan(rankers.estimates("new")["wine"]["mean"])
    assert rankers.rank("new").items != ()
    assert rankers.strength() == 50.0


def test_priors_are_not_taken_for_observations() -> None:
    rankers = family("dcm-kl-ucb", priors={"tea": (0.5, 50.0)}, prior_mean=0.3, prior_strength=20.0)
    for segment in range(5):
        assert rankers.rank(segment).items
    assert rankers.estimates(4)["tea"]["examined"] == 50.0
    assert rankers.estimates(4)["milk"]["examined"] == 20.0
    teach(rankers, 0, {"tea": 1.0}, 30)
    assert rankers.estimates("new")["tea"]["mean"] > 0.5


def test_the_strength_is_learned_from_how_much_segments_differ() -> None:
    alike, different = family("dcm-kl-ucb"), family("dcm-kl-ucb")
    for segment in range(12):
        rates = dict.fromkeys(ITEMS, 0.3)
        teach(alike, segment, rates, 150, seed=segment)
        teach(different, segment, rates | {ITEMS[segment % 5]: 0.9}, 150, seed=segment)
    assert alike.strength() > 100.0
    assert different.strength() < 15.0


def test_items_change_for_all_segments() -> None:
    rankers = family("cascade-kl-ucb")
    teach(rankers, "a", {"milk": 0.9}, 50)
    rankers.add(["beer", "rum"], priors={"beer": (0.1, 20)})
    rankers.hide("wine")
    rankers.remove(["coffee"])
    assert rankers.items == ["tea", "milk", "water", "wine", "beer", "rum"]
    for segment in ("a", "new"):
        assert set(rankers[segment].items) == set(rankers.items)
        assert rankers[segment].hidden == ["wine"]
    assert rankers.estimates("a")["beer"]["examined"] < 20.0  # milk was always clicked, which makes the level high
    assert 0.0 < rankers.estimates("new")["beer"]["examined"] < 20.0
    assert rankers.estimates("new")["milk"]["mean"] > 0.8
    rankers.unhide(["wine"])
    assert rankers["a"].hidden == rankers["new"].hidden == []
    with pytest.raises(InvalidInput, match="already"):
        rankers.add(["gin", "tea"])
    assert "gin" not in rankers["a"]
    with pytest.raises(InvalidInput):
        rankers.remove("gin")


def test_features_are_shared() -> None:
    rows = {item: [float(n), 1.0] for n, item in enumerate(ITEMS)}
    with pytest.warns(UserWarning, match="divided"):
        rankers = family("cascade-lin-ucb", features=rows)
    rankers.add("beer", features=[3.0, 2.0])
    rankers.change("tea", [4.0, 0.0])
    with pytest.warns(UserWarning, match="divided"):
        assert len(rankers.rank("a")) == 2
    with pytest.raises(InvalidInput, match="cannot pool segments, since it has a memory that cannot add up"):
        family("gl-cdcm", features=rows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pool": "all"}, "pool is 'all', but must be 'none' or 'prior'"),
        ({"pool_strength": -1}, "pool_strength is -1"),
        ({"policy": "ranked-exp3(exploration=0.1)"}, "since it takes no priors of items"),
        ({"policy": "cascade-swucb(tau=10)"}, "since it forgets, but what is pooled is kept for ever"),
        ({"positions": 0}, "The number of positions is 0"),
    ],
)
def test_wrong_families_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        family(**given)


def test_wrong_segments_are_refused() -> None:
    rankers = family()
    with pytest.raises(InvalidInput, match=r"The segment is 1\.5"):
        rankers.rank(1.5)  # type: ignore[arg-type]
    assert 1.5 not in rankers
    assert len(rankers) == 0


def test_the_former_name_of_a_segment_is_accepted() -> None:
    rankers: Any = family("cascade-ucb1")
    shown = rankers.rank(key="monday", positions=1)
    rankers.learn(key="monday", shown=rankers.shown(key="monday", kept=shown.as_dict()), clicks=[1])
    assert rankers["monday"].learned == 1
    rankers.learn("monday", rankers.adopt(key="monday", items=["milk"]), clicks=[1])
    assert rankers.estimates(key="monday").rows() == rankers.estimates(segment="monday").rows()
    assert rankers.explain(key="monday", shown=rankers.rank("monday")).rows()[0]["item"] in ITEMS
    assert rankers.keys() == rankers.segments() == ["monday"]
    with pytest.raises(TypeError, match="segment"):
        rankers.rank("monday", key="friday")


@pytest.mark.parametrize("way", ["file", "pickle"])
def test_a_family_goes_on_where_it_was_saved(way: str, tmp_path: Path) -> None:
    rankers = family(priors={"milk": (0.4, 30.0)}, new_per_list=1)
    for segment in ("a", 7, None):
        teach(rankers, segment, {"milk": 0.6, "tea": 0.3}, 40)
    rankers.add("beer")
    if way == "file":
        rankers.save(tmp_path / "bar.npz")
        header = json.loads(np.load(tmp_path / "bar.npz")["header"].tobytes())
        assert header["keys"] == ["a", 7, None]  # as in older files
        again = Rankers.load(tmp_path / "bar.npz", compiled=False)
    else:
        again = pickle.loads(pickle.dumps(rankers))
    assert again.segments() == rankers.segments()
    assert repr(again) == repr(rankers) == "<Rankers bar: 3 segments, 6 items>"
    assert again.strength() == rankers.strength()
    for segment in ("a", 7, None, "new", "newer"):
        assert [again.rank(segment).items for _ in range(10)] == [rankers.rank(segment).items for _ in range(10)]
        teach(again, segment, {"milk": 0.6}, 10, seed=3)
        teach(rankers, segment, {"milk": 0.6}, 10, seed=3)
        assert array_bytes(again[segment].belief) == array_bytes(rankers[segment].belief)


def test_a_list_can_be_kept_as_a_dict() -> None:
    rankers = family()
    shown = rankers.rank("a")
    rankers.learn("a", rankers.shown("a", shown.as_dict()), clicks=[1])
    assert rankers["a"].learned == 1


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    Ranker(ITEMS, 2, "dcm-ts", compiled=False).save(tmp_path / "one.npz")
    with pytest.raises(InvalidInput, match=r"not rankers; give a file that Rankers\.save wrote"):
        Rankers.load(tmp_path / "one.npz")
    rankers = family()
    rankers.save(tmp_path / "bar.npz")
    with pytest.raises(InvalidInput, match="not a ranker"):
        Ranker.load(tmp_path / "bar.npz")
    with pytest.raises(InvalidInput, match="another policy"):
        Rankers.load(tmp_path / "bar.npz", policy="dcm-kl-ucb")
    assert isinstance(toplist.Prior(0.1, 2.0), Prior)
