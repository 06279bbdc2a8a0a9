"""The client, sync and async, with the real application and with networks that fail."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
from asking import ADMIN, SERVE, LocalService

from toplist.service.client import AsyncClient, Client, Retries, ServiceError, Unreachable, requests
from toplist.service.client.retries import LONGEST_WAIT
from toplist.service.http.routes import ROUTES
from toplist.service.wire import Item, RankingSpec

Outcome = Exception | httpx.Response


class FaultyNetwork(httpx.BaseTransport):
    """A network network client and service that may lose a request or its reply."""

    def __init__(self, service: LocalService, *trouble: Callable[[httpx.Request], Outcome | None]) -> None:
        self.service, self.trouble = service, list(trouble)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        outcome = self.trouble.pop(0)(request) if self.trouble else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome or self.pass_on(request)

    def pass_on(self, request: httpx.Request) -> httpx.Response:
        reply = self.service.ask(
            request.method, str(request.url), content=request.read(), headers=dict(request.headers)
        )
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    def lose_reply(self, request: httpx.Request) -> Outcome:
        self.pass_on(request)
        return httpx.ReadError("the connection was reset")


def lose_request(_: httpx.Request) -> Outcome:
    return httpx.ReadTimeout("nothing came")


def refuse_connection(_: httpx.Request) -> Outcome:
    return httpx.ConnectError("connection refused")


def answer(status: int, **headers: str) -> Callable[[httpx.Request], Outcome]:
    return lambda _: httpx.Response(status, headers=headers, text="<html>sorry</html>")


def client_of(
    service: LocalService, *trouble: Any, waits: list[float] | None = None, **more: Any
) -> tuple[Client, FaultyNetwork]:
    network = FaultyNetwork(service, *trouble)
    slept = [] if waits is None else waits
    made = Client(
        "http://localhost", transport=network, sleep=slept.append, retries=Retries(4, random.Random(1)), **more
    )
    return made, network


def test_every_method(service: LocalService) -> None:
    client, _ = client_of(service)
    with client:
        assert client.create_ranking(RankingSpec(name="shop", positions=2, features=1)).features == 1
        assert [each.name for each in client.rankings().rankings] == ["front-page", "shop"]
        assert client.put_items("shop", ["a/b", Item(id="c", features=[0.5]), ".."]).added == 3
        assert client.put_item("shop", "d", features=[1.0], hidden=True).added == 1
        assert client.item("shop", "a/b") == Item(id="a/b")
        assert client.item("shop", "..").id == ".."
        page = client.items("shop", limit=2)
        assert [item.id for item in client.items("shop", after=page.next).items] == ["c", "d"]
        assert client.change_ranking("shop", click_window=5.0).click_window == 5.0
        made = client.make_list("shop", key="k", exclude=[".."])
        assert made.items == ["a/b", "c"]
        assert client.report(made.impression, ["c"]).counted
        assert client.report(made.impression, [2, 1], final=True).counted
        assert client.impression(made.impression).clicks == [1, 2]
        assert client.explanation(made.impression).positions[0].item == "a/b"
        deferred = client.make_list("shop", deferred=True)
        assert client.activate(deferred.impression).counted
        assert client.keys("shop").keys == ["k"]
        assert len(client.estimates("shop", limit=3).items) == 3
        assert client.next_list("shop").positions[0].position == 1
        assert client.history("shop").lists == 0
        assert client.remove_items("shop", ["d", "e"]).removed == 1
        client.remove_item("shop", "c")
        seqs = [event.seq for event in client.events("shop")]
        assert seqs == sorted(seqs)
        assert [event.seq for event in client.events("shop", after=seqs[2])] == seqs[3:]
        client.delete_ranking("shop")
        with pytest.raises(ServiceError) as refused:
            client.ranking("shop")
    assert refused.value.status == 404
    assert refused.value.problem.type == "urn:toplist:problem:not-found"
    assert refused.value.request_id


def test_the_async_client(service: LocalService) -> None:
    async def play() -> list[Any]:
        transport = httpx.ASGITransport(service.app)
        async with AsyncClient("http://localhost", transport=transport) as client:
            made = await client.make_list("front-page", request_id="r")
            counted = await client.report(made.impression, [1], final=True)
            kinds = [event.kind async for event in client.events("front-page")]
            return [made.items, counted.counted, kinds]

    assert service.run(play()) == [["cocoa", "coffee"], True, ["ranking", "items", "list", "report"]]


def test_both_clients_have_a_method_for_every_route() -> None:
    built = set(requests.__all__)
    assert len(built) == sum(route.tag != "service" for route in ROUTES)
    for kind in (Client, AsyncClient):
        assert built <= set(dir(kind))
    assert Client.make_list.__doc__ == requests.make_list.__doc__


def test_the_api_key_is_sent(keyed: LocalService) -> None:
    client, _ = client_of(keyed, key=ADMIN)
    client.create_ranking(RankingSpec(name="a", positions=1))
    with pytest.raises(ServiceError, match=r"403 Forbidden: .* needs admin"):
        client_of(keyed, key=SERVE)[0].delete_ranking("a")


def test_a_retry_gets_the_list_of_the_first_attempt(service: LocalService) -> None:
    client, network = client_of(service)
    network.trouble = [network.lose_reply, lose_request, answer(502)]
    made = client.make_list("front-page")
    assert len(service.double.lists) == 1
    assert made.impression in service.double.lists
    sent = [msgspec.json.decode(request.content)["request_id"] for request in network.requests]
    assert len(sent) == 4
    assert len(set(sent)) == 1
    assert client.make_list("front-page").impression != made.impression


def test_a_repeated_report_counts_once(service: LocalService) -> None:
    client, network = client_of(service)
    made = client.make_list("front-page")
    network.trouble = [network.lose_reply, network.lose_reply]
    assert client.report(made.impression, [1]).counted
    assert service.double.lists[made.impression].clicks == [1]


def test_requests_that_are_not_idempotent_are_not_repeated(service: LocalService) -> None:
    client, network = client_of(service)
    network.trouble = [network.lose_reply]
    with pytest.raises(Unreachable, match="got no answer in 1 attempts"):
        client.create_ranking(RankingSpec(name="a", positions=1))
    network.trouble = [refuse_connection, answer(503), answer(429)]
    client.create_ranking(RankingSpec(name="b", positions=1))
    network.trouble = [answer(504)]
    with pytest.raises(ServiceError, match="504"):
        client.delete_ranking("b")


def test_waits_grow_at_random_and_respect_retry_after(service: LocalService) -> None:
    waits: list[float] = []
    client, network = client_of(service, lose_request, lose_request, lose_request, waits=waits)
    client.rankings()
    assert all(0.0 <= wait <= 0.05 * 2**attempt for attempt, wait in enumerate(waits))
    assert len(set(waits)) == 3
    network.trouble = [answer(503, **{"retry-after": "7"})]
    client.rankings()
    assert waits[-1] == 7.0
    network.trouble = [answer(429, **{"retry-after": "soon"})]
    client.rankings()
    assert waits[-1] <= LONGEST_WAIT
    network.trouble = [answer(503, **{"retry-after": "3600"})]
    with pytest.raises(ServiceError, match="503"):
        client.rankings()


def test_it_gives_up_after_the_last_retry(service: LocalService) -> None:
    client, network = client_of(service, *[lose_request] * 9)
    with pytest.raises(Unreachable, match="GET /v1/rankings got no answer in 5 attempts: nothing came"):
        client.rankings()
    network.trouble = [answer(503)] * 9
    with pytest.raises(ServiceError) as refused:
        client.rankings()
    assert refused.value.problem.detail == "<html>sorry</html>"


def test_a_refused_request_is_not_repeated(service: LocalService) -> None:
    client, network = client_of(service)
    with pytest.raises(ServiceError) as refused:
        client.make_list("front-page", among=["nothing"])
    assert len(network.requests) == 1
    assert refused.value.problem.errors[0].pointer == "/among"  # type: ignore[index]


def test_the_async_client_retries(service: LocalService) -> None:
    waits: list[float] = []
    trouble = [lose_request, answer(503)]

    class Flaky(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            outcome = trouble.pop(0)(request) if trouble else None
            if isinstance(outcome, Exception):
                raise outcome
            return outcome or await httpx.ASGITransport(service.app).handle_async_request(request)

    async def slept(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    async def play() -> int:
        async with AsyncClient("http://localhost", transport=Flaky(), sleep=slept) as client:
            return len((await client.rankings()).rankings)

    assert service.run(play()) == 1
    assert len(waits) == 2


def test_a_change_that_drops_learners_is_not_repeated() -> None:
    assert not requests.change_ranking("shop", policy="cascade-kl-ucb", train=False).repeatable
    assert requests.change_ranking("shop", policy="cascade-kl-ucb").repeatable
    assert requests.change_ranking("shop", click_window=60.0, train=False).repeatable
