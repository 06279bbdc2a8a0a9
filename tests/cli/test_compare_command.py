"""`toplist compare`: policies x users as a table, a heat map and JSON, by name or from learned click models."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import toplist
from toplist.cli import Exit, main
from toplist.clicks import DCM, Cascade
from toplist.experiments.matrix import standard_users, standard_world, stationary
from toplist.naming import written
from toplist.worlds import Fixed, b_lb, b_top_k

Output = pytest.CaptureFixture[str]
FEW = ["--steps", "200", "--runs", "2", "--seed", "3"]
SIZE: dict[str, Any] = {"steps": 200, "runs": 2, "seed": 3}


def compare(capsys: Output, tmp_path: Path, *words: str) -> toplist.Comparison:
    file = tmp_path / "found.json"
    assert main(["compare", *words, *FEW, "--json", str(file), "--quiet"]) == Exit.FINE
    assert capsys.readouterr() == ("", "")
    return toplist.Comparison.from_json(file)


def numbers(found: toplist.Comparison) -> dict[str, dict[str, list[float]]]:
    return {column: {name: runs.tolist() for name, runs in cells.items()} for column, cells in found.regret.items()}


def test_the_table_is_that_of_the_library(capsys: Output) -> None:
    users = ["--users", "cascade", "dcm(termination=0.5)"]
    assert main(["compare", "cascade-ucb1", "best", *users, *FEW, "--jobs", "1"]) == Exit.FINE
    out, err = capsys.readouterr()
    world = standard_world()
    columns = {"cascade": (world, Cascade()), "dcm(termination=0.5)": (world, DCM(0.5))}
    expected = toplist.compare(["cascade-ucb1", "best"], columns, **SIZE)
    assert out == f"standard, one-sample start\n{expected}\n"
    assert err == ""


def test_worlds_with_users_of_their_own_and_of_others(capsys: Output, tmp_path: Path) -> None:
    found = compare(capsys, tmp_path, "best", "--worlds", "b-lb", "b-top-k(items=5, positions=2)", "--users", "cascade")
    columns = {"cascade on b-lb": (b_lb()[0], Cascade()), "cascade on b-top-k(items=5, positions=2)": None}
    assert found.columns == tuple(columns)
    assert found.settings["columns"]["cascade on b-top-k(items=5, positions=2)"]["items"] == 5
    assert found.settings["worlds"][0] == "b-lb(items=16, positions=4, attraction=0.2, gap=0.15, termination=0.5)"
    own = compare(capsys, tmp_path, "best", "--worlds", "b-lb(termination=0.3)")
    assert own.columns == ("dcm(termination=0.3)",)
    expected = toplist.compare(["best"], {"dcm(termination=0.3)": b_lb(termination=0.3)}, **SIZE)
    assert numbers(own) == numbers(expected)


def test_without_users_all_standard_ones_are_met(capsys: Output, tmp_path: Path) -> None:
    found = compare(capsys, tmp_path, "random", "--worlds", "b-top-k(items=6, positions=3)")
    columns = {name: (b_top_k(6, 3), users) for name, users in standard_users(6, 3).items()}
    assert numbers(found) == numbers(toplist.compare("random", columns, **SIZE))
    assert found.columns == ("cascade", "dcm", "dbn", "pbm", "ubm", "ccm", "mixture")


MODELS = {
    query: {
        "CM": {"attr": [0.5, 0.3, share]},
        "DCM": {"attr": [0.4, 0.2, share], "stop": [0.9, 0.6, 0.5]},
    }
    for query, share in (("tea", 0.1), ("coffee", 0.2))
}


def test_learned_click_models(capsys: Output, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "learned.json").write_text(json.dumps(MODELS))
    found = compare(capsys, tmp_path, "best", "--worlds", str(folder / "learned.json"), "--positions", "2")
    columns = {
        "CM": [(Fixed([0.5, 0.3, share], 2), Cascade()) for share in (0.1, 0.2)],
        "DCM": [(Fixed([0.4, 0.2, share], 2), DCM([0.9, 0.6])) for share in (0.1, 0.2)],
    }
    assert numbers(found) == numbers(toplist.compare("best", columns, **SIZE))
    one = compare(capsys, tmp_path, "best", "--worlds", str(folder), "--positions", "2", "--queries", "1")
    assert one.of("random", "DCM").tolist() == found.of("random", "DCM")[:2].tolist()


def test_files_and_going_on(capsys: Output, tmp_path: Path) -> None:
    files = {flag: str(tmp_path / f"a.{ending}") for flag, ending in (("csv", "csv"), ("plot", "svg"))}
    words = [word for flag, file in files.items() for word in (f"--{flag}", file)]
    words += ["--users", "cascade", "--resume", str(tmp_path / "kept")]
    first = compare(capsys, tmp_path, "best", *words)
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["cascade-000.npz"]
    assert compare(capsys, tmp_path, "best", *words) == first
    rows = list(csv.DictReader(io.StringIO(Path(files["csv"]).read_text())))
    assert [row["policy"] for row in rows] == ["best", "random"]
    assert "<svg" in Path(files["plot"]).read_text()


def test_an_interruption_says_what_was_kept(capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "kept"
    words = ["compare", "best", "--users", "cascade", *FEW, "--resume", str(folder)]
    with monkeypatch.context() as patched:
        patched.setattr("toplist.engine.player.Player.play", interrupted)
        assert main(words) == Exit.INTERRUPTED
    assert capsys.readouterr().err == f"toplist: interrupted before there was anything to keep in {folder}.\n"
    (folder / "cascade-000.npz").touch()
    monkeypatch.setattr("toplist.engine.comparing.compare", interrupted)
    assert main(words) == Exit.INTERRUPTED
    assert f"what was played is kept in {folder}, and the same command goes on" in capsys.readouterr().err


def test_a_policy_of_ones_own(capsys: Output, tmp_path: Path) -> None:
    file = tmp_path / "own_to_compare.py"
    file.write_text("import toplist\n\ndef mine():\n    return toplist.make('best')\n")
    found = compare(capsys, tmp_path, f"{file}:mine", "--users", "cascade")
    assert found.policies == (f"{file}:mine", "random")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["best", "best"], "The policy 'best' is named twice"),
        (["best", "--worlds", "b-lbb"], "There is no world 'b-lbb'"),
        (["best", "--worlds", "no.json"], "The click models is 'no.json', but must be a JSON file"),
        (["best", "--users", "cascad"], "There is no click model 'cascad'"),
        (["best", "--positions", "3"], "--queries and --positions are for learned click models"),
        (["best", "--resume", __file__], "must be a folder, not a file"),
        (["best", "--json", "a.json", "--csv", "a.json"], "each needs a place of its own"),
        (["cascade-lsb", "--worlds", "b-lb"], "features"),
    ],
)
def test_what_is_refused(words: list[str], message: str, capsys: Output) -> None:
    assert main(["compare", *words, *FEW]) == Exit.INPUT
    assert message in capsys.readouterr().err


def test_refusals_about_learned_models(capsys: Output, tmp_path: Path) -> None:
    file = tmp_path / "learned.json"
    file.write_text(json.dumps(MODELS))
    for words, message in (
        (["--users", "cascade"], "bring users of their own"),
        (["--queries", "3"], "--queries is 3, but must be between 1 and 2"),
        (["--positions", "4"], "The number of positions is 4"),
    ):
        assert main(["compare", "best", "--worlds", str(file), *words, *FEW]) == Exit.INPUT
        assert message in capsys.readouterr().err


# The default matrix


def test_all_that_do_not_forget_are_compared() -> None:
    played = stationary(features=True)
    parts = [written(policy) for policy in played.values()]
    assert len(set(parts)) == len(parts)
    for name, entry in toplist.catalogue().items():
        able = entry.make().capabilities()
        leaves_out = able.forgets or able.detects or able.needs_simulator
        assert leaves_out or written(entry.make()) in parts, name
        assert not leaves_out or name not in played, name
    fewer = stationary(features=False)
    assert set(fewer) == {name for name, policy in played.items() if not policy.capabilities().needs_features}
    assert "random" in fewer


def test_no_column_is_degenerate() -> None:
    """Random lists earn clearly less than the best, and DBN users are better off without what attracts most."""
    world = standard_world()
    found = toplist.compare("best", {name: (world, users) for name, users in standard_users().items()}, 300, 2)
    for column in found.columns:
        assert found.mean("random", column) / 300 > 0.2
        assert found.mean("best", column) == 0.0
