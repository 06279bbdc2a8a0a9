"""Worlds, click models and parts of one's own on the command line, from a file or a module."""

import json
import re
import sys
from pathlib import Path

import pytest

import toplist
from toplist.cli import Exit, main
from toplist.cli.part_arguments import split_label
from toplist.clicks import DCM
from toplist.worlds import Fixed

Output = pytest.CaptureFixture[str]
PARTS, RANK = "Policy(ThroughLastClick(), Everything()", "rank_leaves_the_belief"
FEW = ["--steps", "200", "--runs", "2", "--seed", "3"]
OWN = '''
"""Parts of a user's own."""

from toplist import Policy
from toplist.clicks import DCM
from toplist.engine.starts import NeverSeenFirst
from toplist.parts import GLR, UCB1, Everything, ThroughLastClick, TopK
from toplist.worlds import Fixed, Walk


class Patient(DCM):
    """DCM users."""

    __slots__ = ()


class Falling(Fixed):
    """A world."""

    __slots__ = ()


class Careful(UCB1):
    """An index."""

    __slots__ = ()


class Repeating(TopK):
    """Shows one item everywhere."""

    __slots__ = ()

    def arrange(self, scoring, belief, cache, request, slate):
        slate.size[0] = len(slate.items)
        slate.items[:] = request.candidates[0]


class Greedy(DCM):
    """Users who click everything twice."""

    __slots__ = ()

    def click(self, moment, items, attraction, labels, visitor, page):
        page.clicks[:] = 2
        return 2 * len(items)


def falling(items: int = 5, positions: int = 2) -> Fixed:
    """A world whose attraction falls."""
    return Fixed([0.5 / (1 + item) for item in range(items)], positions)


def with_users(items: int = 5):
    """A world with its users."""
    return falling(items), Patient(0.3)


def mine(scale: float = 0.5) -> Policy:
    """A policy with an index of its own."""
    return Policy(ThroughLastClick(), Everything(), Careful(scale))


GIVEN = Patient(0.2)
LATE = NeverSeenFirst()
DETECTOR, SHIFT = GLR(), Walk()
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file, the same for all tests: its parts are compiled once."""
    made = tmp_path_factory.mktemp("own_parts")
    (made / "parts_of_ones_own.py").write_text(OWN)
    return made


@pytest.fixture
def own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file, in the current folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return "parts_of_ones_own.py"


def simulate(capsys: Output, *words: str) -> toplist.Result:
    assert main(["simulate", *words, *FEW, "--json", "-"]) == Exit.FINE
    everything = json.loads(capsys.readouterr().out)
    return toplist.Result(*(everything[key] for key in ("checkpoints", "regret", "clicks", "settings")))


def falling(items: int) -> Fixed:
    return Fixed([0.5 / (1 + item) for item in range(items)], 2)


@pytest.mark.parametrize(
    ("words", "items", "termination", "names"),
    [
        (
            ["--world", "{}:falling(items=4)", "--users", "{}:Patient(termination=0.2)"], 4, 0.2,
            ("{}:falling(items=4, positions=2)", "{}:Patient(termination=0.2, order=())"),
        ),
        (["--world", "{}:with_users", "--users", "dcm"], 5, 0.5, ("{}:with_users(items=5)", "dcm(termination=0.5)")),
        (["--world", "{}:with_users(items=6)"], 6, 0.3, ("{}:with_users(items=6)", "Patient(termination=0.3)")),
        (["--world", "{}:falling", "--users", "{}:GIVEN"], 5, 0.2, ("{}:falling(items=5, positions=2)", "{}:GIVEN")),
    ],
)  # fmt: skip
def test_worlds_and_users_of_ones_own(
    own: str, words: list[str], items: int, termination: float, names: tuple[str, str], capsys: Output
) -> None:
    found = simulate(capsys, "random", *(word.format(own) for word in words))
    expected = toplist.simulate("random", falling(items), DCM(termination), steps=200, runs=2, seed=3)
    assert found.regret["random"].tobytes() == expected.regret["random"].tobytes()
    assert (found.settings["world"], found.settings["users"]) == tuple(name.format(own) for name in names)


def test_a_start_of_ones_own_and_a_policy_with_its_own_part(own: str, capsys: Output) -> None:
    found = simulate(capsys, f"ours={own}:mine(scale=1)", "--start", f"{own}:LATE", "--world", f"{own}:falling")
    policy = toplist.Policy(toplist.feedback.ThroughLastClick(), toplist.memory.Everything(), toplist.index.UCB1(1))
    expected = toplist.simulate({"ours": policy}, falling(5), steps=200, runs=2, seed=3, start="never-seen-first")
    assert found.regret["ours"].tobytes() == expected.regret["ours"].tobytes()


def test_compare_and_tune_take_them_too(own: str, capsys: Output, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    words = ["--worlds", f"falling={own}:falling", "b-top-k(items=4, positions=2)", "--users", f"patient={own}:Patient"]
    assert main(["compare", "ours=random", *words, *FEW, "--json", str(file), "--quiet"]) == Exit.FINE
    found = toplist.Comparison.from_json(file)
    assert found.policies == ("ours",)
    assert found.columns == ("patient on falling", "patient on b-top-k(items=4, positions=2)")
    assert capsys.readouterr() == ("", "")
    words = ["--grid", "scale=0.1", "--world", f"{own}:falling", "--users", f"{own}:GIVEN"]
    assert main(["tune", f"{own}:mine", *words, *FEW, "--json", "-"]) == Exit.FINE
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["world"], settings["users"]) == (f"{own}:falling(items=5, positions=2)", f"{own}:GIVEN")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--world", "{}:Patient"], r"{}:Patient is a click model, but must be a world or make one; name one, as "),
        (["--users", "{}:falling"], r"{}:falling is a world, but must be a click model or make one"),
        (["--users", "{}:mine"], "{}:mine is a policy, but must be a click model or make one"),
        (["--users", "os:sep"], "os:sep is '/', but must be a click model or make one"),
        (["--world", "{}:fallin"], "There is no 'fallin' in {}; perhaps you mean 'falling'"),
        (["--world", "{}:falling(item=3)"], "{}:falling has no parameter 'item', but has items, positions; perhaps"),
        (["--world", "{}:Falling"], r"{}:Falling needs attraction and positions, but must be a world or make one; "
                                    r"write {}:Falling\(attraction=..., positions=...\)"),
        (["--world", "{}"], "'{}' is a file, which may hold several parts; write {}:Falling"),
        (["--world", "{}:falling(3)"], r"'{}:falling\(3\)' must be a module and a name, with or without parameters"),
        (["--world", "missing.py:World"], r"There is no file 'missing\.py'"),
    ],
)  # fmt: skip
def test_what_is_refused(own: str, words: list[str], message: str, capsys: Output) -> None:
    assert main(["simulate", "random", *(word.format(own) for word in words), *FEW]) == Exit.INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"toplist: .*{message.format(*[re.escape(own)] * 3)}.*\n", err), err


@pytest.mark.parametrize(
    ("name", "kind", "checked", "only"),
    [
        ("mine", "policy", f"{PARTS}, Careful(scale=0.5), TopK())", RANK),
        ("Careful(scale=2)", "policy", f"{PARTS}, Careful(scale=2), TopK())", RANK),
        ("DETECTOR", "policy", "Policy(ThroughLastClick(), Resetting(GLR()), UCB1(), TopK())", RANK),
        ("Patient(termination=0.3)", "users", "Patient(termination=0.3)", "clicks_fill_the_page"),
        ("falling", "world", "Fixed(attraction=[0.5, 0.25, ", "changes_are_told"),
        ("with_users", "world", "Fixed(attraction=[0.5, 0.25, ", "changes_are_told"),
        ("SHIFT", "world", "Changing(attraction=array([0.8 , 0.70625, ", "changes_are_told"),
    ],
)  # fmt: skip
def test_check_knows_every_kind(own: str, name: str, kind: str, checked: str, only: str, capsys: Output) -> None:
    assert main(["check", f"{own}:{name}", "--only", only]) == Exit.FINE
    title, line, last = capsys.readouterr().out.splitlines()
    assert title.startswith(f"{own}:{name}: {checked}")
    assert ("(inside of " in title) == (name in ("Careful(scale=2)", "DETECTOR", "SHIFT"))
    assert line == f"kept    {only}"
    assert last == "1 of 1 promises kept"
    assert main(["check", f"{own}:{name}", "--only", only, "--json"]) == Exit.FINE
    found = json.loads(capsys.readouterr().out)
    assert (found["part"], found["kind"], found["kept"]) == (f"{own}:{name}", kind, True)


def test_check_finds_broken_parts_and_click_models(own: str, capsys: Output) -> None:
    assert main(["check", f"{own}:Repeating", "--only", "lists_hold_distinct_items"]) == Exit.BROKEN
    assert "the list [0, 0, 0] does not hold 3 different items of 9" in capsys.readouterr().out
    assert main(["check", f"{own}:Greedy", "--only", "clicks_fill_the_page"]) == Exit.BROKEN
    assert "the clicks are [2, 2, 2], not 0 or 1 at every position" in capsys.readouterr().out


def test_check_takes_names_of_every_catalogue(capsys: Output) -> None:
    assert main(["check", "dcm(termination=0.3)", "--only", "clicks_fill_the_page"]) == Exit.FINE
    assert main(["check", "b-lb(items=8)", "--only", "changes_are_told"]) == Exit.FINE
    assert main(["check", "changing-dcm", "--world", "contextual", "--only", "clicks_fill_the_page"]) == Exit.FINE
    capsys.readouterr()
    assert main(["check", "changing-dcm", "--only", "clicks_fill_the_page"]) == Exit.BROKEN
    assert "AttributeError: 'Still' object has no attribute 'termination'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["os:sep"], "os:sep is '/', but must be a part of toplist (a policy, a click model, an index ...) or make"),
        (["dmc"], "There is no 'dmc' among policies, worlds, click models and starts; perhaps you mean 'dcm', or name"),
        (["forced"], "It is a start, and there are no promises to check for that; there are promises of"),
        (["random", "--world", "b-lb"], "--world is for click models, but that is none; leave it out"),
        (["dcm", "--only", "changes_are_told"], "There is no promise 'changes_are_told', but there are fields_have"),
    ],
)  # fmt: skip
def test_what_check_refuses(words: list[str], message: str, capsys: Output) -> None:
    assert main(["check", *words]) == Exit.INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"toplist: {message}"), err


def test_labels() -> None:
    assert split_label(" KL (ours) = cascade-kl-ucb(loglog=2) ") == ("KL (ours)", "cascade-kl-ucb(loglog=2)")
    assert split_label("a.py:f(x=[1,2])") == ("a.py:f(x=[1,2])", "a.py:f(x=[1,2])")
    assert split_label("=random") == ("=random", "=random")


def test_labels_of_ones_own(capsys: Output, tmp_path: Path) -> None:
    plot = tmp_path / "a.svg"
    found = simulate(capsys, "by chance=random", "the best, $x=best", "best", "--plot", str(plot))
    assert found.policies == ("by chance", "the best, $x", "best")
    assert "<svg" in plot.read_text()


def test_two_policies_of_one_label_are_refused(capsys: Output) -> None:
    assert main(["simulate", "a=random", "a=best"]) == Exit.INPUT
    assert "The policy 'a' is named twice; leave one out, or label them, as a-2=best." in capsys.readouterr().err
