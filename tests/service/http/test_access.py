"""Access: API keys, scopes, host names and rate limits; and the log of requests."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from typing import Any, Literal

import httpx
import pytest
from asking import ADMIN, KEYS, SERVE, LocalService, Make, problem

from toplist.service.api_keys import ApiKeySetting, settings_lines
from toplist.service.http.auth import ApiKeys, hash_api_key, new_api_key
from toplist.service.http.logs import JsonLogHandler, Log
from toplist.service.http.openapi import document
from toplist.service.http.rate_limit import MAX_CALLERS, TokenBuckets
from toplist.service.http.routes import ROUTES
from toplist.service.live.read_lane import ReadLane
from toplist.service.settings import Limits, Logs


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_every_route_needs_an_api_key_of_its_scope(keyed: LocalService) -> None:
    for route in ROUTES:
        path = route.path.format(name="a", item="b", impression="c", segment="d", key="d", file="f")
        for key in (None, "toplist_wrong", SERVE, ADMIN):
            reply = keyed.ask(route.method, path, headers={} if key is None else bearer(key))
            if route.scope is None or key == ADMIN or (key == SERVE and route.scope != "admin"):
                assert reply.status_code not in {401, 403}, (route.name, key)
            elif key == SERVE:
                assert "needs admin" in problem(reply, 403)["detail"]
            else:
                problem(reply, 401)
                assert reply.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("header", [SERVE, f"Basic {SERVE}", f"Bearer {SERVE}x", "Bearer", "Bearer ", "Bearer é"])
def test_unknown_api_keys_are_refused(keyed: LocalService, header: str) -> None:
    problem(keyed.ask("GET", "/v1/rankings", headers={"authorization": header.encode("latin-1")}), 401)


def test_the_authorization_header_is_parsed_leniently(keyed: LocalService) -> None:
    assert keyed.ask("GET", "/v1/rankings", headers={"authorization": f"bearer  {SERVE} "}).status_code == 200


def test_with_api_keys_any_host_is_accepted(keyed: LocalService) -> None:
    assert keyed.ask("GET", "/v1/rankings", headers=bearer(SERVE) | {"host": "ranking.example"}).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8600", "[::1]:8600", "LOCALHOST:1"])
def test_without_api_keys_the_host_must_be_this_machine(service: LocalService, host: str) -> None:
    assert service.ask("GET", "/v1/rankings", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8600", "localhost.evil.example", "", "[::1", "127.0.0.1.x"]
)
def test_dns_rebinding_is_refused(service: LocalService, host: str) -> None:
    problem(service.ask("GET", "/v1/rankings", headers={"host": host}), 421)


def test_a_host_of_the_settings_is_accepted(make_service: Make) -> None:
    service = make_service(hosts=["Ranking.internal"])
    assert service.ask("GET", "/healthz", headers={"host": "ranking.internal:80"}).status_code == 200


def test_replies_are_not_stored_nor_used_by_other_origins(service: LocalService) -> None:
    for path in ("/v1/rankings", "/nothing", "/", "/openapi.json"):
        headers = service.ask("GET", path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
    page = service.ask("GET", "/").headers
    assert "frame-ancestors 'none'" in page["content-security-policy"]
    assert (page["x-frame-options"], page["cross-origin-opener-policy"]) == ("DENY", "same-origin")


def test_there_is_no_cors(service: LocalService) -> None:
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for reply in (
        service.ask("GET", "/v1/rankings", headers=headers),
        service.ask("OPTIONS", "/v1/rankings", headers=headers),
    ):
        assert not [name for name in reply.headers if name.startswith("access-control")]


def test_a_new_api_key_matches_its_settings_lines() -> None:
    api_key = new_api_key()
    assert len(api_key) > 40
    assert new_api_key() != api_key
    made = ApiKeySetting(name="page", scope="serve", sha256=hash_api_key(api_key))
    lines = settings_lines(made)
    assert api_key not in lines
    kept = ApiKeySetting(name="page", scope="serve", sha256=lines.split('"')[-2])
    found = ApiKeys([kept]).find(f"Bearer {api_key}".encode())
    assert found is not None
    assert found.setting == kept


def test_all_api_keys_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that timing does not reveal how close a guess is."""
    compared: list[bytes] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    known = [ApiKeySetting(name=name, scope="serve", sha256=hash_api_key(name)) for name in "abc"]
    for given in "abcd":
        compared.clear()
        ApiKeys(known).find(f"Bearer {given}".encode())
        assert len(compared) == 3


