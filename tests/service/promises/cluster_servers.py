"""Three servers on one PostgreSQL database, each behind a proxy to the database and one for the other servers."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections import Counter
from pathlib import Path

import psycopg
from benchmarks.server import UNLIMITED, Server, free_port
from forking import ForkedProcess
from postgres_server import PostgresServer

from .altered import LATER, NO_FAULT, PROGRAM
from .proxy import Proxy

SERVERS, PARTITIONS = 3, 8
LEASE = 1.5  # seconds
CLOCKS = (0.0, 600.0, -600.0)  # seconds by which the wall clocks of the servers are off
SECRET = "the secret of all servers of a test"
_COUNTED = re.compile(r'^toplist_(?:cluster_requests|partition_moves)_total\{how="([^"]+)"\} (\S+)$', re.MULTILINE)
_FENCED = re.compile(r"^toplist_commits_fenced_total (\S+)$", re.MULTILINE)
_OWNED = "SELECT part FROM toplist.parts WHERE owner LIKE %s LIMIT 1"


class QuickServer(Server):
    """A server that is forked from a process that has imported everything."""

    popen = ForkedProcess


class Cluster:
    """Servers, each behind a proxy to the database and one for the other servers."""

    def __init__(self, folder: Path, database: PostgresServer, fault: str) -> None:
        self.database, self.address = database, database.address("shop")
        self.sockets = [Path(tempfile.mkdtemp(prefix="toplist-proxy-")) for _ in range(SERVERS)]
        self.inner, self.outer = [free_port() for _ in range(SERVERS)], [free_port() for _ in range(SERVERS)]
        self.servers = [self._server(number, folder, fault) for number in range(SERVERS)]
        self.to_database: list[Proxy] = []
        self.to_others: list[Proxy] = []

    @property
    def is_later(self) -> bool:
        """Whether servers are of a later release from their next start on."""
        return all(LATER in server.program for server in self.servers)

    @is_later.setter
    def is_later(self, is_later: bool) -> None:
        for number, server in enumerate(self.servers):
            server.program = PROGRAM, str(CLOCKS[number]), LATER if is_later else NO_FAULT, "serve"

    def _server(self, number: int, folder: Path, fault: str) -> Server:
        settings = {
            **UNLIMITED, "lease": str(LEASE), "cluster.port": str(self.inner[number]), "cluster.secret": SECRET,
            "cluster.address": f"127.0.0.1:{self.outer[number]}", "cluster.partitions": str(PARTITIONS),
        }  # fmt: skip
        return QuickServer(
            folder / f"server-{number}.db", (PROGRAM, str(CLOCKS[number]), fault, "serve"), settings=settings,
            database=f"postgresql://toplist@/shop?host={self.sockets[number]}",
        )  # fmt: skip

    async def connect(self) -> None:
        """Start the proxies."""
        for number in range(SERVERS):

            async def near(port: int = self.inner[number]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
                return await asyncio.open_connection("127.0.0.1", port)

            async def far() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
                return await asyncio.open_unix_connection(str(self.database.folder / ".s.PGSQL.5432"))

            self.to_database.append(Proxy(far))
            await self.to_database[-1].listen_unix(str(self.sockets[number] / ".s.PGSQL.5432"))
            self.to_others.append(Proxy(near))
            await self.to_others[-1].listen(self.outer[number])

    def disconnect(self) -> None:
        """End the proxies."""
        for proxy in (*self.to_database, *self.to_others):
            proxy.close()
        for folder in self.sockets:
            (folder / ".s.PGSQL.5432").unlink(missing_ok=True)
            folder.rmdir()

    def kill(self) -> None:
        """End all servers at once."""
        for server in self.servers:
            if server.process is not None:
                server.process.kill()

    def fenced(self, server: Server) -> int:
        """Commits of a server that were fenced, since its start."""
        found = _FENCED.search(server.ask_raw("GET", "/metrics")[1].decode())
        return 0 if found is None else round(float(found[1]))

    def has_parts(self, server: Server) -> bool:
        """Whether a server owns a partition, as the database says."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            named = f"%:{server.running.pid}:%"
            return bool(connection.execute(_OWNED, (named,)).fetchall())

    def counted(self) -> Counter[str]:
        """Partitions that moved and requests, by how, as the servers that run now have counted them."""
        found: Counter[str] = Counter()
        for server in self.servers:
            for how, number in _COUNTED.findall(server.ask_raw("GET", "/metrics")[1].decode()):
                found[how] += round(float(number))
        return found
