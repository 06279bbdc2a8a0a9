"""Parts of a store in PostgreSQL: commits of several in one transaction, each fenced for itself."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest
from postgres_server import database

from toplist.cli import Exit, main
from toplist.core.problem import InvalidInput
from toplist.service.errors import NotOwner, StoreUnavailable
from toplist.service.log.events import RankingEvent, encode
from toplist.service.store.postgres import PostgresReader, PostgresStore
from toplist.service.store.postgres import database as module
from toplist.service.store.postgres.committed import CommittedStore
from toplist.service.store.postgres.database import LONG_READERS, MOST_CONNECTIONS, READERS, Database, Taken
from toplist.service.store.postgres.members import be_gone, be_seen, check_undivided, divide, lags
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.session import Fenced, Refusal, Session
from toplist.service.store.postgres.shared_writer import Share
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import (
    DROPPED,
    LEARNED,
    OPEN,
    EventRow,
    ImpressionRow,
    LearnerRow,
    RankingRow,
    Row,
    ShiftWindows,
)
from toplist.service.wire import RankingSpec

PARTS = 4
PATIENCE = 10.0  # seconds


@pytest.fixture
def address(tmp_path: Path) -> str:
    return database(tmp_path / "db")


def event(seq: int) -> EventRow:
    return EventRow(seq, 1000 + seq, 1, 0, "items", None, b"{}")


def commit_at_once(database: Database, stores: list[PostgresStore], rows: list[list[Row]]) -> list[Any]:
    """Commit in each store while the connection is busy, so that all of them share a transaction; their errors."""
    begun = Event()

    def commit(store: PostgresStore, written: list[Row]) -> Any:
        store.write(written)
        try:
            store.commit()
        except Exception as problem:
            return problem
        return None

    writer = database.writer
    with ThreadPoolExecutor(len(stores)) as threads:
        with writer.writing:
            found = [threads.submit(commit, store, written) for store, written in zip(stores, rows, strict=True)]
            while len(writer.waiting) < len(stores):
                begun.wait(0.001)
        return [each.result() for each in found]


def test_parts_commit_together_and_a_fenced_one_fails_alone(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Database(address)) as shared, closing(Database(address)) as other:
        assert divide(shared, PARTS) == divide(other) == PARTS
        stores = [PostgresStore(shared, part) for part in range(PARTS)]
        transactions: list[int] = []
        run = Session.run

        def counted(self: Session, statements: Any, **more: Any) -> Any:
            transactions.append(len(statements))
            return run(self, statements, **more)

        monkeypatch.setattr(Session, "run", counted)
        assert commit_at_once(shared, stores, [[event(1)]] * PARTS) == [None] * PARTS
        assert len(transactions) == 1
        # Another server takes part 2, as if this one had been stopped for longer than its lease.
        shared.run([Statement("UPDATE parts SET lease_until = clock_timestamp() WHERE part = 2")])
        taken = other.take(2)
        assert taken is not None
        assert taken.last_seq == 1
        assert shared.writer.fenced == 0
        found = commit_at_once(shared, stores, [[event(2)]] * PARTS)
        assert [type(problem) for problem in found] == [type(None), type(None), Fenced, type(None)]
        assert found[2].part == 2
        assert shared.writer.fenced == 1
        shared.run([Statement("UPDATE parts SET lease_until = clock_timestamp() WHERE part = 3")])
        assert other.take(3) is not None
        stores[3].write([ShiftWindows(0, 1)])  # which is committed apart
        with pytest.raises(Fenced):
            stores[3].commit()
        assert shared.writer.fenced == 2
        for part, store in enumerate(stores):
            with closing(PostgresReader(address, part)) as reader:
                assert reader.last_seq() == (1 if part == 2 else 2)
                assert len(list(reader.events(1, 0, 9))) == (1 if part == 2 else 2)
            store.close()


def test_rows_that_the_database_refuses_fail_alone(address: str) -> None:
    with closing(Database(address)) as shared:
        divide(shared, PARTS)
        stores = [PostgresStore(shared, part) for part in range(2)]
        twice: list[Row] = [event(1), LearnerRow(1, 1, "a"), LearnerRow(2, 1, "a")]
        found = commit_at_once(shared, stores, [[event(1)], twice])
        assert found[0] is None
        assert isinstance(found[1], Refusal)
        for part, last in ((0, 1), (1, 0)):
            with closing(PostgresReader(address, part)) as reader:
                assert reader.last_seq() == last
        assert stores[0].is_owner
        assert not stores[1].is_owner
        for store in stores:
            store.close()


def test_an_epoch_of_a_restored_database_is_not_that_of_memory(address: str) -> None:
    """A database that was restored to an earlier moment gives the same epoch and number to another server."""
    with closing(Database(address)) as first, closing(Database(address)) as second:
        divide(first, PARTS)
        store = PostgresStore(first, 1)
        store.write([event(1)])
        store.commit()
        epoch = store.epoch
        first.run([Statement("UPDATE parts SET epoch = epoch - 1, last_seq = 0, owner = NULL WHERE part = 1")])
        first.run([Statement("DELETE FROM events WHERE part = 1")])
        other = PostgresStore(second, 1)
        other.write([event(1)])
        other.commit()
        assert other.epoch == epoch
        store.write([event(2)])
        with pytest.raises(Fenced):
            store.commit()
        other.write([event(2)])
        other.commit()
        other.close()
        store.close()


def test_a_lease_of_a_restored_database_is_its_owners(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two servers with the same epoch, the one that is not the owner neither renews the lease nor ends it."""
    with closing(Database(address, lease=0.2)) as first, closing(Database(address)) as second:
        divide(first, PARTS)
        store = PostgresStore(first, 1)
        first.run([Statement("UPDATE parts SET epoch = epoch - 1, owner = NULL WHERE part = 1")])
        other = PostgresStore(second, 1)
        assert other.epoch == store.epoch
        renewed, asked = store.renewed, Event()
        monkeypatch.setattr(store, "compare", lambda last_seq: asked.set() if last_seq == -1 else None)
        assert asked.wait(PATIENCE)  # it has tried to renew the lease, and was told that there is none
        assert store.renewed == renewed
        store.close()
        assert store.released is not None
        store.released.result(PATIENCE)
        assert be_seen(second, "127.0.0.1:2", False).parts[1].owner == second.name
        other.close()


