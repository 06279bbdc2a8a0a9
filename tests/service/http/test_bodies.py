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
from asking import LocalService, Make, problem

from toplist.service.config import Limits
from toplist.service.http.problems import LARGEST_SEARCHED, HttpProblem, undecodable
from toplist.service.wire import ListRequest

JSON = {"content-type": "application/json"}


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


@pytest.mark.parametrize("first", ["among", "pins"])
def test_the_search_for_an_error_decodes_a_body_a_few_times_only(first: str) -> None:
    among = {"among": [f"item {n}" for n in range(8_000)]}
    pins = {"pins": {str(n): "a" for n in range(4_000)} | {"z": 1.5}}
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
        before = sum(isinstance(each, HttpProblem) for each in gc.get_objects())
        service.ask("POST", "/v1/rankings", content=b"{", headers=JSON)
        service.ask("POST", "/v1/rankings", json={"unknown": 1})
        service.ask("GET", "/v1/rankings/unknown")
        assert sum(isinstance(each, HttpProblem) for each in gc.get_objects()) == before
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
    body = msgspec.json.encode({"among": [f"item-{n}" for n in range(30_000)]})
    decoder = msgspec.json.Decoder(ListRequest)
    assert cpu_seconds(lambda: decoder.decode(body)) < 8 * cpu_seconds(lambda: msgspec.json.decode(body))


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
    ],
)
def test_far_too_many_texts_are_refused_before_they_are_decoded(
    service: LocalService, method: str, path: str, name: str, entry: Any, most: int
) -> None:
    cut_off = msgspec.json.encode({name: [entry] * (most + 1)})[:-2]
    said = problem(service.ask(method, path, content=cut_off, headers=JSON), 422)
    assert f"more than {most} texts" in said["detail"]
