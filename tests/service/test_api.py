"""Every route: what it answers, and how it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from asking import Make, Service, problem

from toplist.service.config import Limits
from toplist.service.errors import StoreUnavailable
from toplist.service.http.routes import ROUTES
from toplist.service.wire import Event, Impression, ListReply, ListRequest, Ranking

UNKNOWN = "019a8b5e-7c1f-7d3a-9b42-ffffffffffff"


def a_list(service: Service, **request: Any) -> ListReply:
    reply = service.ask("POST", "/v1/rankings/front-page/lists", json=request)
    assert reply.status_code == 200, reply.text
    return msgspec.json.decode(reply.content, type=ListReply)


def test_rankings_are_created_read_changed_and_deleted(service: Service) -> None:
    made = service.ask("POST", "/v1/rankings", json={"name": "side-bar", "positions": 5, "seed": 3})
    assert made.status_code == 201
    assert made.headers["location"] == "/v1/rankings/side-bar"
    read = service.ask("GET", "/v1/rankings/side-bar")
    assert read.json() == made.json()
    assert msgspec.json.decode(read.content, type=Ranking).seed == 3
    changed = service.ask("PATCH", "/v1/rankings/side-bar", json={"click_window": 60, "policy": "cascade-kl-ucb"})
    assert changed.json() == made.json() | {"click_window": 60.0, "policy": "cascade-kl-ucb"}
    names = [each["name"] for each in service.ask("GET", "/v1/rankings").json()["rankings"]]
    assert names == ["front-page", "side-bar"]
    gone = service.ask("DELETE", "/v1/rankings/side-bar")
    assert (gone.status_code, gone.content) == (204, b"")
    problem(service.ask("GET", "/v1/rankings/side-bar"), 404)


def test_a_ranking_cannot_be_made_twice(service: Service) -> None:
    body = problem(service.ask("POST", "/v1/rankings", json={"name": "front-page", "positions": 2}), 409)
    assert body["errors"][0]["pointer"] == "/name"


def test_items_are_put_read_paged_hidden_and_removed(service: Service) -> None:
    path = "/v1/rankings/front-page/items"
    assert service.ask("PUT", f"{path}/tea", json={"hidden": True}).json() == {"added": 0, "changed": 1, "unchanged": 0}
    assert service.ask("GET", f"{path}/tea").json() == {"id": "tea", "features": None, "hidden": True}
    first = service.ask("GET", path, params={"limit": 2}).json()
    assert [item["id"] for item in first["items"]] == ["cocoa", "coffee"]
    second = service.ask("GET", path, params={"limit": 2, "after": first["next"]}).json()
    assert ([item["id"] for item in second["items"]], second["next"]) == (["tea"], None)
    assert service.ask("POST", f"{path}/remove", json={"ids": ["tea", "nothing"]}).json() == {"removed": 1}
    assert service.ask("DELETE", f"{path}/coffee").status_code == 204
    problem(service.ask("DELETE", f"{path}/coffee"), 404)
    problem(service.ask("GET", f"{path}/coffee"), 404)


@pytest.mark.parametrize("item", ["a/b", "remove", "ä ö", "100%", "?", "..", "a;b=c"])
def test_an_item_may_be_called_almost_anything(service: Service, item: str) -> None:
    path = f"/v1/rankings/front-page/items/{quote(item, safe='').replace('.', '%2E')}"
    assert service.ask("PUT", path, json={}).json()["added"] == 1
    assert service.ask("GET", path).json()["id"] == item
    assert service.ask("DELETE", path).status_code == 204


def test_what_is_wrong_with_one_item_points_at_it(service: Service) -> None:
    path = "/v1/rankings/front-page/items"
    bulk = service.ask("PUT", path, json={"items": [{"id": "tea"}, {"id": "rum", "features": [1.0]}]})
    assert problem(bulk, 422)["errors"][0]["pointer"] == "/items/1/features"
    alone = service.ask("PUT", f"{path}/rum", json={"features": [1.0]})
    assert problem(alone, 422)["errors"][0]["pointer"] == "/features"


@pytest.mark.parametrize("what", ["estimates", "explanation"])
def test_a_person_of_estimates_is_of_a_size(what: str, service: Service) -> None:
    refused = problem(service.ask("GET", f"/v1/rankings/front-page/{what}", params={"person": "0.5,1e7"}), 422)
    assert refused["errors"][0]["parameter"] == "person"
    assert "scale them" in refused["detail"]


def test_a_busy_service_still_says_how_it_is(make_service: Make) -> None:
    service = make_service(stocked=True, limits=Limits(in_flight=1))
    service.app.endpoints.metrics.in_flight = 1  # somebody is at work all the time
    assert problem(service.ask("GET", "/v1/rankings"), 503)["type"].endswith(":busy")
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/"):
        assert service.ask("GET", path).status_code == 200, path


def test_more_items_than_the_settings_allow_are_refused(make_service: Make) -> None:
    service = make_service(limits=Limits(batch=2))
    for path, body in (
        ("items", {"items": [{"id": str(i)} for i in range(3)]}),
        ("items/remove", {"ids": list("abc")}),
    ):
        method = "PUT" if path == "items" else "POST"
        assert "more than 2" in problem(service.ask(method, f"/v1/rankings/a/{path}", json=body), 422)["detail"]


def test_a_list_is_made_reported_explained_and_learned(service: Service) -> None:
    made = a_list(service, exclude=["cocoa"], key="query: tea")
    assert (made.items, made.key) == (["coffee", "tea"], "query: tea")
    path = f"/v1/impressions/{made.impression}"
    assert service.ask("PUT", f"{path}/clicks", json={"clicks": [1]}).json() == {
        "impression": made.impression,
        "counted": True,
    }
    assert service.ask("PUT", f"{path}/clicks", json={"clicks": ["tea"], "final": True}).json()["counted"] is True
    shown = msgspec.json.decode(service.ask("GET", path).content, type=Impression)
    assert (shown.clicks, shown.state) == ([1, 2], "learned")
    late = service.ask("PUT", f"{path}/clicks", json={"clicks": [1, 2], "final": True})
    assert late.json()["counted"] is True
    reasons = service.ask("GET", f"{path}/explanation").json()["positions"]
    assert [reason["item"] for reason in reasons] == ["coffee", "tea"]
    assert service.ask("GET", "/v1/rankings/front-page/keys").json() == {"keys": ["query: tea"], "next": None}


def test_a_report_that_adds_something_too_late_hears_so(service: Service) -> None:
    path = f"/v1/impressions/{a_list(service).impression}/clicks"
    service.ask("PUT", path, json={"final": True})
    reply = service.ask("PUT", path, json={"clicks": [1]})
    assert reply.status_code == 200
    assert (reply.json()["counted"], reply.json()["why"]) == (False, "late")


def test_a_report_on_an_unknown_list_is_not_counted(service: Service) -> None:
    body = problem(service.ask("PUT", f"/v1/impressions/{UNKNOWN}/clicks", json={"clicks": [1]}), 404)
    assert (body["counted"], body["why"]) == (False, "unknown")


def test_a_click_that_is_not_on_the_list_is_pointed_at(service: Service) -> None:
    reply = service.ask("PUT", f"/v1/impressions/{a_list(service).impression}/clicks", json={"clicks": [1, 7]})
    body = problem(reply, 422)
    assert (body["counted"], body["errors"][0]["pointer"]) == (False, "/clicks/1")


def test_the_same_request_id_gets_the_same_list(service: Service) -> None:
    first, again = a_list(service, request_id="r1"), a_list(service, request_id="r1")
    assert first == again
    reply = service.ask("POST", "/v1/rankings/front-page/lists", json={"request_id": "r1", "positions": 1})
    assert problem(reply, 409)["errors"][0]["pointer"] == "/request_id"


def test_a_deferred_list_is_activated(service: Service) -> None:
    made = a_list(service, deferred=True)
    assert made.deferred
    path = f"/v1/impressions/{made.impression}"
    assert service.ask("GET", path).json()["state"] == "deferred"
    assert service.ask("PUT", f"{path}/activation").json()["counted"] is True
    assert service.ask("GET", path).json()["state"] == "open"


def test_estimates(service: Service) -> None:
    reply = service.ask("GET", "/v1/rankings/front-page/estimates", params={"limit": 2})
    assert [row["item"] for row in reply.json()["items"]] == ["cocoa", "coffee"]
    problem(service.ask("GET", "/v1/rankings/front-page/estimates?key=nobody"), 404)
    wrong = service.ask("GET", "/v1/rankings/front-page/estimates?person=1,x")
    assert problem(wrong, 422)["errors"][0]["parameter"] == "person"
    problem(service.ask("GET", "/v1/rankings/front-page/estimates?person=1,2"), 422)


def test_the_event_log_comes_line_by_line(service: Service) -> None:
    for _ in range(1200):
        service.run(service.desk.make_list("front-page", ListRequest()))
    reply = service.ask("GET", "/v1/rankings/front-page/events?after=2")
    assert reply.headers["content-type"] == "application/x-ndjson"
    events = msgspec.json.Decoder(Event).decode_lines(reply.content)
    assert [event.seq for event in events] == list(range(3, 1203))
    few = service.ask("GET", "/v1/rankings/front-page/events?limit=2")
    assert len(few.content.splitlines()) == 2
    problem(service.ask("GET", "/v1/rankings/nothing/events"), 404)
    assert service.ask("HEAD", "/v1/rankings/front-page/events").content == b""


@pytest.mark.parametrize("field", ["steps", "new_per_list", "seed"])
def test_numbers_are_none_that_no_machine_can_count_to(field: str, service: Service) -> None:
    spec = {"name": "other", "positions": 1, field: 10**18}
    refused = problem(service.ask("POST", "/v1/rankings", json=spec), 422)
    assert refused["errors"][0]["pointer"] == f"/{field}"
    assert str(2**53 - 1) in refused["detail"]
    problem(service.ask("POST", "/v1/rankings", json=spec | {field: 10**30}), 422)
    problem(service.ask("PATCH", "/v1/rankings/front-page", json={field: 10**30}), 422)


def test_history_counts_what_was_learned(service: Service) -> None:
    for number in range(25):
        service.desk.as_if_learned("front-page", [1] if number % 5 else [])
    told = service.ask("GET", "/v1/rankings/front-page/history").json()
    assert (told["lists"], told["clicked"], told["clicks"], told["complete"]) == (25, 20, 20, True)
    assert [point["lists"] for point in told["points"]] == [10, 10, 5]
    for _ in range(4000):
        service.desk.as_if_learned("front-page", [1, 2])
    told = service.ask("GET", "/v1/rankings/front-page/history").json()
    assert (told["lists"], told["clicks"]) == (4025, 8020)
    assert len(told["points"]) <= 201
    assert sum(point["lists"] for point in told["points"]) == 4025


def test_what_is_said_about_the_service_itself(service: Service) -> None:
    assert service.ask("GET", "/healthz").json()["status"] == "ok"
    assert service.ask("GET", "/readyz").json()["status"] == "ready"
    service.app.endpoints.ending = True
    assert problem(service.ask("GET", "/readyz"), 503)["detail"]
    assert service.ask("GET", "/healthz").status_code == 200


def test_the_page_needs_nothing_from_elsewhere(service: Service) -> None:
    reply = service.ask("GET", "/")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "http://" not in reply.text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in reply.text
    assert "innerHTML" not in reply.text
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_metrics_count_requests_lists_and_reports(service: Service) -> None:
    path = f"/v1/impressions/{a_list(service).impression}/clicks"
    service.ask("PUT", path, json={"clicks": [1], "final": True})
    service.ask("PUT", path, json={"clicks": [2]})
    service.ask("GET", "/somewhere/else")
    text = service.ask("GET", "/metrics").text
    for line in (
        'toplist_requests_total{method="POST",route="/v1/rankings/{name}/lists",status="200"} 1.0',
        'toplist_requests_total{method="",route="(none)",status="404"} 1.0',
        "toplist_lists_total 1.0",
        "toplist_hot_learners 3.0",
        "toplist_commits_total 4.0",
        "toplist_committed_total 8.0",
        "toplist_commit_seconds_total 0.5",
        "toplist_open_impressions 7.0",
        'toplist_learned_total{reason="window"} 1.0',
        'toplist_reports_total{outcome="counted"} 1.0',
        'toplist_reports_total{outcome="late"} 1.0',
        'toplist_request_seconds_count{method="POST",route="/v1/rankings/{name}/lists"} 1.0',
    ):
        assert line in text


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "a"}, "/positions"),
        ({"name": "a", "positions": 0}, "/positions"),
        ({"name": "a", "positions": "3"}, "/positions"),
        ({"name": "a b", "positions": 3}, "/name"),
        ({"name": "a\n", "positions": 3}, "/name"),
        ({"name": "a", "positions": 3, "reference": 1.5}, "/reference"),
        ({"name": "a", "positions": 3, "position": 3}, "/position"),
        ({"name": "a", "positions": 3, "a/b~c": 3}, "/a~1b~0c"),
        ({"name": "a", "positions": 3, "policy": "nothing"}, "/policy"),
        ([], ""),
    ],
)
def test_a_field_that_is_wrong_is_pointed_at(service: Service, body: Any, pointer: str) -> None:
    assert problem(service.ask("POST", "/v1/rankings", json=body), 422)["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"pins": {str(i): "a" for i in range(1, 900)} | {"900": 5}}, "/pins/900"),
        ({"pins": {"1": "a", "2": ""}, "exclude": []}, "/pins/2"),
        ({"features": {"a": [1.0], "b": [1.0, "x"], "c": [2]}}, "/features/b/1"),
        ({"features": {"a": [1.0], "": [1.0], "c": [2]}}, "/features/"),
        ({"exclude": ["a", "b", ""]}, "/exclude/2"),
    ],
)
def test_a_key_of_a_mapping_is_pointed_at(service: Service, body: Any, pointer: str) -> None:
    reply = service.ask("POST", "/v1/rankings/front-page/lists", json=body)
    assert problem(reply, 422)["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    "raw", [b'{"pins": {"1": 5}, ', b'{"pins": {"1": ' + b"[" * 100_000, b'{"pins": {"1": 5, "1": "a"}}']
)
def test_a_key_that_cannot_be_found_is_not_pointed_at(service: Service, raw: bytes) -> None:
    headers = {"content-type": "application/json"}
    reply = service.ask("POST", "/v1/rankings/front-page/lists", content=raw, headers=headers)
    assert problem(reply, 422)["errors"][0]["pointer"] == "/pins"


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"\xff", b'{"name": "\xff"}', b'{"name": "a", "positions": 2} {}', b'{"name": "\\ud800"}', b"nan"],
)
def test_what_is_no_json_is_malformed(service: Service, raw: bytes) -> None:
    reply = service.ask("POST", "/v1/rankings", content=raw, headers={"content-type": "application/json"})
    assert problem(reply, 400)["type"].endswith(":malformed")


@pytest.mark.parametrize("media", [None, "text/plain", "application/jsonx", "application/json; charset=latin-1"])
def test_a_body_must_be_called_json(service: Service, media: str | None) -> None:
    headers = {} if media is None else {"content-type": media}
    reply = service.ask("POST", "/v1/rankings", content=b"{}", headers=headers)
    assert problem(reply, 415)["errors"][0]["header"] == "Content-Type"


@pytest.mark.parametrize(
    "media", ["application/json; charset=utf-8", "Application/JSON", 'application/json;charset="UTF-8"']
)
def test_json_may_say_that_it_is_utf_8(service: Service, media: str) -> None:
    content = b'{"name": "other", "positions": 2}'
    assert service.ask("POST", "/v1/rankings", content=content, headers={"content-type": media}).status_code == 201


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "application/*;q=0, */*;q=0", "nonsense"])
def test_who_wants_no_json_gets_nothing_else(service: Service, accept: str) -> None:
    problem(service.ask("GET", "/v1/rankings", headers={"accept": accept}), 406)


@pytest.mark.parametrize(
    "accept", ["application/json", "text/html, */*;q=0.1", "application/*", "text/html,application/json"]
)
def test_who_wants_json_among_others_gets_it(service: Service, accept: str) -> None:
    assert service.ask("GET", "/v1/rankings", headers={"accept": accept}).status_code == 200


@pytest.mark.parametrize("query", ["?a=1", "?limit=0", "?limit=x", "?limit=1&limit=2", "?after=", "?limt=3", "?limit"])
def test_a_query_is_taken_seriously(service: Service, query: str) -> None:
    body = problem(service.ask("GET", f"/v1/rankings/front-page/items{query}"), 422)
    assert body["errors"][0]["parameter"]


def test_an_unknown_parameter_hears_the_nearest(service: Service) -> None:
    body = problem(service.ask("GET", "/v1/rankings/front-page/items?limt=3"), 422)
    assert body["detail"].endswith("perhaps you mean 'limit'.")
    assert "takes none" in problem(service.ask("GET", "/v1/rankings?x=1"), 422)["detail"]
    problem(service.ask("GET", "/healthz?x=1"), 422)


def test_paths_and_methods_that_there_are_not(service: Service) -> None:
    problem(service.ask("GET", "/v2"), 404)
    problem(service.ask("GET", "/v1/rankings/"), 404)
    problem(service.ask("GET", "/v1/rankings/front-page/items/%ff"), 400)
    body = service.ask("DELETE", "/v1/rankings")
    problem(body, 405)
    assert body.headers["allow"] == "GET, POST, HEAD"
    for method in ("OPTIONS", "TRACE", "BREW"):
        problem(service.ask(method, "/v1/rankings/front-page/lists"), 405)


@pytest.mark.parametrize("path", ["/v1/rankings/a%20b", "/v1/impressions/17", f"/v1/impressions/{UNKNOWN.upper()}"])
def test_a_name_in_the_path_must_be_one(service: Service, path: str) -> None:
    assert problem(service.ask("GET", path), 422)["errors"][0]["parameter"] in {"name", "impression"}


def test_head_is_get_without_the_body(service: Service) -> None:
    for path in ("/v1/rankings", "/healthz", "/openapi.json", "/", "/metrics", "/v1/rankings/front-page"):
        got, head = service.ask("GET", path), service.ask("HEAD", path)
        assert head.status_code == 200
        assert head.content == b""
        if path != "/metrics":
            assert head.headers["content-length"] == got.headers["content-length"]
    missing = service.ask("HEAD", "/v1/rankings/nothing")
    assert (missing.status_code, missing.content) == (404, b"")


def test_a_large_body_is_refused_before_it_is_held(make_service: Make) -> None:
    service = make_service(limits=Limits(body_bytes=2000))
    told = service.ask("POST", "/v1/rankings", content=b"x" * 2001, headers={"content-type": "application/json"})
    problem(told, 413)
    assert told.headers["connection"] == "close"
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 500

    reply = service.ask("POST", "/v1/rankings", content=endless(), headers={"content-type": "application/json"})
    problem(reply, 413)
    assert sent <= 6


def test_a_store_that_cannot_keep_anything_asks_for_patience(service: Service) -> None:
    service.desk.full = True
    reply = service.ask("POST", "/v1/rankings/front-page/lists", json={})
    assert "disk is full" in problem(reply, 503)["detail"]
    assert reply.headers["retry-after"] == "2"
    service.desk.full = False
    a_list(service)


def test_an_error_that_nobody_foresaw_tells_nothing_of_itself(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Any:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr(service.desk, "rankings", fail)
    reply = service.ask("GET", "/v1/rankings", headers={"x-request-id": "seen-1"})
    assert "secret" not in problem(reply, 500)["detail"]
    (line,) = [msgspec.json.decode(line) for line in service.lines() if "unforeseen" in line]
    assert (line["error"], line["request_id"], line["route"]) == ("RuntimeError", "seen-1", "/v1/rankings")


def test_more_requests_at_work_than_allowed_are_told_to_come_back(
    make_service: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make_service(limits=Limits(in_flight=2))
    going = asyncio.Event()

    async def slow(_: Any) -> Any:
        await going.wait()
        raise StoreUnavailable("later")

    monkeypatch.setattr(service.desk, "create_ranking", slow)

    async def three() -> list[int]:
        body = {"name": "a", "positions": 1}
        waiting = [asyncio.create_task(service.asked("POST", "/v1/rankings", json=body)) for _ in range(2)]
        await asyncio.sleep(0.05)
        third = await service.asked("GET", "/v1/rankings")
        going.set()
        return [
            third.status_code,
            *[(await each).status_code for each in waiting],
            service.app.endpoints.metrics.in_flight,
        ]

    assert service.run(three()) == [503, 503, 503, 0]


def test_whoever_leaves_before_the_body_is_read_leaves_no_trace(service: Service) -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": "/v1/rankings", "raw_path": b"/v1/rankings", "query_string": b"",
        "headers": [(b"content-type", b"application/json")], "client": None,
    }  # fmt: skip
    service.run(service.app(scope, receive, send))
    assert sent == []
    assert service.app.endpoints.metrics.in_flight == 0


def test_whoever_leaves_an_export_stops_it(service: Service) -> None:
    for _ in range(5000):
        service.desk.as_if_learned("front-page", [])
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    path = "/v1/rankings/front-page/events"
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [],
        "client": None,
    }  # fmt: skip
    service.run(service.app(scope, receive, send))
    assert len(sent) <= 3


def test_the_life_of_an_application(service: Service) -> None:
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    service.run(service.app({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    service.run(service.app({"type": "websocket"}, receive, send))
    assert sent[-1] == "websocket.close"


def refusals() -> Iterator[tuple[str, str]]:
    for route in ROUTES:
        if route.names:
            yield route.method, route.path


@pytest.mark.parametrize(("method", "path"), list(refusals()))
def test_every_route_refuses_what_there_is_not(service: Service, method: str, path: str) -> None:
    bodies: dict[str, Any] = {"PATCH": {}, "POST": {"ids": []} if path.endswith("remove") else {}, "PUT": {}}
    body = {"items": []} if path.endswith("/items") else bodies.get(method)
    path = path.format(name="nothing", item="nothing", impression=UNKNOWN)
    more = {} if body is None or path.endswith("activation") else {"json": body}
    problem(service.ask(method, path, **more), 404)
