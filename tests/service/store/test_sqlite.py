"""The store in one file: where it may lie, and what is said when something is wrong with it."""

import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from toplist.cli import Exit, main
from toplist.core.problem import InvalidInput
from toplist.service.errors import StoreUnavailable
from toplist.service.store.migrations import APPLICATION_ID, SCRIPTS, migrate
from toplist.service.store.row_kinds import LearnerRow
from toplist.service.store.sqlite import SQLiteReader, SQLiteStore, connect


def with_a_learner(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write([LearnerRow(1, 1, "key")])
        store.commit()


@pytest.mark.parametrize("name", [b"a b", b"a?b", b"a#b%20c", b"\xff\xfe.db", b":memory:", b"file:a"])
def test_a_store_may_have_any_name(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(name)
    with_a_learner(path)
    assert path.is_file()
    with closing(SQLiteReader(path)) as store:
        assert store.learner(1, "key") == LearnerRow(1, 1, "key")
        store.backup(tmp_path / os.fsdecode(b"copy " + name))
    with closing(SQLiteReader(tmp_path / os.fsdecode(b"copy " + name))) as copy:
        assert copy.learner(1, "key") == LearnerRow(1, 1, "key")


def test_a_store_is_read_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_a_learner(tmp_path / "db")
    (tmp_path / "db.lock").unlink()
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for somebody who has no right to the folder
    with closing(SQLiteReader(tmp_path / "db")) as store:
        assert store.learner(1, "key") == LearnerRow(1, 1, "key")
        assert os.listdir(tmp_path) == ["db"]
    monkeypatch.undo()
    with closing(SQLiteStore(tmp_path / "db")), closing(SQLiteReader(tmp_path / "db")) as beside:
        assert beside.learner(1, "key") == LearnerRow(1, 1, "key")


def test_a_backup_that_fails_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_a_learner(tmp_path / "db")
    with closing(SQLiteReader(tmp_path / "db")) as store:
        with pytest.raises(StoreUnavailable, match="database or disk is full"):
            store.backup(Path("/dev/full"))
        (tmp_path / "text").write_text("no database " * 1000)
        with pytest.raises(StoreUnavailable, match="file is not a database"):
            store.backup(tmp_path / "text")
    (tmp_path / "db").write_bytes((tmp_path / "db").read_bytes()[:5000])
    assert main(["store", "backup", str(tmp_path / "copy"), "--store", str(tmp_path / "db")]) == Exit.SYSTEM
    assert "malformed" in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()


def test_damaged_text_and_a_missing_file_are_told_as_a_store_that_cannot_be_read(tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "db").close()
    with closing(connect(tmp_path / "db", read_only=False)) as connection:
        connection.execute("INSERT INTO learners VALUES (1, 1, CAST(x'ff41' AS TEXT), 0)")
    with closing(SQLiteReader(tmp_path / "db")) as reader:
        with pytest.raises(StoreUnavailable, match="cannot be read"):
            reader.learners(1, 0, 1)
        with pytest.raises(StoreUnavailable, match="cannot be read"), reader.snapshot_reads():
            reader.learners(1, 0, 1)
        with reader.snapshot_reads():  # the one that failed has ended
            assert reader.last_seq() == 0
    with pytest.raises(StoreUnavailable, match="cannot be read: unable to open database file"):
        SQLiteReader(tmp_path / "nothing")


def test_a_step_of_the_tables_is_taken_to_its_end(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "db", read_only=False)) as connection:
        migrate(connection, (*SCRIPTS, "SELECT 1; CREATE TABLE more (x); SELECT 2;"))
        assert not connection.in_transaction
        assert connection.pragma("user_version") == len(SCRIPTS) + 1
        assert connection.execute("SELECT count(*) FROM more").get == 0


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE notes (text)", "PRAGMA user_version = 3", "PRAGMA application_id = 7"]
)
def test_the_file_of_another_program_is_not_adopted(
    statement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "db"
    with closing(connect(path, read_only=False)) as connection:
        connection.execute(statement)
    content = path.read_bytes()
    with pytest.raises(InvalidInput, match="SQLite file of another program"):
        SQLiteStore(path)
    for action in (["check"], ["backup", str(tmp_path / "copy")], ["export", str(tmp_path / "events.ndjson")]):
        assert main(["store", *action, "--store", str(path)]) == Exit.SYSTEM
        assert "SQLite file of another program" in capsys.readouterr().err
    assert path.read_bytes() == content


def test_a_store_says_whose_it_is(tmp_path: Path) -> None:
    with_a_learner(tmp_path / "db")
    with closing(connect(tmp_path / "db", read_only=True)) as connection:
        assert connection.pragma("application_id") == APPLICATION_ID


SERVE = (
    "import sys, pathlib; from toplist.service.store.sqlite import SQLiteStore; SQLiteStore(pathlib.Path(sys.argv[1]))"
)


def served_elsewhere(path: Path) -> str:
    """The error of another process that serves a store; empty if it can."""
    done = subprocess.run([sys.executable, "-c", SERVE, path], capture_output=True, text=True, check=False)
    return done.stderr


def test_a_store_is_served_once_under_all_its_names_and_without_its_lock_file(tmp_path: Path) -> None:
    path, link = tmp_path / "db", tmp_path / "link"
    with closing(SQLiteStore(path)) as store:
        link.hardlink_to(path)
        (tmp_path / "db.lock").unlink()
        for name in (path, link):
            assert "Another process serves" in served_elsewhere(name)
            with pytest.raises(InvalidInput, match="Another process serves"):
                SQLiteStore(name)  # nor in the same process
        store.write([LearnerRow(1, 1, "key")])
        store.commit()
        # The second one in this process has not dropped the locks of SQLite: a stranger's connection is not the last
        # one, which would remove the write-ahead log.
        other = "import sys, sqlite3; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM learners').fetchall()"
        subprocess.run([sys.executable, "-c", other, path], check=True)
        assert (tmp_path / "db-wal").stat().st_size > 0
    link.unlink()
    assert served_elsewhere(path) == ""


def test_a_file_that_takes_the_name_of_a_served_store_is_not_served(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "db")):
        (tmp_path / "db").rename(tmp_path / "moved")
        assert "Another process serves" in served_elsewhere(tmp_path / "db")
        assert "Another process serves" in served_elsewhere(tmp_path / "moved")
    with pytest.raises(InvalidInput, match="cannot be opened: Is a directory"):
        SQLiteStore(tmp_path)


@pytest.mark.parametrize("suffix", [".ndjson", ".parquet"])
def test_an_export_is_readable_by_its_owner_only(suffix: str, tmp_path: Path) -> None:
    with_a_learner(tmp_path / "db")
    target = tmp_path / f"events{suffix}"
    assert main(["store", "export", str(target), "--store", str(tmp_path / "db")]) == Exit.FINE
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