@pytest.mark.parametrize("keyed", [False, True])
def test_rate_limits_apply_to_unknown_paths(make_service: Make, keyed: bool) -> None:
    limits = Limits(stranger_rate=0.001, stranger_burst=2) if keyed else Limits(rate=0.001, burst=2)
    service = make_service(keys=KEYS if keyed else [], limits=limits)
    assert [service.ask("GET", "/nothing").status_code, service.ask("PUT", "/healthz", json={}).status_code] == [
        404,
        405,
    ]
    problem(service.ask("GET", "/nothing"), 429)
    problem(service.ask("PUT", "/healthz", json={}), 429)
    assert service.ask("GET", "/healthz").status_code == 200


def test_the_host_is_checked_for_unknown_paths(make_service: Make) -> None:
    service = make_service()
    problem(service.ask("GET", "/nothing", headers={"host": "evil.example"}), 421)
    problem(service.ask("PUT", "/healthz", headers={"host": "evil.example"}), 421)


def test_too_many_costly_reads_of_a_key_get_retry_after(keyed: LocalService) -> None:
    """While one is at work and another waits, a third of the same key is refused, and one of another key waits."""
    keyed.double.lane = ReadLane(most_waiting=1)
    keyed.ask("POST", "/v1/rankings", headers=bearer(ADMIN), json={"name": "front", "positions": 3})

    async def ask(key: str) -> httpx.Response:
        return await keyed.ask_async("GET", "/v1/rankings/front/history", headers=bearer(key))

    async def play() -> list[httpx.Response]:
        async with keyed.double.lane.turn("another"):
            waiting = asyncio.create_task(ask(SERVE))
            while not keyed.double.lane.waiting:
                await asyncio.sleep(0)
            refused, other = await ask(SERVE), asyncio.create_task(ask(ADMIN))
        return [refused, await waiting, await other]

    refused, waited, other = keyed.run(play())
    assert "wait for their turn" in problem(refused, 429)["detail"]
    assert refused.headers["retry-after"] == "1"
    assert (waited.status_code, other.status_code) == (200, 200)


def test_too_many_requests_get_retry_after(make_service: Make) -> None:
    service = make_service(limits=Limits(rate=0.5, burst=3))
    assert [service.ask("GET", "/v1/rankings").status_code for _ in range(3)] == [200] * 3
    late = service.ask("GET", "/v1/rankings")
    problem(late, 429)
    assert late.headers["retry-after"] == "2"
    assert service.ask("GET", "/v1/rankings", client=("10.0.0.7", 5)).status_code == 200
    assert service.ask("GET", "/healthz").status_code == 200


def test_each_api_key_has_a_bucket_and_guessing_is_limited(make_service: Make) -> None:
    keys = [ApiKeySetting(name=name, scope="admin", sha256=hash_api_key(name)) for name in "ab"]
    limits = Limits(rate=0.1, burst=2, stranger_rate=0.1, stranger_burst=2)
    service = make_service(limits=limits, keys=keys)
    statuses = [service.ask("GET", "/v1/rankings", headers=bearer(key)).status_code for key in "aaab"]
    assert statuses == [200, 200, 429, 200]
    guessed = [service.ask("GET", "/v1/rankings", headers=bearer(f"guess {i}")).status_code for i in range(3)]
    assert guessed == [401, 401, 429]


def test_by_default_strangers_are_limited_and_callers_have_room(make_service: Make) -> None:
    service = make_service(keys=KEYS)
    assert [service.ask("GET", "/v1/rankings", headers=bearer(SERVE)).status_code for _ in range(300)] == [200] * 300
    guessed = [service.ask("GET", "/v1/rankings", headers=bearer(f"guess {i}")).status_code for i in range(300)]
    assert guessed[:100] == [401] * 100
    assert 429 in guessed
    assert service.ask("GET", "/v1/rankings", headers=bearer(SERVE)).status_code == 200


