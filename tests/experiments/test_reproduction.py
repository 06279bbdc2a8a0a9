"""`toplist.experiments.reproduce`: the experiments of the papers, played and judged from Python."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toplist
from toplist.experiments import reproduce
from toplist.experiments.experiment import Outcome, Size
from toplist.experiments.reproduction import ReproductionProgress
from toplist.experiments.run_experiment import Verdict, read_verdict
from toplist.support.files import Unwritable

NAMES = ["kveton2015/ratio", "kveton2015/songs", "kveton2015/table1", "li2019/figure1"]


@pytest.mark.usefixtures("made_up")
def test_all_experiments_are_played_judged_and_kept(tmp_path: Path) -> None:
    shown: list[Verdict] = []
    seen: list[ReproductionProgress] = []
    folder = tmp_path / "results"
    verdicts = reproduce(results=folder, threads=1, progress=seen.append, on_verdict=shown.append)
    assert list(verdicts) == NAMES
    assert list(verdicts.values()) == shown
    assert [verdict.outcome for verdict in shown] == [Outcome.MET, Outcome.NEEDS_DATA, Outcome.MET, Outcome.NOT_MET]
    assert [claim.number for claim in verdicts["kveton2015/table1"].claims] == ["1.5 ± 0.5 (print: 2)", "300"]
    assert verdicts["kveton2015/table1"].size == Size(300, 3)
    kept = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert kept >= {
        "report.html",
        *(f"{name}/verdict.json" for name in NAMES),
        "kveton2015/table1/figure.png",
        "kveton2015/table1/300-steps-seed-0/random.npz",
        "kveton2015/table1/300-steps-seed-0/cascade-ucb1.json",
        "li2019/figure1/300-steps-seed-0/random.npz",
    }
    assert [now.experiment for now in seen] == sorted(now.experiment for now in seen)
    assert [now.total_share for now in seen] == sorted(now.total_share for now in seen)
    assert (seen[0].total_share, seen[-1].share, seen[-1].total_share) == (0.0, 1.0, 1.0)

    files = {path: path.read_bytes() for path in folder.rglob("*.npz")}
    assert [one.claims for one in reproduce(results=folder).values()] == [one.claims for one in shown]
    assert {path: path.read_bytes() for path in folder.rglob("*.npz")} == files  # nothing was played again


@pytest.mark.usefixtures("made_up")
@pytest.mark.parametrize(
    ("names", "options", "size"),
    [
        ("li2019", {}, Size(300, 3)),
        (["li2019/figure1"], {"quick": True}, Size(50, 2, quick=True)),
        ("li2019/figure1", {"steps": 100, "runs": 1, "seed": 7}, Size(100, 1, seed=7, runs_given=True)),
        ("li2019/figure1", {"runs": 3}, Size(300, 3, runs_given=True)),
    ],
)
def test_names_and_sizes(tmp_path: Path, names: str | list[str], options: dict[str, Any], size: Size) -> None:
    verdicts = reproduce(names, tmp_path, threads=1, **options)
    assert {name: verdict.size for name, verdict in verdicts.items()} == {"li2019/figure1": size}
    kept = read_verdict("li2019/figure1", tmp_path)
    assert kept is not None
    assert kept.size == size


@pytest.mark.usefixtures("made_up")
def test_a_verdict_outlives_its_data(tmp_path: Path, tunes: Path) -> None:
    (found,) = reproduce("kveton2015/songs", tmp_path / "results", tunes, threads=1).values()
    assert (found.outcome, found.data, found.substitute) == (Outcome.SUBSTITUTE, "3 tunes", "whistling for tunes")
    (kept,) = reproduce("kveton2015/songs", tmp_path / "results").values()
    assert (kept.outcome, kept.finished) == (found.outcome, found.finished)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["li2019", "kveton"]}, "There is no experiment 'kveton'"),
        ({"steps": 0}, "The number of steps is 0"),
        ({"runs": 1.5}, "The number of runs is 1.5"),
        ({"threads": 0}, "The number of threads is 0"),
        ({"seed": -1}, "The seed is -1"),
        ({"data": "/no/such/folder"}, "The folder of data is '/no/such/folder', but must be a folder that exists"),
    ],
)
@pytest.mark.usefixtures("made_up")
def test_wrong_input_is_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(toplist.InvalidInput, match=message):
        reproduce(results=tmp_path / "results", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("made_up")
def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unwritable, match=r"The folder of results is '.*file', where no folder can be made"):
        reproduce("li2019", tmp_path / "file")


def test_a_failing_experiment_stops_the_others_only_without_on_error(made_up: dict[str, Any], tmp_path: Path) -> None:
    def broken(_: Any) -> Any:
        raise ZeroDivisionError("nothing to divide by")

    made_up["kveton2015/table1"] = replace(made_up["kveton2015/table1"], judge=broken)
    with pytest.raises(ZeroDivisionError):
        reproduce(results=tmp_path, threads=1)
    assert read_verdict("li2019/figure1", tmp_path) is None
    assert (tmp_path / "report.html").exists()  # of the experiments before it
    failed: list[tuple[str, str]] = []
    verdicts = reproduce(
        results=tmp_path, threads=1, on_error=lambda name, error: failed.append((name, type(error).__name__))
    )
    assert failed == [("kveton2015/table1", "ZeroDivisionError")]
    assert [*verdicts, failed[0][0]] == [*(name for name in NAMES if name != failed[0][0]), failed[0][0]]
    with pytest.raises(ZeroDivisionError):
        reproduce("kveton2015/table1", tmp_path, on_error=lambda *_: pytest.fail("a single failure is raised"))


def test_importing_the_experiments_is_light() -> None:
    program = "import sys, toplist.experiments; print({'numba', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
