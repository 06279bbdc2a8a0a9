"""Two real servers of a cluster on one database, and who owns its partitions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.server import PATIENCE, UNLIMITED, Server, free_port

SECRET = "the secret of all servers of a test"


@contextmanager
def two_servers(folder: Path, address: str, partitions: int, lease: float) -> Iterator[list[Server]]:
    """Two servers that are ready; they are killed at the end if they still run."""
    settings = {**UNLIMITED, "lease": str(lease), "cluster.secret": SECRET, "cluster.partitions": str(partitions)}
    made = [
        Server(folder / f"{n}.db", settings={**settings, "cluster.port": str(free_port())}, database=address)
        for n in range(2)
    ]
    try:
        for server in made:
            server.launch()
        for server in made:
            server.wait_until_ready()
        yield made
    finally:
        for server in made:
            if server.process is not None and server.process.poll() is None:
                server.kill()


def owners(server: Server) -> list[str | None]:
    """The owner of each partition; None for one that has none."""
    return [row["owner"] for row in server.must("GET", "/v1/cluster")["partitions"]]


def wait_for_owners(server: Server, count: int) -> None:
    """Wait until every partition has an owner, and the owners are `count` servers."""
    until = time.monotonic() + PATIENCE
    while None in owners(server) or len(set(owners(server))) != count:
        assert time.monotonic() < until, server.must("GET", "/v1/cluster")
        time.sleep(0.02)
