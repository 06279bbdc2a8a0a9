"""A store as an older version of toplist would have written it."""

from contextlib import closing
from pathlib import Path

from toplist.service.store.digests import TABLES
from toplist.service.store.migrations import SCRIPTS, migrate
from toplist.service.store.sqlite import connect


def make_older(path: Path, version: int) -> None:
    """Write the rows of a store into the tables of an older version, in a new file at the same path."""
    older = path.with_name(f"{path.name}.older")
    with closing(connect(older, read_only=False)) as connection:
        migrate(connection, SCRIPTS[:version])
        connection.execute("ATTACH ? AS new", (str(path),))
        tables = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")}
        for table in TABLES.values():
            if table.name in tables:
                columns = table.selected
                connection.execute(f"INSERT INTO main.{table.name} SELECT {columns} FROM new.{table.name}")
    older.replace(path)
