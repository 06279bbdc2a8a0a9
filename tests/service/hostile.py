"""Attacks on the memory of a service: `python hostile.py FOLDER [ATTACK ...]` prints by how much each makes it grow.

The process is the service itself; its clients are calls of the ASGI application, and some never take their reply. The
disk is slow, so that many requests wait for their commits at once. A line is printed per attack, as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import io
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from toplist.service.garbage import THRESHOLD
from toplist.service.http.app import App, make_app
from toplist.service.http.logs import Log
from toplist.service.live.service import Service
from toplist.service.live.work_memory import SMALL
from toplist.service.run import return_freed_memory
from toplist.service.serving import service_of
from toplist.service.settings import Limits, Settings
from toplist.service.store.sqlite import SQLiteStore

MEGABYTE = 1 << 20
LIMITS = Limits(request_memory=24, bodies_memory=16, bodies_bytes=2 * MEGABYTE, in_flight=250, rate=0.0)
SETTINGS = Settings(memory=8, limits=LIMITS)
OF_REQUESTS = (LIMITS.request_memory + LIMITS.bodies_memory) * MEGABYTE + LIMITS.bodies_bytes + LIMITS.in_flight * SMALL
ALLOWED = SETTINGS.memory * MEGABYTE * 5 // 4 + OF_REQUESTS  # besides the base


class SlowStore(SQLiteStore):
    """A store on a slow disk."""

    seconds = 0.0

    def commit(self) -> None:
        time.sleep(self.seconds)
        super().commit()


def resident() -> int:
    """Bytes of the process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Client:
    """Sends requests to the application, without a network."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.statuses: Counter[int] = Counter()

    async def ask(self, method: str, path: str, body: bytes | None = None, *, takes: bool = True) -> bytes:
        """One request; a client that does not take its reply stays there with the part of it that was sent."""
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "client": ("127.0.0.1", 1),
            "http_version": "1.1", "toplist.complete": True,
        }  # fmt: skip
        parts: list[bytes] = []
        sent = False

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if sent:
                await asyncio.Event().wait()
            sent = True
            return {"type": "http.request", "body": body or b"", "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.statuses[message["status"]] += 1
            elif takes:
                parts.append(message["body"])
            else:
                parts.append(message["body"])
                await asyncio.Event().wait()

        await self._app(scope, receive, send)
        return b"".join(parts)

    async def must(self, method: str, path: str, body: object = None) -> Any:
        """One request that succeeds; its reply."""
        reply = await self.ask(method, path, None if body is None else json.dumps(body).encode())
        status = max(self.statuses)
        if status >= 400:
            raise SystemExit(f"{method} {path} got {status}: {reply[:500]!r}")
        return json.loads(reply) if reply else None


async def make(client: Client, features: int, items: int, positions: int, policy: str) -> None:
    """A ranking, with items that have features."""
    spec = {"name": "a", "positions": positions, "policy": policy, "features": features}
    await client.must("POST", "/v1/rankings", spec)
    for n in range(0, items, 50):
        numbers = range(n, min(n + 50, items))
        rows = [{"id": m, "features": [1.0 / (m + 1 + k) for k in range(features)]} for m in numbers]
        await client.must("PUT", "/v1/rankings/a/items", {"items": rows})
    await client.must("POST", "/v1/rankings/a/lists", {})


async def not_taken(client: Client, path: str, count: int) -> None:
    """Ask so many times for a reply that nobody takes."""
    asking = [asyncio.create_task(client.ask("GET", path, takes=False)) for _ in range(count)]
    await asyncio.wait(asking, timeout=0.5)
    for one in asking:
        one.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


def short_numbers(number: int, items: int, features: int) -> bytes:
    """Items with features that take two bytes each, and 32 once they are decoded."""
    row = f'"features":[{",".join([str(number % 10)] * features)}]'
    rows = ",".join(f'{{"id":{n},{row}}}' for n in range(items))
    return f'{{"items":[{rows}]}}'.encode()


async def pages_of_items(client: Client) -> None:
    """All items, 2 MB, and nobody takes them."""
    await not_taken(client, "/v1/rankings/a/items?limit=10000", 40)


async def exports(client: Client) -> None:
    """Events of a quarter of a megabyte, and nobody takes them."""
    for n in range(2, 8):
        await client.ask("PUT", "/v1/rankings/a/items", short_numbers(n, 200, 600))
    await not_taken(client, "/v1/rankings/a/events?after=5", 80)


async def bodies(client: Client) -> None:
    """Items put by many at once: a quarter of a megabyte, and 16 times as much once they are decoded."""
    given = [short_numbers(n, 200, 600) for n in range(10)]
    await asyncio.gather(*(client.ask("PUT", "/v1/rankings/a/items", given[n % 10]) for n in range(20)))


async def changes(client: Client) -> None:
    """Items changed again and again: what learners have not applied yet is kept for them."""
    for n in range(15):
        await client.ask("PUT", "/v1/rankings/a/items", short_numbers(n, 200, 1000))


async def long_lists(client: Client) -> None:
    """Lists with 320 kB of features each."""
    await asyncio.gather(*(client.ask("POST", "/v1/rankings/a/lists", b"{}") for _ in range(250)))


async def training(client: Client) -> None:
    """A new policy for 30 learners of 3 MB each."""
    for segment in range(30):
        body = json.dumps({"segment": str(segment)}).encode()
        await asyncio.gather(*(client.ask("POST", "/v1/rankings/a/lists", body) for _ in range(65)))
    await client.must("PATCH", "/v1/rankings/a", {"seed": 5})


async def evictions(client: Client) -> None:
    """Lists without reports for 60 learners of 3 MB each, of which few have room at once."""
    for _ in range(2):
        for first in range(0, 60, 10):
            lists = [json.dumps({"segment": str(n)}).encode() for n in range(first, first + 10)]
            await asyncio.gather(*(client.ask("POST", "/v1/rankings/a/lists", body) for body in lists * 3))


async def questions(client: Client) -> None:
    """Questions about many learners at once."""
    lists = [json.dumps({"segment": str(n)}).encode() for n in range(40)]
    await asyncio.gather(*(client.ask("POST", "/v1/rankings/a/lists", body) for body in lists))
    path = "/v1/rankings/a/estimates?segment="
    await asyncio.gather(*(client.ask("GET", f"{path}{n % 40}") for n in range(60)))


Attack = Callable[[Client], Awaitable[None]]
WIDE, LINEAR = "cascade-kl-ucb", "cascade-lin-ucb"  # the first has features as well, but does not learn from them
# Each with the features, items and positions of its ranking, its policy, and the seconds of a commit.
ATTACKS: dict[str, tuple[Attack, int, int, int, str, float]] = {
    "items": (pages_of_items, 600, 200, 3, WIDE, 0.0),
    "exports": (exports, 600, 200, 3, WIDE, 0.0),
    "bodies": (bodies, 600, 200, 3, WIDE, 0.1),
    "changes": (changes, 1000, 200, 3, WIDE, 0.0),
    "lists": (long_lists, 100, 380, 380, LINEAR, 0.1),
    "training": (training, 300, 10, 3, LINEAR, 0.0),
    "evictions": (evictions, 300, 10, 3, LINEAR, 0.0),
    "questions": (questions, 200, 10, 3, LINEAR, 0.0),
}


async def growth(name: str, folder: Path) -> dict[str, Any]:
    """By how many bytes an attack makes the process grow, and the statuses of its requests."""
    begin, features, items, positions, policy, seconds = ATTACKS[name]
    service: Service = service_of(folder / name, SETTINGS, SlowStore)
    await service.start()
    client = Client(make_app(service, SETTINGS, Log("none", io.StringIO())))
    await make(client, features, items, positions, policy)
    gc.collect()
    base = most = resident()
    SlowStore.seconds = seconds
    attacking = asyncio.ensure_future(begin(client))
    while not attacking.done():
        most = max(most, resident())
        await asyncio.sleep(0.001)
    await attacking
    SlowStore.seconds = 0.0
    await service.stop()
    return {"attack": name, "grown": max(most, resident()) - base, "allowed": ALLOWED, "statuses": client.statuses}


def attack(name: str, folder: Path) -> None:
    """Attack, and print the growth."""
    print(json.dumps(asyncio.run(growth(name, folder))), flush=True)


def main() -> None:
    """Attack in all the ways that are named."""
    gc.set_threshold(*THRESHOLD)
    return_freed_memory()
    folder, *names = sys.argv[1:]
    for name in names or ATTACKS:
        child = get_context("fork").Process(target=attack, args=(name, Path(folder)))
        child.start()  # a process of its own: else it could use what the attack before has freed
        child.join()


if __name__ == "__main__":
    main()
