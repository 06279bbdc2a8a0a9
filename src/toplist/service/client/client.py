"""The Python client of the service, sync and async.

It retries requests, which is safe: every list has a `request_id`, and a report counts once however often it is sent.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx
import msgspec

from toplist import __version__
from toplist.core.problem import refuse
from toplist.service.client import requests
from toplist.service.client.arguments import encode_unknown
from toplist.service.client.client_request import ClientRequest, decode_reply
from toplist.service.client.retries import Retries
from toplist.service.wire import PROBLEM_TYPE_PREFIX, Event, Fault, ProblemBody

StrPath = str | os.PathLike[str]
T = TypeVar("T")
P = ParamSpec("P")
URL = "http://127.0.0.1:8600"
SLOW_TIMEOUT = 600.0  # seconds for a policy to be compiled and trained
_PAGE = 1000  # events per request


class ServiceError(Exception):
    """The service refused a request.

    Parameters
    ----------
    problem : ProblemBody
        The problem that the service sent.
    request_id : str or None, default None
        X-Request-Id of the response, to find it in the log of the service.

    Attributes
    ----------
    status : int
        HTTP status.
    errors : list of Fault
        What is wrong, and where: a `pointer` into the body, a `parameter` or a `header`; may be empty.

    Examples
    --------
    >>> fault = Fault(pointer="/positions", detail="Expected int, got str.")
    >>> problem = ProblemBody(type="invalid", title="Invalid", status=422, detail=fault.detail, errors=[fault])
    >>> print(ServiceError(problem))
    422 Invalid: /positions: Expected int, got str.
    """

    def __init__(self, problem: ProblemBody, request_id: str | None = None) -> None:
        self.errors = list(problem.errors or ())
        located = [_located(fault) for fault in self.errors]
        if [fault.detail for fault in self.errors] != [problem.detail]:  # else it would be there twice
            located.insert(0, problem.detail)
        super().__init__(f"{problem.status} {problem.title}: {' '.join(located)}")
        self.problem = problem
        self.status = problem.status
        self.request_id = request_id

    def __reduce__(self) -> tuple[type[ServiceError], tuple[ProblemBody, str | None]]:
        """Pickle by the arguments, of which the text of the error is made."""
        return ServiceError, (self.problem, self.request_id)


def _located(fault: Fault) -> str:
    """What is wrong, after the field, parameter or header that it is about."""
    if fault.pointer is not msgspec.UNSET:
        return f"{fault.pointer or 'the body'}: {fault.detail}"
    where = fault.parameter or fault.header
    return f"{where}: {fault.detail}" if where else fault.detail


class Unreachable(Exception):
    """No attempt to send a request got an answer."""


class _ClientBase:
    """Headers, retries and errors of both clients."""

    def __init__(
        self, url: str, key: str | None, timeout: float, retries: Retries | None, ca_file: StrPath | None
    ) -> None:
        headers = {"user-agent": f"toplist/{__version__}"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        self._options: dict[str, Any] = {"base_url": url, "headers": headers, "timeout": timeout}
        if ca_file is not None:
            self._options["verify"] = _trust(ca_file)
        self._retries = retries or Retries()
        self._encode = msgspec.json.Encoder(enc_hook=encode_unknown).encode

    def _arguments(self, request: ClientRequest[Any]) -> dict[str, Any]:
        """The arguments of httpx for a request."""
        arguments: dict[str, Any] = {"method": request.method, "url": request.path, "params": request.query or None}
        if request.slow:
            arguments["timeout"] = max(SLOW_TIMEOUT, self._options["timeout"])
        if request.body is not None:
            arguments |= {"content": self._encode(request.body), "headers": {"content-type": "application/json"}}
        return arguments

    def _wait(self, attempt: int, request: ClientRequest[Any], outcome: httpx.Response | httpx.TransportError) -> float:
        """Seconds to wait before the next attempt; raises the error if there is none."""
        wait = self._retries.wait(attempt, request, outcome)
        if wait is not None:
            return wait
        if isinstance(outcome, httpx.TransportError):
            tried = f"{request.method} {request.path} got no answer in {attempt + 1} attempts"
            raise Unreachable(f"{tried}: {outcome or type(outcome).__name__}") from outcome
        raise ServiceError(_problem(outcome), outcome.headers.get("x-request-id"))


def _trust(ca_file: StrPath) -> ssl.SSLContext:
    """TLS that trusts the authorities in a file."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError as error:
        accepted, why = "a file with certificates in PEM", str(error)
    except OSError as error:
        accepted, why = "a readable file", str(error)
    raise refuse("ca_file", str(ca_file), accepted, f"name that of your certificate authority ({why})")


def _problem(reply: httpx.Response) -> ProblemBody:
    """The problem in a reply; a proxy in between may send other errors, which are put into this form."""
    try:
        return msgspec.json.decode(reply.content, type=ProblemBody)
    except msgspec.MsgspecError:
        return ProblemBody(
            type=f"{PROBLEM_TYPE_PREFIX}foreign",
            title=reply.reason_phrase or "Not an error of toplist",
            status=reply.status_code,
            detail=reply.text[:200] or "no details",
        )


def _check_names(given: Mapping[str, object]) -> None:
    """Refuse a former name of an argument with its new one."""
    if "key" in given:
        raise TypeError(f"key is called segment now; write segment={given['key']!r}.")


