"""`toplist fit`: prints and writes a comparison of click models, and goes on after an interruption."""

import json
import random
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from toplist import cli
from toplist.cli import Exit, main
from toplist.logs import fit_model
from toplist.support.files import import_optional

Output = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path) -> str:
    chance = random.Random(3)
    lines = ["query\titems\tclicked\ttime"]
    for time in range(60):
        clicks = ",".join(str(place) for place in (1, 2, 3) if chance.random() < 0.6 / place)
        lines.append(f"q\t{','.join(chance.sample('abc', 3))}\t{clicks}\t{time}")
    path = tmp_path / "log.tsv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_it_prints_the_tables(log: str, capsys: Output) -> None:
    assert main(["fit", log, "--models", "pbm,cascade"]) == Exit.FINE
    printed = capsys.readouterr().out
    assert "60 lists read" in printed
    assert re.search(r"^model +per list +against best", printed, re.MULTILINE)
    assert "Up to the first click" in printed
    assert "Models of early lists against models of lists of all times" in printed  # the log has times


def test_json_and_page(log: str, tmp_path: Path, capsys: Output) -> None:
    page, file = tmp_path / "page <1>.html", tmp_path / "found.json"
    words = ["fit", log, "--models", "pbm,dcm", "--no-drift", "--prior", "attraction=0.3:4", "--html", str(page)]
    assert main([*words, "--json", str(file)]) == Exit.FINE
    err = capsys.readouterr().err
    assert err == f"toplist: wrote {file} and {page}\n"
    found = json.loads(file.read_text())
    assert found["settings"]["priors"] == {"attraction": [0.3, 4.0]}
    text = page.read_text()
    assert text.count("<img") == 3
    assert "data:image/svg+xml;base64," in text
    for heading in ("Comparison", "What each model assumes", "Calibration", "Perplexity by position", "Parameters"):
        assert f"<h2>{heading}" in text
    assert "Visitors examine each position with its own probability" in text
    assert "examination 2" in text
    assert "60 lists read" in text
    assert "page <1>" not in text  # escaped
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org)", re.sub(r"base64,[^\"]+", "", text))
    shown = re.findall(r"<pre><code>(toplist .*)</code></pre>", text)
    command = shlex.split(shown[0].replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">"))
    again, first = (vars(cli.parser().read(each)) for each in (command[1:], words))
    assert again == first


def test_json_instead_of_tables(log: str, capsys: Output) -> None:
    assert main(["fit", log, "--models", "item-ctr", "--json", "-", "--split", "time", "--quiet"]) == Exit.FINE
    assert list(json.loads(capsys.readouterr().out)["splits"]) == ["time"]


def test_an_interrupted_fit_goes_on(log: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "models"
    words = ["fit", log, "--models", "item-ctr,pbm,dcm", "--out", str(folder), "--no-drift"]
    fitted: list[str] = []

    def interrupted(data: Any, model: Any, **options: Any) -> Any:
        fitted.append(model.name)
        if model.name == "dcm" and len(fitted) == 3:
            raise KeyboardInterrupt
        return fit_model(data, model, **options)

    monkeypatch.setattr(sys.modules["toplist.logs.compare_models"], "fit_model", interrupted)
    assert main(words) == Exit.INTERRUPTED
    err = capsys.readouterr().err
    assert f"kept in {folder}, and the same command goes on from there" in err
    assert {path.name for path in (folder / "random").iterdir()} == {"item-ctr.json", "pbm.json"}
    assert main(words) == Exit.FINE
    assert fitted == ["item-ctr", "pbm", "dcm", "dcm"]
    resumed = json.loads((folder / "comparison.json").read_text())
    assert main(["fit", log, "--models", "item-ctr,pbm,dcm", "--no-drift", "--json", str(tmp_path / "x.json")]) == 0
    straight = json.loads((tmp_path / "x.json").read_text())
    for each in (resumed, straight):
        for model in each["splits"]["random"]["models"].values():
            del model["seconds"]
    assert resumed == straight
    assert main([*words, "--seed", "1"]) == Exit.INPUT
    assert "has models of another fit: its seed is 0, that of this call 1; name another" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.tsv"], "The log is 'nowhere.tsv', but must be a file or a folder that exists"),
        (["LOG", "--models", "dbnn"], "The click model is 'dbnn', but must be one of .*; perhaps you mean 'dbn'"),
        (["LOG", "--models", ","], "The models is .*, but must be at least one of"),
        (["LOG", "--holdout", "1"], "--holdout is 1.0, but must be at least 0 and below 1"),
        (["LOG", "--prior", "attraction:2"], "'attraction:2' is not KIND=MEAN:STRENGTH, as attraction=0.2:10"),
        (["LOG", "--prior", "a=1:2", "--no-prior"], "--prior and --no-prior are both given; leave one out"),
        (["LOG", "--prior", "a=0.1:2"], "The kind of a prior is 'a', but must be one of attraction"),
        (["LOG", "--html", "page.txt"], "The page is 'page.txt', but must be a file that ends in .html or .htm"),
        (["LOG", "--json", "no/where.json"], "create the folder"),
    ],
)
def test_errors_say_what_to_do(words: list[str], message: str, log: str, capsys: Output) -> None:
    given = [log if word == "LOG" else word for word in words]
    assert main(["fit", *given]) in (Exit.INPUT, Exit.SYSTEM)
    assert re.search(message, capsys.readouterr().err)


def test_strict_stops_at_the_first_bad_line(log: str, capsys: Output) -> None:
    Path(log).write_text(Path(log).read_text() + "q\ta,b\t7\t99\n")
    assert main(["fit", log, "--models", "item-ctr"]) == Exit.FINE
    assert "1 skipped: a clicked position is not on the list" in capsys.readouterr().out
    assert main(["fit", log, "--models", "item-ctr", "--strict"]) == Exit.INPUT
    assert "a clicked position is not on the list; correct it" in " ".join(capsys.readouterr().err.split())


def test_a_page_needs_its_extras_before_the_log_is_read(
    log: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str, extra: str) -> Any:
        if module == "jinja2":
            raise ImportError(f"this needs {module}; install {extra}")
        return import_optional(module, extra)

    monkeypatch.setattr("toplist.support.files.import_optional", missing)
    assert main(["fit", log, "--html", "page.html"]) == Exit.SYSTEM
    assert "this needs jinja2; install report" in capsys.readouterr().err
