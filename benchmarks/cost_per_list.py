"""What a list leaves behind in PostgreSQL and as Parquet: `python -m benchmarks.cost_per_list`.

Lists of 10 of 1,000 items with a request id, each with a final report, over 64 connections. Rows, bytes on disk and
bytes of the write-ahead log are those of PostgreSQL itself, per list.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psycopg

from benchmarks.load import Line
from benchmarks.server import ROOT, UNLIMITED, Server
from benchmarks.several_servers import CONNECTIONS, ITEMS, POSITIONS, database_cpu, written
from toplist.cli import main as toplist

sys.path.append(str(ROOT / "tests" / "service"))
from postgres_server import PostgresServer  # the one that tests start

LISTS, FIRST = 10_000, 500  # of the measurement, and before it
TABLES = ("events", "impressions", "requests", "snapshots", "totals")
_SIZES = "SELECT pg_relation_size(%s), pg_indexes_size(%s), (SELECT count(*) FROM {})"


class Size(NamedTuple):
    """Size of a table."""

    table: int  # bytes
    indexes: int
    rows: int


def sizes(address: str) -> dict[str, Size]:
    """Sizes of all tables, without what updates have left."""
    found = {}
    with psycopg.connect(address, autocommit=True) as connection:
        for name in TABLES:
            table = f"toplist.{name}"
            connection.execute(f"VACUUM FULL {table}")
            row = connection.execute(_SIZES.format(table), (table, table)).fetchone()
            assert row is not None
            found[name] = Size(*row)
    return found


async def ask(port: int, lists: int, name: str) -> None:
    """Lists with their final reports."""
    left = iter(range(lists))

    async def work() -> None:
        line = await Line.to(port)
        for number in left:
            body = b'{"request_id": "%s-%032d"}' % (name.encode(), number)
            listed = await line.ask("POST", "/v1/rankings/front/lists", body)
            impression = listed.body.partition(b'"impression":"')[2].partition(b'"')[0].decode()
            path = f"/v1/impressions/{impression}/clicks"
            answer = await line.ask("PUT", path, b'{"clicks": [2], "final": true}')
            assert answer.status == 200, answer
        line.close()

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))


def main() -> None:
    """Measure, and print a line for each table and for the whole."""
    with tempfile.TemporaryDirectory() as made, ExitStack() as ending:
        database, folder = PostgresServer(), Path(made)
        ending.callback(database.remove)
        database.run("CREATE DATABASE shop")
        address = database.address("shop")
        server = Server(folder / "server.db", settings=UNLIMITED, database=address)
        ending.callback(server.kill)
        server.start()
        server.create("front", ITEMS, POSITIONS, click_window=600.0)
        asyncio.run(ask(server.port, FIRST, "before"))
        before, log, cpu, own = sizes(address), written(address), server.cpu(), database_cpu(database)
        asyncio.run(ask(server.port, LISTS, "measured"))
        cpu, own = server.cpu() - cpu, database_cpu(database) - own
        wal, transactions = (after - first for after, first in zip(written(address), log, strict=True))
        after = sizes(address)
        export = folder / "events.parquet"
        toplist(["store", "export", str(export), "--store", address])
        events = after["events"].rows
        parquet = export.stat().st_size / events * (events - before["events"].rows) / LISTS
    for name in TABLES:
        table, indexes, rows = (new - old for new, old in zip(after[name], before[name], strict=True))
        kept = f"{table / LISTS:.0f} bytes and {indexes / LISTS:.0f} of indexes"
        print(f"{name}: {rows / LISTS:.2f} rows, {kept} per list")
    whole = sum(size.table + size.indexes for size in after.values())
    whole -= sum(size.table + size.indexes for size in before.values())
    print(
        f"all tables: {whole / LISTS:.0f} bytes per list; write-ahead log {wal / LISTS:.0f} bytes and "
        f"{transactions / LISTS:.3f} transactions per list; Parquet {parquet:.0f} bytes per list; CPU of the server "
        f"{1e6 * cpu / LISTS:.0f} us and of PostgreSQL {1e6 * own / LISTS:.0f} us per list with its report"
    )


if __name__ == "__main__":
    main()
