"""Search logs: pages per query, terminations counted by hand, and errors of damaged files."""

from pathlib import Path

import numpy as np
import pytest
from damage import Damage, cut, end, put

from toplist.core.problem import InvalidInput
from toplist.datasets import generated, search_log
from toplist.datasets.search_log import HEADER, ResultPage, read, terminations

BY_HAND = [
    "b\t1\t7,8,9\t",
    "a\t1\t1,2,3\t1",  # nothing below the first
    "a\t1\t1,2,3\t1,2",
    "a\t2\t3,2,1\t2,1",  # the lowest is the second, though the first was clicked later
    "a\t1\t1,2,3\t2,2,3",
    "a\t1\t1,2,3\t",
    "b\t1\t7,8,9\t1",
    "c\t1\t5,6\t2",
]


def by_hand(folder: Path) -> Path:
    path = folder / "log.tsv"
    path.write_text("\n".join([HEADER, *BY_HAND, ""]))
    return path


def test_pages_by_hand(tmp_path: Path) -> None:
    path = by_hand(tmp_path)
    for given in (path, str(path), tmp_path):
        log = read(given)
        assert list(log.queries) == ["b", "a", "c"]
        assert log.queries["a"][2] == ResultPage(("3", "2", "1"), (2, 1), "2")
        assert log.queries["b"] == [ResultPage(("7", "8", "9"), (), "1"), ResultPage(("7", "8", "9"), (1,), "1")]
        assert log.positions == 3
    assert str(log) == f"{path}: 8 pages of up to 3 results for 3 queries, 10 clicks, 2 pages without any"
    assert log.most_frequent(2) == ["a", "b"]


def test_terminations_by_hand(tmp_path: Path) -> None:
    """Query a: of three pages clicked at 1, one has no click below; at 2, two of three; at 3, the only one."""
    found = terminations(read(by_hand(tmp_path)), queries=2)
    assert list(found) == ["a", "b"]
    np.testing.assert_allclose(found["a"], [1 / 3, 2 / 3, 1.0])
    np.testing.assert_equal(found["b"], [1.0, np.nan, np.nan])


def test_terminations_of_a_dcm_are_recovered_at_the_top() -> None:
    """Ten results that attract with 0.5, and people who leave after a click with 0.5: 20,000 pages, tolerance 0.02.

    A click is also the last where nothing below attracts, which is rare at the top and certain at the bottom.
    """
    rng = np.random.default_rng(0)
    pages = []
    for _ in range(20_000):
        clicked: list[int] = []
        for place in range(1, 11):
            if rng.uniform() < 0.5:
                clicked.append(place)
                if rng.uniform() < 0.5:
                    break
        pages.append(ResultPage(tuple(map(str, range(10))), tuple(clicked), "0"))
    found = terminations(search_log.SearchLog(Path("made-up"), {"q": pages}), 1)["q"]
    np.testing.assert_allclose(found[:3], 0.5, atol=0.02)
    assert found[-1] == 1.0


def test_generated_logs_are_read(tmp_path: Path) -> None:
    log = read(generated.write("search-log", tmp_path))
    assert sum(map(len, log.queries.values())) == 500
    first, *_, last = log.most_frequent(len(log.queries))
    assert len(log.queries[first]) > 5 * len(log.queries[last])
    assert any(list(page.clicked) != sorted(page.clicked) for page in log.queries[first])


@pytest.mark.parametrize("wrong", [0, 4, 1.5])
def test_wrong_numbers_of_queries_are_refused(wrong: int, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="The number of queries is"):
        terminations(read(by_hand(tmp_path)), wrong)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut("log.tsv", 1), "log.tsv is truncated in the middle of a line"),
        (put("log.tsv", ""), "log.tsv has no pages"),
        (put("log.tsv", HEADER + "\n"), "log.tsv has no pages"),
        (put("log.tsv", "a\t1\t1,2\t1\n"), r"log.tsv begins with 'a\\t1\\t1,2\\t1', but must begin with 'query"),
        (end("log.tsv", "a\t1\t1,2,3\n"), r"Line 10 of .*log.tsv is 'a\\t1\\t1,2,3', but must be query"),
        (end("log.tsv", "a\t1\t1,2,3\tfirst\n"), "where the last are numbers"),
        (end("log.tsv", "a\t1\t1,2,3\t4\n"), "where positions are 1 to 3, the number of docs"),
        (end("log.tsv", "a\t1\t1,2,3\t0\n"), "where positions are 1 to 3"),
        (end("log.tsv", "a\t1\t\t\n"), "but must be query"),
    ],
)
def test_damage_gives_a_clear_error(damage: Damage, message: str, tmp_path: Path) -> None:
    by_hand(tmp_path)
    damage(tmp_path)
    with pytest.raises(InvalidInput, match=message) as caught:
        read(tmp_path)
    assert str(caught.value).endswith("unpack or copy the data again.")
    assert "\n" not in str(caught.value)


def test_wrong_paths_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", 5):
        with pytest.raises(InvalidInput, match="give a file that exists"):
            read(place)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="this folder holds 0; give the file itself"):
        read(tmp_path)
