"""`toplist reproduce`: the list, the experiments played, kept and printed, and the exit codes."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toplist.cli import Exit, main
from toplist.engine.player import Player
from toplist.experiments.run_experiment import read_verdict
from toplist.support.progress_bar import TwoProgressBars

GOES_ON = "and the same command goes on from there."
Output = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("made_up")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every number of steps that is played, as it is played."""
    counted: list[int] = []
    original = Player.play

    def play(self: Player, until: int) -> None:
        counted.append(until - self.step)
        original(self, until)

    monkeypatch.setattr(Player, "play", play)
    return counted


def reproduce(folder: Path, *words: str) -> int:
    return main(["reproduce", *words, "--results", str(folder), "--jobs", "1"])


def listed(capsys: Output, folder: Path, *words: str) -> list[str]:
    assert main(["reproduce", *words, "--results", str(folder)]) == Exit.FINE
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def test_the_list(capsys: Output, folder: Path, tunes: Path) -> None:
    assert listed(capsys, folder) == [
        "experiment         state              what it is",
        "kveton2015/ratio   never run          A ratio",
        "kveton2015/songs   needs data: tunes  Figure 2: songs",
        "kveton2015/table1  never run          Table 1: two policies",
        "li2019/figure1     never run          Figure 1: a <b>bold</b> claim",
        "tunes: get the tunes of <everybody>, and name its folder with --data",
    ]
    assert not folder.exists()
    with_data = listed(capsys, folder, "--data", str(tunes))
    assert with_data[2].split()[:3] == ["kveton2015/songs", "never", "run"]
    assert len(with_data) == 5
    assert reproduce(folder, "--all", "--quick") == Exit.FINE
    capsys.readouterr()
    states = [line.split("  ") for line in listed(capsys, folder)]
    assert [[word.strip() for word in words if word][1] for words in states[1:5]] == [
        "met as printed (quick)", "needs data: tunes", "met as printed (quick)", "not met (quick)",
    ]  # fmt: skip


def test_everything(capsys: Output, folder: Path, steps: list[int]) -> None:
    assert reproduce(folder, "--all") == Exit.FINE
    out, err = capsys.readouterr()
    assert err == f"toplist: wrote {folder / 'report.html'}\n"  # stderr is no terminal, so there is no bar
    lines = out.splitlines()
    assert lines[0].startswith("kveton2015/ratio: met as printed (300 steps, 3 runs, seed 0; 0:0")
    assert lines[1:5] == [
        "  met as printed: regret <grows> | as *printed*; 1.5 ± 0.5 (print: 2)",
        "  met as printed: it has `steps`; 300",
        "kveton2015/songs: needs data",
        "  needs data: Figure 2: songs; get the tunes of <everybody>",
    ]
    assert "  not met: regret <grows> | as *printed*; 1.5 ± 0.5 (print: 2)\n    theirs is 1 < 2\n" in out
    assert lines[-1] == "2 met as printed, 1 not met, 1 needs data"
    assert sum(steps) == 3 * 3 * 300
    assert "theirs is 1 &lt; 2" in (folder / "report.html").read_text()
    for name in ("kveton2015/table1", "li2019/figure1"):
        assert {file.name for file in (folder / name).glob("figure.*")} == {"figure.png", "figure.svg"}

    steps.clear()
    assert reproduce(folder, "--all") == Exit.FINE
    assert steps == []
    assert capsys.readouterr().out == out


@pytest.mark.parametrize(
    ("words", "played"),
    [
        (["kveton2015/table1"], 2 * 3 * 300),
        (["kveton2015"], 2 * 3 * 300),
        (["kveton2015", "kveton2015/table1"], 2 * 3 * 300),
        (["li2019", "kveton2015/table1"], 3 * 3 * 300),
        (["li2019", "--quick"], 2 * 50),
        (["li2019", "--quick", "--runs", "4"], 4 * 50),
        (["li2019", "--steps", "1e2"], 3 * 100),
        (["li2019", "--runs", "1"], 300),
    ],
)
def test_names_and_sizes(capsys: Output, folder: Path, steps: list[int], words: list[str], played: int) -> None:
    assert reproduce(folder, *words, "--quiet") == Exit.FINE
    assert sum(steps) == played
    assert capsys.readouterr() == ("", "")


