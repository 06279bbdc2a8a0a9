"""The store in PostgreSQL, on a real server: the same rows as in a file, and one owner."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest
from postgres_server import database
from running import at_work, front, postgres_store, run

from toplist.cli import Exit, main
from toplist.core.problem import InvalidInput
from toplist.service.errors import NotOwner, StoreUnavailable
from toplist.service.log import policy_code
from toplist.service.log.verify import code_warnings
from toplist.service.store import row_kinds
from toplist.service.store.address import shown_store
from toplist.service.store.digests import TABLES
from toplist.service.store.postgres import PostgresReader, PostgresStore
from toplist.service.store.postgres.arrays import encode_array
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.schema import LOCK, VERSIONS, Version, migrate
from toplist.service.store.postgres.session import Fenced, Session
from toplist.service.store.protocol import LogReader, Store
from toplist.service.store.queries import TableReader
from toplist.service.store.row_kinds import (
    DeletedLearnerRow,
    DeletedRow,
    EventRow,
    ImpressionChange,
    ImpressionRow,
    ItemRow,
    LearnerRow,
    RankingRow,
    RequestRow,
    Row,
    SnapshotRow,
    TallyRow,
)
from toplist.service.store.sqlite import SQLiteReader, SQLiteStore

LEASE = 0.4  # seconds


@pytest.fixture
def address(tmp_path: Path) -> str:
    return database(tmp_path / "db")


def event(
    seq: int, learner: int = 0, kind: str = "items", impression: bytes | None = None, ranking: int = 1
) -> EventRow:
    """An event; the body of a list has the id of its request."""
    requests = {b"\1": "a", b"\2": "b", b"\3": "c"}
    body = {"items": [1, 2], "request_id": requests.get(impression or b"")}
    return EventRow(seq, 1000 + seq, ranking, learner, kind, impression, json.dumps(body).encode())


def impression(number: int, seq: int, learner: int, state: int = row_kinds.OPEN) -> ImpressionRow:
    return ImpressionRow(bytes([number]), seq, 1, learner, state, 5000 + number, b"{}")


def changed(row: ImpressionRow, state: int, report: bytes) -> ImpressionChange:
    return ImpressionChange(*row._replace(state=state, outcome=report))


FIRST = impression(1, 3, 2)
SECOND = impression(2, 5, 2)
THIRD = impression(3, 9, 8)
COMMITS: list[list[Row]] = [
    [event(1, kind="ranking"), RankingRow(1, "front", 1, 1, b"{}"), ItemRow(1, "tea", 0, None, False)],
    [event(2, 2, "learner"), LearnerRow(2, 1, None)],
    [event(3, 2, "list", b"\1"), FIRST, RequestRow(1, "a", b"d", b"\1", 7)],
    [
        event(4, 2, "report", b"\1"), changed(FIRST, row_kinds.OPEN, b"[1]"),
        changed(FIRST, row_kinds.LEARNED, b"[1, 2]"),
        event(5, 2, "list", b"\2"), SECOND, RequestRow(1, "b", b"d", b"\2", 7), RequestRow(1, "b", b"e", b"\2", 8),
        event(6, 2, "learned", b"\1"), SnapshotRow(2, False, 6, 1, b"belief"), SnapshotRow(2, False, 6, 1, b"belief 2"),
    ],
    [event(7), ItemRow(1, "tea", 0, b"\0" * 8, True, b"\1" * 16), ItemRow(1, "mate\N{SNOWMAN}", 1, None, False)],
    [SnapshotRow(2, True, 6, 1, b"base")],
    [
        TallyRow(1, 1, "all", b"", b"[1]"), TallyRow(1, 1, "visitors:0", b"\0\xff", b"[]"),
        TallyRow(1, 1, "all", b"", b"[2]"), TallyRow(1, 1, "day:2026-11-17", b"", b"[3]"),
    ],
    [
        row_kinds.DeleteTallies(1, 7, *row_kinds.FIRST_TALLY, "day:2026-11-17", b""),
        TallyRow(1, 7, "all", b"", b"[4]"), TallyRow(1, 7, "segment:8", b"", b"[5]"),
        TallyRow(1, 7, "visitors:8", b"\1", b"[6]"), TallyRow(1, 7, "visitors:8", b"\2", b"[7]"),
        TallyRow(1, 7, "visitors:80", b"\2", b"[8]"),
    ],
    [
        event(8, 8, "learner"), LearnerRow(8, 1, "person"),
        row_kinds.DeleteTallies(1, 7, "day:2026-11-17", b"", "visitors:8", b"\1"),
    ],
    [event(9, 8, "list", b"\3"), THIRD, RequestRow(1, "c", b"d", b"\3", 9)],
    [row_kinds.ShiftWindows(4, 100), impression(4, 10, 8), event(10, 8, "list", b"\4")],
    [row_kinds.ForgetImpressions(1, 2, 6), row_kinds.WipeLog()],
    [row_kinds.DeleteLearner(1, 8), DeletedLearnerRow(8, 1)],
    [row_kinds.PurgeLearner(1, 8, 2)],
    [row_kinds.PurgeLearner(1, 8, 2), row_kinds.PurgeLearnerDone(8)],
    [row_kinds.DeleteItem(1, "tea"), row_kinds.DeleteSnapshots(1)],
    [event(11, ranking=1, kind="ranking"), row_kinds.DeleteRanking(1), DeletedRow(1, 0, 11)],
    [row_kinds.PurgeEvents(1, 0, 4, 10), DeletedRow(1, 4, 11)],
    [row_kinds.PurgeEvents(1, 4, 10, 10), row_kinds.PurgeDone(1)],
]  # fmt: skip


def content(reader: TableReader) -> dict[str, list[Any]]:
    return {table.name: list(reader.all_rows(kind)) for kind, table in TABLES.items()}


def test_every_commit_leaves_the_same_rows_as_in_a_file(address: str, tmp_path: Path) -> None:
    with (
        closing(PostgresStore(address)) as store, closing(SQLiteStore(tmp_path / "file")) as file,
        closing(PostgresReader(address)) as reader, closing(SQLiteReader(tmp_path / "file")) as expected,
    ):  # fmt: skip
        for rows in COMMITS:
            for written in (store, file):
                written.write(rows)
                written.commit()
            assert content(reader) == content(expected)
            assert list(reader.find_damage()) == list(expected.find_damage()) == []
            assert answers(reader) == answers(expected)
            assert (
                reader.last_seq() >= expected.last_seq()
            )  # a database does not give the number of a deleted one again


def answers(reader: LogReader) -> list[Any]:
    """What all reads of a store answer."""
    return [
        reader.latest_pool(1), reader.rankings(), reader.deleted_ranking(), reader.deleted_learners(),
        reader.deleted_learners(1), reader.has_events(2), list(reader.items(1)), reader.event(3),
        list(reader.events(1, 2, 9)), list(reader.events_of_kind("list")), list(reader.learner_events(2, 3)),
        list(reader.settings_events(1)), list(reader.item_events(1, 0)), reader.has_item_events(1, 0, 2),
        reader.has_learner_events(2, 2, 3), reader.segment_count(1), reader.longest_list(1, 0, 99),
        reader.impression(b"\1"), reader.due_impressions(5050, 10), reader.open_impressions(),
        sorted(reader.requests([(1, "b"), (1, "none"), (2, "b"), (1, "c")])),
        reader.learner(1, None), reader.learner(1, "person"), reader.learners(1, 0, 5),
        reader.learners_with_snapshots(1), reader.segments(1, "", 5), reader.snapshot(2, 1),
        reader.snapshot(2, 1, True),
        reader.closed_impressions(2, 99), [reader.seq_before(moment) for moment in range(999, 1008)],
    ]  # fmt: skip


def test_long_logs_are_read_in_pages(address: str) -> None:
    from toplist.service.store.postgres import reader as module  # noqa: PLC0415

    rows = [EventRow(seq, seq, 1, 0, "items", None, b"x" * 100) for seq in range(1, 50)]
    with (
        closing(PostgresStore(address)) as store,
        closing(store.reader()) as reader,
        pytest.MonkeyPatch.context() as patch,
    ):
        store.write(rows)
        store.commit()
        asked: list[int] = []
        run = Session.run

        def counted(self: Session, statements: Any, **more: Any) -> Any:
            asked.append(1)
            return run(self, statements, **more)

        patch.setattr(Session, "run", counted)
        for size, events in ((10**6, 20), (450, 2000)):
            patch.setattr(module, "PAGE_BYTES", size)
            patch.setattr(module, "PAGE_EVENTS", events)
            asked.clear()
            assert list(reader.events(1, 0, 99)) == rows
            assert len(asked) in (3, 10)


def test_a_damaged_a_missing_and_an_exchanged_row_are_found(address: str) -> None:
    with closing(PostgresStore(address)) as store, closing(store.reader()) as reader:
        for rows in COMMITS[:10]:
            store.write(rows)
            store.commit()
        session = Session(address)
        for damage, found in (
            ("UPDATE events SET body = '\\x7b' WHERE seq = 1", "The row 1 of events differs from its digest."),
            (
                "UPDATE totals SET row_count = row_count + 1 WHERE owner = 8",
                "The learner 8 has 3 rows, but 4 were written.",
            ),
            (
                "UPDATE totals SET row_count = row_count - 1, digest_sum = digest_sum + 1 WHERE owner = 8",
                "The learner 8 has 3 rows, as many as were written, but not the same.",
            ),
        ):
            session.run([Statement(damage)])
            assert found in [damage.text for damage in reader.find_damage()]
        session.close()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owners do not renew their leases, as if they were stopped."""
    monkeypatch.setattr(Database, "renew_leases", lambda _: None)


