"""`toplist tune`: a grid or random tries, with a second look at the best."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import toplist
from toplist.cli import Exit, main
from toplist.worlds import b_lb, b_top_k

Output = pytest.CaptureFixture[str]
FEW = ["--steps", "100", "--runs", "3", "--seed", "1"]


def test_a_grid_is_that_of_the_library(capsys: Output) -> None:
    assert main(["tune", "cascade-ucb1", "--grid", "scale=0.1, 1.5,3", "--grid", "order=first,last", *FEW]) == Exit.FINE
    out, err = capsys.readouterr()
    parameters: dict[str, list[Any]] = {"scale": [0.1, 1.5, 3], "order": ["first", "last"]}
    expected = toplist.tune("cascade-ucb1", parameters, *b_lb(), steps=100, runs=3, seed=1)
    assert out.partition("\n")[2] == f"{expected}\n"
    assert "Best and default again, on fresh visitors: 100 steps, 3 runs, seed 2" in out
    assert err == ""


def test_random_tries(capsys: Output) -> None:
    words = ["--random", "scale=log:0.01..10", "--grid", "order=first,last", "--tries", "5", "--world", "b-top-k"]
    assert main(["tune", "cascade-ucb1", *words, *FEW, "--json", "-"]) == Exit.FINE
    found = json.loads(capsys.readouterr().out)
    parameters = {"scale": toplist.Span(0.01, 10, log=True), "order": ["first", "last"]}
    users = toplist.clicks.Cascade()
    expected = toplist.tune("cascade-ucb1", parameters, b_top_k(), users, steps=100, runs=3, seed=1, tries=5)
    assert found["tried"] == expected.rows()
    assert found["settings"]["users"] == "cascade(depth=None)"
    assert len(found["tried"]) == 6  # and the default


def test_files(tmp_path: Path, capsys: Output) -> None:
    files = {
        flag: str(tmp_path / f"a.{ending}") for flag, ending in (("json", "json"), ("csv", "csv"), ("plot", "png"))
    }
    words = [word for flag, file in files.items() for word in (f"--{flag}", file)]
    words += ["--resume", str(tmp_path / "kept.npz")]
    assert main(["tune", "cascade-ucb1", "--grid", "scale=0.5", "--quiet", *words, *FEW]) == Exit.FINE
    assert capsys.readouterr() == ("", "")
    found = json.loads(Path(files["json"]).read_text())
    rows = list(csv.DictReader(io.StringIO(Path(files["csv"]).read_text())))
    assert [row["setting"] for row in rows] == [row["setting"] for row in found["tried"]]
    assert found["best"] == "cascade-ucb1(scale=0.5)"
    assert Path(files["plot"]).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "kept-again.npz").exists()


def test_a_policy_of_ones_own(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "own_to_tune.py"
    file.write_text("import toplist\n\ndef mine(scale=1.0):\n    return toplist.make(f'cascade-ucb1({scale=})')\n")
    assert main(["tune", f"{file}:mine(scale=0.7)", "--grid", "scale=0.1", *FEW, "--json", "-"]) == Exit.FINE
    found = json.loads(capsys.readouterr().out)
    assert (found["best"], found["default"]) == (f"{file}:mine(scale=0.1)", f"{file}:mine(scale=0.7)")
