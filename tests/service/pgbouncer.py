"""A real PgBouncer in transaction mode before the PostgreSQL server of the tests."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from postgres_server import PostgresServer

PATIENCE = 30.0  # seconds


@contextmanager
def pgbouncer(server: PostgresServer, database: str) -> Iterator[str]:
    """Address of a database through PgBouncer, whose clients share few connections and keep nothing between two."""
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    with tempfile.TemporaryDirectory(prefix="toplist-bouncer-") as made:
        folder = Path(made)
        settings = f"""[databases]
{database} = host={server.folder} port=5432 user=toplist
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = 5432
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = {folder}/log
"""
        (folder / "settings.ini").write_text(settings)
        for path in (folder, folder / "settings.ini"):
            server.give(path)
        process = subprocess.Popen([program, "-q", str(folder / "settings.ini")], user=server.user)
        try:
            until = monotonic() + PATIENCE
            while not (folder / ".s.PGSQL.5432").exists():
                assert process.poll() is None, (folder / "log").read_text()
                assert monotonic() < until
                sleep(0.02)
            yield f"postgresql://toplist@/{database}?host={folder}"
        finally:
            process.terminate()
            process.wait(PATIENCE)
