"""The same small log from every kind of source, in both shapes; columns, parts and ids."""

import bz2
import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, read_log, scan_log
from toplist.logs.arrow import arrow

pyarrow, parquet = arrow.lib, arrow.parquet

QUERIES = ["shoes", "hats", "shoes", "bags"]
ITEMS = [["a", "b", "c"], ["d", "a"], ["b", "a", "c"], ["e"]]
CLICKED: list[list[int]] = [[2], [], [3, 1], [1]]
VISITORS = ["v1", "v2", "v1", "v3"]
TIMES = [10.0, 20.5, 30.0, 40.0]
EXPECTED = ClickLog.from_lists(QUERIES, ITEMS, CLICKED, time=TIMES, visitors=VISITORS)


def content(log: ClickLog) -> list[Any]:
    """Lists with ids in place of codes."""
    found = []
    for row in range(len(log)):
        at = slice(int(log.start[row]), int(log.start[row + 1]))
        found.append([
            log.queries[log.query[row]],
            [log.items[code] for code in log.item[at]],
            log.click[at].tolist(),
            None if log.time is None else float(log.time[row]),
            None if log.visitor is None or log.visitors is None else log.visitors[log.visitor[row]],
        ])  # fmt: skip
    return found


def lists_table() -> dict[str, Any]:
    return {"query": QUERIES, "items": ITEMS, "clicked": CLICKED, "time": TIMES, "visitor": VISITORS}


def rows_table() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {
        name: [] for name in ("list", "query", "position", "item", "click", "time", "visitor")
    }
    for number, items in enumerate(ITEMS):
        for place, item in enumerate(items, start=1):
            values = [f"l{number}", QUERIES[number], place, item, int(place in CLICKED[number]), TIMES[number]]
            for name, value in zip(found, [*values, VISITORS[number]], strict=True):
                found[name].append(value)
    return found


def json_text(table: dict[str, Any]) -> str:
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def csv_text(table: dict[str, Any], delimiter: str, path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
        writer.writerow(table)
        for row in zip(*table.values(), strict=True):
            writer.writerow([",".join(map(str, value)) if isinstance(value, list) else value for value in row])


Write = Callable[[dict[str, Any], Path], Any]


def written(name: str) -> Write:
    def write(table: dict[str, Any], folder: Path) -> Any:
        path = folder / name
        if name.endswith(".parquet"):
            parquet.write_table(pyarrow.table(table), path, row_group_size=2)
        elif ".jsonl" in name:
            path.write_text(json_text(table))
        else:
            csv_text(table, "\t" if ".tsv" in name else ",", path)
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(path.read_bytes()))
        elif name.endswith(".zst"):
            path.write_bytes(pyarrow.compress(path.read_bytes(), codec="zstd", asbytes=True))
        elif name.endswith(".bz2"):
            path.write_bytes(bz2.compress(path.read_bytes()))
        return path

    return write


def parts(table: dict[str, Any], folder: Path) -> Path:
    """A folder of Parquet parts, with a file beside them that is no data."""
    (folder / "log").mkdir()
    whole = pyarrow.table(table)
    at = 5 if "list" in table else 2  # between two lists
    parquet.write_table(whole.slice(0, at), folder / "log" / "part-0.parquet")
    parquet.write_table(whole.slice(at), folder / "log" / "part-1.parquet")
    (folder / "log" / "_SUCCESS").touch()
    return folder / "log"


SOURCES: dict[str, Write] = {
    **{name: written(name) for name in (
        "log.parquet", "log.csv", "log.tsv", "log.jsonl", "log.csv.gz", "log.tsv.zst", "log.jsonl.zst", "log.jsonl.bz2",
    )},
    "folder": parts,
    "arrow": lambda table, _: pyarrow.table(table),
    "batches": lambda table, _: pyarrow.RecordBatchReader.from_batches(
        pyarrow.table(table).schema, pyarrow.table(table).to_batches()
    ),
    "polars": lambda table, _: polars.DataFrame(table),
    "pandas": lambda table, _: pandas.DataFrame(table),
}  # fmt: skip


@pytest.mark.parametrize("shape", ["lists", "rows"])
@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_log(kind: str, shape: str, tmp_path: Path) -> None:
    log = read_log(SOURCES[kind](lists_table() if shape == "lists" else rows_table(), tmp_path))
    assert content(log) == content(EXPECTED)
    assert log.report is not None
    assert (log.report.layout, log.report.lists, log.report.skipped) == (shape, 4, {})


