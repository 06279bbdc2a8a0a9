"""The store through a real PgBouncer in transaction mode: no state of a session, no lock and no name is left behind."""

from contextlib import closing
from pathlib import Path

from pgbouncer import pgbouncer
from postgres_server import database, server
from running import at_work, front, run, shown, told
from test_postgres import COMMITS, content

from toplist.service.store.postgres import PostgresReader, PostgresStore, check_address
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.session import Session


def test_the_store_works_through_pgbouncer(tmp_path: Path) -> None:
    direct = database(tmp_path / "db")
    with pgbouncer(server(), check_address(direct)["dbname"]) as address:
        with (
            closing(PostgresStore(address, lease=5.0)) as store, closing(PostgresReader(address)) as reader,
            closing(PostgresReader(direct)) as expected,
        ):  # fmt: skip
            for rows in COMMITS:
                store.write(rows)
                store.commit()
                assert content(reader) == content(expected)
            assert list(reader.find_damage()) == []
        left = Session(direct)
        asked = [Statement("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), Statement("SHOW search_path")]
        assert left.run(asked)[0] == [(0,)]
        left.close()


def test_a_service_works_through_pgbouncer(tmp_path: Path) -> None:
    async def work(address: str) -> None:
        for expected in (3, 6):  # it begins again from what is stored
            async with at_work(tmp_path / "db", open_store=lambda _: PostgresStore(address)) as service:
                if expected == 3:
                    await front(service)
                for _ in range(3):
                    made = await shown(service, segment="s", request_id=None)
                    await told(service, made, 1, final=True)
                assert (await service.queries.estimates("front", "s")).learned == expected

    with pgbouncer(server(), check_address(database(tmp_path / "db"))["dbname"]) as address:
        run(work(address))