def test_buckets_refill_and_are_bounded_in_number() -> None:
    now = [0.0]
    buckets = TokenBuckets(rate=2.0, burst=2, clock=lambda: now[0])
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    now[0] = 0.5
    assert [buckets.wait("a") for _ in range(2)] == [0.0, 0.5]
    now[0] = 100.0
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    for caller in range(MAX_CALLERS + 10):
        buckets.wait(str(caller))
    assert len(buckets) == MAX_CALLERS


def test_each_request_is_logged_with_its_id_and_without_secrets(keyed: LocalService) -> None:
    body = {"name": "front-page", "positions": 2}
    reply = keyed.ask("POST", "/v1/rankings", headers=bearer(ADMIN) | {"x-request-id": "page.view-7"}, json=body)
    assert reply.headers["x-request-id"] == "page.view-7"
    keyed.ask("GET", "/v1/rankings/private-name/estimates?key=private-query", headers=bearer("toplist_wrong-guess"))
    keyed.ask("GET", f"/v1/rankings/{ADMIN}", headers=bearer(SERVE))
    lines = [line for line in keyed.lines() if "change" not in line]
    first = json.loads(lines[0])
    assert first.pop("at").endswith("Z")
    assert first.pop("ms") > 0
    assert first == {
        "event": "request", "request_id": "page.view-7", "method": "POST", "route": "/v1/rankings", "status": 201,
        "caller": "editor", "bytes": len(reply.content),
    }  # fmt: skip
    assert (json.loads(lines[1])["status"], json.loads(lines[1])["caller"]) == (401, "127.0.0.1")
    assert len(lines) == 3
    for secret in (ADMIN, SERVE, "wrong-guess", "private"):
        assert secret not in "\n".join(lines)


@pytest.mark.parametrize("strange", ["a b", "x" * 200, 'a"b', "", "é"])
def test_an_invalid_request_id_is_replaced(service: LocalService, strange: str) -> None:
    given = service.ask("GET", "/healthz", headers={"x-request-id": strange.encode()}).headers["x-request-id"]
    assert given != strange
    assert given != service.ask("GET", "/healthz").headers["x-request-id"]


@pytest.mark.parametrize(("which", "statuses"), [("all", [200, 404]), ("failed", [404]), ("none", [])])
def test_the_settings_choose_the_logged_requests(
    make_service: Make, which: Literal["all", "failed", "none"], statuses: list[int]
) -> None:
    service = make_service(logs=Logs(requests=which))
    service.ask("GET", "/healthz")
    service.ask("GET", "/nothing")
    assert [json.loads(line)["status"] for line in service.lines()] == statuses


def test_records_of_libraries_become_json() -> None:
    stream = io.StringIO()
    logger = logging.Logger("uvicorn.error")
    logger.addHandler(JsonLogHandler(Log(stream=stream)))
    logger.warning("hello %s", "you")
    try:
        raise ValueError("x")
    except ValueError:
        logger.exception("oh")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["level"], first["name"], first["message"]) == ("warning", "uvicorn.error", "hello you")
    assert second["error"] == "ValueError"


def test_a_closed_log_stops_nothing() -> None:
    stream = io.StringIO()
    log = Log(stream=stream)
    stream.close()
    log.event("started")


def test_the_document_says_which_routes_need_an_api_key() -> None:
    described = document(with_keys=True)
    for route in ROUTES:
        operation = described["paths"][route.path][route.method.lower()]
        assert operation.get("security") == (None if route.scope is None else [{"key": [route.scope]}])
    assert "securitySchemes" not in document(with_keys=False)["components"]


def test_with_a_secret_the_service_never_sees_a_segment(make_service: Make) -> None:
    service = make_service(stocked=True, segment_secret="a secret of the tests, long enough")
    ranking = "/v1/rankings/front-page"
    made = service.ask("POST", f"{ranking}/lists", json={"segment": "Ada", "request_id": "1"}).json()
    old = service.ask("POST", f"{ranking}/lists", json={"key": "Ada", "request_id": "2"}).json()
    assert (made["segment"], made["key"], old["segment"]) == ("Ada", "Ada", "Ada")
    (hashed,) = service.ask("GET", f"{ranking}/segments").json()["segments"]
    assert len(hashed) == 64
    for path in ("estimates", "explanation"):
        reply = service.ask("GET", f"{ranking}/{path}?segment=Ada")
        assert (reply.status_code, reply.json()["segment"]) == (200, "Ada")
        problem(service.ask("GET", f"{ranking}/{path}?segment={hashed}"), 404)
    assert "Ada" not in str(service.double.log)
    problem(service.ask("DELETE", f"{ranking}/segments/{hashed}"), 404)
    assert service.ask("DELETE", f"{ranking}/segments/Ada").status_code == 204
    assert service.ask("GET", f"{ranking}/segments").json()["segments"] == []


