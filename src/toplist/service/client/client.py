"""The Python client of the service, sync and async.

It tries again by itself, which is safe: every list has a `request_id`, and reports count once however often they come.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx
import msgspec

from toplist import __version__
from toplist.service.client import requests
from toplist.service.client.requests import Ask
from toplist.service.wire import PROBLEM_TYPE_PREFIX, Event, ProblemBody

T = TypeVar("T")
P = ParamSpec("P")
URL = "http://127.0.0.1:8600"
FIRST_WAIT, LONGEST_WAIT = 0.05, 5.0  # seconds; each wait may be twice as long as the one before
PATIENCE = 60.0  # the longest Retry-After that is waited for
SLOW = 600.0  # seconds that a policy may take to be compiled and trained
_NOT_DONE = frozenset({429, 503})  # the service says that nothing was done
_UNKNOWN = frozenset({502, 504})  # somebody between says that nobody knows
_PAGE = 1000


class ServiceError(Exception):
    """The service answered with a problem; `problem` is what it said."""

    def __init__(self, problem: ProblemBody, request_id: str | None = None) -> None:
        super().__init__(f"{problem.status} {problem.title}: {problem.detail}")
        self.problem = problem
        self.status = problem.status
        self.request_id = request_id


class Unreachable(Exception):
    """No answer came, however often it was tried."""


class Retries:
    """When to try again, and after how long: what sync and async share.

    A wait is a random part of a limit that doubles, so that clients who failed together do not come back together.
    """

    def __init__(self, most: int = 6, chance: random.Random | None = None) -> None:
        self.most = most
        self._chance = chance or random.Random()

    def wait(self, attempt: int, ask: Ask[Any], outcome: httpx.Response | httpx.TransportError) -> float | None:
        """The seconds before the next attempt; None where there is none."""
        if attempt >= self.most:
            return None
        limit: float = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
        wait = self._chance.uniform(0.0, limit)
        if isinstance(outcome, httpx.TransportError):
            never_sent = isinstance(outcome, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
            return wait if ask.repeatable or never_sent else None
        if outcome.status_code in _NOT_DONE or (outcome.status_code in _UNKNOWN and ask.repeatable):
            told = outcome.headers.get("retry-after", "")
            asked = float(told) if told.isdigit() else 0.0
            return max(wait, asked) if asked <= PATIENCE else None
        return None


class _Base:
    """What both clients are made of."""

    def __init__(self, url: str, key: str | None, timeout: float, retries: Retries | None) -> None:
        headers = {"user-agent": f"toplist/{__version__}"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        self._options: dict[str, Any] = {"base_url": url, "headers": headers, "timeout": timeout}
        self._retries = retries or Retries()
        self._encode = msgspec.json.Encoder().encode

    def _arguments(self, ask: Ask[Any]) -> dict[str, Any]:
        """What httpx wants to know of a request."""
        arguments: dict[str, Any] = {"method": ask.method, "url": ask.path, "params": ask.query or None}
        if ask.slow:
            arguments["timeout"] = max(SLOW, self._options["timeout"])
        if ask.body is not None:
            arguments |= {"content": self._encode(ask.body), "headers": {"content-type": "application/json"}}
        return arguments

    def _wait(self, attempt: int, ask: Ask[Any], outcome: httpx.Response | httpx.TransportError) -> float:
        """The seconds to wait before another attempt; or the error."""
        wait = self._retries.wait(attempt, ask, outcome)
        if wait is not None:
            return wait
        if isinstance(outcome, httpx.TransportError):
            tried = f"{ask.method} {ask.path} got no answer in {attempt + 1} attempts"
            raise Unreachable(f"{tried}: {outcome or type(outcome).__name__}") from outcome
        raise ServiceError(_problem(outcome), outcome.headers.get("x-request-id"))


def _problem(reply: httpx.Response) -> ProblemBody:
    """The problem in a reply; whatever stands between may answer in other forms."""
    try:
        return msgspec.json.decode(reply.content, type=ProblemBody)
    except msgspec.MsgspecError:
        return ProblemBody(
            type=f"{PROBLEM_TYPE_PREFIX}foreign",
            title=reply.reason_phrase or "Not a problem of toplist's",
            status=reply.status_code,
            detail=reply.text[:200] or "without a word",
        )


def _sync(build: Callable[P, Ask[T]]) -> Callable[Concatenate[Client, P], T]:
    """The method of `Client` that sends what is built."""

    @wraps(build)
    def method(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client.send(build(*args, **kwargs))

    return method


def _async(build: Callable[P, Ask[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """The method of `AsyncClient` that sends what is built."""

    @wraps(build)
    async def method(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await client.send(build(*args, **kwargs))

    return method


class Client(_Base):
    """The service, as a Python object.

    Raises `ServiceError` where the service refuses, and `Unreachable` where no answer came.
    """

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, key, timeout, retries)
        self._http = httpx.Client(transport=transport, **self._options)
        self._sleep = sleep

    def send(self, ask: Ask[T]) -> T:
        """Send a request until there is an answer."""
        attempt = 0
        while True:
            try:
                outcome: httpx.Response | httpx.TransportError = self._http.request(**self._arguments(ask))
            except httpx.TransportError as error:
                outcome = error
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return requests.decoded(ask, outcome.content)
            self._sleep(self._wait(attempt, ask, outcome))
            attempt += 1

    def events(self, name: str, after: int = 0) -> Iterator[Event]:
        """The event log, to its end."""
        while page := self.send(requests.events(name, after, _PAGE)):
            yield from page
            after = page[-1].seq

    create_ranking = _sync(requests.create_ranking)
    rankings = _sync(requests.rankings)
    ranking = _sync(requests.ranking)
    change_ranking = _sync(requests.change_ranking)
    delete_ranking = _sync(requests.delete_ranking)
    items = _sync(requests.items)
    put_items = _sync(requests.put_items)
    remove_items = _sync(requests.remove_items)
    item = _sync(requests.item)
    put_item = _sync(requests.put_item)
    remove_item = _sync(requests.remove_item)
    make_list = _sync(requests.make_list)
    report = _sync(requests.report)
    activate = _sync(requests.activate)
    impression = _sync(requests.impression)
    explanation = _sync(requests.explanation)
    estimates = _sync(requests.estimates)
    next_list = _sync(requests.next_list)
    history = _sync(requests.history)
    keys = _sync(requests.keys)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class AsyncClient(_Base):
    """`Client` for those who await."""

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(url, key, timeout, retries)
        self._http = httpx.AsyncClient(transport=transport, **self._options)
        self._sleep = sleep

    async def send(self, ask: Ask[T]) -> T:
        """Send a request until there is an answer."""
        attempt = 0
        while True:
            try:
                outcome: httpx.Response | httpx.TransportError = await self._http.request(**self._arguments(ask))
            except httpx.TransportError as error:
                outcome = error
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return requests.decoded(ask, outcome.content)
            await self._sleep(self._wait(attempt, ask, outcome))
            attempt += 1

    async def events(self, name: str, after: int = 0) -> AsyncIterator[Event]:
        """The event log, to its end."""
        while page := await self.send(requests.events(name, after, _PAGE)):
            for event in page:
                yield event
            after = page[-1].seq

    create_ranking = _async(requests.create_ranking)
    rankings = _async(requests.rankings)
    ranking = _async(requests.ranking)
    change_ranking = _async(requests.change_ranking)
    delete_ranking = _async(requests.delete_ranking)
    items = _async(requests.items)
    put_items = _async(requests.put_items)
    remove_items = _async(requests.remove_items)
    item = _async(requests.item)
    put_item = _async(requests.put_item)
    remove_item = _async(requests.remove_item)
    make_list = _async(requests.make_list)
    report = _async(requests.report)
    activate = _async(requests.activate)
    impression = _async(requests.impression)
    explanation = _async(requests.explanation)
    estimates = _async(requests.estimates)
    next_list = _async(requests.next_list)
    history = _async(requests.history)
    keys = _async(requests.keys)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()
