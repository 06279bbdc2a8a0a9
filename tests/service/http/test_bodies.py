"""Bodies of requests: their sizes, the memory that they take together, and errors about large ones."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from asking import KEYS, SERVE, LocalService, Make, problem

from toplist.service.browser_settings import BrowserSettings
from toplist.service.http.bodies import LARGE_BODY, SECONDS_PER_BYTE, Bodies, decoded_size
from toplist.service.http.problems import LARGEST_SEARCHED, HttpProblem, undecodable
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import CompiledRoute
from toplist.service.settings import Limits
from toplist.service.wire import MOST_IDS, ListRequest

JSON = {"content-type": "application/json"}
JSON_HEADERS = {b"content-type": b"application/json"}


@pytest.mark.parametrize(
    ("method", "path", "most"),
    [
        ("PUT", "/v1/rankings/front-page/items", 4000),
        ("POST", "/v1/rankings/front-page/items/remove", 4000),
        ("POST", "/v1/rankings/front-page/lists", 2000),
        ("PUT", "/v1/impressions/019a8b5e-7c1f-7d3a-9b42-5f0e6c1d2a33/clicks", 2000),
        ("POST", "/v1/rankings", 2000),
        ("PATCH", "/v1/rankings/front-page", 2000),
        ("PUT", "/v1/rankings/front-page/items/tea", 2000),
    ],
)
def test_only_bodies_with_items_may_be_large(make_service: Make, method: str, path: str, most: int) -> None:
    service = make_service(stocked=True, limits=Limits(body_bytes=4000, list_bytes=2000))
    assert service.ask(method, path, content=b" " * most, headers=JSON).status_code == 400  # read, and empty
    problem(service.ask(method, path, content=b" " * (most + 1), headers=JSON), 413)


def test_large_bodies_in_flight_share_a_budget_and_small_ones_need_none(make_service: Make) -> None:
    service = make_service(stocked=True, limits=Limits(bodies_bytes=8000, list_bytes=5000))
    more = asyncio.Event()

    async def stalled(size: int) -> Any:
        yield b" " * size
        await more.wait()
        yield b"{}"

    async def ask(body: Any, caller: str) -> int:
        path = "/v1/rankings/front-page/lists"
        return (await service.ask_async("POST", path, content=body, headers=JSON, client=(caller, 1))).status_code

    async def work() -> list[int]:
        waiting = [asyncio.create_task(ask(stalled(3000), "10.0.0.1"))]
        await asyncio.sleep(0.01)
        same = await ask(stalled(1500), "10.0.0.1")  # more than half of the budget
        waiting.append(asyncio.create_task(ask(stalled(3900), "10.0.0.2")))
        await asyncio.sleep(0.01)
        third = await ask(stalled(1500), "10.0.0.3")  # more than all of it
        small = await ask(b"{}", "10.0.0.1")
        more.set()
        return [same, third, small, *(await asyncio.gather(*waiting)), await ask(stalled(3000), "10.0.0.3")]

    assert service.run(work()) == [503, 503, 200, 200, 200, 200]


@pytest.mark.parametrize(
    ("raw", "least"),
    [
        (b"[" + b"0," * 10_000 + b"0]", 32 * 10_000),
        (b'["ab"' + b',"ab"' * 10_000 + b"]", 64 * 10_000),
        (b'"' + b"a" * 10_000 + b'\\ud83d\\ude00"', 40_000),
        (b'{"items":[' + b",".join([b'{"id":1}'] * 10_000) + b"]}", 96 * 10_000),
    ],
    ids=["numbers", "texts", "wide letters", "items"],
)  # fmt: skip
def test_the_memory_of_a_body_is_foretold(raw: bytes, least: int) -> None:
    assert decoded_size(raw) >= least


def test_a_body_that_would_take_too_much_memory_is_refused_before_it_is_decoded(make_service: Make) -> None:
    service = make_service(stocked=True, limits=Limits(bodies_memory=16))
    many = b'{"items":[{"id":"tea","features":[' + b"0," * 450_000 + b"0]}]}"
    reply = service.ask("PUT", "/v1/rankings/front-page/items", content=many, headers=JSON)
    assert "limits.bodies_memory" in problem(reply, 413)["detail"]


def test_large_replies_on_their_way_share_the_budget_of_bodies(make_service: Make) -> None:
    service = make_service(stocked=True, limits=Limits(bodies_bytes=400_000))
    items = [{"id": f"{n}-{'x' * 180}"} for n in range(900)]  # a reply of about 190 kB
    assert service.ask("PUT", "/v1/rankings/front-page/items", json={"items": items}).status_code == 200
    path = "/v1/rankings/front-page/items?limit=10000"

    async def work() -> tuple[list[int], int]:
        slow = [asyncio.create_task(unread(service, path, f"10.0.0.{n // 2}")) for n in range(6)]
        await asyncio.sleep(0.1)
        statuses = [one.result() if one.done() else 200 for one in slow]
        small = (await service.ask_async("GET", "/v1/rankings/front-page", client=("10.0.0.1", 1))).status_code
        for one in slow:
            one.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return statuses, small

    statuses, small = service.run(work())
    assert statuses == [200, 503, 200, 503, 503, 503]  # one of each caller, and two of all
    assert small == 200
    assert service.ask("GET", path).status_code == 200  # all was given back


def test_the_addresses_of_one_network_of_ipv6_share_the_budget_of_one_caller(make_service: Make) -> None:
    service = make_service(stocked=True, limits=Limits(bodies_bytes=400_000))
    items = [{"id": f"{n}-{'x' * 180}"} for n in range(900)]  # a reply of about 190 kB
    assert service.ask("PUT", "/v1/rankings/front-page/items", json={"items": items}).status_code == 200
    path = "/v1/rankings/front-page/items?limit=10000"

    async def work() -> int:
        slow = asyncio.create_task(unread(service, path, "2001:db8::1"))
        await asyncio.sleep(0.05)
        other = asyncio.create_task(unread(service, path, "2001:db8::2"))
        await asyncio.sleep(0.05)
        status = other.result() if other.done() else 200
        for each in (slow, other):
            each.cancel()
        await asyncio.gather(slow, other, return_exceptions=True)
        return status

    assert service.run(work()) == 503


def test_callers_without_a_key_have_a_part_of_the_budget_where_there_are_keys(make_service: Make) -> None:
    browser = BrowserSettings(secrets=["2026a:" + "x" * 40])
    service = make_service(keys=KEYS, browser=browser, limits=Limits(bodies_bytes=1_000_000))
    key, page = {**JSON, "authorization": f"Bearer {SERVE}"}, {"origin": "http://localhost:8600"}

    async def body(size: int, end: asyncio.Event) -> Any:
        yield b" " * size
        await end.wait()
        yield b"{}"

    async def work() -> tuple[list[int], int]:
        end = asyncio.Event()
        headers = {**page, "content-type": "text/plain"}
        reports = [
            asyncio.create_task(
                service.ask_async(
                    "POST", "/v1/reports", content=body(30_000, end), headers=headers, client=(f"10.0.0.{n}", 1)
                )
            )
            for n in range(9)
        ]
        await asyncio.sleep(0.05)
        refused = [each.result().status_code for each in reports if each.done()]
        lists = asyncio.create_task(
            service.ask_async("POST", "/v1/rankings/a/lists", content=body(490_000, end), headers=key)
        )
        await asyncio.sleep(0.05)
        end.set()
        await asyncio.gather(*reports)
        return refused, (await lists).status_code

    assert service.run(work()) == ([503], 404)  # eight have a quarter, and whoever has a key may still have half


def test_a_part_of_a_stream_waits_for_room_and_holds_nothing_meanwhile(make_service: Make) -> None:
    service = make_service(stocked=True, limits=Limits(bodies_bytes=200_000))
    for _ in range(1000):
        service.double.as_if_learned("front-page", [])
    path = "/v1/rankings/front-page/events"

    async def work() -> list[int]:
        slow = asyncio.create_task(unread(service, path, "10.0.0.1"))
        await asyncio.sleep(0.1)
        other = asyncio.create_task(service.ask_async("GET", path, client=("10.0.0.1", 1)))
        await asyncio.sleep(0.1)
        assert not other.done()
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        lines = (await other).text.splitlines()
        return [json.loads(line)["seq"] for line in lines]

    assert service.run(work()) == [event.seq for event in service.double.log if event.ranking == "front-page"]


async def unread(service: LocalService, path: str, caller: str) -> int:
    """Ask, and never take more than the first piece of the body; the status of a refusal."""
    path, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "headers": [(b"host", b"localhost")], "client": (caller, 1),
    }  # fmt: skip
    status = 0

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)
        if message["type"] == "http.response.body" and status == 200:
            await asyncio.Event().wait()

    async def receive() -> Any:
        await asyncio.Event().wait()

    await service.app(scope, receive, send)
    return status


@pytest.mark.parametrize("first", ["among", "pins"])
def test_the_search_for_an_error_decodes_a_body_a_few_times_only(first: str) -> None:
    among = {"among": [f"item {n}" for n in range(3_000)]}
    pins = {"pins": {str(n): "a" for n in range(2_000)} | {"z": 1.5}}
    raw = msgspec.json.encode(among | pins if first == "among" else pins | among)
    decoder = msgspec.json.Decoder(ListRequest)
    decoded = 0

    def decode(data: bytes) -> Any:
        nonlocal decoded
        decoded += len(data)
        return decoder.decode(data)

    with pytest.raises(msgspec.ValidationError) as caught:
        decode(raw)
    found = undecodable(caught.value, raw, decode).body.errors
    assert isinstance(found, list)
    assert found[0].pointer == "/pins/z"
    assert decoded < 3 * len(raw)


def test_an_error_in_a_larger_body_names_the_field_without_a_search() -> None:
    raw = msgspec.json.encode({"pins": {str(n): "a" for n in range(LARGEST_SEARCHED // 8)} | {"z": 1.5}})

    def decode(_: bytes) -> Any:
        raise AssertionError("decoded again")

    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(raw, type=ListRequest)
    found = undecodable(caught.value, raw, decode).body
    assert isinstance(found.errors, list)
    assert found.errors[0].pointer == "/pins"
    assert "must be text or a whole number" in found.detail


def test_a_refused_request_leaves_no_garbage(service: LocalService) -> None:
    """Garbage is collected rarely, and the traceback of an error holds the body."""
    gc.collect()
    gc.disable()
    try:
        before = sum(issubclass(type(each), HttpProblem) for each in gc.get_objects())
        service.ask("POST", "/v1/rankings", content=b"{", headers=JSON)
        service.ask("POST", "/v1/rankings", json={"unknown": 1})
        service.ask("GET", "/v1/rankings/unknown")
        assert sum(issubclass(type(each), HttpProblem) for each in gc.get_objects()) == before
    finally:
        gc.enable()


def test_a_reply_does_not_repeat_a_large_request(service: LocalService) -> None:
    long = "x" * 500_000
    for body in ({long: 1}, {"among": [{"a": long}]}, {"segment": long}, {"pins": {long: 1.5}}, {"request_id": long}):
        reply = service.ask("POST", "/v1/rankings/front-page/lists", json=body)
        assert len(reply.content) < 10_000
        pointer = problem(reply, 422)["errors"][0].get("pointer", "")
        assert len(pointer) <= 500
    assert json.loads(service.ask("POST", "/v1/rankings", json={"name": "a", "positions": 1, "policy": long}).content)
    assert len(service.ask("POST", "/v1/rankings", json={"name": long, "positions": 1}).content) < 10_000
    assert len(service.ask("GET", f"/v1/rankings?{long[:50_000]}=1").content) < 10_000
    assert len(service.ask("GET", "/v1/rankings", headers={"host": long[:50_000]}).content) < 10_000


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least of several runs."""
    times = []
    for _ in range(5):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def test_many_ids_are_checked_at_once() -> None:
    # Nobody else is served meanwhile: one pattern per id took 20 times as long as reading the JSON.
    body = msgspec.json.encode({"among": [f"item-{n}" for n in range(MOST_IDS)]})
    decoder = msgspec.json.Decoder(ListRequest)
    assert cpu_seconds(lambda: decoder.decode(body)) < 8 * cpu_seconds(lambda: msgspec.json.decode(body))