@pytest.mark.parametrize("shape", ["lists", "rows"])
@pytest.mark.parametrize("kind", ["log.parquet", "log.csv", "log.jsonl", "folder", "polars"])
def test_parts_have_bounded_size_and_common_ids(kind: str, shape: str, tmp_path: Path) -> None:
    scan = scan_log(SOURCES[kind](lists_table() if shape == "lists" else rows_table(), tmp_path), part=1)
    for _ in range(2):  # every iteration reads again, with the same codes
        several = list(scan)
        if shape == "lists":
            assert [len(part) for part in several] == [1, 1, 1, 1]
        assert content(ClickLog.concatenate(several)) == content(EXPECTED)
        assert scan.report.lists == 4
        assert list(scan.queries) == ["shoes", "hats", "bags"]
        assert sorted(map(str, scan.items)) == ["a", "b", "c", "d", "e"]


def test_rows_in_any_order_make_the_same_lists(tmp_path: Path) -> None:
    table = pyarrow.table(rows_table()).take([8, 4, 3, 1, 0, 2, 7, 5, 6])
    found = read_log(table)
    assert sorted(map(str, content(found))) == sorted(map(str, content(EXPECTED)))
    parquet.write_table(table, tmp_path / "log.parquet")
    assert sorted(map(str, content(read_log(tmp_path / "log.parquet")))) == sorted(map(str, content(EXPECTED)))


def test_codes_that_no_row_uses_do_not_hide_that_rows_are_scattered() -> None:
    """Five runs of two lists, whose codes are 0 and 4 of a dictionary of five."""
    lists = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 4, 0, 4, 0]), pyarrow.array(list("vwxyz")))
    log = read_log(pyarrow.table({"list": lists, "item": list("abcde"), "click": [0] * 5}))
    assert log.lengths.tolist() == [3, 2]


def test_a_scan_reports_lists_that_continue_in_a_later_part() -> None:
    """Eight rows are a part of one list; the first list goes on after them."""
    rows = {
        "list": [1, 1, *[2] * 7, 3, 1],
        "item": ["a", "b", *"abcdefg", "a", "c"],
        "click": [0] * 11,
    }
    scan = scan_log(pyarrow.table(rows), part=1)
    assert sum(map(len, scan)) == 3
    ((reason, skipped),) = scan.report.skipped.items()
    assert reason.startswith("the list has ended before: sort the log by list")
    assert [place.number for place in skipped.first] == [11]
    assert read_log(pyarrow.table(rows)).lengths.tolist() == [3, 7, 1]


def test_whole_numbers_and_texts_are_different_ids(tmp_path: Path) -> None:
    """Parquet and JSON know which is which; in CSV every id is a text."""
    table = {"query": [7, 8], "items": [[1, 2], [2, 1]], "clicked": [[1], [2]]}
    for kind in ("log.parquet", "log.jsonl", "polars", "pandas"):
        log = read_log(SOURCES[kind](table, tmp_path))
        assert (list(log.queries), list(log.items)) == ([7, 8], [1, 2])
    log = read_log(SOURCES["log.csv"](table, tmp_path))
    assert (list(log.queries), list(log.items)) == (["7", "8"], ["1", "2"])
    path = tmp_path / "both.jsonl"
    path.write_text('{"query": 7, "items": [1], "clicked": []}\n{"query": "7", "items": ["1"], "clicked": [1]}\n')
    log = read_log(path)
    assert (list(log.queries), list(log.items), log.item.tolist()) == ([7, "7"], [1, "1"], [0, 1])


def test_columns_are_named_by_arguments() -> None:
    frame = polars.DataFrame({"q": [1, 1], "shown": [[5, 6], [6, 5]], "flags": [[0, 1], [0, 0]], "who": ["x", "y"]})
    names = {"query": "q", "items": "shown", "click": "flags", "visitor": "who"}
    log = read_log(frame, columns=names)
    assert log.click.tolist() == [0, 1, 0, 0]
    assert log.visitors is not None
    assert list(log.visitors) == ["x", "y"]
    assert read_log(frame, columns=names, only=()).visitor is None
    assert list(read_log(frame, columns={"items": "shown", "click": "flags"}).queries) == ["all"]


def test_only_the_columns_that_are_asked_for_are_read(tmp_path: Path) -> None:
    """The bytes of the time are damaged, which only a reader of the time notices."""
    path = tmp_path / "log.parquet"
    rows = 20_000
    table = pyarrow.table({
        "query": [1] * rows, "items": [[1, 2]] * rows, "clicked": [[1]] * rows,
        "time": np.random.default_rng(0).random(rows),
    })  # fmt: skip
    parquet.write_table(table, path, use_dictionary=False, write_page_checksum=False)
    column = parquet.ParquetFile(path).metadata.row_group(0).column(3)
    damaged = bytearray(path.read_bytes())
    damaged[column.data_page_offset : column.data_page_offset + 200] = bytes(200)
    path.write_bytes(damaged)
    assert len(read_log(path, only=())) == rows
    with pytest.raises(InvalidInput, match="must be a whole Parquet file; copy or write it again"):
        read_log(path)


