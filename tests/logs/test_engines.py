"""Comparisons of a log in memory, read part by part, and on Ray workers are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import InvalidInput
from toplist.logs import ModelComparison
from toplist.support.files import import_optional

MODELS = ["position-ctr", "cascade", "dcm"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three Parquet files of lists of one to three of four items; other items in each."""
    pyarrow, parquet = import_optional("pyarrow", "logs"), import_optional("pyarrow.parquet", "logs")
    chance = np.random.default_rng(4)
    home = tmp_path_factory.mktemp("log")
    for number in range(3):
        shown = [chance.permutation(4)[: chance.integers(1, 4)] for _ in range(90)]
        columns = {
            "query": [f"q{n}" for n in chance.integers(0, 5, 90)],
            "items": [[f"item {item + number}" for item in one] for one in shown],
            "clicked": [[place + 1 for place in range(len(one)) if chance.random() < 0.4] for one in shown],
        }
        parquet.write_table(pyarrow.table(columns), home / f"{number}.parquet")
    return home


@pytest.fixture(scope="module")
def in_memory(folder: Path) -> ModelComparison:
    return toplist.fit(folder, MODELS, seed=5)


def assert_same(one: ModelComparison, other: ModelComparison) -> None:
    assert one.log == other.log
    assert one.settings == other.settings
    for name in MODELS:
        ours, theirs = one.models[name], other.models[name]
        order = {(theirs.queries[q], theirs.items[i]): row for row, (q, i) in
                 enumerate(zip(theirs.pair_query, theirs.pair_item, strict=True))}  # fmt: skip
        rows = [order[ours.queries[q], ours.items[i]] for q, i in zip(ours.pair_query, ours.pair_item, strict=True)]
        assert len(rows) == len(order)
        np.testing.assert_allclose(ours.own.value, theirs.own.value[rows], atol=1e-9)
        np.testing.assert_allclose(ours.own.error, theirs.own.error[rows], atol=1e-9)
        np.testing.assert_allclose(ours.shared.value, theirs.shared.value, atol=1e-9)
    for split in (one.table(), one.first_click_table()):
        match: Any = other.table() if split.columns == one.table().columns else other.first_click_table()
        for ours_row, theirs_row in zip(split, match, strict=True):
            for column in ours_row:
                if column != "seconds":
                    assert ours_row[column] == pytest.approx(theirs_row[column], abs=1e-9, nan_ok=True)


def test_part_by_part_as_in_memory(folder: Path, in_memory: ModelComparison, tmp_path: Path) -> None:
    found = toplist.fit(folder, MODELS, seed=5, engine="disk", reading={"part": 40}, folder=tmp_path / "models")
    assert_same(in_memory, found)
    assert found.main.held_lists == in_memory.main.held_lists
    found.to_html(tmp_path / "page.html", "toplist fit log")
    assert "dcm" in (tmp_path / "page.html").read_text()
    # Kept models are those of the same log: the other engine takes them.
    again = toplist.fit(folder, MODELS, seed=5, folder=tmp_path / "models")
    assert again.table()["dcm"]["seconds"] == found.table()["dcm"]["seconds"]


def test_without_a_holdout(folder: Path) -> None:
    one, other = (toplist.fit(folder, "dcm", holdout=0, engine=engine) for engine in ("local", "disk"))
    assert one.main.held_lists == other.main.held_lists == 270
    assert one.table()["dcm"]["per list"] == pytest.approx(other.table()["dcm"]["per list"], abs=1e-12)


@pytest.mark.slow
def test_on_ray_as_in_memory(folder: Path, in_memory: ModelComparison) -> None:
    assert_same(in_memory, toplist.fit(folder, MODELS, seed=5, engine="ray"))


def test_what_an_engine_cannot_do_is_refused_first(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="The split is 'time', but must be 'random' with the engine 'disk'"):
        toplist.fit(folder, engine="disk", split="time")
    with pytest.raises(InvalidInput, match="The log is 'ClickLog', but must be a file or folder for the engine 'ray'"):
        toplist.fit(toplist.logs.read_log(folder), engine="ray")
