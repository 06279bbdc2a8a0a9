"""CPU per request on SQLite, on PostgreSQL, and by two servers: `python -m benchmarks.several_servers`.

Lists and final reports at L = 1,000 and K = 10 over 64 connections, which two servers share where it does not say
otherwise, for each setting in turn, in several rounds; the medians are printed. CPU is that of the servers' processes,
and PostgreSQL's apart. One server of a cluster is the measure for two: it differs from them in their number alone. Two
clusters of one server each show what it costs that two servers share the machine's cores and caches. Lists "with ids"
are asked for with a new `request_id` each, as the client library does. In the end the first list of segments whose
learners are not in memory is measured, on SQLite and on PostgreSQL; `... several_servers cold` measures nothing else,
and `... several_servers alone` only SQLite and one server without a cluster. The targets stand beside the ratios; the
exit status is 1 where one is missed.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, sleep
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg

from benchmarks.load import Line
from benchmarks.report import Target, verdict_cells
from benchmarks.server import PATIENCE, ROOT, UNLIMITED, Broken, Server, free_port

sys.path.append(str(ROOT / "tests" / "service"))
from postgres_server import PostgresServer  # the one that tests start

ITEMS, POSITIONS, CONNECTIONS = 1000, 10, 64
PAIRS, ROUNDS = 2500, 7  # lists with their reports per round
FILE, ALONE, ONE = "SQLite", "PostgreSQL, one server alone", "PostgreSQL, one server of a cluster"
FILE_IDS, ALONE_IDS = "SQLite, with ids", "PostgreSQL, one server alone, with ids"
OWNED = "PostgreSQL, two servers, asked for their own rankings"
AT_RANDOM = "PostgreSQL, two servers, asked at random"
FORWARDED = "PostgreSQL, two servers, each asked for the other's"
BESIDE = "PostgreSQL, two clusters of one server each, beside each other"
THROUGHPUT = Target(0.6)  # of that on SQLite
ON_FILE = {ALONE: FILE, ONE: FILE, ALONE_IDS: FILE_IDS}  # what its throughput is compared with
CPU = {OWNED: Target(1.15, at_most=True), AT_RANDOM: Target(1.6, at_most=True)}  # of one server of a cluster
COLD = Target(3.0, at_most=True)  # times the first list on SQLite
COLD_SEGMENTS, COLD_LISTS = 60, 10
SECRET = "the secret of both servers of this measurement"


class Cost(NamedTuple):
    """What a request took."""

    servers: float  # microseconds of CPU
    forwarded: float  # share of the requests that another server answered
    database: float
    seconds: float  # of all requests
    wal: float  # bytes
    together: float  # requests per commit


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
    """Bytes of the write-ahead log and transactions so far; the latter are counted up to a second late."""
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn, (SELECT sum(xact_commit) FROM pg_stat_database)"
        ).fetchone()
    assert found is not None
    return int(found[0]), int(found[1])


async def ask_all(
    ports: list[int], rankings: list[str], pairs: int, *, connections: int, at_random: bool, ids: bool
) -> None:
    """Lists with their reports; connection n asks port and ranking n, in turn, or any ranking."""
    left, chance = iter(range(pairs)), random.Random(pairs)

    async def work(number: int) -> None:
        line = await Line.to(ports[number % len(ports)])
        for _ in left:
            ranking = chance.choice(rankings) if at_random else rankings[number % len(rankings)]
            path = f"/v1/rankings/{ranking}/lists"
            asked = b'{"request_id": "%s"}' % str(uuid4()).encode() if ids else b"{}"
            listed: dict[str, Any] = json.loads((await line.ask("POST", path, asked)).body)
            report = json.dumps({"clicks": [2], "final": True}).encode()
            answer = await line.ask("PUT", f"/v1/impressions/{listed['impression']}/clicks", report)
            assert answer.status == 200, answer
        line.close()

    async with asyncio.timeout(PATIENCE):  # an answer that never comes is a fault, not a long measurement
        await asyncio.gather(*(work(number) for number in range(connections)))


def measure(
    servers: list[Server], rankings: list[str], database: PostgresServer | None, address: str = "",
    *, connections: int = CONNECTIONS, at_random: bool = False, ids: bool = False,
) -> Cost:  # fmt: skip
    """What a request takes."""
    ports = [server.port for server in servers]
    asyncio.run(ask_all(ports, rankings, 200, connections=connections, at_random=at_random, ids=ids))
    before_commits = sum(_number(server, "toplist_commits_total") for server in servers)
    before_forwarded = sum(_counted(server, "forwarded") for server in servers)
    before_log = written(address)[0] if database else 0
    before, before_database = sum(server.cpu() for server in servers), database_cpu(database) if database else 0.0
    begun = perf_counter()
    asyncio.run(ask_all(ports, rankings, PAIRS, connections=connections, at_random=at_random, ids=ids))
    seconds = perf_counter() - begun
    cpu = sum(server.cpu() for server in servers) - before
    cpu_database = (database_cpu(database) if database else 0.0) - before_database
    after_log = written(address)[0] if database else 0
    requests = 2 * PAIRS
    forwarded = sum(_counted(server, "forwarded") for server in servers) - before_forwarded
    commits = sum(_number(server, "toplist_commits_total") for server in servers) - before_commits
    return Cost(
        1e6 * cpu / requests, forwarded / requests, 1e6 * cpu_database / requests, seconds,
        (after_log - before_log) / requests, requests / commits,
    )  # fmt: skip


def wait_until_settled(server: Server, count: int) -> None:
    """Wait until all servers own partitions, and none has moved for 3 seconds.

    One of two servers may own all of them by chance, with 8 partitions once in 128 times: that is told.
    """
    settled, owners = 0, None
    until = monotonic() + PATIENCE
    while settled < 30:
        if monotonic() > until:
            raise Broken(f"after {PATIENCE:.0f} s {count} servers do not share the partitions: {owners}")
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
    """Requests of a server in a cluster, by how they were answered."""
    return _number(server, f'toplist_cluster_requests_total{{how="{how}"}}')


def _number(server: Server, name: str) -> float:
    """A number among the metrics of a server; 0 if it has none of this name."""
    for line in server.ask_raw("GET", "/metrics")[1].decode().splitlines():
        if line.startswith(f"{name} "):
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


def verdict(ratio: float, target: Target) -> str:
    """A target and whether a ratio reaches it.

    >>> verdict(1.2, Target(1.15, at_most=True))
    'target <= 1.15: MISSED'
    """
    cells = verdict_cells(ratio, target)
    return f"target {cells['target']}: {cells['verdict']}"


def compare_cold_keys() -> bool:
    """Print the first list of a cold key on SQLite and on PostgreSQL; whether it meets its target."""
    database = PostgresServer()
    with tempfile.TemporaryDirectory() as made, ExitStack() as ending:
        ending.callback(database.remove)
        database.run("CREATE DATABASE cold")
        found = []
        for name, address in (("file", None), ("single", database.address("cold"))):
            server = Server(Path(made) / f"{name}.db", database=address)
            ending.callback(server.kill)
            found.append(cold_keys(server.start()))
    all_met = True
    for what, file, far in zip(("after a restart", "of a new segment"), *found, strict=True):
        all_met = all_met and COLD.reached(far / file)
        print(
            f"First list {what}: {file:.2f} ms on SQLite, {far:.2f} ms on PostgreSQL, {far / file:.2f} times "
            f"({verdict(far / file, COLD)})"
        )
    return all_met


def main() -> int:
    """Measure, and print a line for each setting; 1 where a target is missed."""
    if "cold" in sys.argv[1:]:
        return 0 if compare_cold_keys() else 1
    is_alone = "alone" in sys.argv[1:]
    database = PostgresServer()
    with tempfile.TemporaryDirectory() as made, ExitStack() as ending:
        ending.callback(database.remove)
        folder = Path(made)

        def started(name: str, address: str | None, **more: str) -> Server:
            settings = {**UNLIMITED, **{key.replace("_", "."): value for key, value in more.items()}}
            server = Server(folder / f"{name}.db", settings=settings, database=address)
            ending.callback(server.kill)
            return server.start()

        names = ("alone", "first", "second", "shared")
        for name in names:
            database.run(f"CREATE DATABASE {name}")
        alone, first, second, shared = map(database.address, names)

        def of_cluster(name: str, address: str) -> Server:
            return started(name, address, cluster_port=str(free_port()), cluster_secret=SECRET)

        file = started("file", None)
        file.create("front", ITEMS, POSITIONS, click_window=600.0)
        single = started("single", alone)
        single.create("front", ITEMS, POSITIONS, click_window=600.0)
        settings: list[tuple[str, Callable[[], Cost]]] = [
            (FILE, lambda: measure([file], ["front"], None)),
            (ALONE, lambda: measure([single], ["front"], database, alone)),
            (FILE_IDS, lambda: measure([file], ["front"], None, ids=True)),
            (ALONE_IDS, lambda: measure([single], ["front"], database, alone, ids=True)),
        ]
        if not is_alone:
            one, other = of_cluster("one", first), of_cluster("other", second)
            for server in (one, other):
                wait_until_settled(server, 1)
                server.create("front", ITEMS, POSITIONS, click_window=600.0)
            two = [of_cluster(f"two-{n}", shared) for n in range(2)]
            wait_until_settled(two[0], len(two))
            rankings = owned_by(two[0], two[1:])
            settings += [
                (ONE, lambda: measure([one], ["front"], database, first)),
                (OWNED, lambda: measure(two, rankings, database, shared)),
                (
                    "PostgreSQL, two servers, so asked over as many connections each",
                    lambda: measure(two, rankings, database, shared, connections=2 * CONNECTIONS),
                ),
                (BESIDE, lambda: measure([one, other], ["front"], database, first)),
                (AT_RANDOM, lambda: measure(two, rankings, database, shared, at_random=True)),
                (FORWARDED, lambda: measure(two, rankings[::-1], database, shared)),
            ]
        costs: dict[str, list[Cost]] = {what: [] for what, _ in settings}
        for n in range(ROUNDS):
            for what, run in settings[n % len(settings) :] + settings[: n % len(settings)]:  # no one always comes first
                costs[what].append(run())
    all_met = report(costs)
    return 0 if (is_alone or compare_cold_keys()) and all_met else 1


def report(costs: dict[str, list[Cost]]) -> bool:
    """Print what was found, with the targets; whether all are met."""
    all_met = True
    for what, several in costs.items():
        cost = Cost(*(median(values) for values in zip(*several, strict=True)))
        ratios = {
            base_name: median(own.servers / base.servers for own, base in zip(several, costs[base_name], strict=True))
            for base_name in (ONE, ALONE)
            if base_name in costs
        }
        target = ""
        if what in CPU:
            target, all_met = f", {verdict(ratios[ONE], CPU[what])}", all_met and CPU[what].reached(ratios[ONE])
        of_one = f"{ratios[ONE]:.2f} of one of a cluster in the same round{target}, " if ONE in ratios else ""
        print(
            f"{what}: {cost.servers:.0f} us of CPU per request ({of_one}{ratios[ALONE]:.2f} of one alone), "
            f"{cost.forwarded:.0%} forwarded, {cost.database:.0f} us of PostgreSQL, "
            f"{2 * PAIRS / cost.seconds:.0f} requests per second, "
            f"{cost.wal:.0f} bytes of WAL per request, {cost.together:.0f} requests per transaction"
        )
    if FORWARDED in costs:
        forwarded, beside = (
            median(each.servers / base.servers for each, base in zip(costs[what], costs[of], strict=True))
            for what, of in ((FORWARDED, OWNED), (OWNED, BESIDE))
        )
        print(
            f"A forwarded request takes {forwarded:.2f} times the CPU of one that its owner was asked for, by two "
            f"servers; the latter takes {beside:.2f} times that of two clusters of one server each"
        )
    for what, file in ON_FILE.items():
        if what not in costs:
            continue
        rates = [near.seconds / far.seconds for near, far in zip(costs[file], costs[what], strict=True)]
        target, rate = "", median(rates)
        if what != ONE:
            target, all_met = f" ({verdict(rate, THROUGHPUT)})", all_met and THROUGHPUT.reached(rate)
        print(
            f"{what}: {rate:.2f} of the requests per second of {file} in the same round{target}, "
            f"{min(rates):.2f} at worst"
        )
    return all_met


if __name__ == "__main__":
    sys.exit(main())
