"""The client, sync and async, with the real application and with networks that fail."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest
from asking import ADMIN, SERVE, LocalService

from toplist.core.item_id import ACCEPTED
from toplist.core.prior import Prior
from toplist.service.client import AsyncClient, Client, Retries, ServiceError, Unreachable, requests
from toplist.service.client.retries import LONGEST_WAIT
from toplist.service.http.routes import ROUTES
from toplist.service.wire import Fault, Item, ItemPrior, ProblemBody, RankingSpec

Outcome = Exception | httpx.Response
REAL: Any = 5.0  # not an id


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
        made = client.make_list("shop", segment="k", exclude=[".."])
        assert made.items == ["a/b", "c"]
        assert client.report(made.impression, ["c"]).counted
        assert client.report(made.impression, [2, 1], final=True).counted
        assert client.impression(made.impression).clicks == [1, 2]
        assert client.explanation(made.impression).positions[0].item == "a/b"
        deferred = client.make_list("shop", deferred=True)
        assert client.activate(deferred.impression).counted
        assert client.segments("shop").segments == ["k"]
        assert len(client.estimates("shop", limit=3).items) == 3
        assert client.next_list("shop").positions[0].position == 1
        assert client.history("shop").lists == 0
        assert client.change_ranking("shop", holdout=0.5, baseline=["c", "a/b"]).baseline == ["c", "a/b"]
        assert client.make_list("shop", visitor="v").items == ["..", "a/b"]
        assert client.uplift("shop", by="day").mode == "live"
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


def test_the_client_calls_no_deprecated_route() -> None:
    built = requests.delete_segment("front-page", "query: a/b")
    assert (built.method, built.path) == ("DELETE", "/v1/rankings/front-page/segments/query%3A%20a%2Fb")


def test_both_clients_have_a_method_for_every_route() -> None:
    built = set(requests.__all__)
    for_pages = ("service", "browsers", "playground")
    assert len(built) == sum(route.tag not in for_pages and not route.deprecated for route in ROUTES)
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


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda it: it.put_items("a", "tea"), "items is 'tea', but must be a list of items; write ['tea']."),
        (lambda it: it.put_items("a", b"tea"), "items is b'tea', but must be a list of items; write [b'tea']."),
        (lambda it: it.remove_items("a", "tea"), "ids is 'tea', but must be a list of items; write ['tea']."),
        (lambda it: it.report("i", "tea"), "clicks is 'tea', but must be a list of positions or items; write ['tea']."),
        (lambda it: it.report("i", 2), "clicks is 2, but must be a list of positions or items; write [2]."),
        (lambda it: it.report("i", None), "clicks is None, but must be a list of positions or items; write []."),
        (lambda it: it.report("i", seen="1"), "seen is '1', but must be a list of positions or items; write ['1']."),
        (lambda it: it.make_list("a", among="tea"), "among is 'tea', but must be a list of items; write ['tea']."),
        (lambda it: it.make_list("a", exclude="tea"), "exclude is 'tea', but must be a list of items; write ['tea']."),
        (lambda it: it.make_list("a", person="12"), "person is '12', but must be a list of numbers; write [0.5, 1.0]."),
        (
            lambda it: it.make_list("a", features={"tea": "12"}),
            "features['tea'] is '12', but must be a list of numbers; write [0.5, 1.0].",
        ),
        (lambda it: it.estimates("a", person="12"), "person is '12', but must be a list of numbers; write [0.5, 1.0]."),
        (lambda it: it.make_list("a", pins=["tea"]), "pins is ['tea'], but must be a mapping; write {1: 'tea'}."),
        (
            lambda it: it.put_item("a", "b", features="12"),
            "features is '12', but must be a list of numbers; write [0.5",
        ),
        (lambda it: it.put_items("a", ["tea", 5.0]), f"items[1] is 5.0, but must be {ACCEPTED}; write 5 or '5.0'."),
        (lambda it: it.put_items("a", [Item(id=REAL)]), "items[0].id is 5.0, but must be text or a whole number"),
        (lambda it: it.put_items("a", [True]), f"items[0] is True, but must be {ACCEPTED}; write it as text."),
        (lambda it: it.put_items("a", [2**53]), "items[0] is 9007199254740992, but must be text or a whole number"),
        (lambda it: it.put_items("a", [{"id": 5.0}]), "items[0]['id'] is 5.0, but must be text or a whole number"),
        (
            lambda it: it.put_items("a", [{"id": "tea", "feature": [1.0]}]),
            "A field of items[0] is 'feature', but must be id, features, hidden or prior; perhaps you mean 'features'.",
        ),
        (lambda it: it.put_items("a", [{"name": "tea"}]), "A field of items[0] is 'name', but must be id, features, h"),
        (lambda it: it.put_items("a", [{}]), "items[0] is {}, but must be an item with an id; write {'id': ...}."),
        (
            lambda it: it.put_items("a", [{"id": "tea", "features": "12"}]),
            "items[0]['features'] is '12', but must be a list of numbers; write [0.5, 1.0].",
        ),
        (
            lambda it: it.put_items("a", {"tea": {"features": [1.0]}}),
            "items['tea'] is {'features': [1.0]}, but must be a list of numbers; write [0.5, 1.0].",
        ),
        (
            lambda it: it.put_items("a", {"tea": "12"}),
            "items['tea'] is '12', but must be a list of numbers; write [0.5",
        ),
        (lambda it: it.put_items("a", {5.0: None}), "A key of items is 5.0, but must be text or a whole number"),
        (lambda it: it.remove_items("a", [5.0]), "ids[0] is 5.0, but must be text or a whole number"),
        (lambda it: it.item("a", 5.0), "The item is 5.0, but must be text or a whole number"),
        (lambda it: it.put_item("a", True), "The item is True, but must be text or a whole number"),
        (lambda it: it.remove_item("a", 5.0), "The item is 5.0, but must be text or a whole number"),
        (lambda it: it.items("a", after=5.0), "after is 5.0, but must be text or a whole number"),
        (lambda it: it.make_list("a", among=[5.0]), "among[0] is 5.0, but must be text or a whole number"),
        (lambda it: it.make_list("a", exclude=[5.0]), "exclude[0] is 5.0, but must be text or a whole number"),
        (lambda it: it.make_list("a", pins={1: 5.0}), "pins[1] is 5.0, but must be text or a whole number"),
        (lambda it: it.make_list("a", features={5.0: [1]}), "A key of features is 5.0, but must be text or a whole"),
        (lambda it: it.estimates("a", segment=5), "segment is 5, but must be text; write '5'."),
        (lambda it: it.make_list("a", key="k"), "key is called segment now; write segment='k'."),
        (lambda it: it.estimates("a", key="k"), "key is called segment now; write segment='k'."),
        (lambda it: it.next_list("a", key="k"), "key is called segment now; write segment='k'."),
        (lambda it: it.ranking(5), "The name of the ranking is 5, but must be text; write '5'."),
        (lambda it: it.item("a", None), f"The item is None, but must be {ACCEPTED}; write it as text."),
        (lambda it: it.report(17), "The impression is 17, but must be the id of an impression, or the reply of make_"),
        (lambda it: it.report("i", [object()]), "but must be text, a number, a list or a mapping; convert it."),
    ],
)
def test_a_wrong_type_is_refused_before_anything_is_sent(
    service: LocalService, call: Callable[[Any], Any], sentence: str
) -> None:
    client, network = client_of(service)
    with pytest.raises(TypeError, match=re.escape(sentence)):
        call(client)
    assert network.requests == []


def test_a_mapping_puts_items_with_their_features(service: LocalService) -> None:
    client, _ = client_of(service)
    row: Any = np.array([1.0, 2.0])
    client.create_ranking(name="a", positions=2, features=2)
    assert client.put_items("a", {"tea": [0.5, 1.0], 7: row, "7": None}).added == 3
    assert client.put_items("a", [{"id": "milk", "features": (0.0, 1.0), "hidden": True}]).added == 1
    found = {item.id: (item.features, item.hidden) for item in client.items("a").items}
    assert found == {
        7: ([1.0, 2.0], None), "7": (None, None), "milk": ([0.0, 1.0], True), "tea": ([0.5, 1.0], None),
    }  # fmt: skip


def test_items_with_priors_and_rankings_with_pools(service: LocalService) -> None:
    client, _ = client_of(service)
    made = client.create_ranking(name="a", positions=2, pool="prior", pool_strength=30, propensities=True)
    assert (made.pool, made.pool_strength, made.propensities) == ("prior", 30.0, True)
    changed = client.change_ranking("a", pool_strength=None, propensities=False, pool="none")
    assert (changed.pool, changed.pool_strength, changed.propensities) == ("none", None, False)
    known = {"mean": 0.2, "strength": 10}
    assert client.put_items("a", [{"id": "tea", "prior": known}, {"id": "milk", "prior": (0.5, 2)}]).added == 2
    assert client.put_item("a", "wine", prior=Prior(0.1, 5.0)).added == 1
    priors = {item.id: item.prior for item in client.items("a").items}
    assert priors == {
        "milk": ItemPrior(mean=0.5, strength=2), "tea": ItemPrior(mean=0.2, strength=10),
        "wine": ItemPrior(mean=0.1, strength=5),
    }  # fmt: skip
    with pytest.raises(TypeError, match=r"prior is \{'mean': 0.2\}, but must be a mean and a strength"):
        client.put_item("a", "beer", prior={"mean": 0.2})
    for wrong, where in (((2.0, 1.0), "mean"), ((0.5, -1.0), "strength")):
        with pytest.raises(ServiceError) as refused:
            client.put_item("a", "beer", prior=wrong)
        assert refused.value.status == 422
        assert isinstance(refused.value.problem.errors, list)
        assert refused.value.problem.errors[0].pointer == f"/prior/{where}"
    with pytest.raises(ServiceError) as refused:
        client.create_ranking(name="b", positions=2, pool="all")  # type: ignore[arg-type]
    assert refused.value.status == 422


def test_integer_ids_are_others_than_text(service: LocalService) -> None:
    client, network = client_of(service)
    number: Any = np.int64(7)
    assert client.put_items("front-page", [number, "7"]).added == 2
    assert [client.item("front-page", id).id for id in (7, "7")] == [7, "7"]
    assert client.put_item("front-page", 7, hidden=True).changed == 1
    page = client.items("front-page", limit=1)
    assert ([item.id for item in page.items], page.next) == ([7], "\t7")
    assert client.items("front-page", after=page.next, limit=1) == client.items("front-page", after=7, limit=1)
    client.put_item("front-page", 7, hidden=False)
    shown = client.make_list("front-page", among=[7, "7"], pins={1: "7"}, features={7: [], "7": []})
    sent = msgspec.json.decode(network.requests[-1].content)
    assert (sent["among"], sent["pins"], sent["features"]) == ([7, "7"], {"1": "7"}, {"\t7": [], "7": []})
    assert "key" not in sent
    assert shown.items == [7, "7"]
    assert client.report(shown, [7]).counted
    assert client.report(shown, [{"item": "7"}, {"position": 1}]).counted
    assert client.impression(shown).clicks == [1, 2]
    client.remove_item("front-page", 7)
    assert client.remove_items("front-page", [7, "7"]).removed == 1


def test_errors_can_be_pickled() -> None:
    fault = Fault(pointer="/positions", detail="Expected int, got str.")
    problem = ProblemBody(type="invalid", title="Invalid", status=422, detail="No.", errors=[fault], counted=False)
    for error in (ServiceError(problem, "r1"), Unreachable("nothing came")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
        assert vars(again) == vars(error)


def test_the_reply_of_a_list_stands_for_its_impression(service: LocalService) -> None:
    client, _ = client_of(service)
    shown = client.make_list("front-page", deferred=True)
    assert client.activate(shown).counted
    assert client.report(shown, [1], final=True).counted
    assert client.impression(shown).clicks == [1]
    assert client.explanation(shown).impression == shown.impression


def test_numpy_numbers_are_numbers(service: LocalService) -> None:
    client, network = client_of(service)
    row: Any = np.array([0.5, 1.0])
    one: Any = np.int64(1)
    two: Any = np.int64(2)
    strings: Any = np.array(["cocoa"])
    yes: Any = np.bool_(True)
    both: Any = np.array([1, 2])
    half: Any = np.float32(0.5)
    client.create_ranking(RankingSpec(name="a", positions=two, features=two, reference=half))
    client.create_ranking(name="b", positions=one)
    client.put_items("a", [Item(id="tea", features=row), "milk"])
    client.put_items("a", strings)
    client.put_item("a", "soup", features=row, hidden=yes)
    client.put_item("a", "juice", features=[np.float64(0.5), half])
    assert client.item("a", "tea").features == [0.5, 1.0]
    assert client.item("a", "juice").features == [0.5, 0.5]
    assert client.item("a", "soup").hidden is True
    assert client.change_ranking("a", click_window=np.float64(60)).click_window == 60.0
    assert len(client.items("a", limit=one).items) == 1
    shown = client.make_list(
        "a",
        positions=two,
        person=row,
        features={"tea": row},
        pins={one: "tea"},
    )
    sent = msgspec.json.decode(network.requests[-1].content)
    assert (sent["person"], sent["features"], sent["pins"]) == ([0.5, 1.0], {"tea": [0.5, 1.0]}, {"1": "tea"})
    client.report(shown, [one], left=one, seen=both)
    client.report(shown, both, seen={one: np.float64(0.5)})
    assert msgspec.json.decode(network.requests[-1].content)["seen"] == {"1": 0.5}
    assert client.impression(shown).clicks == [1, 2]
    for request in (requests.estimates("a", person=row), requests.next_list("a", person=list(row))):
        assert request.query["person"] == "0.5,1.0"


def test_the_text_of_an_error_has_everything_that_is_wrong() -> None:
    faults = [
        Fault(pointer="/positions", detail="Expected int, got str."),
        Fault(pointer="", detail="Too large."),
        Fault(parameter="limit", detail="Too small."),
        Fault(header="Accept", detail="Not JSON."),
        Fault(detail="Something else."),
    ]
    problem = ProblemBody(type="invalid", title="Invalid", status=422, detail="Five errors.", errors=faults)
    error = ServiceError(problem)
    assert str(error) == (
        "422 Invalid: Five errors. /positions: Expected int, got str. the body: Too large. limit: Too small. "
        "Accept: Not JSON. Something else."
    )
    assert error.errors == faults
    assert ServiceError(msgspec.structs.replace(problem, errors=msgspec.UNSET)).errors == []


def test_an_error_of_the_service_names_its_field(service: LocalService) -> None:
    client, _ = client_of(service)
    with pytest.raises(ServiceError) as refused:
        client.create_ranking(name="a", positions="3")  # type: ignore[arg-type]
    assert str(refused.value) == (
        "422 Unprocessable Entity: /positions: positions is '3', but must be a whole number between 1 and 1000; "
        "write 3 without quotes."
    )
    assert [fault.pointer for fault in refused.value.errors] == ["/positions"]
    with pytest.raises(ServiceError, match=r"^404 Not Found: There is no ranking 'nothing'; [^:]+\.$") as unknown:
        client.ranking("nothing")
    assert unknown.value.errors == []


@pytest.mark.parametrize("module", ["httpx", "msgspec"])
def test_without_its_extra_the_client_says_what_to_install(module: str) -> None:
    program = f"import sys; sys.modules[{module!r}] = None; import toplist.service.client"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: the client needs {module}, which cannot be imported; install it with: "
        f'pip install "toplist[client]"'
    )


def test_a_ranking_can_be_created_by_keywords(service: LocalService) -> None:
    client, _ = client_of(service)
    made = client.create_ranking(name="a", positions=3, policy="cascade-kl-ucb", retention=None)
    assert (made.name, made.positions, made.policy, made.click_window) == ("a", 3, "cascade-kl-ucb", 1800.0)
    keywords = list(inspect.signature(requests.create_ranking).parameters)
    assert keywords == ["spec", *RankingSpec.__struct_fields__]
    every: dict[str, Any] = {field: field for field in RankingSpec.__struct_fields__}
    every |= {"baseline": ["baseline"], "pins": {"1": "tea"}, "divisions": 2}
    assert requests.create_ranking(**every).body == RankingSpec(**every)


def test_events_are_read_behind_a_number_or_a_cursor() -> None:
    assert requests.events("a", 7).query == {"after": 7, "limit": 1000}
    assert requests.events("a", "7-0", 3).query == {"cursor": "7-0", "limit": 3}


def test_a_ranking_is_created_from_a_spec_or_from_keywords() -> None:
    with pytest.raises(TypeError, match="got a RankingSpec and policy, but takes one or the other; put all fields"):
        requests.create_ranking(RankingSpec(name="a", positions=1), policy="cascade-kl-ucb")
    with pytest.raises(
        TypeError, match=r"but got no positions; write create_ranking\(name='front-page', positions=3\)"
    ):
        requests.create_ranking(name="a")
    with pytest.raises(TypeError, match="but got no name and no positions"):
        requests.create_ranking()
    with pytest.raises(
        TypeError, match=r"spec is 'a', but must be .*; write create_ranking\(name='a', positions=...\)"
    ):
        requests.create_ranking("a", positions=1)  # type: ignore[arg-type]