def last_seq(store: PostgresStore) -> int:
    return store.read_blocking(lambda reader: reader.last_seq())


def wait_until_owner(store: PostgresStore) -> None:
    """Ask until the store has an owner's rights, as requests do."""
    until = monotonic() + 30.0
    while not store.is_owner:
        assert monotonic() < until
        with suppress(NotOwner):
            last_seq(store)


@pytest.mark.usefixtures("silent")
def test_a_former_owner_writes_nothing(address: str) -> None:
    with closing(PostgresStore(address, lease=LEASE)) as former, closing(PostgresReader(address)) as reader:
        former.write(COMMITS[0])
        former.commit()
        with closing(PostgresStore(address, lease=60.0)) as owner:
            wait_until_owner(owner)  # when the lease has ended
            before = content(reader)
            former.write([event(2)])
            with pytest.raises(Fenced, match="nothing was written"):
                former.commit()
            assert content(reader) == before
            former.write([event(2)])
            with pytest.raises(NotOwner, match="Another server serves this store"):
                former.commit()
            with pytest.raises(NotOwner, match="Another server serves this store"):
                last_seq(former)
            owner.write([event(2, kind="ranking")])
            owner.commit()
        wait_until_owner(former)  # the owner gave it back
        assert last_seq(former) == 2
        former.write([event(3)])
        former.commit()
        assert reader.last_seq() == 3


