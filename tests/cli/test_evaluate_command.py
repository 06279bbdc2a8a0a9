"""`toplist evaluate`: prints and writes what a saved ranker would have earned, and what a log cannot tell."""

import json
import random
from pathlib import Path

import pytest

from toplist import Ranker
from toplist.cli import Exit, main

Output = pytest.CaptureFixture[str]
RATES = {"a": 0.6, "b": 0.3, "c": 0.1}


@pytest.fixture
def log(tmp_path: Path) -> str:
    chance = random.Random(3)
    lines = []
    for number in range(400):
        items = chance.sample("abc", 2)
        clicked = [
            place + 1 for place, item in enumerate(items) if chance.random() < {"a": 0.6, "b": 0.3, "c": 0.1}[item]
        ]
        lines.append(
            {"query": "q", "items": items, "clicked": clicked, "propensity": [1 / 3, 1 / 2], "visitor": number // 2}
        )
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


@pytest.fixture
def policy(tmp_path: Path) -> str:
    ranker = Ranker(["a", "b", "c"], positions=2, policy="cascade-kl-ucb", compiled=False)
    for _ in range(20):
        ranker.learn(ranker.adopt(["c", "a"]), clicks=["a"])
        ranker.learn(ranker.adopt(["b", "c"]), clicks=[])
    path = tmp_path / "ranker.npz"
    ranker.save(path)
    return str(path)


def test_it_prints_one_screen(log: str, policy: str, capsys: Output) -> None:
    assert main(["evaluate", log, "--policy", policy]) == Exit.FINE
    printed = capsys.readouterr().out
    assert "400 lists read" in printed
    assert "on 400 lists of 200 visitors: clicks per list, 95% normal intervals" in printed
    for name in ("the log itself", "ips", "snrips", "pseudoinverse", "doubly-robust", "direct", "replay-prefix"):
        assert f"\n{name} " in printed
    assert len(printed.splitlines()) < 30


def test_json_has_everything(log: str, policy: str, tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "found.json"
    words = ["evaluate", log, "--policy", policy, "--estimator", "ips,snips", "--interval", "bernstein"]
    assert main([*words, "--json", str(file)]) == Exit.FINE
    assert capsys.readouterr().err == f"toplist: wrote {file}\n"
    found = json.loads(file.read_text())
    assert [each["estimator"] for each in found["estimates"]] == ["ips"]
    assert found["refused"][0]["estimator"] == "snips"
    low, high = found["estimates"][0]["interval"]
    assert low <= found["estimates"][0]["value"] <= high
    assert main([*words, "--json", "-"]) == Exit.FINE
    assert json.loads(capsys.readouterr().out) == found


def test_the_ranker_of_the_log_gives_its_probabilities(log: str, policy: str, tmp_path: Path, capsys: Output) -> None:
    Ranker(["a", "b", "c"], positions=2, policy="random", compiled=False).save(tmp_path / "random.npz")
    bare = tmp_path / "bare.jsonl"
    lines = [json.loads(line) for line in Path(log).read_text().splitlines()]
    bare.write_text(
        "\n".join(json.dumps({name: row[name] for name in ("items", "clicked", "visitor")}) for row in lines)
    )
    found = []
    for words in ([log], [str(bare), "--logged-by", str(tmp_path / "random.npz")]):
        assert main(["evaluate", *words, "--policy", policy, "--estimator", "ips,iips", "--json", "-"]) == Exit.FINE
        found.append(json.loads(capsys.readouterr().out)["estimates"])
    assert found[0] == found[1]


def test_a_policy_that_learns_is_replayed(log: str, policy: str, capsys: Output) -> None:
    assert main(["evaluate", log, "--policy", policy, "--learning", "--by", "list"]) == Exit.FINE
    printed = capsys.readouterr().out
    assert "\nreplay " in printed
    assert "a policy that goes on learning can be judged by replay only" in printed


def test_position_bias_needs_no_policy(log: str, capsys: Output) -> None:
    assert main(["evaluate", log, "--position-bias", "--json", "-"]) == Exit.FINE
    found = json.loads(capsys.readouterr().out)
    assert found["position_bias"]["neighbours"][0]["position"] == 2
    assert main(["evaluate", log, "--position-bias"]) == Exit.FINE
    assert "Examination of each position" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Nothing is asked for"),
        (["--policy", "nowhere.npz"], "The policy is 'nowhere.npz'"),
        (["--policy", "log"], "no column target_propensity"),
        (["--policy", "log", "--logged-by", "nowhere.npz"], "--logged-by is 'nowhere.npz'"),
        (["--policy", "log", "--learning"], "--learning needs a ranker"),
        (["--policy", "log", "--estimator", "ipz"], "perhaps you mean 'ips'"),
        (["--policy", "log", "--level", "95"], "above 0 and below 1"),
    ],
)
def test_wrong_flags_end_with_a_line(log: str, words: list[str], message: str, capsys: Output) -> None:
    assert main(["evaluate", log, *words]) == Exit.INPUT
    assert message in capsys.readouterr().err


def test_a_missing_log_is_said(capsys: Output) -> None:
    assert main(["evaluate", "nothing.csv", "--policy", "log"]) == Exit.INPUT
    assert "a file or a folder that exists" in capsys.readouterr().err


def test_rankers_of_a_training(log: str, tmp_path: Path, capsys: Output) -> None:
    folder = str(tmp_path / "trained")
    assert main(["train", log, "--policy", "cascade-kl-ucb", "--out", folder, "--quiet"]) == Exit.FINE
    assert main(["evaluate", log, "--policy", folder, "--estimator", "snips"]) == Exit.FINE
    assert "1 rankers on 400 lists" in capsys.readouterr().out
    assert main(["evaluate", log, "--policy", str(tmp_path), "--estimator", "snips"]) == Exit.INPUT
    assert "one that toplist train has written" in capsys.readouterr().err
