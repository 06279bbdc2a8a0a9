"""The report: one self-contained file with all facts on every experiment."""

import base64
import json
import re
import shlex
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from toplist import cli
from toplist.cli import Exit, main
from toplist.experiments import library, papers
from toplist.experiments.experiment import Claim, Outcome, Size
from toplist.experiments.report import MEANINGS, css_class, page, write_report
from toplist.experiments.results_folder import (
    NEVER,
    SIGNS,
    Chapter,
    ExperimentRecord,
    chapters,
    machine_text,
    time_text,
)
from toplist.experiments.run_experiment import Regret, Verdict
from toplist.support import pages

pytestmark = pytest.mark.usefixtures("made_up")
EMPTY = {"br", "img", "meta"}


class Page(HTMLParser):
    """Takes a page apart, and checks on the way that every element is closed by its own."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.identifiers: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.identifiers += [value for name, value in attrs if name == "id" and value]
        self.links += [given["href"] or ""] if "href" in given else []
        self.sources += [given["src"] or ""] if "src" in given else []
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def read(folder: Path) -> Page:
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def test_everything_is_there(results: Path, made_up: dict[str, Any]) -> None:
    text = " ".join(read(results).text.split())
    for name, experiment in made_up.items():
        assert name in text
        assert experiment.title in text
        assert experiment.setting in text
        assert f"toplist reproduce {name}" in text
    for words in (
        "regret <grows> | as *printed*", "1.5 ± 0.5 (print: 2)", "theirs is 1 < 2", "not met", "needs data",
        "start is ours, for > 1 item", "300 steps, 3 runs, seed 0", "toplist 0.1.0", "Python 3", "core",
        "Get the tunes of <everybody>.", "Kveton, Szepesvari, Wen and Ashkan, ICML 2015", "3 of 4 played", "1 of 2",
        "in 2 parts", "random: 0:0", "None known.", "Regret at the last step", "Rules of the tests",
        "the last half adds at least 45%",
    ):  # fmt: skip
        assert words in text, words


def test_it_needs_nothing_else(results: Path) -> None:
    page = read(results)
    assert len(set(page.identifiers)) == len(page.identifiers)
    assert {link.removeprefix("#") for link in page.links} <= set(page.identifiers)
    assert all(link.startswith("#") for link in page.links)
    assert len(page.sources) == 3
    for source in page.sources:
        assert re.match(r"data:image/(png|svg\+xml);base64,", source)
        assert base64.b64decode(source.partition(",")[2], validate=True)
    text = (results / "report.html").read_text(encoding="utf-8")
    assert not page.tags & {"script", "link", "iframe"}
    assert not re.search(r"@import|url\(|https?://", text)
    assert str(results.parents[1]) not in text  # the folder of all temporary files


def test_every_text_is_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of papers, experiments, claims, parts and labels: none of them becomes markup."""
    script = "<script>alert('&')</script>"
    monkeypatch.setitem(papers.PAPERS, "evil2020", papers.Paper(script, f"{script} of papers", script))
    claim = Claim(f"{script} claims", Outcome.MET, f"{script} 1.5", f"`{script}` remarks")
    experiment = replace(
        library.library()["kveton2015/table1"], title=f"{script} title", setting=script, deviations=[f"`{script}`"]
    )
    verdict = Verdict(
        "evil2020/figure1", [claim], Size(10, 2), 1.0, script, script, script, script, {"processor": script},
        {f"{script} 1": 1.0, f"{script} 2": 2.0}, [Regret(script, f"{script} policy", 1.0, 0.5, 2)],
    )  # fmt: skip
    entry = ExperimentRecord("evil2020/figure1", experiment, verdict, tmp_path)
    text = page([Chapter("evil2020", papers.PAPERS["evil2020"], [entry])])
    assert "<script" not in text
    assert "script" not in Page(text).tags
    shown = Page(text).text
    for words in ("of papers", "title", "claims", "1.5", "policy", "1: 0:01", "2: 0:02"):
        assert f"{script} {words}" in shown, words
    assert shown.count(script) > 15
    assert f"<code>{escape(script)}</code> remarks" in text.replace("&#39;", "&#x27;")


def test_the_smaller_form_of_a_figure_is_taken(results: Path) -> None:
    home = results / "li2019/figure1"
    for small, large in ((".png", ".svg"), (".svg", ".png")):
        (home / f"figure{small}").write_bytes(b"small one")
        (home / f"figure{large}").write_bytes(b"the large one")
        write_report(results)
        found = [base64.b64decode(source.partition(",")[2]) for source in read(results).sources]
        assert b"small one" in found
        assert b"the large one" not in found


def test_equal_results_give_equal_reports(results: Path) -> None:
    before = (results / "report.html").read_bytes()
    assert write_report(results) == results / "report.html"
    assert (results / "report.html").read_bytes() == before


def test_nothing_was_run(tmp_path: Path) -> None:
    write_report(tmp_path)
    text = " ".join(read(tmp_path).text.split())
    assert text.count("never run") >= 4
    assert "0 of 4 played" in text
    assert "toplist reproduce kveton2015/songs --data FOLDER" in text


def test_without_figures(results: Path) -> None:
    for file in results.rglob("figure.*"):
        file.unlink()
    write_report(results)
    assert 'No figure was drawn: pip install "toplist[plots]"' in read(results).text


def test_papers_come_in_the_order_of_years(results: Path, made_up: dict[str, Any]) -> None:
    made_up["anon2014/figure1"] = made_up["li2019/figure1"]
    assert [chapter.key for chapter in chapters(results)] == ["kveton2015", "li2019", "anon2014"]
    assert str(papers.PAPERS["li2019"]).startswith("Li and de Rijke, Cascading Non-stationary Bandits")


@pytest.mark.parametrize(
    "words",
    [
        ["--quick"],
        ["--steps", "100"],
        ["--runs", "2", "--seed", "5"],
        ["--quick", "--runs", "1"],
        ["--runs", "3"],  # as many as it has by itself
        [],
    ],
)
def test_the_command_runs_it_again(tmp_path: Path, words: list[str]) -> None:
    name = "li2019/figure1"
    assert main(["reproduce", name, *words, "--quiet", "--jobs", "1", "--results", str(tmp_path)]) == Exit.FINE
    (entry,) = [entry for chapter in chapters(tmp_path) for entry in chapter.entries if entry.name == name]
    assert entry.command() == shlex.join(["toplist", "reproduce", name, *words])
    again = cli.parser().read(shlex.split(entry.command())[1:])
    first = cli.parser().read(["reproduce", name, *words])
    assert vars(again) == vars(first)


def test_the_command_names_the_gpu_if_it_played(results: Path) -> None:
    name = "li2019/figure1"
    file = results / name / "verdict.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["machine"]["gpus"] = ["a model"]
    file.write_text(json.dumps(content), encoding="utf-8")
    (entry,) = [entry for chapter in chapters(results) for entry in chapter.entries if entry.name == name]
    assert "--engine gpu" in entry.command()
    assert machine_text(entry.verdict).startswith("1 a model beside ")  # type: ignore[arg-type]


def test_every_verdict_has_a_sign_and_a_meaning() -> None:
    states = [*Outcome, NEVER]
    assert list(SIGNS) == states
    assert list(MEANINGS) == states
    assert len(set(SIGNS.values())) == len(states)
    style = (Path(str(pages.__file__)).parent / "templates" / "page.css").read_text()
    for state in states:
        assert f".{css_class(state)} {{ --tone:" in style


def test_moments() -> None:
    assert time_text("2026-01-02T03:04:05+02:00") == "2026-01-02 01:04 UTC"
    assert time_text("") == ""
