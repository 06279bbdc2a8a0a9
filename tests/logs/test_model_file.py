"""Fitted models as tables, frames and files, and files of PyClick."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, FittedModel, fit_model, read_pyclick
from toplist.logs.models import MODELS, DCMModel


def small_log() -> ClickLog:
    """Two queries, one of them a number; the text "7" and the number 7 are different items."""
    rng = np.random.default_rng(0)
    shown: list[list[str | int]] = [["a", 7, "7"], [7, "a", "7"], ["7", "b", "a"], ["a", 7], ["b", "7", 7]] * 40
    clicked = [np.flatnonzero(rng.random(len(each)) < 0.3) + 1 for each in shown]
    return ClickLog.from_lists(["é", 5] * 100, shown, [each.tolist() for each in clicked])


def same(one: FittedModel, other: FittedModel) -> None:
    for name in ("own", "shared"):
        for first, second in zip(getattr(one, name), getattr(other, name), strict=True):
            assert first.dtype == second.dtype
            assert first.tobytes() == second.tobytes()
    assert one.model == other.model
    assert (one.priors, one.history, one.lists, one.errors, one.converged) == (
        other.priors, other.history, other.lists, other.errors, other.converged,
    )  # fmt: skip
    assert np.array_equal([one.log_likelihood, one.slope], [other.log_likelihood, other.slope], equal_nan=True)


@pytest.mark.parametrize(
    ("name", "per_query"),
    [("dcm", False), ("dbn", True), ("pbm", False), ("item-position-ctr", False), ("cascade", False)],
)
def test_a_saved_model_is_the_same_to_the_last_bit(name: str, per_query: bool, tmp_path: Path) -> None:
    log, path = small_log(), tmp_path / "model.json"
    fitted = fit_model(log, name, per_query=per_query)
    fitted.save(path)
    loaded = FittedModel.load(path)
    same(fitted, loaded)
    assert fitted.predict(log).given.tobytes() == loaded.predict(log).given.tobytes()
    assert fitted.table().rows() == loaded.table().rows()
    assert {type(item) for item in loaded.items_of(5)} == {str, int}
    if fitted.shared_covariance is not None:
        assert loaded.shared_covariance is not None
        assert fitted.shared_covariance.tobytes() == loaded.shared_covariance.tobytes()
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(InvalidInput, match="The version of the model is 2, but must be 1; update toplist"):
        FittedModel.load(path)


def test_the_file_is_stable_and_readable(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    FittedModel.from_values(DCMModel(positions=2), {"q": {"a": [0.25], 3: [0.5]}}, [0.125, 1.0]).save(path)
    lines = path.read_text().splitlines()
    assert lines[1:4] == ['  "format": "toplist click model",', '  "version": 1,', '  "model": "dcm",']
    assert '    {"kind": "termination", "label": "1", "estimate": 0.125, "status": "estimated"},' in lines
    assert '    {"kind": "attraction", "query": "q", "item": 3, "estimate": 0.5, "status": "estimated"}' in lines


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:200], "is truncated or not JSON"),
        (lambda _: "[1]", "has no JSON object"),
        (lambda _: "{}", "The format of the model is None, but must be 'toplist click model'"),
        (
            lambda text: text.replace('"model": "dcm"', '"model": "own"'),
            "click model of the file is 'own', .* pass model=",
        ),
        (lambda text: text.replace('"pairs"', '"pears"'), "is not as `save` writes it"),
        (lambda text: text.replace('"estimated"', '"guessed"'), "is not as `save` writes it"),
        (lambda text: text.replace('"positions": 2', '"positions": 3'), "has 4 parameters, but must have 5"),
    ],
)
def test_damaged_files_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    FittedModel.from_values(DCMModel(positions=2), {"q": {"a": [0.25], 3: [0.5]}}, [0.125, 1.0]).save(path)
    path.write_text(change(path.read_text()))
    with pytest.raises(InvalidInput, match=message):
        FittedModel.load(path)
    with pytest.raises(InvalidInput, match="a file that can be read"):
        FittedModel.load(tmp_path / "nowhere.json")


def test_a_model_of_your_own_is_passed(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    FittedModel.from_values(DCMModel(positions=1), {"q": {"a": [0.25]}}, [0.5]).save(path)
    path.write_text(path.read_text().replace('"model": "dcm"', '"model": "own"'))
    assert FittedModel.load(path, model=DCMModel()).model == DCMModel(positions=1)


def test_intervals_are_called_what_they_are() -> None:
    shrunk, plain = fit_model(small_log(), "dcm"), fit_model(small_log(), "dcm", priors={})
    assert shrunk.table().title == "dcm: 95% posterior intervals"
    assert plain.table().title == "dcm: 95% confidence intervals"
    assert "95% posterior intervals" in str(shrunk)
    last = [row for row in plain.table().rows() if row["label"] == "3"]
    assert [(row["status"], row["error"], row["low"]) for row in last] == [("not identified", None, None)]
    row = plain.table().rows()[0]
    assert (row["kind"], row["label"], row["query"], row["item"]) == ("termination", "1", None, None)
    assert row["low"] < row["estimate"] < row["high"]


def test_tosses_are_expected_examinations() -> None:
    log = ClickLog.from_lists(["q"] * 3, [["a", "b"]] * 3, [[1], [2], []])
    rows = {row["item"]: row["tosses"] for row in fit_model(log, "cascade", priors={}).table()}
    assert rows == {"a": 3.0, "b": 2.0}
    positions = [row["label"] for row in fit_model(log, "item-position-ctr").table()]
    assert positions == ["1", "2", "1", "2"]


def test_frames_have_all_rows() -> None:
    fitted = fit_model(small_log(), "pbm")
    table = fitted.table()
    pandas, polars = fitted.to_frame(), fitted.to_frame("polars")
    assert list(pandas.columns) == list(polars.columns) == list(table.columns)
    assert len(pandas) == len(polars) == len(table)
    assert polars["estimate"].to_list() == [row["estimate"] for row in table]
    assert polars["item"].to_list()[3:6] == ["a", "7", "7"]
    with pytest.raises(InvalidInput, match=r"The library is 'panda', .*perhaps you mean 'pandas'"):
        fitted.to_frame("panda")


def parameter(value: float) -> dict[str, float]:
    return {"_numerator": value * 8, "_denominator": 8}


PAIRS = {"q": {"1": parameter(0.25), "2": parameter(0.5)}}
SATISFACTION = {"q": {"1": parameter(0.75), "2": parameter(0.125)}}
RANKS = [parameter(1.0), parameter(0.5)]
TABLE = [[parameter(0.125), parameter(1.0)], [parameter(0.25), parameter(0.5)]]
CONTINUATIONS = {
    "cont_noclick": parameter(0.5), "cont_click_nonrel": parameter(0.25), "cont_click_rel": parameter(0.75),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "own", "shared"),
    [
        ("cascade", {"attr": PAIRS}, [[0.25], [0.5]], []),
        ("pbm", {"attr": PAIRS, "exam": RANKS}, [[0.25], [0.5]], [1.0, 0.5]),
        ("ubm", {"attr": PAIRS, "exam": TABLE}, [[0.25], [0.5]], [1.0, 0.5, 0.25]),
        ("dcm-counts", {"attr": PAIRS, "cont": RANKS}, [[0.25], [0.5]], [0.0, 0.5]),
        ("sdbn-counts", {"attr": PAIRS, "sat": SATISFACTION}, [[0.25, 0.75], [0.5, 0.125]], []),
        (
            "dbn", {"attr": PAIRS, "sat": SATISFACTION, "cont": parameter(0.5)},
            [[0.25, 0.75], [0.5, 0.125]], [0.5],
        ),
        ("ccm", {"attr": PAIRS, **CONTINUATIONS}, [[0.25], [0.5]], [0.5, 0.25, 0.75]),
        ("global-ctr", {"ctr": parameter(0.5)}, [], [0.5]),
        ("position-ctr", {"ctr": RANKS}, [], [1.0, 0.5]),
        ("item-ctr", {"ctr": PAIRS}, [[0.25], [0.5]], []),
    ],
)  # fmt: skip
def test_files_of_pyclick_are_read(name: str, content: Any, own: Any, shared: Any, tmp_path: Path) -> None:
    path = tmp_path / "pyclick.json"
    path.write_text(json.dumps({key: json.dumps(value) for key, value in content.items()}))
    fitted = read_pyclick(path)
    assert fitted.name == name
    assert fitted.own.value.tolist() == own
    assert fitted.shared.value[0].tolist() == shared
    assert fitted.errors == "none"
    assert fitted.model.coins() == MODELS[name]._replace(positions=fitted.positions).coins()  # type: ignore[attr-defined]
    fitted.save(tmp_path / "ours.json")
    same(fitted, FittedModel.load(tmp_path / "ours.json"))


def test_other_files_are_not_of_pyclick(tmp_path: Path) -> None:
    path = tmp_path / "pyclick.json"
    content: Any
    for content in ({}, {"attr": PAIRS, "x": 1}, {"sat": SATISFACTION}, {"ctr": 5}):
        path.write_text(json.dumps(content))
        with pytest.raises(InvalidInput, match="but a model of PyClick has 'ctr', or 'attr'"):
            read_pyclick(path)
    path.write_text(json.dumps({"attr": '{"q": '}))
    with pytest.raises(InvalidInput, match=r"'attr' of .* is truncated or not JSON"):
        read_pyclick(path)
    for content in ({"attr": {"q": {"1": 5}}}, {"attr": PAIRS, "sat": {"q": {}}}, {"attr": 3}):
        path.write_text(json.dumps(content))
        with pytest.raises(InvalidInput, match="not as PyClick writes them"):
            read_pyclick(path)
