"""Honest traffic at a fixed rate: lists, reports, and some changes and reads.

A list is due at a fixed time, whether or not earlier ones are answered, and its latency counts from then: a service
that stops for a second delays every list of that second.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.load import Answer, Line

from .plan import FRONT, HOME, HOME_FEATURES, HONEST, IDLE, SEARCH, SEGMENTS, Plan

MOST_DELAY = 2.0  # seconds until a report
PATIENCE = 30.0  # seconds for an answer
LONG_IDLE = IDLE - 1.0  # seconds after which the service may be about to close a connection
PLACES = {FRONT: 5, SEARCH: 10, HOME: 5}
KINDS = ("list", "report", "change", "read", "health")
JOURNAL, LATENCIES, OUTCOME = "journal.ndjson", "latencies.bin", "honest.json"


class HonestTraffic:
    """Visitors, an operator and a health check, over a pool of connections."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._random = random.Random(8)
        self._idle: list[Line] = []
        self._room = asyncio.Semaphore(plan.connections)
        self._journal = (Path(plan.folder) / JOURNAL).open("wb", buffering=1 << 16)
        self._latencies = array("d")  # kind, when it was due, and seconds, one after the other
        self._counts: Counter[str] = Counter()
        self._failures: list[str] = []
        self._segment = ""  # of the last list of FRONT: there is something to read
        self._failed = 0
        self._shown: dict[str, int] = {}  # lists per ranking, for their request ids

    async def run(self) -> None:
        """All visits until the end of the plan."""
        plan, tasks = self._plan, set[asyncio.Task[None]]()
        number = 0
        others = [asyncio.create_task(self._operate()), asyncio.create_task(self._check_health())]
        while (due := plan.begin + number / plan.lists_per_second) < plan.end:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            task = asyncio.create_task(self._visit(number, due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            number += 1
        await asyncio.gather(*tasks, *others)
        for line in self._idle:
            line.close()
        self._journal.close()
        folder = Path(plan.folder)
        (folder / LATENCIES).write_bytes(self._latencies.tobytes())
        outcome = {"counts": self._counts, "failed": self._failed, "failures": self._failures}
        (folder / OUTCOME).write_text(json.dumps(outcome))

    async def _visit(self, number: int, due: float) -> None:
        """One list, and its report some moments later."""
        chance = self._random
        ranking = chance.choice((FRONT, FRONT, SEARCH, HOME))
        request_id = f"{HONEST}{number}"
        asked: dict[str, Any] = {"request_id": request_id}
        if ranking == HOME:
            if chance.random() < 0.2:
                asked["features"] = {"item-1": [chance.uniform(-0.3, 0.3) for _ in range(HOME_FEATURES)]}
        else:
            asked["segment"] = f"segment-{chance.randrange(SEGMENTS)}"
        shown = await self._ask("list", due, "POST", f"/v1/rankings/{ranking}/lists", asked)
        if shown is None:
            return
        self._note({"listed": shown, "request_id": request_id})
        if ranking == FRONT:
            self._segment = shown["segment"]
        impression, places = shown["impression"], len(shown["items"])
        if places != PLACES[ranking]:
            self._fail(f"a list of {ranking} has {places} items")
        wait = chance.uniform(0.0, MOST_DELAY)
        await asyncio.sleep(wait)
        clicks = sorted(chance.sample(range(1, places + 1), chance.randrange(3)))
        self._note({"reporting": impression, "clicks": clicks})
        report = {"clicks": clicks, "final": chance.random() < self._plan.final}
        told = await self._ask("report", time.monotonic(), "PUT", f"/v1/impressions/{impression}/clicks", report)
        if told is not None:
            self._note({"reported": told, "clicks": clicks})
            if not told["counted"]:
                self._fail(f"a report of {impression} does not count: {told}")

    async def _operate(self) -> None:
        """Changes with an admin key, and reads, one each second."""
        number = 0
        while time.monotonic() < self._plan.end:
            number += 1
            guest, front, search = f"guest-{number // 7}", f"/v1/rankings/{FRONT}", f"/v1/rankings/{SEARCH}"
            now = time.monotonic()
            match number % 7:
                case 0:
                    await self._ask("change", now, "PUT", f"{front}/items/{guest}", {}, admin=True)
                case 1:
                    await self._ask("change", now, "PUT", f"{search}/items/item-{number % 50}", {"hidden": True}, True)
                case 2:
                    await self._ask("change", now, "PATCH", search, {"reference": 0.1 + number % 9 / 100}, True)
                case 3:
                    await self._ask("change", now, "POST", f"{front}/items/remove", {"ids": [guest]}, admin=True)
                case 4 if self._segment:
                    await self._ask("read", now, "GET", f"{front}/estimates?segment={self._segment}&limit=5")
                case 5:
                    await self._ask("change", now, "PUT", f"{search}/items/item-{number % 50}", {"hidden": False}, True)
                case 6 if self._segment:
                    await self._ask("read", now, "GET", f"{front}/explanation?segment={self._segment}")
            await asyncio.sleep(1.0)

    async def _check_health(self) -> None:
        """A health check on a new connection each second, as load balancers do."""
        while time.monotonic() < self._plan.end:
            begun = time.monotonic()
            try:
                async with asyncio.timeout(PATIENCE):
                    line = await Line.to(self._plan.port)
                    answer = await line.ask("GET", "/readyz")
                    line.close()
                self._count("health", begun, answer, "GET /readyz")
            except (OSError, TimeoutError) as problem:
                self._fail(f"GET /readyz: {problem!r}")
            await asyncio.sleep(1.0)

    async def _ask(
        self, kind: str, due: float, method: str, path: str, body: Any = None, admin: bool = False
    ) -> dict[str, Any] | None:
        """The answer to a request; None where it failed, which is counted."""
        key = self._plan.editor_key if admin else self._plan.page_key
        content = b"" if body is None else json.dumps(body).encode()
        try:
            async with self._room, asyncio.timeout(PATIENCE):
                answer = await self._answer(method, path, content, f"Authorization: Bearer {key}\r\n")
        except (OSError, TimeoutError) as problem:
            self._fail(f"{method} {path}: {problem!r}")
            return None
        if not self._count(kind, due, answer, f"{method} {path}"):
            return None
        told: dict[str, Any] = json.loads(answer.body) if answer.body else {}
        return told

    async def _answer(self, method: str, path: str, content: bytes, headers: str) -> Answer:
        """The answer; a request that meets the end of a long idle connection is sent again, as by every HTTP client."""
        line = await self._line()
        idle = line.idle
        try:
            answer = await line.ask(method, path, content, headers)
        except ConnectionError:
            if idle < LONG_IDLE:
                raise
            self._counts["sent again"] += 1
            line = await Line.to(self._plan.port)
            answer = await line.ask(method, path, content, headers)
        self._idle.append(line)
        return answer

    async def _line(self) -> Line:
        """A connection that is not in use."""
        while self._idle:
            line = self._idle.pop()
            if not line.is_lost:
                return line
        return await Line.to(self._plan.port)

    def _count(self, kind: str, due: float, answer: Answer, what: str) -> bool:
        """Count an answer; whether it is a good one."""
        self._counts[kind] += 1
        self._latencies.extend((KINDS.index(kind), due, time.monotonic() - due))
        if 200 <= answer.status < 300:
            return True
        self._fail(f"{what}: {answer.status} {answer.body[:200]!r}")
        return False

    def _fail(self, text: str) -> None:
        self._failed += 1
        if len(self._failures) < 20:
            self._failures.append(f"{time.monotonic() - self._plan.begin:.1f} s: {text}")

    def _note(self, line: dict[str, Any]) -> None:
        self._journal.write(json.dumps(line).encode() + b"\n")