def test_seeds_and_threads(folder: Path, tmp_path: Path) -> None:
    def numbers(place: Path, *words: str) -> list[float]:
        assert main(["reproduce", "li2019", "--quiet", "--results", str(place), *words]) == Exit.FINE
        (file,) = place.rglob("random.npz")
        with np.load(file) as kept:
            return [float(kept[f"finished/random/{run}"][-1, 0]) for run in range(3)]

    one = numbers(folder, "--jobs", "1")
    assert numbers(tmp_path / "two", "--jobs", "2") == one
    assert numbers(tmp_path / "other", "--seed", "7") != one
    found = read_verdict("li2019/figure1", tmp_path / "other")
    assert found is not None
    assert found.size.seed == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kveton2015/tabel1"], "perhaps you mean 'kveton2015/table1'"),
        (["kveton"], "perhaps you mean 'kveton2015'"),
        (["nothing-like-it"], "`toplist reproduce` lists all"),
        (["--all", "li2019"], "--all and 'li2019' are both given"),
        (["--quick"], "--quick says how to play, but not what"),
        (["--steps", "5"], "--steps says how to play"),
        (["li2019", "--runs", "0"], "--runs is 0, but must be a whole number of at least 1"),
        (["li2019", "--steps", "0"], "--steps is 0"),
        (["li2019", "--jobs", "0"], "--jobs is 0"),
        (["li2019", "--seed", "-1"], "The seed is -1"),
        (["li2019", "--runs", "many"], "'many' is not a whole number"),
        (["li2019", "--data", "/no/such/folder"], "--data is '/no/such/folder', but must be a folder that exists"),
        (["li2019", "--data", __file__], "must be a folder that exists"),
        (["li2019", "--address", "auto"], "add --engine ray"),
        (["li2019", "--engine", "ray", "--address", "auto", "--jobs", "2"], "leave one out"),
        (["li2019", "--engine", "rai"], "invalid choice"),
    ],
)
def test_what_is_refused(capsys: Output, folder: Path, words: list[str], message: str) -> None:
    assert main(["reproduce", *words, "--results", str(folder)]) == Exit.INPUT
    out, err = capsys.readouterr()
    assert message in err
    assert err.count("\n") == 1
    assert out == ""
    assert not folder.exists()


