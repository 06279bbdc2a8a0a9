"""`toplist simulate`: the numbers of the library, as a table and for programs, watched, interrupted and resumed."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import toplist
from toplist.cli import Exit, main
from toplist.cli.simulate import POLICIES
from toplist.clicks import DBN, Cascade
from toplist.worlds import Fixed, b_lb, b_top_k, coming_and_going, jumping

Output = pytest.CaptureFixture[str]
FEW = ["--steps", "300", "--runs", "3", "--seed", "4"]


def simulate(capsys: Output, *words: str) -> toplist.Result:
    assert main(["simulate", *words, *FEW, "--json", "-"]) == Exit.FINE
    everything = json.loads(capsys.readouterr().out)
    return toplist.Result(*(everything[key] for key in ("checkpoints", "regret", "clicks", "settings")))


def test_the_table_is_that_of_the_library(capsys: Output) -> None:
    assert main(["simulate", "cascade-ucb1(scale=0.5)", "random", *FEW]) == Exit.FINE
    out, err = capsys.readouterr()
    expected = toplist.simulate(["cascade-ucb1(scale=0.5)", "random"], *b_lb(), steps=300, runs=3, seed=4)
    title = "b-lb(items=16, positions=4, attraction=0.2, gap=0.15, termination=0.5), dcm(termination=0.5) users"
    assert out == f"{title}, one-sample start\n{expected}\n"
    assert err == ""  # stderr is no terminal, so there is no progress


@pytest.mark.parametrize(
    ("words", "world", "users"),
    [
        (["--world", "b-lb(items=5, positions=2)"], *b_lb(5, 2)),
        (["--world", "b-top-k(items=5, positions=2)"], b_top_k(5, 2), Cascade()),
        (["--world", "b-lb", "--users", "dbn(persistence=0.5)"], b_lb()[0], DBN(persistence=0.5)),
        (["--world", "fixed(attraction=[0.9,0.5,0.1], positions=2)"], Fixed([0.9, 0.5, 0.1], 2), Cascade()),
        (
            ["--world", "jumping(attraction=[0.5,0.3,0.1], positions=1, raised=1, up=50, down=70)"],
            jumping([0.5, 0.3, 0.1], 1, raised=1, up=50, down=70),
            Cascade(),
        ),
        (
            ["--world", "coming-and-going(attraction=[0.5,0.3], positions=1, lifetimes=[[0,None],[20,90]])"],
            coming_and_going([0.5, 0.3], 1, [[0, None], [20, 90]]),
            Cascade(),
        ),
    ],
)
def test_worlds_and_users_by_name(words: list[str], world: object, users: object, capsys: Output) -> None:
    found = simulate(capsys, "random", *words)
    expected = toplist.simulate("random", world, users, steps=300, runs=3, seed=4)
    assert found.regret["random"].tobytes() == expected.regret["random"].tobytes()
    again = simulate(capsys, "random", "--world", found.settings["world"], "--users", found.settings["users"])
    assert again == found  # printed settings can be given again


def test_start_and_checkpoints(capsys: Output) -> None:
    found = simulate(capsys, "cascade-ucb1", "--start", "never-seen-first", "--checkpoints", "10,200", "--threads", "1")
    start = toplist.starts.NeverSeenFirst()
    expected = toplist.simulate("cascade-ucb1", *b_lb(), steps=300, runs=3, seed=4, start=start, checkpoints=[10, 200])
    assert found.checkpoints.tolist() == [10, 200, 300]
    assert found.regret["cascade-ucb1"].tobytes() == expected.regret["cascade-ucb1"].tobytes()
    assert found.settings["start"] == "never-seen-first"


def test_there_are_policies_to_start_with() -> None:
    assert set(POLICIES) <= set(toplist.catalogue())
    assert len(POLICIES) > 1


def test_files(tmp_path: Path, capsys: Output) -> None:
    files = {flag: tmp_path / f"a.{flag}" for flag in ("json", "csv", "svg")}
    words = ["--json", str(files["json"]), "--csv", str(files["csv"]), "--plot", str(files["svg"]), "--quiet"]
    assert main(["simulate", "random", "best", *FEW, *words]) == Exit.FINE
    assert capsys.readouterr() == ("", "")
    result = toplist.Result.from_json(files["json"])
    assert result.policies == ("random", "best")
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert [float(row["regret"]) for row in rows] == [row["regret"] for row in result.rows()]
    assert "<svg" in files["svg"].read_text()


def test_csv_to_stdout_is_nothing_else(tmp_path: Path, capsys: Output) -> None:
    """The other files written are named on stderr."""
    words = ["--csv", "-", "--json", str(tmp_path / "a.json"), "--plot", str(tmp_path / "a.svg")]
    assert main(["simulate", "best", *FEW, *words, "--checkpoints", "1"]) == Exit.FINE
    out, err = capsys.readouterr()
    assert err == f"toplist: wrote {tmp_path / 'a.json'} and {tmp_path / 'a.svg'}\n"
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["policy"], row["run"], row["step"]) for row in rows] == [
        ("best", str(run), "300") for run in (1, 2, 3)
    ]


def test_a_file_that_fails_does_not_cost_the_others(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(toplist.Result, "to_csv", full)
    words = ["--csv", str(tmp_path / "a.csv"), "--json", str(tmp_path / "a.json")]
    assert main(["simulate", "best", *FEW, *words]) == Exit.SYSTEM
    out, err = capsys.readouterr()
    assert "\nbest " in out
    assert err == f"toplist: wrote {tmp_path / 'a.json'}\ntoplist: No space left on device\n"
    assert toplist.Result.from_json(tmp_path / "a.json").policies == ("best",)


def test_a_policy_of_ones_own_beside_the_others(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "own_beside_others.py"
    file.write_text("import toplist\n\ndef mine(scale=1.0):\n    return toplist.make(f'cascade-ucb1({scale=})')\n")
    found = simulate(capsys, f"{file}:mine(scale=0.5)", "cascade-ucb1(scale=0.5)")
    own, ours = found.policies
    assert own == f"{file}:mine(scale=0.5)"
    assert found.regret[own].tobytes() == found.regret[ours].tobytes()


# Somebody is watching. Runs pause after each chunk, so that there is something to see and to interrupt.

SLOWLY = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a command of a script in the background would ignore it
from toplist.cli import main
from toplist.engine.player import Player
play = Player.play
def slowly(self, until):
    play(self, until)
    time.sleep(float(os.environ["PAUSE"]))
Player.play = slowly
sys.exit(main())
"""


