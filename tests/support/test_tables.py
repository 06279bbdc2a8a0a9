"""Tables as text and as rows."""

from typing import Any

import pytest

from toplist.core.problem import InvalidInput
from toplist.support.tables import LONGEST, Table, aligned_lines


def test_long_tables_print_their_first_rows_and_have_all() -> None:
    table = Table("Many", ("item", "examined"), [(f"item {n}", float(n)) for n in range(LONGEST + 5)])
    lines = str(table).splitlines()
    assert len(lines) == LONGEST + 3
    assert lines[-1] == "... and 5 rows more"
    assert len(table.rows()) == len(table.to_frame()) == LONGEST + 5


def test_rows_are_made_as_far_as_they_are_read() -> None:
    class Numbers:
        made = 0

        def __len__(self) -> int:
            return 1000

        def first(self, count: int) -> list[tuple[Any, ...]]:
            self.made = max(self.made, count)
            return [(f"item {n}", float(n)) for n in range(min(count, 1000))]

        def named(self, name: Any) -> tuple[Any, ...] | None:
            return (name, 7.0) if name == "item 7" else None

    numbers = Numbers()
    table = Table("Many", ("item", "examined"), numbers)
    assert len(table) == 1000
    assert str(table).endswith("... and 960 rows more")
    assert table.rows(3)[2] == {"item": "item 2", "examined": 2.0}
    assert table["item 7"] == {"item": "item 7", "examined": 7.0}
    assert numbers.made == LONGEST
    assert table.rows(2) == table.rows()[:2]
    assert table["item 7"]["examined"] == 7.0
    with pytest.raises(InvalidInput, match="perhaps you mean 'item 99'"):
        table["item 99!"]


def test_numbers_are_written_alike_within_a_column() -> None:
    table = Table("Two", ("item", "whole", "part"), [("a", 1200.0, 0.5), ("b", 3.0, float("inf")), ("c", None, 2.0)])
    assert str(table).splitlines()[1:] == [
        "item  whole      part",
        "a     1,200     0.500",
        "b         3  infinite",
        "c         -     2.000",
    ]


def test_a_line_break_in_a_name_does_not_break_the_table() -> None:
    assert len(str(Table("One", ("item",), [("a\nb",)])).splitlines()) == 3


def test_an_unknown_row_suggests_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="The item is 'cofee', but must be in the table; perhaps you mean 'coffee'"):
        Table("One", ("item",), [("coffee",)])["cofee"]


def test_columns_flush_left_and_right() -> None:
    assert aligned_lines([["a", "bbb"], ["1", "22"], ["x", "yy"]], left=(0, 2)) == ["a     1  x", "bbb  22  yy"]


def test_an_empty_table_has_a_header() -> None:
    assert str(Table("None", ("item", "mean"), [])) == "None\nitem  mean"