def test_a_commit_that_hangs_is_ended(address: str) -> None:
    with closing(Database(address)) as shared, ThreadPoolExecutor(1) as thread:
        divide(shared, PARTS)
        shared.writer.session.longest = 0.1
        share = Share(0, [Statement("SELECT pg_sleep(20)")])
        with pytest.raises(StoreUnavailable):
            thread.submit(shared.writer.commit, share).result(PATIENCE)
        shared.writer.commit(Share(0, [Statement("SELECT 1")]))


def test_ctrl_c_fails_all_that_wait_for_a_commit(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Database(address)) as shared:
        writer = shared.writer
        shares = [Share(part, []) for part in range(3)]
        found = iter([Refusal("one of them"), None, KeyboardInterrupt()])

        def run(_: Any) -> None:
            if (problem := next(found)) is not None:
                raise problem

        monkeypatch.setattr(writer.session, "run", run)
        writer.waiting = shares[:2]
        with pytest.raises(KeyboardInterrupt):
            writer.commit(shares[2])
        assert [share.is_done for share in shares] == [True] * 3
        assert [type(share.problem) for share in shares] == [type(None), KeyboardInterrupt, KeyboardInterrupt]


def test_a_closed_store_takes_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Database(address)) as shared:
        divide(shared, PARTS)
        store = PostgresStore(shared, 1)
        store.close()
        assert store.released is not None
        store.released.result(PATIENCE)
        with pytest.raises(NotOwner):
            store.read_blocking(lambda reader: reader.last_seq())
        assert be_seen(shared, "127.0.0.1:1", False).parts[1].is_free
        late = PostgresStore(shared, 2)
        late.epoch, take = None, shared.take  # as after a failed commit

        def take_while_it_closes(part: int) -> Taken | None:
            taken = take(part)
            late.close()
            return taken

        monkeypatch.setattr(shared, "take", take_while_it_closes)
        with pytest.raises(NotOwner):
            late.read_blocking(lambda reader: reader.last_seq())
        assert be_seen(shared, "127.0.0.1:1", False).parts[2].is_free