def _sync(build: Callable[P, ClientRequest[T]]) -> Callable[Concatenate[Client, P], T]:
    """A method of `Client` that sends the request."""

    @wraps(build)
    def method(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        _check_names(kwargs)
        return client.send(build(*args, **kwargs))

    return method


def _async(build: Callable[P, ClientRequest[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """A method of `AsyncClient` that sends the request."""

    @wraps(build)
    async def method(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        _check_names(kwargs)
        return await client.send(build(*args, **kwargs))

    return method


class Client(_ClientBase):
    """Client of the service.

    It sends a request again while that is safe, with growing waits. Use it as a context manager, or `close` it.

    Parameters
    ----------
    url : str, default "http://127.0.0.1:8600"
        URL of the service.
    key : str or None, default None
        API key.
    timeout : float, default 10.0
        Seconds to wait for an answer; requests that may have to wait for the compiler get at least 600.
    retries : Retries or None, default None
        When to send a request again; None: `Retries()`.
    ca_file : path-like or None, default None
        File with certificates of authorities, in PEM, that are trusted for https instead of the public ones.
    transport : httpx.BaseTransport or None, default None
        Network of httpx; None: the real one.
    sleep : callable, default time.sleep
        Waits between two attempts.

    Raises
    ------
    ServiceError
        By every method, if the service refuses a request.
    Unreachable
        By every method, if no attempt gets an answer.

    See Also
    --------
    AsyncClient : The same for asyncio.

    Examples
    --------
    >>> reply = {"impression": "019a8b5e-7c1f-7d3a-9b42-5f0e6c1d2a33", "items": ["tea", "milk"], "ranking": "drinks"}
    >>> service = httpx.MockTransport(lambda request: httpx.Response(200, json=reply))
    >>> with Client("http://127.0.0.1:8600", transport=service) as client:
    ...     client.make_list("drinks", positions=2).items
    ['tea', 'milk']
    """

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: Retries | None = None,
        ca_file: StrPath | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, key, timeout, retries, ca_file)
        self._http = httpx.Client(transport=transport, **self._options)
        self._sleep = sleep

    def send(self, request: ClientRequest[T]) -> T:
        """Send a request, again if need be.

        Parameters
        ----------
        request : ClientRequest
            Request of `toplist.service.client.requests`.

        Returns
        -------
        object
            The reply, of the type `request.reply`.
        """
        attempt = 0
        while True:
            try:
                outcome: httpx.Response | httpx.TransportError = self._http.request(**self._arguments(request))
            except httpx.TransportError as error:
                outcome = error
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return decode_reply(request, outcome.content)
            self._sleep(self._wait(attempt, request, outcome))
            attempt += 1

    def events(self, name: str, after: int | str = 0) -> Iterator[Event]:
        """Read the event log to its end.

        Parameters
        ----------
        name : str
            Name of the ranking.
        after : int or str, default 0
            Only events with a larger `seq`, or behind this `cursor` in a divided ranking.

        Yields
        ------
        Event
        """
        while page := self.send(requests.events(name, after, _PAGE)):
            yield from page
            after = page[-1].cursor or page[-1].seq

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
    uplift = _sync(requests.uplift)
    segments = _sync(requests.segments)
    import_ranker = _sync(requests.import_ranker)
    delete_segment = _sync(requests.delete_segment)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class AsyncClient(_ClientBase):
    """Client of the service for asyncio; its methods are coroutines.

    Parameters
    ----------
    url : str, default "http://127.0.0.1:8600"
        URL of the service.
    key : str or None, default None
        API key.
    timeout : float, default 10.0
        Seconds to wait for an answer; requests that may have to wait for the compiler get at least 600.
    retries : Retries or None, default None
        When to send a request again; None: `Retries()`.
    ca_file : path-like or None, default None
        File with certificates of authorities, in PEM, that are trusted for https instead of the public ones.
    transport : httpx.AsyncBaseTransport or None, default None
        Network of httpx; None: the real one.
    sleep : coroutine function, default asyncio.sleep
        Waits between two attempts.

    Raises
    ------
    ServiceError
        By every method, if the service refuses a request.
    Unreachable
        By every method, if no attempt gets an answer.

    See Also
    --------
    Client : The same without asyncio.
    """

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: Retries | None = None,
        ca_file: StrPath | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(url, key, timeout, retries, ca_file)
        self._http = httpx.AsyncClient(transport=transport, **self._options)
        self._sleep = sleep

    async def send(self, request: ClientRequest[T]) -> T:
        """Send a request, again if need be.

        Parameters
        ----------
        request : ClientRequest
            Request of `toplist.service.client.requests`.

        Returns
        -------
        object
            The reply, of the type `request.reply`.
        """
        attempt = 0
        while True:
            try:
                outcome: httpx.Response | httpx.TransportError = await self._http.request(**self._arguments(request))
            except httpx.TransportError as error:
                outcome = error
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return decode_reply(request, outcome.content)
            await self._sleep(self._wait(attempt, request, outcome))
            attempt += 1

    async def events(self, name: str, after: int | str = 0) -> AsyncIterator[Event]:
        """Read the event log to its end.

        Parameters
        ----------
        name : str
            Name of the ranking.
        after : int or str, default 0
            Only events with a larger `seq`, or behind this `cursor` in a divided ranking.

        Yields
        ------
        Event
        """
        while page := await self.send(requests.events(name, after, _PAGE)):
            for event in page:
                yield event
            after = page[-1].cursor or page[-1].seq

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
    uplift = _async(requests.uplift)
    segments = _async(requests.segments)
    import_ranker = _async(requests.import_ranker)
    delete_segment = _async(requests.delete_segment)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()
