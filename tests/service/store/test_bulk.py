"""Many rows by few calls: the same rows as one by one, whatever their number."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from toplist.service.store.bulk import MOST_ROWS, BulkStatement
from toplist.service.store.integrity import find_damage
from toplist.service.store.row_kinds import LEARNED, LIST, OPEN, EventRow, ImpressionChange, ImpressionRow
from toplist.service.store.sqlite import SQLiteStore, connect


@pytest.mark.parametrize("number", [0, 1, 2, 3, MOST_ROWS - 1, MOST_ROWS, 2 * MOST_ROWS + 7])
def test_all_rows_are_written_in_their_order_by_few_calls(number: int) -> None:
    rows, calls = [(n, f"text {n}") for n in range(number)], 0

    def count(*_: object) -> bool:
        nonlocal calls
        calls += 1
        return True

    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute("CREATE TABLE written (n, text)")
        connection.set_exec_trace(count)
        BulkStatement("INSERT INTO written VALUES ", "(?, ?)").execute(connection, rows)
        connection.set_exec_trace(None)
        assert list(connection.execute("SELECT n, text FROM written ORDER BY rowid")) == rows
    assert calls <= number // MOST_ROWS + MOST_ROWS.bit_length() - 1


@pytest.mark.parametrize("number", [1, 5, 100])
def test_of_several_changes_of_an_impression_in_one_commit_the_last_counts(number: int, tmp_path: Path) -> None:
    made = [ImpressionRow(n.to_bytes(16, "big"), n, 1, 2, OPEN, 100 + n, b"{}") for n in range(1, number + 1)]
    reported = [ImpressionChange(*row._replace(outcome=b'{"merged": 1}')) for row in made]
    learned = [ImpressionChange(*row._replace(state=LEARNED, outcome=b'{"merged": 2}')) for row in made[::2]]
    with closing(SQLiteStore(tmp_path / "db")) as store:
        store.write([*(EventRow(row.seq, 5, 1, 2, LIST, row.id, b"{}") for row in made), *made])
        store.commit()
        store.write([*reported, *learned])
        store.commit()
    wanted = {row.id: (row.state, row.outcome) for row in [*reported, *learned]}
    with closing(connect(tmp_path / "db", read_only=True)) as connection:
        found = {
            id: (state, report) for id, state, report in connection.execute("SELECT id, state, report FROM impressions")
        }
        assert not list(find_damage(connection))  # digests, and their sums
    assert found == wanted