MANY = 500_000  # numbers in a body of 1 MB


@pytest.mark.parametrize(
    "body",
    [
        b'{"among":[' + b"7," * MANY + b"7]}",
        b'{"exclude":[' + b"7," * MANY + b"1.5]}",
        b'{"features":{"tea":[' + b"0," * MANY + b"0]}}",
        b'{"pins":{' + b'"1":7,' * (MANY // 4) + b'"2":7}}',
    ],
    ids=["integers", "bad last entry", "feature row", "pins"],
)
def test_far_too_many_entries_of_a_list_are_refused_before_they_are_decoded(service: LocalService, body: bytes) -> None:
    said = problem(service.ask("POST", "/v1/rankings/front-page/lists", content=body[:-2], headers=JSON), 422)
    assert "more than" in said["detail"]
    assert len(said["detail"]) < 100


def test_a_list_may_name_as_many_integers_as_texts(service: LocalService) -> None:
    assert service.ask("PUT", "/v1/rankings/front-page/items", json={"items": [{"id": 7}]}).status_code == 200
    for count, told in ((MOST_IDS, "There is no item 0"), (MOST_IDS + 1, "at most 25000")):
        reply = service.ask("POST", "/v1/rankings/front-page/lists", json={"among": list(range(count))})
        assert told in problem(reply, 422)["detail"]


def test_large_bodies_take_turns_and_short_lists_go_on() -> None:
    """One after the other: all at once would keep everybody waiting for the sum of their times."""

    async def work() -> list[str]:
        bodies, done = Bodies(Limits(read_share=0.5)), list[str]()
        route = next(CompiledRoute(one) for one in ROUTES if one.name == "make_list")
        share = bodies.share_of("page", "", True)

        async def receive() -> Any:
            raise AssertionError("the body has arrived")

        def decode(raw: bytes) -> int:
            if len(raw) > LARGE_BODY:
                time.sleep(0.02)  # and a rest of the same length
            return len(raw)

        async def read(size: int) -> None:
            raw = b" " * size
            await bodies.read(route, decode, JSON_HEADERS, raw, receive, share if size > LARGE_BODY else None)
            done.append("large" if size > LARGE_BODY else "short")

        large = [asyncio.create_task(read(LARGE_BODY + 1)) for _ in range(3)]
        await asyncio.sleep(0)
        for _ in range(3):
            await read(100)
        await asyncio.gather(*large)
        return done

    assert asyncio.run(work()) == ["large", "short", "short", "short", "large", "large"]


def test_bytes_of_large_lists_are_received_in_turn() -> None:
    async def work() -> tuple[list[str], int]:
        bodies = Bodies(Limits())
        charged: list[str] = []

        async def charge(by: str, seconds: float) -> None:
            assert seconds == pytest.approx(100_000 * SECONDS_PER_BYTE)
            charged.append(by)

        bodies.turns.charge = charge  # type: ignore[method-assign]
        chunks = [{"type": "http.request", "body": b" " * 100_000, "more_body": n < 2} for n in range(3)]

        async def receive() -> Any:
            return chunks.pop(0)

        route = next(CompiledRoute(one) for one in ROUTES if one.name == "make_list")
        size, _ = await bodies.read(route, len, JSON_HEADERS, None, receive, bodies.share_of("page", "", True))
        return charged, size

    assert asyncio.run(work()) == (["key page"] * 2, 300_000)


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("POST", "lists", {"among": ["tea", 7, "coffee\n"]}, "/among/2"),
        ("POST", "lists", {"exclude": ["\x7f", "tea"]}, "/exclude/0"),
        ("POST", "lists", {"pins": {"1": "tea", "2": "cof\tfee"}}, "/pins/2"),
        ("POST", "lists", {"features": {"tea": [], "\t7": [], "\t07": []}}, "/features/\t07"),
        ("POST", "items/remove", {"ids": ["tea", "\x1f"]}, "/ids/1"),
    ],
)
def test_a_control_character_among_many_ids_is_found(
    service: LocalService, method: str, path: str, body: Any, pointer: str
) -> None:
    said = problem(service.ask(method, f"/v1/rankings/front-page/{path}", json=body), 422)
    assert [error["pointer"] for error in said["errors"]] == [pointer]
    assert "control characters" in said["detail"]


@pytest.mark.parametrize(
    ("method", "path", "name", "entry", "most"),
    [
        ("PUT", "/v1/rankings/front-page/items", "items", {"id": "x"}, 100_000),
        ("POST", "/v1/rankings/front-page/items/remove", "ids", "x", 100_000),
        ("PUT", "/v1/impressions/019a8b5e-7c1f-7d3a-9b42-5f0e6c1d2a33/clicks", "clicks", "x", 20_000),
        ("POST", "/v1/rankings/front-page/items/remove", "ids", 7, 100_000),
        ("PUT", "/v1/impressions/019a8b5e-7c1f-7d3a-9b42-5f0e6c1d2a33/clicks", "clicks", 7, 20_000),
    ],
)
def test_far_too_many_texts_are_refused_before_they_are_decoded(
    service: LocalService, method: str, path: str, name: str, entry: Any, most: int
) -> None:
    cut_off = msgspec.json.encode({name: [entry] * (most + 1)})[:-2]
    said = problem(service.ask(method, path, content=cut_off, headers=JSON), 422)
    assert f"more than {most} {'entries' if entry == 7 else 'texts'}" in said["detail"]
