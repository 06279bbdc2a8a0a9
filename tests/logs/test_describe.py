"""The description of a log, by hand; the same from parts as from the whole; what looks wrong."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from toplist.cli import Exit, main
from toplist.logs import ClickLog, read_log, scan_log
from toplist.logs.arrow import arrow
from toplist.logs.describe import describe
from toplist.logs.generated import GeneratedLog
from toplist.support.progress import Progress

BY_HAND = ClickLog.from_lists(
    ["q", "q", "r", "q"],
    [["a", "b", "c"], ["b", "a", "c"], ["d", "e"], ["a", "b", "c"]],
    clicked=[[1], [1, 2], [], [1]],
    time=[1.7e9, 1.7e9 + 5, 1.7e9 + 86_400, 1.7e9],
    visitors=["v", "v", "w", "v"],
)


def test_a_log_by_hand() -> None:
    found = describe(BY_HAND)
    assert (found.lists, found.queries, found.items, found.clicks, found.lists_without_clicks) == (4, 2, 5, 4, 1)
    assert [(each.shown, each.clicks) for each in found.positions] == [(4, 3), (4, 1), (3, 0)]
    assert found.positions[0].rate == 0.75
    assert found.positions[0].low == pytest.approx(0.3006, abs=1e-4)  # Wilson, of 3 in 4
    assert found.positions[0].high == pytest.approx(0.9544, abs=1e-4)
    assert found.lengths == {2: 1, 3: 3}
    assert found.clicks_per_list == {0: 1, 1: 2, 2: 1}
    assert [(each.query, each.lists, each.clicks_per_list) for each in found.head] == [("q", 3, 4 / 3), ("r", 1, 0.0)]
    assert (found.head_share, found.rare_queries) == (0.75, 1)
    assert [(each.day, each.lists) for each in found.days] == [("2023-11-14", 3), ("2023-11-15", 1)]
    assert (found.visitors, found.most_lists_of_a_visitor) == (2, 3)
    assert found.conspicuous == ["position 3 is never clicked"]
    text = str(found)
    assert (
        "4 lists of 2 to 3 items, 2 queries, 5 items\n4 clicks; 1 list without clicks (25.0%), 1 list with sev" in text
    )
    assert "       1      4       3  75.00% [30.06%, 95.44%]  ##############################\n" in text


def test_parts_are_described_as_the_whole(tmp_path: Path) -> None:
    folder = GeneratedLog(lists=3000, queries=40, items=8, positions=5).write_parts(tmp_path / "log")
    parts, whole = describe(scan_log(folder, part=700)), describe(read_log(folder))
    assert parts.to_dict() == whole.to_dict()
    assert len(parts.days) == 7
    assert parts.days[0].day == "day 0"


def test_weights_count_in_click_through() -> None:
    log = ClickLog.from_lists(["q", "q"], [["a"], ["a"]], clicked=[[1], []], weights=[3, 1])
    (position,) = describe(log).positions
    assert (position.shown, position.clicks, position.rate) == (4, 3, 0.75)


def test_an_empty_log() -> None:
    found = describe(ClickLog.from_lists([], [], []))
    assert (found.lists, found.positions, found.head, found.conspicuous) == (
        0, [], [], ["there is no list that can be used"],
    )  # fmt: skip
    assert str(found).startswith("0 lists of 0 items, 0 queries, 0 items")


def test_visitors_who_may_be_programs() -> None:
    """One with 300 lists among 200 with one each, and one who clicked everything on 20 lists."""
    visitors = [f"v{n}" for n in range(200)] + ["robot"] * 300 + ["greedy"] * 20
    lists = len(visitors)
    clicked = [[1]] * (lists - 20) + [[1, 2]] * 20
    found = describe(ClickLog.from_lists(["q"] * lists, [["a", "b"]] * lists, clicked, visitors=visitors))
    assert found.conspicuous == [
        "1 visitor with more than 20 times the lists of 99% of visitors, perhaps programs: 'robot' with 300 lists",
        "1 visitor who clicked almost everything, perhaps programs: 'greedy' with 20 lists",
    ]


def test_what_was_skipped_looks_wrong() -> None:
    table = arrow.lib.table({"items": [["a", "b"], ["a", "a"], ["a"]], "clicked": [[1], [], [2]]})
    found = describe(read_log(table))
    assert found.conspicuous[:2] == [
        "1 skipped: an item is twice in the list",
        "1 skipped: a clicked position is not on the list",
    ]


# The command


def write_log(folder: Path) -> Path:
    path = folder / "log.tsv"
    rows = "".join(f"q{n % 3}\ta,b\t{1 + n % 2}\n" for n in range(12))
    path.write_text("query\titems\tclicked\n" + rows + "q\ta,b\t9\n")
    return path


def test_the_command_describes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, picture = write_log(tmp_path), tmp_path / "clicks.png"
    assert main(["log", "show", str(path), "--plot", str(picture)]) == Exit.FINE
    out, err = capsys.readouterr()
    assert out.startswith(
        "12 lists of 2 items, 3 queries, 2 items\n12 clicks; 0 lists without clicks (0.0%), 0 lists wi"
    )
    assert "\n       1     12       6  50.00% [25.38%, 74.62%]  ####" in out
    place = f"line 14 of {path}"
    assert out.endswith(f"12 lists read\n1 skipped: a clicked position is not on the list ({place})\n")
    assert err == f"toplist: wrote {picture}\n"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_command_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_log(tmp_path)
    assert main(["log", "show", str(path), "--json", "-"]) == Exit.FINE
    found = json.loads(capsys.readouterr().out)
    assert (found["lists"], found["positions"][0]["rate"]) == (12, 0.5)
    assert found["report"]["skipped"][0]["first"] == [f"line 14 of {path}"]
    target = tmp_path / "log.json"
    assert main(["log", "show", str(path), "--json", str(target), "--quiet"]) == Exit.FINE
    assert json.loads(target.read_text()) == found
    assert capsys.readouterr() == ("", "")


def test_the_command_stops_at_the_first_wrong_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_log(tmp_path)
    assert main(["log", "show", str(path), "--strict"]) == Exit.INPUT
    assert capsys.readouterr().err.startswith(f"toplist: Line 14 of {path}: a clicked position is not on the list; ")


def test_columns_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text('q,shown,hits\nx,"a,b",1\n')
    assert main(["log", "show", str(path), "--columns", "query=q,items=shown,clicked=hits"]) == Exit.FINE
    assert capsys.readouterr().out.startswith("1 list of 2 items, 1 query, 2 items\n")
    assert main(["log", "show", str(path), "--columns", "query"]) == Exit.INPUT
    assert "'query' is not a list of roles with names, as query=q,items=shown" in capsys.readouterr().err
    assert main(["log", "show", str(tmp_path / "none.csv")]) == Exit.INPUT
    assert "must be a file or a folder that exists" in capsys.readouterr().err


def test_ctrl_c_ends_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the end of a part: Arrow would make another error of it."""
    done: list[str] = []

    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("goes on")

    folder = GeneratedLog(lists=40, queries=2, items=3, positions=2).write_parts(tmp_path / "log", parts=4)
    monkeypatch.setattr("toplist.logs.tallies.LogTallies.add", interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a new process, whatever ran before
    try:
        assert main(["log", "show", str(folder)]) == Exit.INTERRUPTED
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr() == ("", "toplist: interrupted.\n")
    assert done == ["goes on"]


def test_progress_goes_from_the_first_part_to_the_end(tmp_path: Path) -> None:
    folder = GeneratedLog(lists=400, queries=4, items=5, positions=3).write_parts(tmp_path / "log", parts=2)
    seen: list[float] = []
    seconds: list[float] = []

    def report(progress: Progress) -> None:
        seen.append(progress.done / progress.total)
        seconds.append(progress.seconds)

    assert sum(map(len, scan_log(folder, part=100, progress=report))) == 400
    assert 0 <= min(seconds) <= max(seconds) < 600
    assert seen == sorted(seen)
    assert (len(seen), seen[0], seen[-1]) == (4, 0.25, 1.0)
    assert np.allclose(np.diff(seen), 0.25)