class Terminal:
    """A command whose stderr is a terminal."""

    def __init__(self, *words: str, pause: float = 0.03) -> None:
        self._master, slave = os.openpty()
        self.child = subprocess.Popen(
            [sys.executable, "-c", SLOWLY, *words], stdout=subprocess.PIPE, stderr=slave, stdin=subprocess.DEVNULL,
            env=os.environ | {"PAUSE": str(pause)},
        )  # fmt: skip
        os.close(slave)
        self.written = ""

    def read(self) -> bool:
        """More of what is written; False at the end."""
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux: the terminal was closed
            data = b""
        self.written += data.decode()
        return bool(data)

    def read_until(self, pattern: str) -> None:
        while re.search(pattern, self.written) is None:
            assert self.read(), self.written

    def read_to_the_end(self) -> int:
        while self.read():
            pass
        assert self.child.stdout is not None
        self.out = self.child.stdout.read().decode()
        self.child.stdout.close()
        os.close(self._master)
        return self.child.wait()

    def screen(self) -> list[str]:
        """What is left to see: a carriage return goes back, and what follows is written over the old."""
        lines = []
        for line in self.written.replace("\r\n", "\n").split("\n"):
            seen = ""
            for text in line.split("\r"):
                seen = text + seen[len(text) :]
            lines.append(seen.rstrip())
        return lines


def test_progress_on_a_terminal_leaves_a_clean_line() -> None:
    terminal = Terminal("simulate", "best", "random", "--steps", "300", "--runs", "3")
    assert terminal.read_to_the_end() == Exit.FINE
    assert re.search(r"\r  0% \[\.+\] getting ready", terminal.written)
    assert re.search(r"\r ?\d\d% \[#+\.+\] [\d.]+( thousand)? steps/s, \d:\d\d left", terminal.written)
    assert terminal.screen() == [""]
    assert "\r" not in terminal.out
    assert terminal.out.splitlines()[1] == "300 steps, 3 runs, seed 0"


def test_quiet_on_a_terminal() -> None:
    terminal = Terminal("simulate", "best", "--steps", "20", "--runs", "1", "--quiet")
    assert terminal.read_to_the_end() == Exit.FINE
    assert (terminal.written, terminal.out) == ("", "")


def test_ctrl_c_keeps_what_was_played_and_the_same_command_goes_on(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "kept.npz"
    words = ["simulate", "cascade-ucb1", "random", "--steps", "20_000", "--runs", "4", "--json", "-"]
    terminal = Terminal(*words, "--resume", str(file), pause=0.2)  # long: it must not end before the signal comes
    terminal.read_until(r"steps/s")
    terminal.child.send_signal(signal.SIGINT)
    assert terminal.read_to_the_end() == Exit.INTERRUPTED
    kept = f"toplist: interrupted; the work so far is kept in {file}, and the same command goes on from there."
    assert terminal.screen() == [kept, ""]
    assert terminal.out == ""
    with np.load(file) as arrays:
        played = {name: int(arrays[name]) for name in arrays.files if name.endswith("/step")}
    assert any(0 < step < 20_000 for step in played.values())
    assert main([*words, "--resume", str(file)]) == Exit.FINE
    resumed = capsys.readouterr().out
    assert main(words) == Exit.FINE
    assert resumed == capsys.readouterr().out
