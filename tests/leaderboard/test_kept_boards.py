"""What a board keeps and cites: costs, interrupted runs, its settings, and states of unknown size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_board import NAMES, SMALL, played

from toplist.leaderboard import Leaderboard, field_of, play, play_suite, read_suite, read_tuned, settings_of, summary
from toplist.leaderboard.board import EVERY
from toplist.leaderboard.page import page_text
from toplist.policies import make


def test_a_changed_suite_is_marked() -> None:
    """In the JSON, on the page and in the document; with the engine and the tuned parameters."""
    found = played()
    suite = read_suite(SMALL).chosen(["one", "two"]).with_learned(read_suite(SMALL).problems[2:])
    changes = ["2 of 3 problems chosen", "1 learned click models added"]
    assert [*suite.changes] == changes
    assert read_suite(SMALL).chosen([]).changes == ()
    settings = settings_of(suite, 60, 3, 0, "ray", read_tuned())
    board = Leaderboard(found.problems, found.contenders, found.horizons, found.cells, settings)
    written = json.loads(board.json_text())
    assert (written["settings"]["changes"], written["settings"]["engine"]) == (changes, "ray")
    assert written["settings"]["tuned"]["suite"] == read_tuned().settings["suite"]
    assert written["settings"]["tuned"]["tuning"] == read_suite().tuning_digest
    marked = f"7, changed: {', '.join(changes)};"
    assert f"suite {marked}" in page_text(board)
    assert f"Suite version {marked}" in next(summary.lines(written))


def test_the_size_of_a_state_that_is_not_arrays_is_unknown() -> None:
    """A list in it may be of any size: 0 would be wrong."""
    board = played()
    cell = board.cells["two"]["cascade-ucb1"]
    assert cell.cost.size
    assert board.cost("cascade-ucb1", EVERY)[1] is not None
    board.cells["two"]["cascade-ucb1"] = cell._replace(cost=cell.cost._replace(size=play.state_size(([0.0],))))
    assert board.cost("cascade-ucb1", EVERY)[1] is None
    assert " ? " in next(line for line in board.table().splitlines() if "cascade-ucb1" in line)
    assert '<td class="number">?</td>' in page_text(board)
    found = json.loads(board.json_text())
    assert found["results"]["two"]["cascade-ucb1"]["size"] is None
    table = list(summary.division_table(found, EVERY))
    assert " | KB | " in table[0]
    assert " | ? | " in next(line for line in table if "`cascade-ucb1`" in line)
    assert " | ? | " not in next(line for line in table if "`cascade-kl-ucb`" in line)


def test_costs_of_a_policy_that_has_changed_are_measured_again(tmp_path: Path) -> None:
    """The label is the same, and the files of the runs are gone."""
    played(tmp_path, {"ours": make("cascade-ucb1(scale=0.1)")})
    before = json.loads((tmp_path / play.COSTS).read_text())
    for path in tmp_path.glob("*ours*"):
        path.unlink()
    played(tmp_path, {"ours": make("cascade-kl-ucb")})
    now = json.loads((tmp_path / play.COSTS).read_text())
    assert set(now) == set(before)
    others = {name for name in before if before[name] == now[name]}
    assert set(before) - others == {"one: ours", "two: ours", "three: ours"}
    assert all(before[name][0] != now[name][0] for name in set(before) - others)


@pytest.mark.parametrize("after", [1, 4])
def test_an_interrupted_board_goes_on_to_the_same_result(after: int, tmp_path: Path) -> None:
    """Stopped with Ctrl-C after some matches; what was played is not played again."""
    problems, contenders = read_suite(SMALL).problems, field_of({}, {}, NAMES)
    horizons, whole = play_suite(problems, contenders, 60, 3, 0, [20], threads=1)
    matches = sum(map(len, whole.values()))

    def stop(now: Any) -> None:
        if now.done >= after * 180:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_suite(problems, contenders, 60, 3, 0, [20], threads=1, folder=tmp_path, progress=stop)
    assert 0 < len(list(tmp_path.glob("*.npz"))) < matches
    begun: list[int] = []
    again = play_suite(
        problems, contenders, 60, 3, 0, [20], threads=1, folder=tmp_path, progress=lambda now: begun.append(now.earlier)
    )
    assert begun[0] > 0
    assert again[0].tolist() == horizons.tolist()
    assert {name: [*cells] for name, cells in again[1].items()} == {name: [*cells] for name, cells in whole.items()}
    for problem, cells in whole.items():
        for label, cell in cells.items():
            assert np.array_equal(again[1][problem][label].regret, cell.regret)
