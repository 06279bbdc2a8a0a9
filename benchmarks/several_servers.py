"""CPU per request on SQLite, on PostgreSQL, and by two servers: `python -m benchmarks.several_servers`.

Lists and final reports at L = 1,000 and K = 10 over 64 connections, for each setting in turn, in several rounds; the
medians are printed. CPU is that of the servers' processes, and PostgreSQL's apart. `... several_servers cold` measures
the first list of segments whose learners are not in memory instead, on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any, NamedTuple

import psycopg

from benchmarks.load import Line
from benchmarks.server import ROOT, UNLIMITED, Server, free_port

sys.path.append(str(ROOT / "tests" / "service"))
from postgres_server import PostgresServer  # the one that tests start

ITEMS, POSITIONS, CONNECTIONS = 1000, 10, 64
PAIRS, ROUNDS = 1500, 3  # lists with their reports per round
COLD_SEGMENTS, COLD_LISTS = 60, 10
SECRET = "the secret of both servers of this measurement"


class Cost(NamedTuple):
    """What a request took."""

    servers: float  # microseconds of CPU
    forwarded: float  # share of the requests that another server answered
    database: float
    seconds: float  # of all requests
    wal: float  # bytes
    transactions: float


def database_cpu(server: PostgresServer) -> float:
    """CPU seconds of all processes of PostgreSQL that live, and of those that have ended."""
    assert server.process is not None
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
            fields = rest.split()
        except OSError:
            continue
        pid = int(name.split()[0])
        if pid == server.process.pid:
            total += sum(map(int, fields[11:15]))  # with its children that have ended
        elif int(fields[1]) == server.process.pid:
            total += sum(map(int, fields[11:13]))
    return total / 100.0


def written(address: str) -> tuple[int, int]:
    """Bytes of the write-ahead log and transactions so far."""
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn, (SELECT sum(xact_commit) FROM pg_stat_database)"
        ).fetchone()
    assert found is not None
    return int(found[0]), int(found[1])


async def ask_all(ports: list[int], rankings: list[str], pairs: int) -> None:
    """Lists with their reports; connection n asks port and ranking n, in turn."""
    left = iter(range(pairs))

    async def work(number: int) -> None:
        line = await Line.to(ports[number % len(ports)])
        for _ in left:
            path = f"/v1/rankings/{rankings[number % len(rankings)]}/lists"
            listed: dict[str, Any] = json.loads((await line.ask("POST", path, b"{}")).body)
            report = json.dumps({"clicks": [2], "final": True}).encode()
            answer = await line.ask("PUT", f"/v1/impressions/{listed['impression']}/clicks", report)
            assert answer.status == 200, answer
        line.close()

    await asyncio.gather(*(work(number) for number in range(CONNECTIONS)))


def measure(
    servers: list[Server], ports: list[int], rankings: list[str], database: PostgresServer | None, address: str = ""
) -> Cost:
    """What a request takes."""
    asyncio.run(ask_all(ports, rankings, 200))
    before = sum(server.cpu() for server in servers)
    before_forwarded = sum(_counted(server, "forwarded") for server in servers)
    before_database = database_cpu(database) if database else 0.0
    before_log = written(address) if database else (0, 0)
    begun = asyncio.new_event_loop().time()
    asyncio.run(ask_all(ports, rankings, PAIRS))
    seconds = asyncio.new_event_loop().time() - begun
    after_log = written(address) if database else (0, 0)
    cpu = sum(server.cpu() for server in servers) - before
    cpu_database = (database_cpu(database) if database else 0.0) - before_database
    requests = 2 * PAIRS
    forwarded = sum(_counted(server, "forwarded") for server in servers) - before_forwarded
    return Cost(
        1e6 * cpu / requests, forwarded / requests, 1e6 * cpu_database / requests, seconds,
        (after_log[0] - before_log[0]) / requests, (after_log[1] - before_log[1]) / requests,
    )  # fmt: skip


def wait_until_settled(server: Server, count: int) -> None:
    """Wait until all servers own partitions, and none has moved for 3 seconds."""
    settled, owners = 0, None
    while settled < 30:
        sleep(0.1)
        view = json.loads(server.ask_raw("GET", "/v1/cluster")[1])
        found = [partition["owner"] for partition in view["partitions"]]
        is_same = found == owners and None not in found and len(set(found)) == count
        settled, owners = (settled + 1 if is_same else 0), found


def owned_by(server: Server, others: list[Server]) -> list[str]:
    """A ranking of each server: first of this one, then of the others, found by who answers for it."""
    found: dict[int, str] = {}
    every = [server, *others]
    number = 0
    while len(found) < len(every):
        name = f"ranking-{number}"
        number += 1
        server.create(name, ITEMS, POSITIONS, click_window=600.0)
        before = [_counted(each, "owned") for each in every]
        every[0].must("POST", f"/v1/rankings/{name}/lists", {})
        at = 0 if _counted(every[0], "owned") > before[0] else 1
        found.setdefault(at, name)
    return [found[n] for n in range(len(every))]


def _counted(server: Server, how: str) -> float:
    for line in server.ask_raw("GET", "/metrics")[1].decode().splitlines():
        if line.startswith(f'toplist_cluster_requests_total{{how="{how}"}}'):
            return float(line.rsplit(" ", 1)[1])
    return 0.0


def cold_keys(server: Server) -> tuple[float, float]:
    """Milliseconds of the first list of a segment after a restart, and of one that is new; medians, one at a time."""
    server.create("cold", ITEMS, POSITIONS, click_window=600.0)
    segments = [f"segment-{n}" for n in range(COLD_SEGMENTS)]

    async def ask_each(segments: list[str], times: int) -> list[float]:
        line, seconds = await Line.to(server.port), []
        for segment in segments * times:
            begun = perf_counter()
            made = await line.ask("POST", "/v1/rankings/cold/lists", json.dumps({"segment": segment}).encode())
            seconds.append(perf_counter() - begun)
            path = f"/v1/impressions/{json.loads(made.body)['impression']}/clicks"
            assert (await line.ask("PUT", path, b'{"clicks": [2], "final": true}')).status == 200
        line.close()
        return seconds

    asyncio.run(ask_each(segments, COLD_LISTS))
    server.end()
    server.start()
    asyncio.run(ask_each(["warm"], 5))
    cold = asyncio.run(ask_each(segments, 1))
    new = asyncio.run(ask_each([f"new-{n}" for n in range(COLD_SEGMENTS)], 1))
    return 1e3 * median(cold), 1e3 * median(new)


def compare_cold_keys() -> None:
    """Print the first list of a cold key on SQLite and on PostgreSQL."""
    database = PostgresServer()
    with tempfile.TemporaryDirectory() as made, ExitStack() as ending:
        ending.callback(database.remove)
        database.run("CREATE DATABASE cold")
        found = []
        for name, address in (("file", None), ("single", database.address("cold"))):
            server = Server(Path(made) / f"{name}.db", database=address)
            ending.callback(server.kill)
            found.append(cold_keys(server.start()))
    for what, file, far in zip(("after a restart", "of a new segment"), *found, strict=True):
        print(f"First list {what}: {file:.2f} ms on SQLite, {far:.2f} ms on PostgreSQL, {far / file:.2f} times")


def main() -> None:
    """Measure, and print a line for each setting."""
    if "cold" in sys.argv[1:]:
        compare_cold_keys()
        return
    database = PostgresServer()
    costs: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as made, ExitStack() as ending:
        ending.callback(database.remove)
        folder = Path(made)

        def started(name: str, address: str | None, **more: str) -> Server:
            settings = {**UNLIMITED, **{key.replace("_", "."): value for key, value in more.items()}}
            server = Server(folder / f"{name}.db", settings=settings, database=address)
            ending.callback(server.kill)
            return server.start()

        for name in ("alone", "shared"):
            database.run(f"CREATE DATABASE {name}")
        alone, shared = database.address("alone"), database.address("shared")
        file = started("file", None)
        file.create("front", ITEMS, POSITIONS, click_window=600.0)
        single = started("single", alone)
        single.create("front", ITEMS, POSITIONS, click_window=600.0)
        two = [
            started(f"two-{n}", shared, cluster_port=str(free_port()), cluster_secret=SECRET, cluster_partitions="8")
            for n in range(2)
        ]
        wait_until_settled(two[0], len(two))
        rankings = owned_by(two[0], two[1:])
        ports = [server.port for server in two]
        for _ in range(ROUNDS):
            costs.setdefault("SQLite", []).append(measure([file], [file.port], ["front"], None))
            one = measure([single], [single.port], ["front"], database, alone)
            costs.setdefault("PostgreSQL, one server", []).append(one)
            owned = measure(two, ports, rankings, database, shared)
            costs.setdefault("PostgreSQL, two servers, asked for their own rankings", []).append(owned)
            forwarded = measure(two, ports, rankings[::-1], database, shared)
            costs.setdefault("PostgreSQL, two servers, each asked for the other's", []).append(forwarded)
    base = median(cost.servers for cost in costs["PostgreSQL, one server"])
    for what, several in costs.items():
        cost = Cost(*(median(values) for values in zip(*several, strict=True)))
        print(
            f"{what}: {cost.servers:.0f} us of CPU per request ({cost.servers / base:.2f} of one on PostgreSQL), "
            f"{cost.forwarded:.0%} forwarded, {cost.database:.0f} us of PostgreSQL, "
            f"{2 * PAIRS / cost.seconds:.0f} requests per second, "
            f"{cost.wal:.0f} bytes of WAL and {cost.transactions:.3f} transactions per request"
        )


if __name__ == "__main__":
    main()