def test_with_a_secret_the_service_never_sees_a_visitor(make_service: Make) -> None:
    service = make_service(stocked=True, segment_secret="a secret of the tests, long enough")
    path = "/v1/rankings/front-page/lists"
    for segment in ({}, {"segment": "Bob"}):
        assert service.ask("POST", path, json={"visitor": "Ada"} | segment).status_code == 200
        asked = service.double.asked
        assert asked is not None
        assert len(asked.visitor or "") == 64
        assert "Ada" not in str(asked)


CHANGES: list[tuple[str, str, str, dict[str, Any] | None]] = [
    ("create_ranking", "POST", "", {"name": "page", "positions": 2}),
    ("put_items", "PUT", "/page/items", {"items": [{"id": "tea"}, {"id": "milk"}]}),
    ("put_item", "PUT", "/page/items/rum", {}),
    ("remove_item", "DELETE", "/page/items/rum", None),
    ("remove_items", "POST", "/page/items/remove", {"ids": ["milk"]}),
    ("import_ranker", "PUT", "/page/learner", {"ranker": "UEsDBC0AAAAAAA==", "segment": "Bob"}),
    ("change_ranking", "PATCH", "/page", {"positions": 1, "pins": {"1": "tea"}, "holdout": 0.1, "stop_if": None}),
    ("delete_segment", "DELETE", "/page/segments/Ada", None),
    ("delete_key", "DELETE", "/page/keys/Ada", None),
    ("delete_ranking", "DELETE", "/page", None),
]


def test_every_change_says_who_made_it_in_the_log_and_in_the_events(keyed: LocalService) -> None:
    assert {action for action, *_ in CHANGES} == {route.name for route in ROUTES if route.is_change}
    for action, method, path, body in CHANGES:
        if action in ("delete_segment", "delete_key"):
            keyed.ask("POST", "/v1/rankings/page/lists", json={"segment": "Ada"}, headers=bearer(SERVE))
        more = {} if body is None else {"json": body}
        asked = f"/v1/rankings{path}"
        for key, status in ((SERVE, 403), ("toplist_wrong", 401)):  # attempts that fail
            problem(keyed.ask(method, asked, headers=bearer(key), client=("10.0.0.9", 1), **more), status)
        assert keyed.ask(method, asked, headers=bearer(ADMIN) | {"x-request-id": action}, **more).is_success
    lines = [json.loads(line) for line in keyed.lines()]
    changes = [line for line in lines if line["event"] == "change"]
    assert [(line["action"], line["request_id"]) for line in changes] == [(name, name) for name, *_ in CHANGES]
    assert {(line["by"], line["ranking"]) for line in changes} == {("editor", "page")}
    named = [(line["action"], line["settings"]) for line in changes if "settings" in line]
    assert named == [("change_ranking", ["positions", "holdout", "stop_if", "pins"])]
    failed = {(line["status"], line["caller"], line["address"]) for line in lines if "address" in line}
    assert failed == {(403, "page", "10.0.0.9"), (401, "10.0.0.9", "10.0.0.9")}
    bodies = [event.body for event in keyed.double.log if event.kind != "list"]
    assert [body["by"] for body in bodies] == ["editor"] * len(CHANGES)
    for secret in (ADMIN, SERVE, "Ada", "Bob", "milk"):
        assert secret not in json.dumps(lines)


def test_the_name_of_a_ranking_that_does_not_exist_is_not_logged(keyed: LocalService) -> None:
    problem(keyed.ask("DELETE", f"/v1/rankings/{ADMIN}", headers=bearer(ADMIN)), 404)
    assert ADMIN not in "".join(keyed.lines())
