"""The page of the documents that is made from a folder of results."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from toplist.experiments import reproduction_page
from toplist.experiments.results_folder import chapters
from toplist.support.files import import_optional

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.usefixtures("made_up")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder / "reproduction.md"


def test_every_experiment_with_its_verdict(results: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduction_page.main([str(results), str(target)]) == 0
    assert capsys.readouterr().out == f"wrote {target}\n"
    text = target.read_text(encoding="utf-8")
    assert "4 tables and figures of 2 papers" in text
    assert "2 met as printed, 1 not met, 1 needs data" in text
    assert "| total time | 0:0" in text
    assert "| this page by | `python -m toplist.experiments.reproduction_page RESULTS docs/reproduction.md` |" in text
    assert "| version | toplist 0.1.0 |" in text
    assert "| [li2019/figure1](#reproduction-li2019-figure1) | Figure 1: a \\<b\\>bold" in text
    assert "\\</b\\> claim | ✗ not met | 1 of 2 | 3 | 1 | 0:0" in text
    not_met = text.partition("## Not met")[2].partition("##")[0]
    assert "regret \\<grows\\> \\| as \\*printed\\*. Found: 1.5 ± 0.5 (print: 2). theirs is 1 \\< 2" in not_met
    lacking = text.partition("## Not played")[2].partition("##")[0]
    assert "needs data. Get the tunes of \\<everybody\\>." in lacking
    assert "## Undecided" not in text  # nothing is
    assert "- `start` is ours, for \\> 1 item" in text
    assert "To run it again: `toplist reproduce kveton2015/table1`." in text
    assert "To run it: `toplist reproduce kveton2015/songs --data FOLDER`." in text
    assert "|  | random | cascade-ucb1 | runs |" in text
    assert "- Flat: the last tenth of the steps adds less than 4%" in text
    assert str(results.parents[1]) not in text  # the folder of all temporary files


def test_each_experiment_has_its_machine_and_runs(results: Path, target: Path) -> None:
    file = results / "li2019/figure1/verdict.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["size"]["runs"] = 1234
    content["machine"] |= {"processor": "CPU_Y", "cores": 16, "gpus": ["GPU X"]}
    file.write_text(json.dumps(content), encoding="utf-8")
    reproduction_page.write_page(results, target)
    text = target.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("| experiment", "| ["))]
    rows = {line.partition("]")[0]: line.split(" | ")[3:6] for line in lines}
    assert rows["| experiment | content | verdict | claims met | runs | machine | time |"] == [
        "claims met", "runs", "machine",
    ]  # fmt: skip
    assert rows["| [li2019/figure1"] == ["1 of 2", "1,234", "2"]
    assert rows["| [kveton2015/table1"][1:] == ["3", "1"]
    assert rows["| [kveton2015/songs"] == [""] * 3  # not played
    assert text.count("\n| machine ") == 2
    assert "| machine 2 | 1 GPU X beside 16 cores of CPU\\_Y, " in text


@pytest.mark.parametrize(
    ("file", "kind"),
    [("reproduction.md", reproduction_page.FIVE_PAPERS), ("newer_claims.md", reproduction_page.OTHER_PAPERS)],
)
def test_the_committed_pages_have_the_rules_of_today(file: str, kind: reproduction_page.PageKind) -> None:
    """How exact the numbers of the five papers are is no rule for the claims of others."""
    section = (DOCS / file).read_text().split("## Rules of the tests\n\n")[1].split("\n\n")[0]
    assert section.splitlines() == [f"- {reproduction_page.markdown_text(rule)}" for rule in kind.rules]
    assert ("4,096 runs" in section) == (kind is reproduction_page.FIVE_PAPERS)


def test_equal_results_give_equal_pages(results: Path, target: Path) -> None:
    def files() -> dict[str, bytes]:
        reproduction_page.write_page(results, target)
        return {str(file): file.read_bytes() for file in target.parent.rglob("*") if file.is_file()}

    first = files()
    assert len(first) == 4
    (target.parent / reproduction_page.PICTURES / target.stem / "of-an-experiment-that-is-gone.png").touch()
    assert files() == first


def noise(path: Path, width: int, height: int) -> None:
    """A picture that cannot be made small."""
    drawn = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    import_optional("PIL.Image", "plots").fromarray(drawn).save(path)


def test_pictures_stay_within_the_budget(results: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise(results / "li2019/figure1/figure.png", 600, 300)
    (results / "li2019/figure1/figure.svg").write_text(" " * 1_000_000)
    monkeypatch.setattr(reproduction_page, "BUDGET", 80_000)
    monkeypatch.setattr(reproduction_page, "WIDTHS", (500, 400, 300, 200))
    reproduction_page.write_page(results, target)
    files = list((target.parent / reproduction_page.PICTURES / target.stem).iterdir())
    assert {file.name.partition(".")[0] for file in files} == {
        "kveton2015-ratio", "kveton2015-table1", "li2019-figure1",
    }  # fmt: skip
    assert 20_000 < sum(file.stat().st_size for file in files) <= 80_000
    with import_optional("PIL.Image", "plots").open(
        target.parent / reproduction_page.PICTURES / target.stem / "li2019-figure1.png"
    ) as small:
        assert small.size == (400, 200)  # the largest that fits


def test_a_small_svg_is_taken_as_it_is(results: Path, target: Path) -> None:
    (results / "li2019/figure1/figure.svg").write_text("<svg/>")
    reproduction_page.write_page(results, target)
    assert (target.parent / reproduction_page.PICTURES / target.stem / "li2019-figure1.svg").read_text() == "<svg/>"
    assert "](pictures/reproduction/li2019-figure1.svg)" in target.read_text()
    assert not (target.parent / reproduction_page.PICTURES / target.stem / "li2019-figure1.png").exists()


def test_a_small_picture_is_not_made_larger(results: Path) -> None:
    (entry,) = [entry for chapter in chapters(results) for entry in chapter.entries if entry.name == "li2019/figure1"]
    path = entry.figure(".png")
    assert path is not None
    content = reproduction_page.downscale(path, 1400)
    assert len(content) < path.stat().st_size
    with import_optional("PIL.Image", "plots").open(io.BytesIO(content)) as small:
        assert small.size == (600, 450)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("two *stars* and a_low_line", "two \\*stars\\* and a\\_low\\_line"),
        ("`a|b` | c", "`a\\|b` \\| c"),
        ("one ` only *", "one \\` only \\*"),
        ("[link](x) {role}`x` &amp; # $1$", "\\[link\\](x) \\{role\\}`x` \\&amp; \\# \\$1\\$"),
        ("line\n\n# break", "line \\# break"),
        ("back\\slash", "back\\\\slash"),
    ],
)
def test_nothing_in_prose_is_markdown_but_code(text: str, written: str) -> None:
    assert reproduction_page.markdown_text(text) == written


@pytest.mark.parametrize(("name", "message"), [("nowhere", "must be a folder that exists"), (".", "has no results")])
def test_what_is_refused(
    tmp_path: Path, target: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    assert reproduction_page.main([str(tmp_path / name), str(target)]) == 2
    assert message in capsys.readouterr().err
    assert not target.exists()


def test_a_damaged_figure_is_refused(results: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "li2019/figure1/figure.png").write_bytes(b"no picture")
    assert reproduction_page.main([str(results), str(target)]) == 2
    assert "must be a picture that can be read; run it again" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.slow
def test_the_site_takes_the_page(results: Path, target: Path) -> None:
    reproduction_page.write_page(results, target)
    folder = target.parent
    (folder / "conf.py").write_text("extensions = ['myst_parser']\nmyst_heading_anchors = 3\nnitpicky = True\n")
    (folder / "index.md").write_text("# Site\n\n```{toctree}\nreproduction\n```\n")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(folder), str(folder / "out")]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    html = (folder / "out" / "reproduction.html").read_text()
    assert "Figure 1: a &lt;b&gt;bold&lt;/b&gt; claim" in html
    assert "regret &lt;grows&gt; | as *printed*" in html
    assert html.count("<img ") >= 3
