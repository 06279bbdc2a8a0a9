"""Yandex's logs of actions: against a reader of lines, by hand, in small blocks, and with damaged lines."""

import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toplist.logs import ClickLog, read_log, scan_log
from toplist.logs.formats import lines
from toplist.logs.generated import write_yandex_personalized, write_yandex_relevance


def content(log: ClickLog) -> list[Any]:
    found = []
    for row in range(len(log)):
        at = slice(int(log.start[row]), int(log.start[row + 1]))
        entry = [log.queries[log.query[row]], [log.items[code] for code in log.item[at]], log.click[at].tolist()]
        if log.visitor is not None and log.visitors is not None and log.time is not None:
            entry += [log.visitors[log.visitor[row]], float(log.time[row])]
        found.append(entry)
    return found


def relevance_line_by_line(path: Path) -> list[Any]:
    """The simplest reader of the layout."""
    found: list[Any] = []
    sessions: dict[str, list[Any]] = defaultdict(list)
    for line in path.read_text().splitlines():
        session, _, kind, *rest = line.split("\t")
        if kind == "Q":
            found.append([int(rest[0]), [int(url) for url in rest[2:]], [0] * len(rest[2:])])
            sessions[session].append(found[-1])
        else:
            shown = next(each for each in reversed(sessions[session]) if int(rest[0]) in each[1])
            shown[2][shown[1].index(int(rest[0]))] = 1
    return found


def personalized_line_by_line(path: Path) -> list[Any]:
    """The simplest reader of the layout."""
    found: list[Any] = []
    meta: dict[str, tuple[int, int]] = {}
    pages: dict[tuple[str, str], Any] = {}
    for line in path.read_text().splitlines():
        session, *rest = line.split("\t")
        if rest[0] == "M":
            meta[session] = int(rest[2]), int(rest[1])
        elif rest[1] == "Q":
            urls = [int(each.split(",")[0]) for each in rest[5:]]
            user, day = meta[session]
            pages[session, rest[2]] = [int(rest[3]), urls, [0] * len(urls), user, day * 86_400.0]
            found.append(pages[session, rest[2]])
        elif rest[1] == "C":
            page = pages[session, rest[2]]
            page[2][page[1].index(int(rest[3]))] = 1
    return found


LAYOUTS = {
    "yandex-relevance": (write_yandex_relevance, relevance_line_by_line),
    "yandex-personalized": (write_yandex_personalized, personalized_line_by_line),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", [None, 3000])
def test_a_generated_log_is_read_as_line_by_line(
    layout: str, block: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in blocks in whose middle sessions end."""
    write, slowly = LAYOUTS[layout]
    path = write(tmp_path / "log.tsv", sessions=40)
    if block is not None:
        monkeypatch.setattr(lines, "BLOCK", block)
    log = read_log(path, strict=True)
    assert log.report is not None
    assert log.report.layout == layout
    assert len(log) > 40
    assert 20 < log.click.sum() < log.item.size
    assert content(log) == slowly(path)
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert content(ClickLog.concatenate(list(scan_log(packed, part=7)))) == slowly(path)


def test_a_click_belongs_to_the_latest_list_that_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    actions = ["1 0 Q 7 0 10 11 12", "1 1 Q 8 0 11 13", "1 2 C 11", "1 3 C 12", "1 4 C 11", "2 0 Q 7 0 10"]
    path.write_text("\n".join(actions).replace(" ", "\t"))
    log = read_log(path)
    assert content(log) == [[7, [10, 11, 12], [0, 0, 1]], [8, [11, 13], [1, 0]], [7, [10], [0]]]


def test_wrong_actions_of_the_relevance_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    wrong = ["1 1 C 99", "1 2 X 10", "", "1 3 C ten", "2 0 Q 7 0 10 url", "2 0 C 11", "3 0 Q 7 0 10 10", "4 0 Q 7"]
    path.write_text("\n".join(["1 0 Q 7 0 10 11", *wrong, ""]).replace(" ", "\t"))
    log = read_log(path)
    assert content(log) == [[7, [10, 11], [0, 0]]]
    assert log.report is not None
    assert {reason: [place.number for place in each.first] for reason, each in log.report.skipped.items()} == {
        "the line is no action of this layout": [3, 5, 6, 9],
        "the click is on an item that was not shown": [2, 7],  # the second is of another session
        "an item is twice in the list": [8],
    }


def test_test_lists_of_the_personalized_log_are_left_out_also_if_strict(tmp_path: Path) -> None:
    log = read_log(write_yandex_personalized(tmp_path / "log", sessions=20), strict=True)
    assert log.report is not None
    ((reason, skipped),) = log.report.skipped.items()
    assert (reason, skipped.count, skipped.is_wrong) == ("the clicks of a test list are not published", 2, False)
    assert log.report.wrong == 0


def test_a_session_without_its_first_line_has_no_visitor(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("5\t0\tQ\t0\t7\t1,2\t10,1\t11,1\n5\t3\tC\t0\t11\n5\t3\tC\t1\t11\n")
    log = read_log(path)
    assert log.visitor is not None
    assert log.visitor.tolist() == [-1]
    assert log.click.tolist() == [0, 1]
    np.testing.assert_equal(log.time, [np.nan])
    assert read_log(path, only=()).visitor is None
