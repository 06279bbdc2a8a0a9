"""Playing an experiment: files that are kept, runs that are played again, and notes on them."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.clicks import Cascade
from toplist.core.problem import InvalidInput
from toplist.engine.player import Player
from toplist.experiments.experiment import Claim, Experiment, Findings, Measure, Outcome, Play, Size
from toplist.experiments.remaining_time import LEAST, TimeEstimator, expected_seconds
from toplist.experiments.run_experiment import (
    ExperimentProgress,
    Verdict,
    Workspace,
    check_labels,
    draw_figure,
    read_verdict,
    run_experiment,
    write_note,
    write_verdict,
)  # fmt: skip
from toplist.support.files import Unwritable, slug
from toplist.worlds import b_top_k

FULL = Size(300, 3)
NAME = "kveton2015/table1"


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


def ignore(_: ExperimentProgress) -> None:
    """Ignores the progress."""


def go(experiment: Experiment, folder: Path, size: Size = FULL, report: Any = ignore) -> Verdict:
    return run_experiment(NAME, experiment, size, None, Workspace(folder, threads=1), report)


def test_results_verdict_and_progress(made_up: dict[str, Any], tmp_path: Path, steps: list[int]) -> None:
    seen: list[ExperimentProgress] = []
    verdict = go(made_up[NAME], tmp_path, report=seen.append)
    assert sum(steps) == 2 * 3 * 300
    assert verdict.outcome == Outcome.MET
    assert [claim.number for claim in verdict.claims] == ["1.5 ± 0.5 (print: 2)", "300"]
    assert list(verdict.parts) == ["random", "cascade-ucb1"]
    assert verdict.seconds == pytest.approx(sum(verdict.parts.values()))
    for (part, policy, mean, error, runs), label in zip(verdict.regrets, ("random", "cascade-ucb1"), strict=True):
        with np.load(tmp_path / NAME / "300-steps-seed-0" / f"{label}.npz") as arrays:
            ends = [arrays[name][-1, 0] for name in arrays.files if name.startswith("finished/")]
        assert (part, policy, runs) == (label, label, 3)
        assert mean == pytest.approx(np.mean(ends))
        assert error == pytest.approx(np.std(ends, ddof=1) / np.sqrt(3))
    assert verdict.version == toplist.__version__
    assert verdict.machine["cores"] >= 1
    assert [now.share for now in seen] == sorted(now.share for now in seen)
    assert (seen[0].share, seen[-1].share) == (0.0, 1.0)
    assert all(now.earlier == 0.0 for now in seen)
    home = tmp_path / NAME
    kept = home / "300-steps-seed-0"
    assert sorted(file.name for file in home.iterdir()) == [
        "300-steps-seed-0", "figure.png", "figure.svg", "verdict.json",
    ]  # fmt: skip
    assert sorted(file.name for file in kept.iterdir()) == [
        "cascade-ucb1.json", "cascade-ucb1.npz", "random.json", "random.npz",
    ]  # fmt: skip
    read = read_verdict(NAME, tmp_path)
    assert read is not None
    assert read._replace(seconds=0, parts={}) == verdict._replace(seconds=0, parts={})


def test_a_second_call_plays_nothing_and_changes_nothing(
    made_up: dict[str, Any], tmp_path: Path, steps: list[int]
) -> None:
    first = go(made_up[NAME], tmp_path)
    files = {file: file.read_bytes() for file in (tmp_path / NAME).rglob("*") if file.is_file()}
    steps.clear()
    seen: list[ExperimentProgress] = []
    assert go(made_up[NAME], tmp_path, report=seen.append) == first
    assert steps == []
    assert seen[-1] == ExperimentProgress(1.0, 1.0, 0.0)
    assert {file: file.read_bytes() for file in (tmp_path / NAME).rglob("*") if file.is_file()} == files


def test_more_runs_play_only_those(made_up: dict[str, Any], tmp_path: Path, steps: list[int]) -> None:
    go(made_up[NAME], tmp_path)
    steps.clear()
    go(made_up[NAME], tmp_path, Size(300, 5))
    assert sum(steps) == 2 * 2 * 300


@pytest.mark.parametrize("size", [Size(300, 3, seed=1), Size(200, 3)])
def test_other_seeds_and_steps_are_kept_apart(
    made_up: dict[str, Any], tmp_path: Path, steps: list[int], size: Size
) -> None:
    go(made_up[NAME], tmp_path)
    go(made_up[NAME], tmp_path, size)
    steps.clear()
    go(made_up[NAME], tmp_path)
    assert steps == []


def interrupting(after: float) -> Any:
    def report(now: ExperimentProgress) -> None:
        if now.share >= after:
            raise KeyboardInterrupt

    return report


def test_what_an_interruption_leaves_is_not_played_again(
    made_up: dict[str, Any], tmp_path: Path, steps: list[int]
) -> None:
    whole = go(made_up[NAME], tmp_path / "whole")
    steps.clear()
    folder = tmp_path / "broken"
    with pytest.raises(KeyboardInterrupt):
        go(made_up[NAME], folder, report=interrupting(0.5))
    assert read_verdict(NAME, folder) is None
    kept = folder / NAME / "300-steps-seed-0"
    assert (
        json.loads((kept / "random.json").read_text())["seconds"] > 0
    )  # the time of an interrupted call counts as well
    before = sum(steps)
    assert 900 <= before < 1800
    seen: list[ExperimentProgress] = []
    verdict = go(made_up[NAME], folder, report=seen.append)
    assert sum(steps) == 1800
    assert seen[-1].earlier == pytest.approx(before / 1800)
    assert verdict.claims == whole.claims


def changed(experiment: Experiment, gap: float) -> Experiment:
    def jobs(size: Size, _: Any) -> list[Play | Measure]:
        return [Play("random", {"random": "random"}, b_top_k(4, 2, 0.6, gap), Cascade(), size.steps, size.runs)]

    return replace(experiment, jobs=jobs)


def test_another_setting_is_played_again(made_up: dict[str, Any], tmp_path: Path, steps: list[int]) -> None:
    go(changed(made_up[NAME], 0.4), tmp_path)
    kept = tmp_path / NAME / "300-steps-seed-0"
    (kept / "random.json").write_text(json.dumps(json.loads((kept / "random.json").read_text()) | {"seconds": 1000.0}))
    steps.clear()
    verdict = go(changed(made_up[NAME], 0.3), tmp_path)
    assert sum(steps) == 900
    assert verdict.seconds < 1000.0  # the time of the old one does not count
    assert sorted(file.name for file in kept.iterdir()) == ["random.json", "random.npz"]


def test_a_wrong_setting_costs_nothing_that_was_kept(made_up: dict[str, Any], tmp_path: Path) -> None:
    go(changed(made_up[NAME], 0.4), tmp_path)
    kept = tmp_path / NAME / "300-steps-seed-0"
    before = {file.name: file.read_bytes() for file in kept.iterdir()}

    def jobs(size: Size, _: Any) -> list[Play | Measure]:
        return [Play("random", {"random": "no-such-policy"}, b_top_k(4, 2), Cascade(), size.steps, size.runs)]

    with pytest.raises(InvalidInput, match="no-such-policy"):
        go(replace(made_up[NAME], jobs=jobs), tmp_path)
    assert {file.name: file.read_bytes() for file in kept.iterdir()} == before


def test_an_interruption_while_playing_again_leaves_nothing_of_the_old(
    made_up: dict[str, Any], tmp_path: Path, steps: list[int]
) -> None:
    go(changed(made_up[NAME], 0.4), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        go(changed(made_up[NAME], 0.3), tmp_path, report=interrupting(0.1))
    kept = tmp_path / NAME / "300-steps-seed-0"
    assert not list(kept.glob("*.outdated.npz"))
    steps.clear()
    go(changed(made_up[NAME], 0.3), tmp_path)
    assert sum(steps) < 900


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no archive", b"{}"])
def test_damaged_files_are_replaced(made_up: dict[str, Any], tmp_path: Path, steps: list[int], damage: bytes) -> None:
    first = go(made_up[NAME], tmp_path)
    kept = tmp_path / NAME / "300-steps-seed-0"
    for file in ("random.npz", "random.json", "cascade-ucb1.json"):
        (kept / file).write_bytes(damage)
    (tmp_path / NAME / "verdict.json").write_bytes(damage)
    assert read_verdict(NAME, tmp_path) is None
    steps.clear()
    assert go(made_up[NAME], tmp_path).claims == first.claims
    assert sum(steps) == 900


@pytest.mark.parametrize("content", ["[]", "3", '{"seconds": "soon"}', '{"seconds": 2.5}', "\udcff"])
def test_a_damaged_note_is_replaced(tmp_path: Path, content: str) -> None:
    file = tmp_path / "a.npz"
    file.touch()
    (tmp_path / "a.json").write_bytes(content.encode(errors="surrogateescape"))
    found = write_note(file, 1.0, FULL)
    assert found.seconds == (3.5 if "2.5" in content else 1.0)
    assert write_note(file, 9.0, FULL) == found  # nothing was written since


class Calls:
    """A counter; a number or a list would be part of the fingerprint of a function."""

    count = 0


def test_measurements_are_made_once(tmp_path: Path, made_up: dict[str, Any]) -> None:
    calls = Calls()

    def measuring(about: str, value: float) -> Experiment:
        def find() -> dict[str, Any]:
            calls.count += 1
            return {"value": np.array([value])}

        def judge(found: Any) -> list[Claim]:
            return [Claim("a value", Outcome.MET, str(found.measures["m"]["value"][0]))]

        usual: Experiment = made_up[NAME]
        return replace(usual, jobs=lambda *_: [Measure("m", find, about)], judge=judge, draw=lambda *_: None)

    assert go(measuring("one", 1.0), tmp_path).claims[0].number == "1.0"
    assert go(measuring("one", 1.0), tmp_path).claims[0].number == "1.0"
    assert calls.count == 1
    assert go(measuring("two", 2.0), tmp_path).claims[0].number == "2.0"  # it depends on something else
    assert go(measuring("two", 3.0), tmp_path).claims[0].number == "3.0"  # the function has another value in it
    (tmp_path / NAME / "300-steps-seed-0" / "m.npz").write_bytes(b"damaged")
    assert go(measuring("two", 3.0), tmp_path).claims[0].number == "3.0"
    assert calls.count == 4


def test_jobs_of_one_label_are_refused(made_up: dict[str, Any], tmp_path: Path) -> None:
    def jobs(*_: Any) -> list[Measure]:
        return [Measure(label, dict, "") for label in ("a", "A")]

    with pytest.raises(InvalidInput, match="two jobs 'a'"):
        go(replace(made_up[NAME], jobs=jobs), tmp_path)
    assert not list(tmp_path.iterdir())
    check_labels("fine", [Measure("a b", dict, ""), Measure("a-b", dict, "")])


def test_labels_make_files() -> None:
    labels = ["a", "a b", "a-b", "a/b", "../up", ".", "ß", "x" * 200, "x" * 201, "L = 16, K = 2"]
    names = [slug(label) for label in labels]
    assert len(set(names)) == len(labels)
    assert all("/" not in name and not name.startswith(".") and len(name) < 80 for name in names)


def test_no_figure_without_matplotlib(made_up: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = go(made_up[NAME], tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert go(made_up[NAME], tmp_path) == verdict
    assert not list((tmp_path / NAME).glob("figure.*"))  # an old one would not belong to the verdict


def test_equal_figures_are_equal_files(made_up: dict[str, Any], tmp_path: Path) -> None:
    for name in ("a", "b"):
        draw_figure(made_up[NAME], Findings(FULL), tmp_path / name)
    for suffix in (".png", ".svg"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_folder_that_cannot_be_written_to_is_the_error(
    made_up: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(made_up[NAME], tmp_path)
    kept = tmp_path / NAME / "300-steps-seed-0" / "random.npz"
    content = kept.read_bytes()
    monkeypatch.setattr("toplist.support.files.os.access", lambda *_: False)
    with pytest.raises(Unwritable):
        go(made_up[NAME], tmp_path)
    assert kept.read_bytes() == content


@pytest.mark.parametrize(
    "damage",
    [
        {"format_version": 2},
        {"claims": 3},
        {"claims": [{"text": "a"}]},
        {"claims": [{"text": "a", "outcome": "perhaps", "number": "", "remark": ""}]},
        {"size": {}},
        {"size": {"steps": "many", "runs": 1, "seed": 0, "quick": False}},
        {"seconds": None},
        {"machine": 3},
        {"parts": []},
    ],
)
def test_a_damaged_verdict_counts_as_none(tmp_path: Path, damage: dict[str, Any]) -> None:
    write_verdict(Verdict("a", [Claim("text", Outcome.MET, "1")], FULL, 1.5), tmp_path)
    home = tmp_path / "a"
    home.mkdir()
    content = json.loads((tmp_path / "verdict.json").read_text())
    (home / "verdict.json").write_text(json.dumps(content))
    found = read_verdict("a", tmp_path)
    assert found is not None
    assert (found.outcome, found.seconds, found.version) == (Outcome.MET, 1.5, toplist.__version__)
    (home / "verdict.json").write_text(json.dumps(content | damage))
    assert read_verdict("a", tmp_path) is None


def test_a_verdict_is_as_good_as_its_worst_claim() -> None:
    claims = [Claim("", outcome, "") for outcome in (Outcome.MET, Outcome.UNDECIDED, Outcome.SUBSTITUTE)]
    assert Verdict("a", claims, FULL, 0.0).outcome == Outcome.UNDECIDED
    assert Verdict("a", [], FULL, 0.0).outcome == Outcome.UNDECIDED


# How long everything takes


def test_the_estimate_goes_by_what_this_call_has_played() -> None:
    now = 0.0
    estimator = TimeEstimator({"old": 10.0, "new": 30.0, "last": 60.0}, clock=lambda: now)
    assert estimator.estimate("old", ExperimentProgress(0.0, 0.0, 0.0)) == (0.0, float("inf"))
    now = 1.0
    assert estimator.estimate("old", ExperimentProgress(1.0, 1.0, 0.0)) == (
        0.1,
        float("inf"),
    )  # played by an earlier call
    estimator.finish("old", ExperimentProgress(1.0, 1.0, 0.0))
    now = 7.0
    assert estimator.estimate("new", ExperimentProgress(0.5, 0.0, 0.0)) == pytest.approx((0.25, 7.0 * 75 / 15))
    now = 13.0
    estimator.finish("new", ExperimentProgress(1.0, 0.0, 0.0))
    assert estimator.estimate("last", ExperimentProgress(0.5, 0.5, 0.0)) == pytest.approx((0.7, 13.0))
    assert estimator.estimate("last", ExperimentProgress(1.0, 0.5, 0.0)) == (1.0, 0.0)


def test_seconds_are_expected_by_size(made_up: dict[str, Any]) -> None:
    experiment = replace(made_up[NAME], seconds=90.0)
    assert expected_seconds(experiment, experiment.full, played=False) == 90.0
    assert expected_seconds(experiment, Size(150, 3), played=False) == 45.0
    assert expected_seconds(experiment, Size(1, 1), played=False) == LEAST
    assert expected_seconds(experiment, experiment.full, played=True) == LEAST
