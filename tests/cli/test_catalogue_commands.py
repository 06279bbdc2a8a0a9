"""`toplist policies` and `toplist worlds`: everything that can be asked for by name."""

import json
from pathlib import Path

import pytest

import toplist
from toplist.cli import Exit, main
from toplist.cli.policies import capability_lines
from toplist.core.protocols import Capabilities
from toplist.support.catalogue import STARTS, USERS, WORLDS

Output = pytest.CaptureFixture[str]


class Wide:
    """A stdout that is a terminal."""

    def __init__(self, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))


def test_every_policy_has_a_line_of_its_own(capsys: Output) -> None:
    assert main(["policies"]) == Exit.FINE
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["name", "title", "paper", "rule"]
    entries = toplist.catalogue().values()
    assert [line.split()[0] for line in lines] == [entry.name for entry in entries]
    for line, entry in zip(lines, entries, strict=True):
        assert line.endswith(f"  {entry.summary}")
        assert f"  {entry.title}  " in line
        assert f"  {entry.paper or '-'} " in line


def test_on_a_terminal_sentences_are_folded(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    Wide(80, monkeypatch)
    assert main(["policies"]) == Exit.FINE
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) > len(toplist.catalogue()) + 1
    assert lines[0].split() == ["name", "paper", "rule"]


def test_policies_as_json(capsys: Output) -> None:
    assert main(["policies", "--json"]) == Exit.FINE
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert list(found) == list(toplist.catalogue())
    assert found["cascade-ucb1"]["parameters"] == {"scale": 1.5, "order": "first"}
    assert found["cascade-ucb1"]["paper"] == "kveton2015"


def test_all_about_one(capsys: Output) -> None:
    assert main(["policies", "cascade-kl-ucb"]) == Exit.FINE
    text = capsys.readouterr().out
    assert text.startswith("cascade-kl-ucb: CascadeKL-UCB (kveton2015)\n")
    assert "ICML 2015, algorithm 1" in " ".join(text.split())
    assert "\n  Policy(ThroughFirstClick(), Everything(), KLUCB(loglog=3.0), TopK(order='first'))\n" in text
    assert "\n  loglog=3.0\n      Factor of log log t in the exploration budget" in text
    assert "\n  order='first'\n      Positions from the most to the least valuable" in text
    assert "Parameters" not in text
    assert "\n  learns from clicks\n" in text
    assert "\n  one sample before step 1 is one per item\n" in text


def test_all_about_one_with_its_parameters_as_json(capsys: Output) -> None:
    assert main(["policies", "ranked-exp3(exploration=0.2)", "--json"]) == Exit.FINE
    found = json.loads(capsys.readouterr().out)
    assert found["parameters"]["exploration"] == 0.2
    assert "ExponentialWeights(exploration=0.2)" in found["parts"]
    assert found["capabilities"] == toplist.make("ranked-exp3").capabilities()._asdict()


@pytest.mark.parametrize("order", ["[2, 1]", "[2, 1, 4, 3, 5]", "last"])
def test_parameters_are_checked_on_a_problem_they_fit(order: str, capsys: Output) -> None:
    assert main(["policies", f"dcm-kl-ucb(order={order})"]) == Exit.FINE
    assert "TopK(order=" in capsys.readouterr().out


@pytest.mark.parametrize("name", toplist.catalogue())
def test_every_policy_has_its_page(name: str, capsys: Output) -> None:
    assert main(["policies", name]) == Exit.FINE
    text = capsys.readouterr().out
    for part in ("parts", "parameters", "capabilities"):
        assert f"\n\n{part}\n  " in text


def test_a_policy_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    (tmp_path / "own_to_show.py").write_text("import toplist\nMINE = toplist.make('cascade-ucb1(scale=0.25)')\n")
    monkeypatch.chdir(tmp_path)
    assert main(["policies", "own_to_show.py:MINE"]) == Exit.FINE
    assert "UCB1(scale=0.25)" in capsys.readouterr().out


def test_every_capability_and_its_absence_have_words() -> None:
    can = Capabilities()._asdict()
    cannot = {name: not value if isinstance(value, bool) else "nothing" for name, value in can.items()}
    for here, there in zip(capability_lines(can), capability_lines(cannot), strict=True):
        assert here != there
    assert capability_lines({"flies_high": True}) == ["flies high: True"]


def test_worlds_users_and_starts(capsys: Output) -> None:
    assert main(["worlds"]) == Exit.FINE
    text = capsys.readouterr().out
    for what, catalogue in (("world", WORLDS), ("users", USERS), ("start", STARTS)):
        assert f"--{what}\n" in text
        for entry in catalogue.entries().values():
            assert f"\n  {entry.name}" in text
            assert entry.summary in " ".join(text.split())
    assert "\n  dcm(termination=0.5)\n" in text
    assert "\n  fixed(attraction, positions)\n" in text


def test_worlds_as_json(capsys: Output) -> None:
    assert main(["worlds", "--json"]) == Exit.FINE
    found = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in found["users"]] == list(USERS.entries())
    fixed = next(entry for entry in found["world"] if entry["name"] == "fixed")
    assert (fixed["parameters"], fixed["required"]) == ({}, ["attraction", "positions"])


def test_one_world_or_click_model_is_described(capsys: Output) -> None:
    assert main(["worlds", "fixed"]) == Exit.FINE
    text = capsys.readouterr().out
    assert text.startswith("fixed: Fixed attraction\n\nEach item attracts with its own probability")
    assert "\n  attraction\n      Attraction probability of each item." in text
    assert main(["worlds", "dcm(termination=0.3)"]) == Exit.FINE
    text = capsys.readouterr().out
    assert text.startswith("dcm: Dependent click model (katariya2016)\n")
    assert "\n  termination=0.3\n" in text
    assert main(["worlds", "fixed", "--json"]) == Exit.FINE
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["required"], found["parameters"]) == ("fixed", ["attraction", "positions"], {})