def test_optional_columns() -> None:
    table = pyarrow.table({
        "items": [["a", "b"], ["b", "a"]], "clicked": [[1], []], "propensity": [[0.5, 1.0], [0.25, 1.0]],
        "seen": [[1.0, 0.5], None], "left": [2, None], "weight": [3, 1],
    })  # fmt: skip
    log = read_log(table)
    assert log.propensity is not None
    assert log.left is not None
    assert log.propensity.tolist() == [0.5, 1.0, 0.25, 1.0]
    np.testing.assert_equal(log.seen, [1.0, 0.5, np.nan, np.nan])
    assert log.left.tolist() == [2, 0]
    assert log.weights.tolist() == [3.0, 1.0]
    assert log.clicks_by_position().tolist() == [3.0, 0.0]


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (["1970-01-01T00:00:01.500Z", "1970-01-02T00:00:00Z"], [1.5, 86400.0]),
        (["1970-01-01 00:00:01", "1970-01-02"], [1.0, 86400.0]),
        (["1970-01-01T02:00:00.25+02:00", "1969-12-31 19:01-0500"], [0.25, 60.0]),
        (["1.5", "1970-01-02T00:00:00Z"], [1.5, 86400.0]),
        (["1.5", "86400"], [1.5, 86400.0]),
        (np.array([1500, 86_400_000], dtype="datetime64[ms]"), [1.5, 86400.0]),
        ([3, 4], [3.0, 4.0]),
    ],
)
def test_times_are_seconds(times: Any, seconds: list[float]) -> None:
    log = read_log(pyarrow.table({"items": [["a"], ["a"]], "clicked": [[], []], "time": times}))
    assert log.time is not None
    assert log.time.tolist() == seconds


def test_a_time_that_is_none_costs_its_own_list_only() -> None:
    dates = ["2026-02-30", "2026-02-28T00:00:00Z", "yesterday", None]
    log = read_log(pyarrow.table({"items": [["a"]] * 4, "clicked": [[]] * 4, "time": dates}))
    np.testing.assert_equal(log.time, [1772236800.0, np.nan])
    assert log.report is not None
    ((reason, skipped),) = log.report.skipped.items()
    assert (reason, [place.number for place in skipped.first]) == ("the time is not a number or a date", [1, 3])


def test_positions_may_count_from_0() -> None:
    lists = pyarrow.table({"items": [["a", "b"]], "clicked": [[0]]})
    assert read_log(lists, first_position=0).click.tolist() == [1, 0]
    rows = pyarrow.table({"list": [1, 1], "position": [0, 1], "item": ["a", "b"], "clicked": [True, False]})
    assert read_log(rows, first_position=0).click.tolist() == [1, 0]


def test_lists_in_text_may_have_another_separator(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("query,items,clicked\nq,a b c,1 3\n")
    assert read_log(tmp_path / "log.csv", separator=" ").click.tolist() == [1, 0, 1]


def test_a_long_log_takes_the_compiled_path_and_gives_the_same() -> None:
    """More than a thousand positions are checked by machine code, which finds the same faults."""
    items = [["a", "b", "c"]] * 398 + [["a", "b", "a"], []]
    table = pyarrow.table({"items": items, "clicked": [[1]] * 397 + [[4], [1], []]})
    log = read_log(table)
    assert len(log) == 397
    assert log.clicks_by_position().tolist() == [397.0, 0.0, 0.0]
    assert log.report is not None
    assert {reason: each.first[0].number for reason, each in log.report.skipped.items()} == {
        "a clicked position is not on the list": 398,
        "an item is twice in the list": 399,
        "the list is empty": 400,
    }


def test_a_million_queries_are_as_many_codes() -> None:
    lists = 1_000_000
    start = pyarrow.array(np.arange(lists + 1, dtype=np.int32))
    ones = pyarrow.ListArray.from_arrays(start, pyarrow.array(np.ones(lists, dtype=np.int8)))
    log = read_log(pyarrow.table({"query": np.arange(lists)[::-1], "items": ones, "clicked": ones}))
    assert (len(log.queries), log.queries[0], log.queries[lists - 1], len(log.items)) == (lists, lists - 1, 0, 1)
    np.testing.assert_array_equal(log.query, np.arange(lists))
    assert log.click.all()


@pytest.mark.parametrize("wrong", [float("nan"), 0.0, -1.0, float("inf")])
def test_weights_of_a_log_made_in_python_are_checked(wrong: float) -> None:
    with pytest.raises(ValueError, match=f"A value of weights is {wrong}, but must be a number above 0"):
        ClickLog.from_lists(["q"] * 2, [["a"], ["b"]], [[]] * 2, weights=[1.0, wrong])
