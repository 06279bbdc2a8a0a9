"""`toplist check`: a user's own policy, from a module or a file, through the contract."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from toplist.checks import contract
from toplist.cli import Exit, main

Output = pytest.CaptureFixture[str]

OWN = '''
"""Policies of a user's own."""

from toplist import Policy
from toplist.parts.feedback import ThroughLastClick
from toplist.parts.index import UCB1
from toplist.parts.memory import Everything


def mine(scale: float = 0.5) -> Policy:
    """A dcmUCB1."""
    return Policy(ThroughLastClick(), Everything(), UCB1(scale))


class Stubborn(Policy):
    """Shows one item everywhere."""

    __slots__ = ()

    def rank(self, belief, cache, request, slate):
        slate.size[0] = len(slate.items)
        for place in range(len(slate.items)):
            slate.items[place] = 0


class Wasteful(Policy):
    """Allocates in a hot method."""

    __slots__ = ()

    def rank(self, belief, cache, request, slate):
        empty = [0, 0, 0]
        slate.items[0] = empty[0]


READY = mine()
WASTEFUL = Wasteful(*mine())
STUBBORN = Stubborn(*mine())
'''
FAST = ["lists_hold_distinct_items", "same_seed_gives_same_run"]
ONLY = [word for name in FAST for word in ("--only", name)]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The name of a module in the current folder; another one in each test, since Python keeps modules."""
    name = f"own_{re.sub(r'[^a-z_]', '', request.node.name)}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return name


def test_a_good_policy_keeps_all_promises(own: str, capsys: Output) -> None:
    assert main(["check", f"{own}.py:mine"]) == Exit.FINE
    title, *lines, last = capsys.readouterr().out.splitlines()
    assert title == f"{own}.py:mine: Policy(ThroughLastClick(), Everything(), UCB1(scale=0.5), TopK())"
    assert last == f"{len(contract())} of {len(contract())} promises kept"
    assert [line.split() for line in lines] == [["kept", name] for name in contract()]


def test_verbose_says_why_promises_are_asked_for(own: str, capsys: Output) -> None:
    assert main(["check", f"{own}.py:mine", "--verbose"]) == Exit.FINE
    text = " ".join(capsys.readouterr().out.split())
    for promise in contract().values():
        assert (inspect.getdoc(promise) or "").partition("\n")[0] in text


@pytest.mark.parametrize("name", ["mine", "mine(scale=2)", "READY"])
def test_modules_functions_and_policies(own: str, name: str, capsys: Output) -> None:
    assert main(["check", f"{own}:{name}", *ONLY]) == Exit.FINE
    assert capsys.readouterr().out.endswith("\n2 of 2 promises kept\n")


def test_a_broken_promise_is_printed_with_its_reason(own: str, capsys: Output) -> None:
    assert main(["check", f"{own}:STUBBORN", *ONLY]) == Exit.BROKEN
    assert capsys.readouterr().out.splitlines()[1:] == [
        "kept    same_seed_gives_same_run",
        "BROKEN  lists_hold_distinct_items",
        "        A list has K positions, each with a different item.",
        "        It was broken: the list [0, 0, 0] does not hold 3 different items of 9.",
        "1 of 2 promises kept",
    ]


def test_code_that_does_not_compile_is_reported_with_its_line(own: str, capsys: Output) -> None:
    assert main(["check", f"{own}.py:WASTEFUL", "--only", "plain_and_compiled_agree"]) == Exit.BROKEN
    *_, broken, last = " ".join(capsys.readouterr().out.split()).partition("It was broken: ")
    line = OWN.splitlines().index("        empty = [0, 0, 0]") + 1
    reported = (
        f'{own}.py line {line}, "empty = [0, 0, 0]", does not compile: it allocates; hot methods allocate nothing: '
    )
    assert broken
    assert last == f"{reported}make arrays in scratch(). 0 of 1 promises kept"
    assert main(["simulate", f"{own}.py:WASTEFUL", "--steps", "10", "--runs", "1"]) == Exit.INPUT
    assert capsys.readouterr().err == f"toplist: {reported}make arrays in scratch().\n"


def test_json(own: str, capsys: Output) -> None:
    assert main(["check", f"{own}:STUBBORN", *ONLY, "--json"]) == Exit.BROKEN
    found = json.loads(capsys.readouterr().out)
    assert found["kept"] is False
    assert [(verdict["promise"], verdict["kept"]) for verdict in found["promises"]] == [
        (FAST[0], False),
        (FAST[1], True),
    ]
    assert found["promises"][0]["broken_by"] == "the list [0, 0, 0] does not hold 3 different items of 9"
    assert found["promises"][1]["broken_by"] == ""


def test_a_name_of_the_catalogue_will_do(capsys: Output) -> None:
    assert main(["check", "cascade-ucb1", *ONLY]) == Exit.FINE
    assert capsys.readouterr().out.startswith("cascade-ucb1: Policy(ThroughFirstClick()")


def test_a_real_process_finds_modules_of_the_current_folder(own: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toplist", "check", f"{own}:STUBBORN", "--only", FAST[0]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (Exit.BROKEN, "")
    assert done.stdout.endswith("0 of 1 promises kept\n")


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (":min", r"There is no 'min' in own_\w+; perhaps you mean 'mine'"),
        (":", r"There is no '' in own_\w+; choose mine, Stubborn, Wasteful, READY, WASTEFUL or STUBBORN"),
        (":Policies", r"There is no 'Policies' in own_\w+; choose mine"),
        (".py", r"'own_\w+\.py' is a file, which may hold several parts; write own_\w+\.py:mine\."),
        (":mine(scal=1)", "mine has no parameter 'scal', but has scale; perhaps you mean 'scale'"),
        (":mine(1)", "must be a module and a name, .*; write it like 'mine.py:Mine"),
        (":Stubborn", "Stubborn needs reading, memory and scoring"),
        (":mine(scale='large')", "UCB1's scale is 'large'"),
        (":Policy", "Policy needs reading, memory and scoring, but must be a part of toplist .* or make one"),
        (".py.py:mine", r"There is no file 'own_\w+\.py\.py'"),
    ],
)
def test_what_is_not_there(own: str, rest: str, message: str, capsys: Output) -> None:
    assert main(["check", own + rest]) == Exit.INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"toplist: .*{message}.*\n", err), err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import a_module_that_is_missing", "ModuleNotFoundError: No module named 'a_module_that_is_missing'"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("def f(:", "SyntaxError: invalid syntax"),
    ],
)
def test_a_module_that_cannot_be_imported(own: str, source: str, message: str, capsys: Output, tmp_path: Path) -> None:
    (tmp_path / f"{own}.py").write_text(source)
    assert main(["check", f"{own}.py:mine"]) == Exit.INPUT
    assert re.fullmatch(rf"toplist: {own}\.py cannot be imported: {message}.*\n", capsys.readouterr().err)


def test_a_function_that_fails(own: str, capsys: Output, tmp_path: Path) -> None:
    (tmp_path / f"{own}.py").write_text("def mine():\n    return len(3)\n")
    assert main(["check", f"{own}.py:mine"]) == Exit.INPUT
    wanted = rf"toplist: {own}\.py:mine cannot be made: TypeError: .* has no len\(\); correct its code, or .*\n"
    assert re.fullmatch(wanted, capsys.readouterr().err)


def test_a_file_named_like_another_module(own: str, tmp_path: Path, capsys: Output) -> None:
    assert own
    (tmp_path / "json.py").write_text(OWN)
    assert main(["check", "json.py:mine"]) == Exit.INPUT
    assert re.search(r"json\.py has the name of another module, .*; rename it\.", capsys.readouterr().err)