def test_a_database_that_a_single_server_serves_is_not_divided(address: str) -> None:
    with closing(Database(address)) as shared, closing(PostgresStore(address)) as store:
        with pytest.raises(InvalidInput, match="A server without cluster settings serves the database"):
            divide(shared, PARTS)
        store.write([event(1)])
        store.commit()
        assert divide(shared) == 1


def test_the_number_of_parts_is_fixed(address: str, tmp_path: Path) -> None:
    with closing(Database(address)) as shared:
        check_undivided(shared)
        assert divide(shared, PARTS) == PARTS
        assert divide(shared) == PARTS
        with pytest.raises(InvalidInput, match="into 8 partitions, but it has 4, a number that is fixed"):
            divide(shared, 8)
        with pytest.raises(InvalidInput, match="nothing about a cluster"):
            PostgresStore(address)
        assert shared.run([Statement("SELECT max(works_with) FROM versions")])[0] == [(3,)]
    served_before = database(tmp_path / "before")
    with closing(PostgresStore(served_before)) as store:
        store.write([event(1)])
        store.commit()
    with closing(Database(served_before)) as shared:
        assert divide(shared) == 1


def test_servers_are_seen_and_gone(address: str) -> None:
    with closing(Database(address)) as first, closing(Database(address)) as second:
        divide(first, PARTS)
        store = PostgresStore(first, 3)
        be_seen(first, "127.0.0.1:1", False)
        rows = be_seen(second, "127.0.0.1:2", True)
        assert [(row.name, row.address, row.is_leaving) for row in rows.servers] == sorted(
            [(first.name, "127.0.0.1:1", False), (second.name, "127.0.0.1:2", True)]
        )
        assert [(row.part, row.owner, row.is_free) for row in rows.parts] == [
            (0, None, True), (1, None, True), (2, None, True), (3, first.name, False),
        ]  # fmt: skip
        be_gone(second)
        assert [row.name for row in be_seen(first, "127.0.0.1:1", False).servers] == [first.name]
        with pytest.raises(NotOwner):
            PostgresStore(second, 3).read_blocking(lambda reader: reader.last_seq())
        store.close()
        assert store.released is not None
        store.released.result(PATIENCE)
        assert be_seen(first, "127.0.0.1:1", False).parts[3].is_free


def test_the_lag_of_a_part_is_that_of_its_first_window_that_should_be_closed(address: str) -> None:
    def impression(number: int, late: float, state: int = OPEN) -> ImpressionRow:
        return ImpressionRow(bytes([number]), number, 1, 1, state, int(1000 * (now - late)), b"{}")

    with closing(Database(address)) as shared:
        divide(shared, PARTS)
        now = be_seen(shared, "127.0.0.1:1", False).now / 1e9
        for part, rows in {
            1: [impression(1, 3600.0), impression(2, 7200.0), impression(3, 9999.0, LEARNED)],
            2: [impression(4, -3600.0)],  # the window of this one is open
            3: [impression(5, 3600.0, DROPPED)],
        }.items():
            with closing(PostgresStore(shared, part)) as store:
                store.write(rows)
                store.commit()
        with shared.read_session() as session:
            found = lags(session)
        passed = be_seen(shared, "127.0.0.1:1", False).now / 1e9 - now
        assert found[1] == pytest.approx(7200.0 + passed / 2, abs=passed / 2 + 0.002)
        assert (found[0], found[2], found[3]) == (0.0, 0.0, 0.0)


