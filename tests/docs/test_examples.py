"""Every example in a document runs, and prints what the document says.

A Python block that begins by importing toplist stands alone; any other goes on from the block before. A text block
after it is what it prints. Commands of a console block are run in turn, and what stands below each is what it prints;
three dots stand for anything.
"""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
MARK = "---- end of a block ----"
TOPLIST = [sys.executable, "-W", "error", "-m", "toplist"]


class Block(NamedTuple):
    """Python code, and what it prints if the document says so."""

    code: str
    printed: str | None


class Command(NamedTuple):
    """A line to type, and what it prints if the document says so."""

    line: str
    printed: str | None


def programs(text: str) -> Iterator[list[Block]]:
    """The Python of a document: blocks that run one after another in one process."""
    fenced = FENCED.findall(text)
    program: list[Block] = []
    for (language, code), (following, printed) in pairwise([*fenced, ("", "")]):
        if language == "python":
            if code.startswith(("import toplist", "from toplist")) and program:
                yield program
                program = []
            program.append(Block(code, printed if following == "text" else None))
    if program:
        yield program


def commands(text: str) -> Iterator[Command]:
    """What a document tells its readers to type."""
    for language, block in FENCED.findall(text):
        if language == "console":
            for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
                line, _, printed = part.partition("\n")
                yield Command(line, printed if printed.strip() else None)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


PROGRAMS = {
    f"{name(path)} {number}": program
    for path in DOCUMENTS
    for number, program in enumerate(programs(path.read_text(encoding="utf-8")), 1)
}
SESSIONS = {name(path): found for path in DOCUMENTS if (found := list(commands(path.read_text(encoding="utf-8"))))}


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{shlex.join(arguments)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def compare(said: str | None, printed: str) -> None:
    if said is not None:
        lines = "".join(line.rstrip() + "\n" for line in printed.rstrip().splitlines())
        assert doctest.OutputChecker().check_output(said, lines, doctest.ELLIPSIS), f"it printed:\n{lines}not:\n{said}"


@pytest.mark.parametrize("named", PROGRAMS)
def test_python_runs_and_prints_what_is_said(named: str, tmp_path: Path) -> None:
    """In its own process and an empty folder."""
    program = PROGRAMS[named]
    (tmp_path / "example.py").write_text("".join(f"{block.code}\nprint({MARK!r})\n" for block in program))
    printed = run([sys.executable, "-W", "error", "example.py"], tmp_path).split(f"{MARK}\n")
    for block, output in zip(program, printed, strict=False):
        compare(block.printed, output)
        beside = re.findall(r"# prints (.*)", block.code)
        assert output.splitlines()[: len(beside)] == beside


@pytest.mark.parametrize("document", SESSIONS)
def test_commands_run_and_print_what_is_said(document: str, tmp_path: Path) -> None:
    """All of a document in one folder, which holds the examples, since one may read what another has written."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for line, printed in SESSIONS[document]:
        program, *arguments = shlex.split(line)
        if program == "toplist":
            compare(printed, run([*TOPLIST, *arguments], tmp_path))
        else:
            assert program == "make", f"{document} tells to type {line!r}, which no test can run"
            assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), line


def test_there_is_something_to_run() -> None:
    assert len(PROGRAMS) > 10
    assert {"README.md 1", "docs/tutorial.md 1", "docs/features.md 1", "docs/add_an_algorithm.md 1"} <= set(PROGRAMS)
    assert "docs/write_a_part.md 1" in PROGRAMS
    assert {"docs/add_an_algorithm.md", "docs/choosing.md"} <= set(SESSIONS)


def test_the_catalogue_finds_the_algorithm_of_one_line(tmp_path: Path) -> None:
    """What `add_an_algorithm.md` says about `entry`; under another name, for somebody may really add it."""
    text = (ROOT / "docs" / "add_an_algorithm.md").read_text()
    (block,) = [code for _, code in FENCED.findall(text) if "@entry" in code]
    assert "def dcm_ucb1(" in block
    (tmp_path / "mine.py").write_text(f'"""One more."""\n\n{block.replace("dcm_ucb1", "one_more")}')
    program = (
        f"import toplist.policies; toplist.policies.__path__.append({str(tmp_path)!r})\n"
        "print(toplist.catalogue()['one-more'].title, toplist.make('one-more(scale=2)').scoring.scale)\n"
        "toplist.checks.check_policy('one-more')\n"
    )
    assert run([sys.executable, "-W", "error", "-c", program], tmp_path) == "dcmUCB1 2\n"


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_what_a_document_points_to_is_there(document: str) -> None:
    """Sphinx sees to the links of the site; these two are not on it."""
    text = (ROOT / document).read_text()
    linked = re.findall(r"\]\((?!#)([^)\s]+)\)", text)
    named = re.findall(r"`((?:src|docs|tests|examples|benchmarks|\.ci)/[^`\s]*|[\w-]+\.(?:md|lock))`", text)
    assert named or linked
    for path in [*linked, *named]:
        assert (ROOT / path).exists(), path
    for target in re.findall(r"\bmake ([a-z]+)\b(?=`|\s+#)", text):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), target
