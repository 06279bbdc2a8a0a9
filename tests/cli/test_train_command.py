"""`toplist train`: saves rankers that have learned the lists of a log."""

import json
import random
from pathlib import Path

import pytest

from toplist import Ranker
from toplist.cli import Exit, main

Output = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path) -> str:
    chance = random.Random(3)
    lines = []
    for number in range(60):
        items = chance.sample([1, 2, 3, 4], 3)
        clicked = [place + 1 for place, item in enumerate(items) if chance.random() < item / 8]
        lines.append({"query": "shoes" if number % 3 else 7, "items": items, "clicked": clicked, "time": number})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_it_saves_a_ranker_per_query(log: str, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "rankers"
    assert main(["train", log, "--policy", "dcm-kl-ucb", "--out", str(out)]) == Exit.FINE
    printed = capsys.readouterr().out
    assert "60 lists learned by 2 rankers, one per query" in printed
    assert f"kept in {out}: 7.npz, shoes.npz" in printed
    ranker = Ranker.load(out / "shoes.npz", compiled=False)
    assert (ranker.learned, ranker.positions, sorted(ranker.items)) == (40, 3, [1, 2, 3, 4])
    index = [json.loads(line) for line in (out / "rankers.jsonl").read_text().splitlines()]
    assert [(each[0], each[2]) for each in index] == [(7, 20), ("shoes", 40)]
    assert main(["evaluate", log, "--policy", str(out / "shoes.npz"), "--estimator", "direct"]) == Exit.FINE
    assert main(["train", log, "--policy", "dcm-kl-ucb", "--out", str(out), "--quiet"]) == Exit.FINE, "all are there"


def test_one_query_and_all_together(log: str, tmp_path: Path) -> None:
    words = ["train", log, "--policy", "cascade-ucb1", "--quiet"]
    assert main([*words, "--query", "7", "--positions", "2", "--out", str(tmp_path / "one")]) == Exit.FINE
    assert Ranker.load(tmp_path / "one" / "7.npz", compiled=False).learned == 20
    assert main([*words, "--together", "--out", str(tmp_path / "all")]) == Exit.FINE
    assert Ranker.load(tmp_path / "all" / "all.npz", compiled=False).learned == 60


def test_features_come_from_a_file(log: str, tmp_path: Path, capsys: Output) -> None:
    table, other = tmp_path / "items.csv", tmp_path / "items.json"
    table.write_text("item,size,price\n1,0.1,0.2\n2,0.2,0.2\n3,0.3,0.1\n4,0.5,0.5\n")
    other.write_text(json.dumps({"1": [0.1, 0.2], "2": [0.2, 0.2], "3": [0.3, 0.1], "4": [0.5, 0.5]}))
    words = ["train", log, "--policy", "cascade-lin-ucb", "--together", "--quiet"]
    for file in (table, other):
        assert main([*words, "--features", str(file), "--out", str(tmp_path / file.suffix)]) == Exit.FINE
    first, second = (Ranker.load(tmp_path / each / "all.npz", compiled=False) for each in (".csv", ".json"))
    assert first.preferences().rows() == second.preferences().rows()
    table.write_text("item,size\n1,big\n")
    assert main([*words, "--features", str(table), "--out", str(tmp_path / "no")]) == Exit.INPUT
    assert "must be numbers" in capsys.readouterr().err
    assert main([*words, "--out", str(tmp_path / "no")]) == Exit.INPUT
    assert "learns from features" in capsys.readouterr().err


def test_a_policy_of_own_lists_is_refused(log: str, tmp_path: Path, capsys: Output) -> None:
    assert main(["train", log, "--policy", "top-rank", "--out", str(tmp_path / "no")]) == Exit.INPUT
    assert "learns from its own lists only" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