def test_a_lease_is_renewed_while_nothing_is_written_and_given_back_at_the_end(address: str) -> None:
    with closing(PostgresStore(address, lease=LEASE)) as owner, closing(PostgresStore(address, lease=LEASE)) as second:
        until = monotonic() + 3 * LEASE
        while monotonic() < until:
            with pytest.raises(NotOwner):
                last_seq(second)
        owner.write(COMMITS[0])
        owner.commit()
    with closing(PostgresStore(address)) as third:
        assert third.is_owner


@pytest.mark.parametrize("is_committed", [False, True])
def test_after_an_unknown_outcome_a_new_epoch_is_taken_before_anything_is_read(
    address: str, is_committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PostgresStore(address)) as store:
        store.write(COMMITS[0])
        store.commit()
        epoch = store.epoch
        run = Session.run

        def cut(self: Session, statements: Any, **more: Any) -> Any:
            if is_committed:
                run(self, statements, **more)
            raise StoreUnavailable("The connection was cut.")

        with monkeypatch.context() as patch:
            patch.setattr(Session, "run", cut)
            store.write(COMMITS[1] + COMMITS[2])
            with pytest.raises(StoreUnavailable):
                store.commit()
        assert store.epoch is None
        assert last_seq(store) == (3 if is_committed else 1)
        assert store.epoch == (epoch or 0) + 1
        store.write([event(4 if is_committed else 2)])
        store.commit()


