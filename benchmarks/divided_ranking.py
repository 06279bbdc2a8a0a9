"""What two servers make of one ranking, as it is, in 2 and in 8 divisions: `python -m benchmarks.divided_ranking`.

Lists with final reports at L = 1,000 and K = 10 over 64 connections, each for segments of its own, asked at the two
servers of a cluster at random, in several rounds; the medians are printed. CPU is that of each server's process. Where
the ranking is not divided, one of them makes all lists, and the other one forwards. Then the same while an item comes
and goes all the time: how many changes there are, how long one takes, and how many requests crossed one and were done
anew.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.load import Line
from benchmarks.server import PATIENCE, ROOT, UNLIMITED, Server, free_port
from benchmarks.several_servers import CONNECTIONS, ITEMS, POSITIONS, SECRET, wait_until_settled

sys.path.append(str(ROOT / "tests" / "service"))
from postgres_server import PostgresServer  # the one that tests start

from toplist.service.cluster.placing import partition_of
from toplist.service.store.divisions import division_parts

PAIRS, ROUNDS, DIVISIONS = 2000, 3, (1, 2, 8)
SEGMENTS = 64


class Shared(NamedTuple):
    """What requests took."""

    servers: tuple[float, float]  # microseconds of CPU per request, the busier server first
    per_second: float  # requests
    learned: float  # share of the lists that the busier server learned
    changes: list[float]  # milliseconds of each change of the items
    crossed: float  # requests that were done anew, of a thousand


def _number(server: Server, name: str) -> float:
    lines = server.ask_raw("GET", "/metrics")[1].decode().splitlines()
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{name} ")), 0.0)


async def _ask(ports: list[int], ranking: str, pairs: int, changes: list[float] | None) -> None:
    """Lists with their reports, and changes of the items meanwhile, whose times are added."""
    left, chance, is_over = iter(range(pairs)), random.Random(pairs), asyncio.Event()

    async def work(number: int) -> None:
        lines = [await Line.to(port) for port in ports]
        segment = json.dumps({"segment": f"segment-{number % SEGMENTS}"}).encode()
        for _ in left:
            made = await chance.choice(lines).ask("POST", f"/v1/rankings/{ranking}/lists", segment)
            assert made.status == 200, made
            listed: dict[str, Any] = json.loads(made.body)
            report = json.dumps({"clicks": [2], "final": True}).encode()
            path = f"/v1/impressions/{listed['impression']}/clicks"
            answer = await chance.choice(lines).ask("PUT", path, report)
            assert answer.status == 200, answer
        for line in lines:
            line.close()

    async def change() -> None:
        line = await Line.to(ports[0])
        while changes is not None and not is_over.is_set():
            path = f"/v1/rankings/{ranking}/items"
            for method, to, body in (("PUT", path, {"items": [{"id": "guest"}]}), ("DELETE", f"{path}/guest", None)):
                begun = perf_counter()
                answer = await line.ask(method, to, b"" if body is None else json.dumps(body).encode())
                assert answer.status < 300, answer
                changes.append(1e3 * (perf_counter() - begun))
                await asyncio.sleep(0.1)
        line.close()

    async with asyncio.timeout(PATIENCE):
        changing = asyncio.create_task(change())
        await asyncio.gather(*(work(number) for number in range(CONNECTIONS)))
        is_over.set()
        await changing


def measure(servers: list[Server], ranking: str, changes: bool) -> Shared:
    """What requests for one ranking take on both servers."""
    ports = [server.port for server in servers]
    asyncio.run(_ask(ports, ranking, 200, None))
    crossed, learned = 'toplist_cluster_requests_total{how="crossed"}', 'toplist_learned_total{reason="final"}'
    before = [(server.cpu(), _number(server, learned), _number(server, crossed)) for server in servers]
    begun, times = perf_counter(), list[float]()
    asyncio.run(_ask(ports, ranking, PAIRS, times if changes else None))
    seconds = perf_counter() - begun
    after = [(server.cpu(), _number(server, learned), _number(server, crossed)) for server in servers]
    cpu, lists, anew = zip(
        *([b - a for a, b in zip(one, two, strict=True)] for one, two in zip(before, after, strict=True)), strict=True
    )
    per_request = sorted((1e6 * one / (2 * PAIRS) for one in cpu), reverse=True)
    return Shared(
        (per_request[0], per_request[1]), 2 * PAIRS / seconds, max(lists) / sum(lists), times,
        1e3 * sum(anew) / (2 * PAIRS),
    )  # fmt: skip


def name_on_all(servers: list[Server], divisions: int) -> str:
    """A name for a ranking whose divisions are owned by all servers, if there are as many."""
    owners = [row["owner"] for row in json.loads(servers[0].ask_raw("GET", "/v1/cluster")[1])["partitions"]]
    for n in count():
        name = f"in-{divisions}-{n}"
        parts = division_parts(partition_of(name, len(owners)), divisions, len(owners))
        if len({owners[part] for part in parts}) == min(divisions, len(servers)):
            return name
    raise AssertionError


def main() -> int:
    """Measure, and print a line for each setting."""
    database = PostgresServer()
    with tempfile.TemporaryDirectory() as made, ExitStack() as ending:
        ending.callback(database.remove)
        database.run("CREATE DATABASE shared")
        servers: list[Server] = []
        for n in range(2):
            settings = {**UNLIMITED, "cluster.port": str(free_port()), "cluster.secret": SECRET}
            server = Server(Path(made) / f"{n}.db", settings=settings, database=database.address("shared"))
            ending.callback(server.kill)
            servers.append(server.start())
        wait_until_settled(servers[0], len(servers))
        rankings = {divisions: name_on_all(servers, divisions) for divisions in DIVISIONS}
        for divisions, name in rankings.items():
            servers[0].create(name, ITEMS, POSITIONS, click_window=600.0, divisions=divisions)
        settings_of = [(divisions, changes) for changes in (False, True) for divisions in DIVISIONS]
        found: dict[tuple[int, bool], list[Shared]] = {setting: [] for setting in settings_of}
        for n in range(ROUNDS):
            for divisions, changes in settings_of[n:] + settings_of[:n]:  # no one always comes first
                found[divisions, changes].append(measure(servers, rankings[divisions], changes))
    for (divisions, changes), shared in found.items():
        first, second = (median(one.servers[n] for one in shared) for n in range(2))
        what = f"{divisions} division{'s' * (divisions > 1)}{', items change' if changes else ''}:"
        told = f"{what:<24}{first:4.0f} + {second:3.0f} us of CPU per request, "
        told += f"{median(one.per_second for one in shared):6,.0f} requests per second, "
        told += f"{median(one.learned for one in shared):.0%} of the lists by one server"
        if changes:
            times = [time for one in shared for time in one.changes]
            told += f"; {len(times)} changes of {median(times):.1f} ms, "
            told += f"{median(one.crossed for one in shared):.1f} of 1,000 requests done anew"
        print(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
