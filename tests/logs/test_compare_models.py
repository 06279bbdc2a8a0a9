"""`toplist.fit`: models fitted to some lists of a log and compared on the others."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, FitProgress, ModelComparison, Prior, fit_model
from toplist.logs.comparison.holdout import held_out_lists
from toplist.logs.comparison.paired import paired_difference
from toplist.logs.models import MODELS


def made_log(lists: int = 240, seed: int = 0) -> ClickLog:
    """Visitors read from the top, stop after half of their clicks, and like a, c, e, ... in this order."""
    chance = np.random.default_rng(seed)
    attraction = np.array([0.6, 0.1, 0.5, 0.15, 0.3])
    items, clicked = [], []
    for _ in range(lists):
        shown = chance.permutation(5)[:3]
        places = []
        for place, item in enumerate(shown):
            if chance.random() < attraction[item]:
                places.append(place + 1)
                if chance.random() < 0.5:
                    break
        items.append(["abcde"[item] for item in shown])
        clicked.append(places)
    return ClickLog.from_lists(
        ["q", "r"] * (lists // 2), items, clicked,
        time=list(range(lists)), visitors=(np.arange(lists) // 3).tolist(),
    )  # fmt: skip


@pytest.fixture(scope="module")
def comparison() -> ModelComparison:
    return toplist.fit(made_log(), ["global-ctr", "dcm", "cascade"], seed=3)


def test_the_table_has_what_a_fit_and_scores_by_hand_give(comparison: ModelComparison) -> None:
    log = made_log()
    held = held_out_lists(log, "random", 0.25, 3)
    fitted = fit_model(log.take(~held), "dcm")
    row = comparison.table()["dcm"]
    test = log.take(held)
    given = fitted.predict(test).given
    by_hand = np.log(np.where(test.click > 0, given, 1 - given)).sum() / len(test)
    assert row["per list"] == pytest.approx(by_hand, rel=1e-9)
    assert row["parameters"] == fitted.parameters
    assert row["impossible"] == 0
    assert comparison.main.fitted_lists + comparison.main.held_lists == len(log)
    assert [each["model"] for each in comparison.table()] == ["dcm", "global-ctr", "cascade"]  # the best first
    assert comparison.best == "dcm"


def test_differences_are_paired_by_visitor(comparison: ModelComparison) -> None:
    main = comparison.main
    one, best = main.per_list("global-ctr"), main.per_list("dcm")
    found = main.differences()
    assert found["dcm"].mean == 0
    assert found["global-ctr"] == paired_difference(one, best, main.weight, main.visitor)
    assert found["global-ctr"] != paired_difference(one, best, main.weight)
    assert found["global-ctr"].high < 0
    assert main.best() == ["dcm"]


def test_a_model_with_impossible_lists_is_compared_up_to_the_first_click(comparison: ModelComparison) -> None:
    assert comparison.main.has_impossible()
    assert comparison.table()["cascade"]["per list"] == -math.inf
    first = comparison.first_click_table()
    assert math.isfinite(first["cascade"]["per list"])
    # Up to the first click the cascade and the dependent click model are the same model.
    assert first["cascade"]["against best"] == pytest.approx(first["dcm"]["against best"], abs=0.02)
    text = str(comparison)
    assert "Up to the first click" in text
    assert "lists probability 0; compare it up to the first click" in text
    assert str(toplist.fit(made_log(60), "dcm", drift=False)).count("Up to the first click") == 0


def test_times_give_a_second_split_and_drift(comparison: ModelComparison) -> None:
    assert list(comparison.splits) == ["random", "time"]
    late = comparison.splits["time"]
    assert late.rows.tolist() == list(range(180, 240))
    drift = comparison.drift_table()
    assert drift is not None
    both = np.intersect1d(late.rows, comparison.main.rows)
    per_list = {
        name: dict(zip(split.rows, split.per_list("dcm"), strict=True)) for name, split in comparison.splits.items()
    }
    by_hand = np.mean([per_list["time"][row] - per_list["random"][row] for row in both])
    assert drift["dcm"]["per list"] == pytest.approx(by_hand)
    assert drift["dcm"]["low"] < 0 < drift["dcm"]["high"]  # visitors did not change


def test_splits_by_choice() -> None:
    log = made_log(60)
    assert list(toplist.fit(log, "pbm", split="time").splits) == ["time"]
    assert list(toplist.fit(log, "pbm", drift=False).splits) == ["random"]
    assert list(toplist.fit(replace(log, time=None), "pbm").splits) == ["random"]
    everything = toplist.fit(log, "pbm", holdout=0)
    assert list(everything.splits) == ["in-sample"]
    assert everything.main.fitted_lists == everything.main.held_lists == 60
    fitted = everything.models["pbm"]
    assert everything.main.scores("pbm").log_likelihood == pytest.approx(fitted.log_likelihood, rel=1e-9)


def test_drift_is_seen() -> None:
    early, late = made_log(300, seed=1), made_log(300, seed=3)
    swap = np.array([1, 0, 3, 2, 4], dtype=np.int32)
    order = early.items.encode(["a", "b", "c", "d", "e"])
    codes = np.empty(5, dtype=np.int32)
    codes[late.items.encode(["a", "b", "c", "d", "e"])] = order[swap]  # tastes change in the middle
    log = ClickLog(
        early.queries, early.items, np.concatenate([early.query, late.query]),
        np.concatenate([early.start, late.start[1:] + early.start[-1]]),
        np.concatenate([early.item, codes[late.item]]), np.concatenate([early.click, late.click]),
        time=np.arange(600.0),
    )  # fmt: skip
    drift = toplist.fit(log, "dcm", holdout=0.5).drift_table()
    assert drift is not None
    assert drift["dcm"]["high"] < 0


def test_equal_calls_give_equal_results() -> None:
    log = made_log(80)
    found = [toplist.fit(log, ["dcm", "pbm"], drift=False).as_json() for _ in range(2)]
    for each in found:
        for model in each["splits"]["random"]["models"].values():
            del model["seconds"]
    assert found[0] == found[1]


def test_json_has_no_infinities(comparison: ModelComparison, tmp_path: Path) -> None:
    comparison.to_json(tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text(), parse_constant=pytest.fail)
    cascade = found["splits"]["random"]["models"]["cascade"]
    assert cascade["every"]["log_likelihood"] is None
    assert cascade["every"]["impossible"] > 0
    assert cascade["to_first_click"]["against_best"]["mean"] <= 0
    assert found["splits"]["random"]["paired_by"] == "visitor"
    assert len(found["drift"]) == 3


def test_unseen_pairs_have_a_second_row() -> None:
    log = ClickLog.from_lists(["q"] * 40, [["a", "b"]] * 39 + [["a", "new"]], [[1], [2]] * 20, time=list(range(40)))
    table = toplist.fit(log, "item-ctr", split="time").table()
    assert [row["model"] for row in table] == ["item-ctr", "item-ctr, seen pairs"]
    assert table["item-ctr, seen pairs"]["per list"] > table["item-ctr"]["per list"]


def test_priors_reach_the_models_that_have_them() -> None:
    log = made_log(60)
    found = toplist.fit(log, ["dcm", "item-ctr"], drift=False, priors={"attraction": Prior(0.5, 1e9)})
    assert found.models["dcm"].own.value == pytest.approx(0.5, abs=1e-6)
    assert found.models["item-ctr"].priors == {}
    with pytest.raises(InvalidInput, match=r"kind of a prior is 'atraction'.*perhaps you mean 'attraction'"):
        toplist.fit(log, "dcm", priors={"atraction": Prior(0.5, 1)})


def test_progress_names_each_fit_and_counts_iterations() -> None:
    seen: list[FitProgress] = []
    toplist.fit(made_log(60), ["pbm", "global-ctr"], drift=False, progress=seen.append)
    assert [(now.model, now.done, now.total) for now in seen if now.iteration == 0] == [
        ("pbm", 0, 2), ("global-ctr", 1, 2),
    ]  # fmt: skip
    iterations = [now for now in seen if now.model == "pbm" and now.iteration]
    assert [now.iteration for now in iterations] == list(range(1, len(iterations) + 1))
    assert iterations[-1].per_list > iterations[0].per_list


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"models": "dbnn"}, r"The click model is 'dbnn'.*perhaps you mean 'dbn'"),
        ({"models": ["dbn", "dbn"]}, "The model dbn is given twice"),
        ({"models": []}, "at least one of global-ctr"),
        ({"holdout": 1.5}, r"The holdout is 1\.5, but must be a number between 0 and 1"),
        ({"split": "tme"}, r"The split is 'tme'.*perhaps you mean 'time'"),
        ({"engine": "spark"}, "The engine is 'spark'"),
        ({"seed": -1}, "The seed is -1"),
    ],
)
def test_wrong_arguments_are_refused_before_the_log_is_read(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        toplist.fit("no such file", **given)


def test_all_models_are_fitted_by_default() -> None:
    found = toplist.fit(made_log(60), drift=False, errors="none")
    assert list(found.models) == list(MODELS)


def test_a_saved_comparison_is_not_fitted_again(
    comparison: ModelComparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison.save(tmp_path / "models")
    assert {path.name for path in (tmp_path / "models" / "time").iterdir()} == {
        "global-ctr.json", "dcm.json", "cascade.json",
    }  # fmt: skip
    monkeypatch.setattr(sys.modules["toplist.logs.compare_models"], "fit_model", pytest.fail)
    again = toplist.fit(made_log(), ["global-ctr", "dcm", "cascade"], seed=3, folder=tmp_path / "models")
    assert again.as_json() == comparison.as_json()
    other = made_log(seed=1)
    with pytest.raises(InvalidInput, match="has models of another fit: its log is"):
        toplist.fit(other, "dcm", seed=3, folder=tmp_path / "models")
    with pytest.raises(InvalidInput, match="it cannot be made; choose another one"):
        toplist.fit(other, "dcm", folder=__file__)
