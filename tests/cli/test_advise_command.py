"""`toplist advise` and `toplist proof`: print an answer, write files, and refuse what cannot be used."""

import json
import random
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from toplist.advice import playing
from toplist.advice.kept_plays import KeptPlays
from toplist.cli import Exit, main
from toplist.support.progress_bar import FitProgressBar

Output = pytest.CaptureFixture[str]
FEW = ["--positions", "2", "--policies", "dcm-ts,cascade-ts", "--draws", "2", "--lists", "100", "--threads", "1"]


@pytest.fixture
def log(tmp_path: Path) -> str:
    chance = random.Random(3)
    lines = ["query\titems\tclicked\ttime"]
    for time in range(80):
        clicks = ",".join(str(place) for place in (1, 2, 3) if chance.random() < 0.6 / place)
        lines.append(f"q\t{','.join(chance.sample('abc', 3))}\t{clicks}\t{3600 * time}")
    path = tmp_path / "log.tsv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_it_prints_and_writes_an_answer(log: str, tmp_path: Path, capsys: Output) -> None:
    files = {name: str(tmp_path / f"advice.{name}") for name in ("json", "html", "ready")}
    flags = [word for name, path in files.items() for word in (f"--{name}", path)]
    assert main(["advise", log, *FEW, *flags]) == Exit.FINE
    printed = capsys.readouterr()
    assert "80 lists of up to 3 positions" in printed.out
    assert "Over 100 lists (4.1 days)" in printed.out
    assert f"""rankers = read_ready("{files["ready"]}").rankers()'""" in printed.out
    assert printed.err == f"toplist: wrote {files['json']} and {files['ready']} and {files['html']}\n"
    assert set(json.loads(Path(files["json"]).read_text())["policies"]) == {"dcm-ts", "cascade-ts"}
    assert json.loads(Path(files["ready"]).read_text())["rankings"][0]["items"][0]["prior"]["strength"] > 0
    assert "toplist advise" in Path(files["html"]).read_text()


def test_what_cannot_be_used_is_refused_before_the_log_is_read(log: str, tmp_path: Path, capsys: Output) -> None:
    assert main(["advise", str(tmp_path / "none.tsv"), *FEW]) == Exit.INPUT
    assert "a file or a folder that exists" in capsys.readouterr().err
    assert main(["advise", log, *FEW, "--html", "page.txt"]) == Exit.INPUT
    assert "ends in .html or .htm" in capsys.readouterr().err
    assert main(["advise", log, "--positions", "9"]) == Exit.INPUT
    assert "at most 3, the length of the longest list" in capsys.readouterr().err


def test_features_from_a_file(log: str, tmp_path: Path, capsys: Output) -> None:
    table, words = tmp_path / "f.csv", ["advise", log, *FEW[:2], *FEW[4:], "--policies", "cascade-lin-ucb"]
    table.write_text("item,price,fresh\na,0.5,1\nb,0.25,0\nc,0.1,0.5\n")
    assert main([*words, "--features", str(table)]) == Exit.FINE
    assert "cascade-lin-ucb" in capsys.readouterr().out
    table.write_text("item,price\na,cheap\n")
    assert main([*words, "--features", str(table)]) == Exit.INPUT
    assert "must be numbers" in capsys.readouterr().err


@pytest.mark.slow
def test_a_proof_from_the_command_line(tmp_path: Path, capsys: Output) -> None:
    page = str(tmp_path / "proof.html")
    sizes = ["--queries", "1", "--items", "4", "--positions", "2", "--lists", "200", "--live", "40", "--draws", "2"]
    assert main(["proof", *sizes, "--runs", "2", "--threads", "1", "--html", page]) == Exit.FINE
    printed = capsys.readouterr()
    assert "intervals hold the truth." in printed.out
    assert printed.err == f"toplist: wrote {page}\n"
    assert "toplist proof --queries 1" in Path(page).read_text()
    assert main(["proof", "--users", "dcn"]) == Exit.INPUT
    assert "perhaps" in capsys.readouterr().err


def test_an_interrupted_advice_goes_on(
    log: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while policies are played: fits that weigh the models, and what was played, are not made again."""
    folder = tmp_path / "kept"
    stages: list[str] = []

    def interrupted(_: FitProgressBar, stage: str, done: int, *__: float) -> None:
        stages.append(stage)
        if stage == "play" and done >= 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FitProgressBar, "draw", interrupted)
        assert main(["advise", log, *FEW, "--out", str(folder)]) == Exit.INTERRUPTED
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == (
            f"toplist: interrupted; the work so far is kept in {folder}, and the same command goes on from there.\n"
        )
        assert main(["advise", log, *FEW]) == Exit.INTERRUPTED
        assert capsys.readouterr().err == (
            "toplist: interrupted, and nothing was kept; with --out the same command could go on.\n"
        )
    assert {"weigh dbn", "look for drift", "play"} < set(stages)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPool")]

    missing: list[int] = []
    fill = KeptPlays.fill

    def counted(*given: Any) -> Any:
        done = fill(*given)
        missing.append(int((~done).sum()))
        return done

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the fits were kept")

    monkeypatch.setattr(sys.modules["toplist.logs.compare_models"], "fit_model", refused)
    monkeypatch.setattr(KeptPlays, "fill", counted)
    answers = []
    for _ in range(2):
        assert main(["advise", log, *FEW, "--out", str(folder)]) == Exit.FINE
        answers.append(capsys.readouterr().out)
    assert missing[0] <= 1  # of two draws of one query, one was played before, or both
    assert missing[1] == 0
    assert "What would change the advice" in answers[0] == answers[1]
    monkeypatch.setattr(playing, "LATE", 0.8)  # other code: all is played again
    assert main(["advise", log, *FEW, "--out", str(folder)]) == Exit.FINE
    assert missing[2] == 2
    capsys.readouterr()
    monkeypatch.undo()
    assert main(["advise", log, *FEW]) == Exit.FINE
    assert capsys.readouterr().out == answers[0]