def connections(address: str) -> int:
    with closing(Session(address)) as session:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return int(session.run([Statement(count)])[0][0][0])


def test_a_server_has_a_limit_of_connections(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.1)
    with closing(Database(address, lease=2.0)) as shared:
        divide(shared, 1)
        store = PostgresStore(shared)
        store.write([event(1)])
        store.commit()
        be_seen(shared, "127.0.0.1:1", False)
        with shared.changing.transaction():  # of a divided ranking
            pass
        begun = Barrier(READERS + 1)

        def read(_: int) -> int:
            def last(reader: LogReader) -> int:
                begun.wait(PATIENCE)
                return reader.last_seq()

            return store.read_blocking(last)

        with ThreadPoolExecutor(READERS) as threads, ExitStack() as opened:
            reading = threads.map(read, range(READERS))
            readers = [opened.enter_context(closing(store.reader())) for _ in range(LONG_READERS)]
            assert [reader.last_seq() for reader in readers] == [1] * LONG_READERS
            with pytest.raises(StoreUnavailable, match="Too many reads that take long"):
                CommittedStore(shared, 0).reader()
            begun.wait(PATIENCE)
            assert list(reading) == [1] * READERS
            paused = Event()
            while connections(address) < MOST_CONNECTIONS:  # until the lease is renewed
                paused.wait(0.05)
            monkeypatch.setattr(module, "LONGEST_WAIT", PATIENCE)
            waiting = threads.submit(store.reader)
            readers[0].close()
            readers[0].close()
            with closing(waiting.result(PATIENCE)) as reader:
                assert reader.last_seq() == 1
                assert connections(address) == MOST_CONNECTIONS
        store.close()


def test_an_open_transaction_of_a_stopped_owner_does_not_block_a_takeover(address: str) -> None:
    with closing(Database(address, lease=0.5)) as former, closing(Database(address, lease=0.5)) as second:
        divide(former, PARTS)
        store = PostgresStore(former, 0)
        writer = former.writer
        taken: Taken | None = None
        with suppress(StoreUnavailable), writer.session.transaction() as connection:
            connection.execute("SELECT fence(0, %s, %s, 0, 1, 0.5)", (former.name, store.epoch))
            former.remove(0, store)  # nobody renews its lease: the process is stopped here, with the row locked
            while taken is None:
                with suppress(StoreUnavailable):  # it waited for the lock in vain
                    taken = second.take(0)
        assert taken is not None
        assert taken.last_seq == 0
        store.close()


def test_all_parts_of_a_divided_store_are_checked_and_exported(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Database(address)) as shared:
        divide(shared, PARTS)
        for part in (1, 3):
            store = PostgresStore(shared, part)
            spec = encode(RankingEvent(RankingSpec(name=f"ranking-{part}", positions=1), policy_seq=1, longest=1))
            created = EventRow(1, 1000, 1, 0, "ranking", None, spec)
            store.write([created, RankingRow(1, f"ranking-{part}", 1000, 1, spec)])
            store.commit()
            store.close()
    assert main(["store", "export", str(tmp_path / "all.ndjson"), "--store", address]) == Exit.FINE
    assert len((tmp_path / "all.ndjson").read_text().splitlines()) == 2
    one = ["store", "export", str(tmp_path / "one.ndjson"), "--ranking", "ranking-3", "--store", address]
    assert main(one) == Exit.FINE
    assert main(["store", "check", "--store", address]) == Exit.FINE
    with closing(Session(address)) as session:
        session.run([Statement("UPDATE events SET at = at + 1 WHERE part = 3")])
    assert main(["store", "check", "--store", address]) == Exit.BROKEN
    assert main(["store", "copy", str(tmp_path / "copy.db"), "--store", address]) == Exit.INPUT
    assert "is damaged in its events" in capsys.readouterr().err
