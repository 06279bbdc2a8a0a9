"""compare, tune, reproduce and leaderboard on a stand-in for a GPU: the same numbers as the CPU's, bit for bit."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice, install_stand_ins

import toplist
from toplist import worlds
from toplist.cli import Exit, main
from toplist.clicks import DBN, PBM, Cascade, Mixture
from toplist.engine import scheduler
from toplist.experiments import reproduce
from toplist.leaderboard import SuiteProblem, field_of, play_suite, read_suite
from toplist.support.progress import Progress
from toplist.worlds import Contextual, Fixed

ATTRACTION = [0.7, 0.5, 0.3, 0.2, 0.1]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> HostDevice:
    """What engine="gpu" plays on."""
    found: HostDevice = install_stand_ins(monkeypatch, [HostDevice()])[0]
    return found


def on_both(command: Callable[[str], Any], device: HostDevice) -> tuple[Any, Any]:
    """What a command answers on the CPU and on the GPU."""
    answers = command("cpu"), command("gpu")
    assert device.batches, "nothing was played on the GPU"
    return answers


def columns() -> dict[str, Any]:
    """Several kinds of users of one world, and worlds of other kinds."""
    world = Fixed(ATTRACTION, 2)
    users = [Cascade(), PBM([0.9, 0.5]), Mixture(Cascade(), DBN(0.5, 0.9))]
    found: dict[str, Any] = {str(number): (world, one) for number, one in enumerate(users)}
    found["jumping"] = [(worlds.jumping(ATTRACTION, 2, up=15, down=10), one) for one in users[:2]]
    return found | {"contextual": (Contextual(6, 2, 3), PBM([0.9, 0.5]))}


def test_compare(device: HostDevice) -> None:
    cpu, gpu = on_both(lambda engine: toplist.compare("cascade-ucb1", columns(), 60, 3, engine=engine), device)
    for column, cells in cpu.regret.items():
        for label, regret in cells.items():
            assert regret.tobytes() == gpu.regret[column][label].tobytes()
    assert len(gpu.regret) == 5
    assert cpu.settings == gpu.settings


def test_compare_as_a_command(device: HostDevice, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "cascade-ucb1", "--steps", "40", "--runs", "2", "--json", "-", "--quiet", "--engine"]
    assert on_both(lambda engine: main([*words, engine]), device) == (Exit.FINE, Exit.FINE)
    cpu, gpu = capsys.readouterr().out.splitlines()
    assert cpu == gpu
    assert len(json.loads(cpu)["regret"]) == 7


def test_tune(device: HostDevice, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "tune",
        "cascade-ucb1",
        "--grid",
        "scale=0.1,0.5",
        "--steps",
        "60",
        "--runs",
        "3",
        "--json",
        "-",
        "--quiet",
    ]
    assert on_both(lambda engine: main([*words, "--engine", engine]), device) == (Exit.FINE, Exit.FINE)
    cpu, gpu = capsys.readouterr().out.splitlines()
    assert cpu == gpu
    assert len(json.loads(cpu)["tried"]) == 3


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "random", "--threads", "2"],
        ["compare", "random", "--threads", "2"],
        ["tune", "cascade-ucb1", "--grid", "scale=0.1", "--threads", "2"],
        ["leaderboard", "--only", "random", "--threads", "2"],
        ["reproduce", "kveton2015/table1", "--jobs", "2"],
    ],
)
def test_threads_are_not_for_a_gpu(
    words: list[str], device: HostDevice, capsys: pytest.CaptureFixture[str], monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--engine", "gpu"]) == Exit.INPUT
    flag = words[-2].removeprefix("--")
    assert f"{flag} is 2, but a GPU plays each run on a thread of its own; leave" in capsys.readouterr().err
    assert not device.batches
    assert not list(tmp_path.iterdir())


def test_simulate_as_a_command(device: HostDevice, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "cascade-kl-ucb", "--steps", "60", "--runs", "3", "--json", "-", "--quiet", "--engine"]
    assert on_both(lambda engine: main([*words, engine]), device) == (Exit.FINE, Exit.FINE)
    cpu, gpu = capsys.readouterr().out.splitlines()
    assert cpu == gpu


@pytest.mark.usefixtures("made_up")
def test_reproduce(device: HostDevice, tmp_path: Path) -> None:
    name = "kveton2015/table1"
    cpu, gpu = on_both(lambda engine: reproduce([name], tmp_path / engine, engine=engine)[name], device)
    assert cpu.claims == gpu.claims
    kept = [sorted(tmp_path.glob(f"{engine}/{name}/*/*.npz")) for engine in ("cpu", "gpu")]
    assert len(kept[0]) == len(kept[1]) > 0
    for ours, theirs in zip(*kept, strict=True):
        assert finished(ours) == finished(theirs) != {}
    words = ["reproduce", name, "--results", str(tmp_path / "command"), "--engine", "gpu", "--quiet"]
    assert main(words) == Exit.FINE
    verdict = json.loads((tmp_path / "command" / name / "verdict.json").read_text())
    assert verdict["machine"]["gpus"] == gpu.machine["gpus"] == ["a stand-in"]


def finished(file: Path, kind: str = "finished") -> dict[str, bytes]:
    """Curves in a file to resume from, by name."""
    with np.load(file) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files if name.startswith(kind)}


SUITE = {
    "version": 1,
    "tuning": [
        {"name": f"tune {kind}", "kind": kind, "world": "fixed(attraction=[0.6, 0.1], positions=1)", "users": "cascade"}
        for kind in ("a", "b")
    ],
    "problems": [
        {"name": "fixed", "kind": "a", "world": "fixed(attraction=[0.8, 0.3, 0.1, 0.1], positions=2)",
         "users": "dcm(termination=0.5)"},
        {"name": "jumping", "kind": "a", "changes": True, "users": "pbm(examination=[1.0, 0.5])",
         "world": "jumping(attraction=[0.5, 0.4, 0.2, 0.1], positions=2, raised=2, up=15, down=10)"},
        {"name": "contextual", "kind": "b", "features": True, "users": "cascade",
         "world": "contextual(items=4, positions=2, dimension=2)"},
    ],
}  # fmt: skip


def test_leaderboard(device: HostDevice, tmp_path: Path) -> None:
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps(SUITE))

    def play(engine: str) -> Any:
        words = ["leaderboard", "--suite", str(suite), "--only", "cascade-ucb1", "c3-ucb", "--steps", "60", "--quiet"]
        file = tmp_path / f"{engine}.json"
        assert main([*words, "--runs", "2", "--json", str(file), "--engine", engine]) == Exit.FINE
        return json.loads(file.read_text())

    cpu, gpu = on_both(play, device)
    assert gpu["settings"]["engine"] == "gpu"
    assert len(cpu["results"]) == len(gpu["results"]) == 3
    for problem, cells in cpu["results"].items():
        for label, cell in cells.items():
            assert cell["regret"] == gpu["results"][problem][label]["regret"]


def played(
    problems: list[SuiteProblem], engine: str, folder: Path | None = None, progress: Any = None
) -> list[list[float]]:
    """Regret of a board of one policy."""
    contenders = field_of({}, {}, ["cascade-ucb1"])
    _, found = play_suite(problems, contenders, 300, 2, 0, [], None, engine, folder, progress)
    return [cell.regret.ravel().tolist() for cells in found.values() for cell in cells.values()]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_a_board_that_one_engine_began_goes_on_with_the_other(
    engine: str, number: int, device: HostDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is interrupted in the middle of a run, in a world with a state; another problem has another world."""
    problems = [read_suite(json.dumps(SUITE)).problems[one] for one in (number, 0)]
    whole, launch, play_until, earlier = played(problems, "cpu"), device.launch, scheduler.play_until, []

    def stop_launch(*arguments: Any) -> None:
        if len(device.launches) == 2:
            raise KeyboardInterrupt
        launch(*arguments)

    def play_slowly(*arguments: Any) -> None:
        play_until(*arguments)
        time.sleep(0.15)  # longer than the pause between two reports

    def stop(now: Progress) -> None:
        if now.done > 0:
            raise KeyboardInterrupt

    device.launch = stop_launch  # type: ignore[method-assign, assignment]
    monkeypatch.setattr(scheduler, "play_until", play_slowly)
    with pytest.raises(KeyboardInterrupt):
        played(problems, engine, tmp_path, stop if engine == "cpu" else None)
    monkeypatch.setattr(scheduler, "play_until", play_until)
    device.launch = launch  # type: ignore[method-assign]
    assert finished(tmp_path / f"{problems[0].name}-cascade-ucb1.npz", "unfinished")
    other = {"cpu": "gpu", "gpu": "cpu"}[engine]
    assert played(problems, other, tmp_path, lambda now: earlier.append(now.earlier)) == whole
    assert earlier[0] > 0
