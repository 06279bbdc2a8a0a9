"""The commit of 31 lists and their reports by asyncpg and by the store's round trip: `make bench-postgres-clients`.

Both encode the same rows and write them by the same statements in one transaction, in turn, to a PostgreSQL server as
the tests start it. asyncpg sends a statement when the one before is answered, and remembers them as prepared; with
PgBouncer in transaction mode it must not. It is installed into a folder of its own.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple
from unittest.mock import patch
from uuid import uuid4

from benchmarks.server import ROOT
from toplist.service.store.postgres import session, writing
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.schema import migrate
from toplist.service.store.row_kinds import LEARNED, OPEN, EventRow, ImpressionChange, ImpressionRow, RequestRow, Row

sys.path.append(str(ROOT / "tests" / "service"))
from postgres_server import PostgresServer  # the one that tests start

PACKAGE = "asyncpg==0.32.0"
PAIRS, COMMITS, ROUNDS = 31, 200, 9
OWNER, LEASE = "the owner", 60.0
SETTINGS = """SELECT set_config('search_path', 'toplist', true), set_config('statement_timeout', '30000', true),
    set_config('lock_timeout', '30000', true), set_config('idle_in_transaction_session_timeout', '30000', true)"""
Commit = Callable[[Sequence[Statement]], Any]


class Cost(NamedTuple):
    """What a commit took."""

    cpu: float  # microseconds of the client
    rate: float  # per second


def commits(after: int) -> Iterator[list[Row]]:
    """The rows of commits, each of lists of ten items and of final reports on them."""
    seq = after
    for _ in range(COMMITS):
        rows: list[Row] = []
        for _ in range(PAIRS):
            id, request = uuid4().bytes, f"request {seq}"
            made = json.dumps({"items": list(range(10)), "request_id": request, "seed": seq}).encode()
            learned = json.dumps({"reason": "final", "merged": {"clicks": [2]}}).encode()
            impression = ImpressionRow(id, seq + 1, 1, 2, OPEN, 5000, b"{}")
            rows += [
                EventRow(seq + 1, 1000, 1, 2, "list", id, made), impression,
                RequestRow(1, request, b"d" * 16, id, 1000),
                EventRow(seq + 2, 1000, 1, 2, "learned", id, learned),
                ImpressionChange(*impression._replace(state=LEARNED, outcome=learned)),
            ]  # fmt: skip
            seq += 2
        yield rows


def statements(rows: list[Row], part: int, known: int) -> list[Statement]:
    """The fence and what writes the rows."""
    values = part, OWNER, 1, known, known + 2 * PAIRS, LEASE
    return [Statement("SELECT fence(%s, %s, %s, %s, %s, %s)", values), *writing.statements_of(rows, part)]


def by_round_trip(address: str, part: int, after: int) -> Cost:
    """By the store's own client."""
    with closing(session.Session(address)) as opened:
        opened.run([Statement("SELECT 1")])
        batches, known = list(commits(after)), after
        begun, cpu = perf_counter(), process_time()
        for rows in batches:
            opened.run(statements(rows, part, known))
            known += 2 * PAIRS
        return _cost(process_time() - cpu, perf_counter() - begun)


def by_asyncpg(address: str, part: int, after: int, **more: Any) -> Cost:
    """By asyncpg, which encodes the arrays itself."""
    asyncpg = importlib.import_module("asyncpg")
    uvloop = importlib.import_module("uvloop")

    async def work() -> Cost:
        connection = await asyncpg.connect(address, **more)
        batches, known = list(commits(after)), after
        begun, cpu = perf_counter(), process_time()
        for rows in batches:
            async with connection.transaction():
                await connection.execute(SETTINGS)
                for statement in statements(rows, part, known):
                    await connection.execute(numbered(statement.text), *statement.values)
            known += 2 * PAIRS
        cost = _cost(process_time() - cpu, perf_counter() - begun)
        await connection.close()
        return cost

    with patch.object(writing, "encode_array", lambda _, values: list(values)):
        cost: Cost = uvloop.run(work())
    return cost


@cache
def numbered(text: str) -> str:
    """A statement with places as PostgreSQL has them.

    >>> numbered("SELECT %s, %b::bigint[]")
    'SELECT $1, $2::bigint[]'
    """
    places = count(1)
    return re.sub("%[sb]", lambda _: f"${next(places)}", text)


def _cost(cpu: float, seconds: float) -> Cost:
    return Cost(1e6 * cpu / COMMITS, COMMITS / seconds)


def main(home: Path) -> None:
    """Install asyncpg if it is not there, and print what a commit takes by each."""
    if not (home / "asyncpg").exists():
        print(f"Installing {PACKAGE} in {home} ...", flush=True)
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(home), PACKAGE]
        subprocess.run(install, check=True)
    sys.path.append(str(home))
    server = PostgresServer()
    try:
        server.run("CREATE DATABASE shop")
        address = server.address("shop")
        clients: dict[str, Callable[[int, int], Cost]] = {
            "psycopg, one round trip": lambda part, after: by_round_trip(address, part, after),
            "asyncpg": lambda part, after: by_asyncpg(address, part, after),
            "asyncpg, nothing prepared": lambda part, after: by_asyncpg(address, part, after, statement_cache_size=0),
        }
        with closing(session.Session(address)) as opened:
            migrate(opened)
            for part in range(len(clients)):
                opened.run([Statement("INSERT INTO parts VALUES (%s, 1, 0, %s, now())", (part, OWNER))])
        costs: dict[str, list[Cost]] = {name: [] for name in clients}
        for n in range(ROUNDS):
            for part, (name, client) in enumerate(clients.items()):
                costs[name].append(client(part, n * COMMITS * 2 * PAIRS))
    finally:
        server.remove()
    first = next(iter(costs))
    for name, several in costs.items():
        ratio = median(own.cpu / base.cpu for own, base in zip(several, costs[first], strict=True))
        print(
            f"{name}: {median(cost.cpu for cost in several):.0f} us of the client's CPU per commit of {PAIRS} lists "
            f"and reports ({ratio:.2f} of the first in the same round), "
            f"{median(cost.rate for cost in several):.0f} commits per second"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
