"""Callers who do not give up: a request whose answer never came is sent again, as it is, until it is answered."""

from __future__ import annotations

import asyncio
import json
import random
from itertools import count
from typing import Any

import httpx
from benchmarks.load import HOST, Answer, Line
from benchmarks.server import PATIENCE, Broken, NoAnswer

from toplist.service.client import AsyncClient, Retries, ServiceError, Unreachable
from toplist.service.client.client_request import ClientRequest

from .journal import Journal

LISTS = "/v1/rankings/{ranking}/lists"
CLICKS = "/v1/impressions/{impression}/clicks"
ACTIVATION = "/v1/impressions/{impression}/activation"


class Caller:
    """One connection after the other to servers that may vanish at any moment, and come back.

    Of several servers the next one is asked when one does not answer, not within `timeout` seconds, or says 503, as a
    load balancer would do.
    """

    def __init__(self, *ports: int, patience: float = PATIENCE, timeout: float | None = None) -> None:
        self._ports, self._patience, self._timeout = ports, patience, timeout or patience
        self._next = 0
        self._line: Line | None = None
        self.unanswered = 0  # requests that were sent without an answer, and then sent again
        self.unavailable = 0  # answers that said 503, after which the request was sent again
        self.tries = 0  # of the last request

    async def once(self, method: str, path: str, body: Any = None) -> Answer:
        """Ask once; ConnectionError where no answer comes, also from a server that takes the request and is silent."""
        try:
            async with asyncio.timeout(self._timeout):
                return await self._once(method, path, b"" if body is None else json.dumps(body).encode())
        except TimeoutError:
            self.close()
            self._next += 1
            self.unanswered += 1
            raise ConnectionError(f"no answer in {self._timeout:.0f} s") from None

    async def _once(self, method: str, path: str, body: bytes) -> Answer:
        if self._line is None:
            try:
                self._line = await Line.to(self._ports[self._next % len(self._ports)])
            except OSError as problem:
                self._next += 1
                raise ConnectionError(str(problem)) from None
        try:
            return await self._line.ask(method, path, body)
        except ConnectionError:
            self._line = None
            self._next += 1
            self.unanswered += 1
            raise

    async def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Ask until there is an answer, and a good one."""
        until = asyncio.get_running_loop().time() + self._patience
        answer, self.tries = None, 0
        while asyncio.get_running_loop().time() < until:
            self.tries += 1
            try:
                answer = await self.once(method, path, body)
            except ConnectionError:
                await asyncio.sleep(0.02)
                continue
            if answer.status != 503:
                break
            if b"retry-after:" not in answer.head:
                raise Broken(f"{method} {path} was answered with 503, but not when to come back")
            self.unavailable += 1
            if len(self._ports) > 1:
                self.close()
                self._next += 1
            await asyncio.sleep(0.05)
        if answer is None or answer.status >= 400:
            last = "no answer" if answer is None else f"{answer.status} {answer.body[:300].decode(errors='replace')}"
            kind = NoAnswer if answer is None or answer.status == 503 else Broken
            raise kind(f"{method} {path} {body} did not resolve on retry: {last}")
        told: dict[str, Any] = json.loads(answer.body)
        return told

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.close()
            self._line = None


class Balancer(httpx.AsyncBaseTransport):
    """Stands for a load balancer: each request goes to the next server, whether it answers or not."""

    def __init__(self, *ports: int) -> None:
        self._ports, self._turns = ports, count()
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Hand a request on."""
        request.url = request.url.copy_with(port=self._ports[next(self._turns) % len(self._ports)])
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Hang up."""
        await self._inner.aclose()


class LibraryCaller:
    """A caller that is the client library behind a load balancer: it retries as often as the library does."""

    def __init__(self, *ports: int, seed: int) -> None:
        self._waits = 0
        self._client = AsyncClient(
            f"http://{HOST}", transport=Balancer(*ports), retries=Retries(chance=random.Random(seed)), sleep=self._sleep
        )
        self.unanswered = 0  # attempts that had no good answer, after which the request was sent again
        self.tries = 0  # of the last request

    async def _sleep(self, seconds: float) -> None:
        self._waits += 1
        await asyncio.sleep(seconds)

    async def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Ask as the library does; what it would raise breaks the promise."""
        before, by_id = self._waits, not path.endswith("/lists") or "request_id" in (body or {})
        try:
            told = await self._client.send(ClientRequest(method, path, dict[str, Any], body, repeatable=by_id))
        except (ServiceError, Unreachable) as problem:
            raise Broken(f"{method} {path} {body} failed after {self._waits - before} retries: {problem}") from problem
        finally:
            self.tries = self._waits - before + 1
            self.unanswered += self._waits - before
        return told

    async def close(self) -> None:
        """Hang up."""
        await self._client.close()


class Visitor:
    """Somebody who asks for lists and clicks, as people do: nothing, something, in one report or several."""

    def __init__(self, caller: Caller, journal: Journal, ranking: str, name: str, seed: int, segments: int = 0) -> None:
        self.caller, self.journal = caller, journal
        self._path = LISTS.format(ranking=ranking)
        self._name, self._random = name, random.Random(f"{seed}/{name}")
        self._segments = segments
        self.visits = 0

    async def visit(self) -> None:
        """One list and what came of it; every now and then a request is made twice, as retries do."""
        chance = self._random
        self.visits += 1
        request_id = f"{self._name}-{self.visits}"
        asked: dict[str, Any] = {"request_id": request_id}
        if self._segments:
            asked["segment"] = f"segment-{chance.randrange(self._segments)}"
        if chance.random() < 0.1:
            asked["deferred"] = True
        for _ in range(1 + (chance.random() < 0.1)):
            listed = await self.caller.ask("POST", self._path, asked)
            self.journal.listed(listed, request_id)
        impression, places = listed["impression"], len(listed["items"])
        if "deferred" in asked and chance.random() < 0.5:
            self.journal.reported(await self.caller.ask("PUT", ACTIVATION.format(impression=impression)), ())
        clicks = sorted(chance.sample(range(1, places + 1), chance.randrange(places)))
        reports: list[dict[str, Any]]
        match chance.randrange(4):
            case 0:  # nothing comes back, and the window closes
                return
            case 1:  # click by click, and the window closes
                reports = [{"clicks": clicks[: n + 1]} for n in range(len(clicks))]
            case 2:  # all at once, by name
                reports = [{"clicks": [listed["items"][place - 1] for place in clicks], "final": True}]
            case _:  # click by click, and then the end
                reports = [*({"clicks": [place]} for place in clicks), {"clicks": clicks, "final": True}]
        for report in reports:
            await self.report(impression, listed["items"], report)
            if chance.random() < 0.1:
                await self.report(impression, listed["items"], report)

    async def report(self, impression: str, items: list[str], report: dict[str, Any]) -> None:
        """Report something, and keep what was said to it."""
        places = [items.index(click) + 1 if isinstance(click, str) else click for click in report["clicks"]]
        self.journal.reporting(impression, places)
        self.journal.reported(await self.caller.ask("PUT", CLICKS.format(impression=impression), report), places)
