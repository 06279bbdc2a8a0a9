"""A store as an older version of toplist would have written it."""

from contextlib import closing
from pathlib import Path
from typing import Any

from toplist.service.store.digests import TABLES
from toplist.service.store.migrations import SCRIPTS, migrate
from toplist.service.store.sqlite import connect


def _fill_totals(connection: Any) -> None:
    """Count the rows of each owner, as whoever wrote them did."""
    tables = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")}
    for table in TABLES.values():
        if table.name not in tables:
            continue
        connection.execute(
            f"INSERT INTO main.totals SELECT {table.owner}, count(*), sum(row_digest) FROM main.{table.name} "
            f"WHERE true GROUP BY 1 ON CONFLICT (owner) DO UPDATE SET row_count = row_count + excluded.row_count, "
            f"digest_sum = digest_sum + excluded.digest_sum"
        )


def make_older(path: Path, version: int) -> None:
    """Write the rows of a store into the tables of an older version, in a new file at the same path."""
    older = path.with_name(f"{path.name}.older")
    with closing(connect(older, read_only=False)) as connection:
        migrate(connection, SCRIPTS[:version])
        connection.execute("ATTACH ? AS new", (str(path),))
        tables = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")}
        for table in TABLES.values():
            if table.name in tables:
                there = {row[1] for row in connection.execute(f"PRAGMA main.table_info({table.name})")}
                columns = [column for column in table.columns if column in there]
                values = columns
                if "row_digest" in there:
                    values = [*columns, f"digest_of({', '.join(columns)})"]
                    columns = [*columns, "row_digest"]
                connection.execute(
                    f"INSERT INTO main.{table.name} ({', '.join(columns)}) "
                    f"SELECT {', '.join(values)} FROM new.{table.name}"
                )
        if "totals" in tables:
            _fill_totals(connection)
    older.replace(path)
