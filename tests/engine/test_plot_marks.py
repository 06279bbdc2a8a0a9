"""Breakpoints and detections: reported by world and policies, saved with the result, and drawn."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist import Result
from toplist.clicks import Cascade
from toplist.core.problem import InvalidInput
from toplist.core.randomness import branch
from toplist.engine.player import Player, RunSetup
from toplist.engine.plot_marks import MOST_LINES
from toplist.engine.starts import OneSample
from toplist.worlds import Fixed, coming_and_going, jumping, piecewise

CURVES: Any = {"checkpoints": [5, 10], "regret": {"a": [[0, 3], [1, 5]]}, "clicks": {"a": [[1, 9], [2, 8]]}}


def drawn_marks(result: Result) -> tuple[list[float], list[str]]:
    """Positions of the thin lines, and texts of the legend."""
    figure = result.plot()
    lines = [line.get_xdata() for line in figure.axes[0].get_lines()]
    upright = [float(x[0]) for x in map(np.asarray, lines) if len(x) == 2 and x[0] == x[1]]
    return upright, [text.get_text() for text in figure.legends[0].get_texts()]


def test_breakpoints_come_with_the_result_and_back_from_its_file(tmp_path: Path) -> None:
    world = jumping([0.5, 0.4, 0.3, 0.2], 1, raised=1, up=20, down=30)
    result = toplist.simulate("random", world, Cascade(), steps=100, runs=2)
    assert result.breakpoints == [[30, 50, 80]] * 2
    result.to_json(tmp_path / "result.json")
    again = Result.from_json(tmp_path / "result.json")
    assert again == result
    assert again.breakpoints == result.breakpoints
    assert again != Result(again.checkpoints, again.regret, again.clicks, again.settings)


def test_files_without_breakpoints_are_read_as_before(tmp_path: Path) -> None:
    result = Result(**CURVES)
    assert result.breakpoints == []
    assert "breakpoints" not in json.loads(result.json_text())
    result.to_json(tmp_path / "result.json")
    assert Result.from_json(tmp_path / "result.json") == result
    assert toplist.simulate("random", Fixed([0.5, 0.2], 1), Cascade(), steps=10, runs=2).breakpoints == []


@pytest.mark.parametrize(
    "world",
    [piecewise([[0.5, 0.2], [0.2, 0.5]], 1, length=15), coming_and_going([0.5, 0.4, 0.3], 1, stay=10, away=10)],
)
def test_breakpoints_are_the_changes_of_a_run(world: Any) -> None:
    result = toplist.simulate("random", world, Cascade(), steps=100, runs=3, seed=8)
    assert result.breakpoints[0] != result.breakpoints[1]
    setup = RunSetup.of(toplist.make("cascade-ucb1"), world, Cascade(), OneSample(), 100)
    for run, breakpoints in enumerate(result.breakpoints):
        player = Player(setup, branch(8, run), np.array([100]), compiled=False)
        before, changed = None, []
        for step in range(100):
            player.play(step + 1)
            here = player.run.moment.attraction.tolist()
            if before not in (None, here):
                changed.append(step)
            before = here
        assert breakpoints == changed


def test_common_breakpoints_are_drawn_and_named() -> None:
    assert drawn_marks(Result(**CURVES, breakpoints=[[4, 7], [4, 7]])) == ([4.0, 7.0], ["a", "breakpoint"])
    assert drawn_marks(Result(**CURVES)) == ([], ["a"])


def test_breakpoints_of_single_runs_and_too_many_are_not_drawn() -> None:
    assert drawn_marks(Result(**CURVES, breakpoints=[[4, 7], [4, 8]])) == ([], ["a"])
    often = list(range(1, MOST_LINES + 2))
    curves: Any = {"checkpoints": [1000], "regret": {"a": [[1]]}, "clicks": {"a": [[1]]}}
    assert drawn_marks(Result(**curves, breakpoints=[often])) == ([], ["a"])
    assert len(drawn_marks(Result(**curves, breakpoints=[often[:-1]]))[0]) == MOST_LINES


@pytest.mark.parametrize("wrong", [[[4]], [[4], [4, 4]], [[4], [11]], [[0], [1]], [4, 5], 4, [[4], "7"], [[4.5], [4]]])
def test_wrong_breakpoints_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="a list for each of the 2 runs, of ascending steps from 1 to 10"):
        Result(**CURVES, breakpoints=wrong)


# Detections ----------------------------------------------------------------------------------------------------------


def test_detections_come_with_the_result_and_back_from_its_file_and_from_a_file_to_resume(tmp_path: Path) -> None:
    world = piecewise([[0.9, 0.1], [0.1, 0.05]], 1, breakpoints=[300])
    policies = {"watching": "cascade-kl-ucb-resetting", "blind": "cascade-kl-ucb"}

    def play(runs: int) -> Result:
        return toplist.simulate(policies, world, Cascade(), steps=600, runs=runs, seed=1, resume=tmp_path / "runs.npz")

    result = play(2)
    assert set(result.detections) == {"watching"}
    assert all(300 < run[0] < 340 for run in result.detections["watching"])
    more = play(3)
    assert more.detections["watching"][:2] == result.detections["watching"]
    assert 300 < more.detections["watching"][2][0] < 340
    more.to_json(tmp_path / "result.json")
    assert Result.from_json(tmp_path / "result.json") == more
    assert Result.from_json(tmp_path / "result.json").detections == more.detections


def test_detections_are_ticks_in_the_colour_of_their_policy() -> None:
    curves: Any = {"a": [[0, 3], [1, 5]], "b": [[0, 3], [1, 5]]}
    steps: Any = [5, 10]
    figure = Result(steps, curves, curves, detections={"a": [[2], [3, 7]], "b": [[], []]}).plot()
    lines = figure.axes[0].get_lines()
    (ticks,) = [line for line in lines if line.get_marker() == "|"]
    assert np.asarray(ticks.get_xdata()).tolist() == [2, 3, 7]
    assert ticks.get_color() == lines[0].get_color() != lines[1].get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "change found"]


@pytest.mark.parametrize(
    "wrong", [{"nobody": [[], []]}, {"a": [[3]]}, {"a": [[7, 3], []]}, {"a": [[11], []]}, [[3], []]]
)
def test_wrong_detections_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="detections"):
        Result(**CURVES, detections=wrong)
