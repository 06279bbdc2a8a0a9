"""`toplist compare`: policies x users as a table, a heat map and JSON, by name or from learned click models."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.cli import Exit, main
from toplist.clicks import DCM, Cascade
from toplist.experiments.comparison_matrix import standard_users, standard_world, stationary_policies
from toplist.support.catalogue import part_text
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


def asked(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The policies and columns that would be compared."""
    told: list[Any] = []

    def told_only(*given: Any, **_: Any) -> None:
        told.extend(given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("toplist.engine.compare.compare", told_only)
        assert main(["compare", *words]) == Exit.INTERRUPTED
    return told[0], told[1]


def test_the_table_is_that_of_the_library(capsys: Output) -> None:
    users = ["--users", "cascade", "dcm(termination=0.5)"]
    assert main(["compare", "cascade-ucb1", *users, *FEW, "--jobs", "1"]) == Exit.FINE
    out, err = capsys.readouterr()
    world = standard_world()
    columns = {"cascade": (world, Cascade()), "dcm(termination=0.5)": (world, DCM(0.5))}
    assert out == f"standard, one-sample start\n{toplist.compare('cascade-ucb1', columns, **SIZE)}\n"
    assert err == ""


def test_every_world_meets_all_users(capsys: Output, tmp_path: Path) -> None:
    small = "b-top-k(items=5, positions=2)"
    found = compare(capsys, tmp_path, "random", "--worlds", "b-lb", small, "--users", "cascade")
    assert found.columns == ("cascade on b-lb", f"cascade on {small}")
    assert found.settings["columns"][f"cascade on {small}"] == {"pairs": 1, "items": 5, "positions": 2}
    assert found.settings["worlds"][0] == "b-lb(items=16, positions=4, attraction=0.2, gap=0.15, termination=0.5)"
    assert found.settings["start"] == "one-sample"


def test_without_users_a_world_has_its_own_or_all_standard_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    _, columns = asked(monkeypatch, "random", "--worlds", "b-lb(termination=0.3)")
    assert repr(columns) == repr({"dcm(termination=0.3)": [b_lb(termination=0.3)]})
    _, columns = asked(monkeypatch, "random", "--worlds", "b-top-k(items=6, positions=3)")
    assert repr(columns) == repr({name: [(b_top_k(6, 3), users)] for name, users in standard_users(6, 3).items()})
    assert list(columns) == ["cascade", "dcm", "dbn", "pbm", "ubm", "ccm", "mixture"]


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
    found = compare(capsys, tmp_path, "random", "--worlds", str(folder / "learned.json"), "--positions", "2")
    columns = {
        "CM": [(Fixed([0.5, 0.3, share], 2), Cascade()) for share in (0.1, 0.2)],
        "DCM": [(Fixed([0.4, 0.2, share], 2), DCM([0.9, 0.6])) for share in (0.1, 0.2)],
    }
    assert numbers(found) == numbers(toplist.compare("random", columns, **SIZE))
    one = compare(capsys, tmp_path, "random", "--worlds", str(folder), "--positions", "2", "--queries", "1")
    assert one.of("random", "DCM").tolist() == found.of("random", "DCM")[:2].tolist()


def test_files_and_going_on(capsys: Output, tmp_path: Path) -> None:
    files = {flag: str(tmp_path / f"a.{ending}") for flag, ending in (("csv", "csv"), ("plot", "svg"))}
    words = [word for flag, file in files.items() for word in (f"--{flag}", file)]
    words += ["--users", "cascade", "--resume", str(tmp_path / "kept")]
    first = compare(capsys, tmp_path, "random", *words)
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["cascade-000.npz"]
    assert compare(capsys, tmp_path, "random", *words) == first
    rows = list(csv.DictReader(io.StringIO(Path(files["csv"]).read_text())))
    assert [row["policy"] for row in rows] == ["random"]
    assert "<svg" in Path(files["plot"]).read_text()


def test_an_interruption_says_what_was_kept(capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "kept"
    words = ["compare", "random", "--users", "cascade", *FEW, "--resume", str(folder)]
    with monkeypatch.context() as patched:
        patched.setattr("toplist.engine.player.Player.play", interrupted)
        assert main(words) == Exit.INTERRUPTED
    assert capsys.readouterr().err == f"toplist: interrupted before there was anything to keep in {folder}.\n"
    (folder / "cascade-000.npz").touch()
    monkeypatch.setattr("toplist.engine.compare.compare", interrupted)
    assert main(words) == Exit.INTERRUPTED
    assert f"the work so far is kept in {folder}, and the same command goes on" in capsys.readouterr().err


def test_a_policy_of_ones_own(capsys: Output, tmp_path: Path) -> None:
    file = tmp_path / "own_to_compare.py"
    file.write_text("import toplist\n\ndef mine():\n    return toplist.make('random')\n")
    found = compare(capsys, tmp_path, f"{file}:mine", "--users", "cascade")
    assert found.policies == (f"{file}:mine",)  # which is the baseline itself


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["random", "random"], "The policy 'random' is named twice"),
        (["random", "--worlds", "b-lbb"], "There is no world 'b-lbb'"),
        (["random", "--worlds", "no.json"], "The click models is 'no.json', but must be a JSON file"),
        (["random", "--users", "cascad"], "There is no click model 'cascad'"),
        (
            ["random", "--users", "a=dcm", "a=pbm"],
            "The users 'a' are named twice; leave one out, or label them, as a-2=pbm",
        ),
        (["random", "--positions", "3"], "--queries and --positions are for learned click models"),
        (["random", "--resume", __file__], "must be a folder, not a file"),
        (["random", "--json", "a.json", "--csv", "a.json"], "each needs its own file"),
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
        assert main(["compare", "random", "--worlds", str(file), *words, *FEW]) == Exit.INPUT
        assert message in capsys.readouterr().err


# The default matrix


def test_all_that_do_not_forget_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    played, columns = asked(monkeypatch)
    assert list(columns) == list(standard_users())
    assert list(played) == list(stationary_policies(features=True))
    parts = [part_text(policy) for policy in played.values()]
    assert len(set(parts)) == len(parts)
    for name, entry in toplist.catalogue().items():
        able = entry.make().capabilities()
        left_out = able.forgets or able.detects or able.needs_simulator
        assert left_out or part_text(entry.make()) in parts, name
        assert not left_out or name not in played, name
    fewer, _ = asked(monkeypatch, "--worlds", "b-top-k")  # which has no features
    assert set(fewer) == {name for name, policy in played.items() if not policy.capabilities().needs_features}


@pytest.mark.parametrize("column", standard_users())
def test_no_column_is_degenerate(column: str) -> None:
    """Random lists earn clearly less than the most attractive items; DBN users would have others."""
    world = standard_world().checked()
    users = standard_users()[column].prepare(world.problem(None))
    attraction = np.asarray(world.attraction)
    ranked = np.argsort(-attraction)

    def reward(*ranks: int) -> float:
        items = ranked[list(ranks)]
        return float(users.reward(None, items, attraction[items]))

    others = np.random.default_rng(0).permuted(np.tile(np.arange(16), (500, 1)), axis=1)[:, :4]
    assert reward(0, 1, 2, 3) - np.mean([reward(*ranks) for ranks in others.tolist()]) > 0.2
    assert (reward(1, 3, 0, 5) > reward(0, 1, 2, 3)) == (column == "dbn")
