"""What becomes of wrong lines and damaged files: skipped with numbers and reasons, or an error if strict."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from toplist.core.problem import InvalidInput
from toplist.logs import ReadReport, read_log, scan_log
from toplist.logs.arrow import arrow
from toplist.logs.formats import lines

pyarrow, parquet = arrow.lib, arrow.parquet

GOOD = {"query": "q", "items": ["a", "b"], "clicked": [1]}
HEADER = "query\titems\tclicked\n"


def reasons(report: ReadReport | None) -> dict[str, tuple[int, list[int]]]:
    assert report is not None
    return {reason: (each.count, [place.number for place in each.first]) for reason, each in report.skipped.items()}


def write_json(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


FAULTS = [
    ({"clicked": [3]}, "a clicked position is not on the list"),
    ({"clicked": [0]}, "a clicked position is not on the list"),
    ({"clicked": [-1]}, "a clicked position is not on the list"),
    ({"items": ["a", "a"]}, "an item is twice in the list"),
    ({"items": [], "clicked": []}, "the list is empty"),
    ({"items": None, "clicked": []}, "the list is empty"),
    ({"items": ["a", None]}, "an item is missing"),
    ({"query": None}, "the query is missing"),
    ({"weight": 0.0}, "the weight is not a number above 0"),
    ({"left": 3}, "the position where the visitor left is not on the list"),
    ({"propensity": [0.5, 0.0]}, "a propensity is not in (0, 1], or their number is not that of the items"),
    ({"propensity": [0.5]}, "a propensity is not in (0, 1], or their number is not that of the items"),
    ({"seen": [0.5, 1.5]}, "a value of seen is not in [0, 1], or their number is not that of the items"),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("fault", "reason"), FAULTS)
def test_a_wrong_list_is_skipped_or_refused(fault: dict[str, Any], reason: str, strict: bool, tmp_path: Path) -> None:
    usual = GOOD | {"weight": 1.0, "left": 2, "propensity": [0.5, 1.0], "seen": [1.0, 1.0]}
    rows = [usual, usual, usual | fault, usual]
    files = [write_json(tmp_path / "log.jsonl", rows), tmp_path / "log.parquet"]
    parquet.write_table(pyarrow.Table.from_pylist(rows), files[1])
    for path in files:
        if strict:
            unit = "Line" if path.suffix == ".jsonl" else "Row"
            with pytest.raises(InvalidInput, match=re.escape(f"{unit} 3 of {path}: {reason}; correct it, or read")):
                read_log(path, strict=True)
        else:
            log = read_log(path)
            assert len(log) == 3
            assert reasons(log.report) == {reason: (1, [3])}


def test_lists_of_different_lengths_are_right(tmp_path: Path) -> None:
    rows = [GOOD, GOOD | {"items": list("abcdef")}, GOOD | {"items": ["a"]}]
    log = read_log(write_json(tmp_path / "log.jsonl", rows), strict=True)
    assert log.lengths.tolist() == [2, 6, 1]
    assert log.shown_by_position().tolist() == [3, 2, 1, 1, 1, 1]


def test_wrong_lines_of_text_have_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    lines = ["q\ta,b\t1", "", "q\ta,b", "q\ta,b\t1\t2", "q\ta,b\tfirst", "q\ta,b\t2"]
    path.write_bytes((HEADER + "\n".join(lines) + "\n").encode() + b"q\t\xff\xfe\t1\nq\tb,a\t\n")
    log = read_log(path)
    assert len(log) == 3  # a blank line is none
    assert reasons(log.report) == {
        "the text is not UTF-8": (1, [8]),
        "the line does not have the 3 values that the header has": (2, [4, 5]),
        "a clicked position is not on the list": (1, [6]),
    }
    with pytest.raises(InvalidInput, match=re.escape(f"Line 4 of {path}: the line does not have the 3 values")):
        read_log(path, strict=True)


def test_line_numbers_count_line_ends_in_quoted_values(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('query,items,clicked,note\nq,"a,b",1,"two\nlines"\nq,"a,b",7,\nq,"a\n"\nq,"a,b",8,x\n')
    log = read_log(path)
    assert len(log) == 1
    assert reasons(log.report) == {
        "the line does not have the 4 values that the header has": (1, [5]),
        "a clicked position is not on the list": (2, [4, 7]),
    }


def test_a_very_long_line_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    items = ",".join(map(str, range(300_000)))  # 2 MB
    path.write_text(f"{HEADER}q\ta,b\t1\nq\t{items}\t299999\nq\ta,b\t1\n")
    assert read_log(path, strict=True).lengths.tolist() == [2, 300_000, 2]


def test_wrong_lines_of_json_have_their_numbers(tmp_path: Path) -> None:
    rows: list[Any] = [GOOD] * 200
    rows[20], rows[30], rows[31], rows[90] = "{nonsense", "", GOOD | {"items": "a"}, "[1, 2]"
    log = read_log(write_json(tmp_path / "log.jsonl", rows))
    assert len(log) == 196
    assert reasons(log.report) == {
        "the line is not a JSON object": (2, [21, 91]),
        "a value has another type than its column: ids are texts or whole numbers, positions whole numbers": (1, [32]),
    }


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({"position": [1, 3]}, "the positions of the list are not 1, 2, 3, ..."),
        ({"position": [1, 1]}, "the positions of the list are not 1, 2, 3, ..."),
        ({"position": [1, None]}, "the positions of the list are not 1, 2, 3, ..."),
        ({"click": [0, 2]}, "a click is not 0 or 1, or their number is not that of the items"),
        ({"query": ["p", "q"]}, "the rows of the list have different queries"),
        ({"item": ["a", "a"]}, "an item is twice in the list"),
    ],
)
def test_wrong_rows_of_a_list(rows: dict[str, list[Any]], reason: str) -> None:
    usual: dict[str, list[Any]] = {
        "list": [5, 5],
        "query": ["q", "q"],
        "position": [1, 2],
        "item": ["a", "b"],
        "click": [1, 0],
    }
    other: dict[str, list[Any]] = {**usual, "list": [6, 6], **rows}
    both = {name: usual[name] + other[name] for name in usual}
    log = read_log(polars.DataFrame(both))
    assert len(log) == 1
    assert reasons(log.report) == {reason: (1, [3])}


def test_a_row_without_the_id_of_its_list() -> None:
    rows = {"list": [1, None, 2], "item": ["a", "b", "c"], "click": [0, 1, 1]}
    log = read_log(polars.DataFrame(rows))
    assert log.lengths.tolist() == [1, 1]
    assert reasons(log.report) == {"the id of the list is missing": (1, [2])}


# Files that are cut off, or empty


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_compressed_file_that_is_cut_off_gives_its_beginning(ending: str, tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).integers(1 << 60, size=40_000).tolist()
    whole = HEADER + "".join(f"q{number}\ta,b\t1\n" for number in numbers)
    packed = {
        "gz": gzip.compress(whole.encode(), 1),
        "zst": pyarrow.compress(whole.encode(), codec="zstd", asbytes=True),
    }[ending]
    path = tmp_path / f"log.tsv.{ending}"
    path.write_bytes(packed[: len(packed) // 2])
    log = read_log(path)
    assert 1_000 < len(log) < 39_000
    assert reasons(log.report) == {"the file is cut off here": (1, [len(log) + 2])}
    with pytest.raises(InvalidInput, match=f"Line {len(log) + 2:,} of .*: the file is cut off here"):
        read_log(path, strict=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [("log.tsv", HEADER + "q\ta,b\t1\nq\ta,"), ("log.jsonl", json.dumps(GOOD) + '\n{"query": "q", "ite')],
)
def test_half_a_line_is_skipped(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    log = read_log(tmp_path / name)
    assert len(log) == 1
    ((count, numbers),) = reasons(log.report).values()
    assert (count, numbers) == (1, [text.count("\n") + 1])


def test_a_parquet_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([GOOD] * 100), path)
    path.write_bytes(path.read_bytes()[:-20])
    for strict in (False, True):
        with pytest.raises(InvalidInput, match=r"The log is .*, but must be a whole Parquet file, with its end"):
            read_log(path, strict=strict)


def test_an_empty_file_is_refused_and_a_log_without_lists_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for name in ("log.csv", "log.jsonl"):
        (tmp_path / name).touch()
        with pytest.raises(InvalidInput, match=r"The log is .*; it is empty, or cut off at its beginning"):
            read_log(tmp_path / name)
    path.write_text(HEADER)
    parquet.write_table(pyarrow.Table.from_pylist([GOOD]).slice(0, 0), tmp_path / "log.parquet")
    for source in (path, tmp_path / "log.parquet"):
        log = read_log(source, strict=True)
        assert (len(log), log.positions, str(log)) == (
            0, 0, "0 lists of up to 0 positions, 0 queries, 0 items, 0 clicks, 0 lists without clicks"
        )  # fmt: skip
        assert list(scan_log(source)) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layout": "list"}, "The layout is 'list', but must be one of .*; perhaps you mean 'lists'"),
        ({"columns": {"querry": "q"}}, "A role in columns is 'querry', but must be .*; perhaps you mean 'query'"),
        ({"columns": {"query": "qery"}}, "The column of query is 'qery', .*; perhaps you mean 'query'"),
        ({"columns": {"items": "query"}}, "The column of items is 'int64', but must be lists, or texts that"),
        ({"columns": {"visitor": "price"}}, "The column of visitor is 'double', but must be texts or whole numbers"),
        ({"columns": {"weight": "items"}}, "The column of weight is 'list<.*', but must be numbers"),
        ({"columns": {"clicked": None}}, "but needs one of items, and one of clicked positions or of click flags"),
        ({"only": ("visitor",)}, "A name in only is 'visitor', but must be the role of a column, such as visitor or"),
        ({"only": ("query",)}, "A name in only is 'query', .*; query, items and clicks are always read"),
        ({"first_position": 2}, "first_position is 2, but must be 0 or 1"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    table = pyarrow.table({"query": [1], "items": [["a"]], "clicked": [[1]], "price": [0.5]})
    with pytest.raises(InvalidInput, match=message):
        read_log(table, **arguments)


def test_wrong_sources_are_refused(tmp_path: Path) -> None:
    for source, message in (
        (tmp_path / "nowhere.csv", "must be a file or a folder that exists"),
        (tmp_path, "must be a folder with files; it has none"),
        (5, "The log is 5, but must be a path, or a table: Arrow, Polars or pandas"),
        (pyarrow.table({"a": [1], "b": [2]}), "one with columns items and clicked .*; it has the columns a, b; name"),
    ):
        with pytest.raises(InvalidInput, match=message):
            read_log(source)


@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.jsonl", "log.csv.gz"])
def test_small_blocks_give_the_same_as_the_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values with line ends and quotes, wrong lines and blank ones, cut anywhere: the same lists and line numbers."""
    rng = np.random.default_rng(0)
    records = []
    for number in range(60):
        query, clicked = f"q{number % 7}", int(rng.integers(0, 4))
        note = ["plain", "a \\n b", 'with "quotes"', ""][number % 4]
        if ".csv" in name:
            quoted = note.replace("\\n", "\n").replace('"', '""')
            records.append(f'{query},"a,b",{clicked},"{quoted}"' if number % 9 else "too,few")
        elif ".tsv" in name:
            records.append(f"{query}\ta,b\t{clicked}\t{note}" if number % 9 else "")
        else:
            row = {"query": query, "items": ["a", "b"], "clicked": [clicked], "note": note}
            records.append(json.dumps(row) if number % 9 else "{")
    header = {"csv": "query,items,clicked,note\n", "tsv": "query\titems\tclicked\tnote\n"}.get(name.split(".")[1], "")
    content = (header + "\n".join(records) + "\n").encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    whole = read_log(path)
    assert 20 < len(whole) < 50
    for size in (40, 77, 500):
        monkeypatch.setattr(lines, "BLOCK", size)
        monkeypatch.setattr(lines, "READ", size)
        parts = read_log(path)
        assert parts.click.tolist() == whole.click.tolist()
        assert parts.query.tolist() == whole.query.tolist()
        assert reasons(parts.report) == reasons(whole.report)
