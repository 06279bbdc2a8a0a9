"""Every example in a document runs, and prints what the document says.

A Python block that begins by importing toplist stands alone; any other goes on from the block before. A text block
after it is what it prints. Commands of a console block are run in turn, and what stands below each is what it prints;
three dots stand for anything.

All of it runs in this process, since a process of its own for each would mostly import numba. One test has a real
process for an example and a command, and another for all names of toplist that the examples do not import themselves.
"""

import ast
import doctest
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import toplist
import toplist.policies
from toplist.cli import main
from toplist.support import catalogue

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
MARK = "---- end of a block ----"
Output = pytest.CaptureFixture[str]


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


def compare_blocks(program: list[Block], printed: str) -> None:
    outputs = printed.split(f"{MARK}\n")
    assert len(outputs) == len(program) + 1
    for block, output in zip(program, outputs, strict=False):
        compare(block.printed, output)
        beside = re.findall(r"# prints (.*)", block.code)
        assert output.splitlines()[: len(beside)] == beside


def write(program: list[Block], file: Path) -> None:
    file.write_text("".join(f"{block.code}\nprint({MARK!r})\n" for block in program))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder; modules that are loaded from it are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("named", PROGRAMS)
def test_python_runs_and_prints_what_is_said(named: str, folder: Path, capsys: Output) -> None:
    """As a module of its own, in an empty folder; it is named like the document, so that its parts are cached."""
    module = ModuleType(re.sub(r"\W", "_", named))
    module.__file__ = str(folder / "example.py")
    write(PROGRAMS[named], Path(module.__file__))
    sys.modules[module.__name__] = module  # not imported: its threads would wait for the end of the import
    exec(compile(Path(module.__file__).read_bytes(), module.__file__, "exec"), vars(module))
    out, err = capsys.readouterr()
    compare_blocks(PROGRAMS[named], out)
    assert err == ""


@pytest.mark.parametrize("document", SESSIONS)
def test_commands_run_and_print_what_is_said(document: str, folder: Path, capsys: Output) -> None:
    """All of a document in one folder, which holds the examples, since one may read what another has written."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for line, printed in SESSIONS[document]:
        program, *arguments = shlex.split(line)
        if program == "toplist":
            code = main(arguments)
            out, err = capsys.readouterr()
            assert (code, err) == (0, ""), line
            compare(printed, out)
        elif program == "python":
            runpy.run_path(arguments[0], run_name="__main__")
            compare(printed, capsys.readouterr().out)
        else:
            assert program == "make", f"{document} tells to type {line!r}, which no test can run"
            assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), line


def test_an_example_and_a_command_run_in_processes_of_their_own(tmp_path: Path) -> None:
    """With warnings as errors: the first example of the README, and the first simulation of the page on installing."""
    program = PROGRAMS["README.md 1"]
    write(program, tmp_path / "example.py")
    compare_blocks(program, run([sys.executable, "-W", "error", "example.py"], tmp_path))
    (command,) = [command for command in SESSIONS["docs/install.md"] if "simulate" in command.line]
    _, *arguments = shlex.split(command.line)
    compare(command.printed, run([sys.executable, "-W", "error", "-m", "toplist", *arguments], tmp_path))


def test_names_that_the_examples_do_not_import_come_with_toplist(tmp_path: Path) -> None:
    """Whatever this process has imported: in a new one, `import toplist` is enough for each `toplist.a.b` of them."""
    trees = [ast.parse("".join(block.code for block in program)) for program in PROGRAMS.values()]
    dotted = {ast.unparse(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = sorted(name for name in dotted if re.fullmatch(r"toplist(\.\w+)+", name))
    assert {"toplist.simulate", "toplist.worlds.b_lb", "toplist.checks.check_policy"} <= set(names)
    program = "\n".join(["import toplist", *names])
    assert run([sys.executable, "-W", "error", "-c", program], tmp_path) == ""


def test_there_is_something_to_run() -> None:
    assert len(PROGRAMS) > 10
    assert {"README.md 1", "docs/tutorial.md 1", "docs/features.md 1", "docs/add_an_algorithm.md 1"} <= set(PROGRAMS)
    assert "docs/write_a_part.md 1" in PROGRAMS
    assert {"docs/add_an_algorithm.md", "docs/choosing.md"} <= set(SESSIONS)


def test_the_catalogue_finds_the_algorithm_of_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `add_an_algorithm.md` says about `entry`; under another name, for somebody may really add it."""
    text = (ROOT / "docs" / "add_an_algorithm.md").read_text()
    (block,) = [code for _, code in FENCED.findall(text) if "@entry" in code]
    assert "def dcm_ucb1(" in block
    (folder / "mine.py").write_text(f'"""One more."""\n\n{block.replace("dcm_ucb1", "one_more")}')
    monkeypatch.setattr(toplist.policies, "__path__", [*toplist.policies.__path__, str(folder)])
    monkeypatch.setattr(catalogue, "entries_of", catalogue.entries_of.__wrapped__)  # finds them anew
    assert toplist.catalogue()["one-more"].title == "dcmUCB1"
    assert toplist.make("one-more(scale=2)").scoring.scale == 2
    toplist.checks.check_policy("one-more")


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