def test_servers_that_start_at_once_make_the_tables_once(address: str) -> None:
    steps = (*VERSIONS, Version("CREATE TABLE toplist.added (a integer);", works_with=1))

    def start(_: int) -> None:
        session = Session(address)
        migrate(session, steps)
        session.close()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(start, range(4))) == [None] * 4
    session = Session(address)
    assert session.run([Statement("SELECT version FROM versions ORDER BY version")])[0] == [
        (1,),
        (2,),
        (3,),
        (4,),
        (5,),
        (6,),
    ]
    migrate(session)  # the release before runs on the new tables
    migrate(session, (*steps, Version("SELECT 1;", works_with=6)))
    with pytest.raises(InvalidInput, match="which only a toplist that knows version 6 can use"):
        migrate(session)
    session.close()


def test_a_database_that_is_too_old_is_refused_with_a_sentence(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.service.store.postgres.schema.OLDEST", 99)
    with (
        closing(Session(address)) as session,
        pytest.raises(InvalidInput, match=r"is PostgreSQL \d\d, but the store needs version 99 or newer"),
    ):
        migrate(session)


IN_USE = {
    "a commit": ("UPDATE toplist.parts SET last_seq = 0", "INSERT INTO toplist.totals VALUES (0, 0, 0, 0)"),
    "a look at the servers": (
        "INSERT INTO toplist.servers VALUES ('a', 'b', false, now())", "SELECT * FROM toplist.totals"
    ),
}  # fmt: skip
CHANGES = "".join(f"ALTER TABLE toplist.{table} ADD COLUMN more text;" for table in ("totals", "parts", "servers"))


@pytest.mark.parametrize("use", IN_USE)
def test_tables_are_changed_while_other_servers_use_them(address: str, use: str) -> None:
    first, second = IN_USE[use]
    steps = (*VERSIONS, Version(CHANGES, works_with=1))
    with ThreadPoolExecutor(1) as thread, psycopg.connect(address) as other, closing(Session(address)) as session:
        other.execute("SET deadlock_timeout = '60s'")  # so that the server that changes the tables has to give way
        other.execute(first)
        changing = thread.submit(migrate, session, steps)
        until = monotonic() + 30.0
        while not other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
            assert monotonic() < until
        other.execute(second)  # while the other one waits
        other.commit()
        changing.result(60.0)
        assert session.run([Statement("SELECT more FROM parts")]) == [[]]


def test_a_server_that_starts_waits_for_another_that_makes_tables_for_longer_than_a_lease(address: str) -> None:
    lease = 0.2
    with ThreadPoolExecutor(1) as thread, closing(Session(address)) as session:
        with session.transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            starting = thread.submit(Database, address, lease)
            connection.execute("SELECT pg_sleep(%s)", (5 * lease,))
            assert not starting.done()
        starting.result(60.0).close()


def test_a_database_of_the_first_version_gets_the_later_tables(address: str) -> None:
    session = Session(address)
    session.run([Statement("DROP SCHEMA toplist CASCADE")])  # the tables of this release
    migrate(session, VERSIONS[:1])
    session.close()
    with closing(PostgresStore(address)) as store, closing(store.reader()) as reader:
        for rows in COMMITS[:10]:
            store.write(rows)
            store.commit()
        assert list(reader.find_damage()) == []
        slices = [row.slice for row in reader.all_tallies(1, 7)]
        assert slices == ["all", "segment:8", "visitors:8", "visitors:8", "visitors:80"]


def test_a_password_is_in_no_message(capsys: pytest.CaptureFixture[str]) -> None:
    secret = "postgresql://toplist:hunter2@127.0.0.1:1/shop"
    assert shown_store(secret) == "postgresql://127.0.0.1:1/shop"
    assert main(["store", "check", "--store", secret]) == Exit.SYSTEM
    assert main(["serve", "--store", secret]) == Exit.SYSTEM
    assert main(["serve", "--store", "postgresql://toplist:hunter2@[::1"]) == Exit.INPUT
    out, err = capsys.readouterr()
    assert "hunter2" not in out + err
    assert err.count("The database does not answer as it should") == 2
    assert "write postgresql://user@host:port/database, and the password in PGPASSWORD" in err


def filled(store: Store) -> None:
    for rows in COMMITS[:10]:
        store.write(rows)
        store.commit()


@pytest.fixture
def copied(tmp_path: Path) -> tuple[Path, str]:
    """A file with rows, copied to a database."""
    with closing(SQLiteStore(tmp_path / "file")) as file:
        filled(file)
    target = database(tmp_path / "copy")
    assert main(["store", "copy", target, "--store", str(tmp_path / "file")]) == Exit.FINE
    return tmp_path / "file", target


def test_a_store_is_copied_to_a_database_and_back(
    copied: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, target = copied
    assert main(["store", "copy", str(tmp_path / "back"), "--store", target]) == Exit.FINE
    with (
        closing(SQLiteReader(file)) as first, closing(PostgresReader(target)) as second,
        closing(SQLiteReader(tmp_path / "back")) as third,
    ):  # fmt: skip
        assert content(first) == content(second) == content(third)
        assert list(second.find_damage()) == list(third.find_damage()) == []
    assert "27 rows of" in capsys.readouterr().out
    assert main(["store", "copy", target, "--store", str(file)]) == Exit.INPUT
    assert "The copy needs an empty store, but the target has rows; name another one." in capsys.readouterr().err


def test_the_code_of_a_policy_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, policy = tmp_path / "db", "cascade-ucb1"

    async def code_and_warning() -> tuple[str | None, str | None]:
        async with at_work(path, open_store=postgres_store) as service:
            if not await service.queries.rankings():
                await front(service, policy)
            found = await service.queries.ranking("front")
            return found.code, found.code_warning

    made = policy_code.policy_code(policy)
    assert run(code_and_warning()) == (made, None)
    monkeypatch.setattr(policy_code, "fingerprint", lambda *_, **__: "edited")
    policy_code.policy_code.cache_clear()
    try:
        code, warning = run(code_and_warning())
        with closing(PostgresReader(database(path))) as reader:
            assert list(code_warnings(reader)) == [warning]
    finally:
        policy_code.policy_code.cache_clear()
    assert code == made
    assert warning is not None


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", [-(1 << 63), 0, (1 << 63) - 1]),
        ("bigint", list(range(1000))),  # more than are packed at once
        ("smallint", [-(1 << 15), 7]),
        ("text", ["", None, "grün", "x" * 70_000]),
        ("bytea", [b"", None, bytes(range(256)) * 9]),
        ("text", []),
    ],
)
def test_arrays_are_read_as_they_were_encoded(address: str, kind: str, values: list[Any]) -> None:
    session = Session(address)
    with closing(session):
        found = session.run([Statement(f"SELECT * FROM unnest(%b::{kind}[])", (encode_array(kind, values),))])[0]
    assert [value for (value,) in found] == values


def test_statements_and_answers_of_any_size_take_one_round_trip(address: str) -> None:
    """Each end sends megabytes: it reads meanwhile, or both would wait for ever."""
    large = b"x" * 8_000_000
    with closing(Session(address)) as session:
        found = session.run([Statement("SELECT %s::bytea, %s::int", (large, n)) for n in range(4)])
        assert found == [[(large, n)] for n in range(4)]
        with pytest.raises(StoreUnavailable, match="division by zero"):
            session.run([Statement("SELECT 1"), Statement("SELECT 1 / %s::int", (0,)), Statement("SELECT 2")])
        assert session.run([Statement("SELECT %(b)s::int - %(a)s::int + %(b)s::int", {"a": 1, "b": 2})]) == [[(3,)]]