def test_without_ray(capsys: Output, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert reproduce(folder, "li2019", "--engine", "ray") == Exit.SYSTEM
    assert 'pip install "toplist[ray]"' in capsys.readouterr().err


def test_results_that_cannot_be_written(
    capsys: Output, tmp_path: Path, steps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    for place in (file, file / "below"):
        assert reproduce(place, "li2019") == Exit.SYSTEM
        assert f"--results is {str(place)!r}, where no folder can be made" in capsys.readouterr().err
    monkeypatch.setattr("toplist.support.files.os.access", lambda *_: False)  # permissions do not stop root
    assert reproduce(tmp_path / "folder", "li2019") == Exit.SYSTEM
    assert "must be in a folder you may write to" in capsys.readouterr().err
    assert steps == []


def test_what_needs_data(capsys: Output, folder: Path, tunes: Path, steps: list[int]) -> None:
    words = ["kveton2015/songs", "--data", str(tunes)]
    assert reproduce(folder, *words) == Exit.FINE
    assert capsys.readouterr().out.splitlines()[:2][1] == "  on 3 tunes"
    found = read_verdict("kveton2015/songs", folder)
    assert found is not None
    assert (str(found.outcome), found.data, found.substitute) == (
        "met on substitute data", "3 tunes", "whistling for tunes",
    )  # fmt: skip
    steps.clear()
    assert reproduce(folder, "kveton2015/songs") == Exit.FINE  # without data the earlier verdict is kept
    out = capsys.readouterr().out
    assert "kveton2015/songs: met on substitute data" in out
    assert f"  kept from {found.finished}; to play it again, get the tunes of <everybody>, and name --data" in out
    assert read_verdict("kveton2015/songs", folder) == found
    assert steps == []


def test_an_interruption(capsys: Output, folder: Path, steps: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: TwoProgressBars, name: str, share: float, *__: float) -> None:
        if name == "li2019/figure1" and share > 0.0:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TwoProgressBars, "draw", interrupted)
        assert reproduce(folder, "--all") == Exit.INTERRUPTED
    err = capsys.readouterr().err
    assert err == f"toplist: interrupted; the work so far is kept in {folder}, {GOES_ON}\n"
    assert "never run" in (folder / "report.html").read_text()  # finished experiments are in the report
    before = sum(steps)
    assert 2 * 900 < before <= 3 * 900
    assert reproduce(folder, "--all", "--quiet") == Exit.FINE
    assert sum(steps) == 3 * 900


KILLED = """
import sys
from toplist.cli import main
from toplist.clicks import Cascade
from toplist.experiments import library
from toplist.experiments.experiment import Claim, Experiment, Outcome, Play, Size
from toplist.worlds import b_top_k

def jobs(size, data):
    return [Play("random", {"random": "random"}, b_top_k(4, 2, 0.6, 0.4), Cascade(), size.steps, size.runs)]

def judge(found):
    return [Claim("it ends", Outcome.MET, str(found.results["random"].mean("random")[-1]))]

size = Size(3_000_000, 400)
made_up = Experiment("Made up", "Four items.", size, size, jobs, judge, lambda found, figure: None)
library.library = lambda: {"li2019/figure1": made_up}
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_killed_process_loses_at_most_the_run_in_progress(folder: Path) -> None:
    command = [sys.executable, "-c", KILLED, "reproduce", "--all", "--jobs", "1", "--results", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not (kept := finished(folder)):
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    survived = finished(folder)
    assert survived >= kept
    assert not (folder / "li2019/figure1/verdict.json").exists()
    # The same command, with as many runs as had survived, plays nothing; one run more plays at most that one.
    code = KILLED.replace("sys.exit(main", COUNT + "sys.exit(main")
    for runs, most in ((survived, 0), (survived + 1, 3_000_000)):
        done = subprocess.run(
            [sys.executable, "-c", code, *command[3:], "--runs", str(runs)], capture_output=True, text=True, check=True
        )
        assert 0 <= int(done.stderr.split("played ")[1]) <= most
        assert "met as printed" in done.stdout


COUNT = """
import atexit
from toplist.engine.player import Player
played, original = 0, Player.play

def play(self, until):
    global played
    played += until - self.step
    original(self, until)

Player.play = play
atexit.register(lambda: print("played", played, file=sys.stderr))
"""


def finished(folder: Path) -> int:
    """How many runs the file keeps; it is replaced as a whole, so it can be read at any time."""
    files = list(folder.rglob("random.npz"))
    if not files:
        return 0
    with np.load(files[0]) as kept:
        return sum(name.startswith("finished/") for name in kept.files)


def test_a_failing_experiment_does_not_stop_the_others(made_up: dict[str, Any], capsys: Output, folder: Path) -> None:
    def broken(_: Any) -> Any:
        raise ZeroDivisionError("nothing to divide by")

    made_up["kveton2015/table1"] = replace(made_up["kveton2015/table1"], judge=broken)
    assert reproduce(folder, "--all") == Exit.BUG
    out, err = capsys.readouterr()
    assert "toplist: kveton2015/table1: ZeroDivisionError: nothing to divide by; this should not happen" in err
    assert "li2019/figure1: not met" in out
    assert out.splitlines()[-1] == "1 met as printed, 1 not met, 1 needs data, 1 failed"
    assert (folder / "report.html").exists()
    assert reproduce(folder, "--all", "--traceback") == Exit.BUG
    assert "in broken" in capsys.readouterr().err
    assert reproduce(folder, "kveton2015/table1") == Exit.BUG
    assert capsys.readouterr().out == ""


def test_a_full_disk_stops_everything(capsys: Output, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("toplist.experiments.run_experiment.write_verdict", full)
    assert reproduce(folder, "--all") == Exit.SYSTEM
    assert capsys.readouterr() == ("", "toplist: No space left on device\n")


def test_damaged_verdicts_are_as_good_as_none(capsys: Output, folder: Path) -> None:
    assert reproduce(folder, "li2019", "--quiet") == Exit.FINE
    (folder / "li2019/figure1/verdict.json").write_text("{")
    assert listed(capsys, folder)[4].startswith("li2019/figure1     never run")


def test_no_figures_without_matplotlib(capsys: Output, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    assert reproduce(folder, "li2019") == Exit.FINE
    err = capsys.readouterr().err
    assert "no figures are drawn: this needs matplotlib" in err
    assert 'pip install "toplist[plots]"' in err
    assert "No figure was drawn" in (folder / "report.html").read_text()


def test_no_report_without_jinja2(capsys: Output, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert reproduce(folder, "li2019") == Exit.FINE
    out, err = capsys.readouterr()
    assert "no report is written: this needs jinja2, which cannot be imported" in err
    assert err.endswith('install it with: pip install "toplist[report]"\n')
    assert "wrote" not in err
    assert "li2019/figure1: not met" in out
    assert (folder / "li2019/figure1/verdict.json").exists()
    assert not (folder / "report.html").exists()


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    assert reproduce(folder, "--all") == Exit.FINE
    drawn = screen.getvalue().split("\r")
    assert any(line.startswith("  0% [........] kveton2015/ratio") for line in drawn)
    assert any("li2019/figure1 100% [########]" in line and line.startswith("100%") for line in drawn)
    assert drawn[-1] == f"toplist: wrote {folder / 'report.html'}\n"


def test_the_quiet_command_on_a_terminal(capsys: Output, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    assert reproduce(folder, "--all", "--quiet") == Exit.FINE
    assert screen.getvalue() == ""
    assert capsys.readouterr().out == ""


def test_verdicts_can_be_read_by_programs(folder: Path) -> None:
    assert reproduce(folder, "li2019", "--quick", "--quiet") == Exit.FINE
    kept = json.loads((folder / "li2019/figure1/verdict.json").read_text())
    assert kept["outcome"] == "not met"
    assert kept["size"] == {"steps": 50, "runs": 2, "seed": 0, "quick": True, "runs_given": False}
    assert set(kept) == {
        "format", "format_version", "experiment", "outcome", "claims", "size", "seconds", "data", "substitute",
        "finished", "version", "machine", "parts", "regrets",
    }  # fmt: skip
    assert os.fspath(folder) not in json.dumps(kept)
